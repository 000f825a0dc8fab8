"""One plan as plain values: what `leastways explain --json` prints and what the service answers."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import pandas as pd

from leastways.plans.plan import NearestMiss, RecourseOption, RecoursePlan


def plan_as_dict(plan: RecoursePlan) -> dict[str, Any]:
    """Return a plan as JSON can hold it: None for what is missing or undefined."""
    miss = plan.nearest_miss
    return {
        "person": plan.person,
        "status": plan.status,
        "reason": plan.reason,
        "probability": _finite(plan.probability),
        "covered": _finite(plan.covered),
        "satisfied": _finite(plan.satisfied),
        "emc": _finite(plan.emc),
        "queries": plan.queries,
        "certificate": None if plan.certificate is None else asdict(plan.certificate),
        "state": {name: _finite(value) for name, value in plan.state.items()},
        "options": [
            {
                "option": option.number,
                "changes": _changes(option),
                "probability": _finite(option.probability),
                "expected_cost": _finite(option.expected_cost),
                "best_for": _finite(option.best_for),
            }
            for option in plan.options
        ],
        "nearest_miss": None if miss is None else {"changes": _changes(miss), "probability": _finite(miss.probability)},
        "text": plan.to_text(),
    }


def _changes(state: RecourseOption | NearestMiss) -> list[dict[str, Any]]:
    return [
        {"feature": c.feature, "from": _finite(c.before), "to": _finite(c.after), "text": c.text} for c in state.changes
    ]


def _finite(value: Any) -> Any:
    """Return None for NaN, infinity and pandas' missing values, which JSON does not know."""
    if value is None or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value
