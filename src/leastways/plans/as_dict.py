"""One plan as plain values: what `leastways explain --json` prints and what the service answers."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import pandas as pd

from leastways.plans.plans import RecoursePlan


def plan_as_dict(plan: RecoursePlan) -> dict[str, Any]:
    """Return a plan as JSON can hold it: None for what is missing or undefined."""
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
                "changes": [
                    {"feature": c.feature, "from": _finite(c.before), "to": _finite(c.after), "text": c.text}
                    for c in option.changes
                ],
                "probability": _finite(option.probability),
                "expected_cost": _finite(option.expected_cost),
                "best_for": _finite(option.best_for),
            }
            for option in plan.options
        ],
        "text": plan.to_text(),
    }


def _finite(value: Any) -> Any:
    """Return None for NaN, infinity and pandas' missing values, which JSON does not know."""
    if value is None or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value
