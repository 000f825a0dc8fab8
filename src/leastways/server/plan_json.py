"""A plan as one line of text and back, exactly: two plans are the same if and only if their texts are."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from leastways.io import canonical_json
from leastways.plans import Certificate, Change, NearestMiss, RecourseOption, RecoursePlan

_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def plan_to_text(plan: RecoursePlan) -> str:
    """Write a plan down, all but whose it is and their state, which are kept beside it."""
    data = {
        "status": plan.status,
        "reason": plan.reason,
        "probability": _number(plan.probability),
        "covered": _number(plan.covered),
        "emc": _number(plan.emc),
        "satisfied": _number(plan.satisfied),
        "queries": plan.queries,
        "options": [_option(option) for option in plan.options],
        "certificate": None if plan.certificate is None else asdict(plan.certificate),
        "nearest_miss": None if plan.nearest_miss is None else _state(plan.nearest_miss),
    }
    return canonical_json(data, sort=False)  # in the order of the schema, in which it is also shown


def plan_from_text(text: str, person: str, state: Mapping[str, Any]) -> RecoursePlan:
    """Read a plan that `plan_to_text` wrote."""
    data = json.loads(text)
    miss = data["nearest_miss"]
    return RecoursePlan(
        person=person,
        status=data["status"],
        reason=data["reason"],
        state=dict(state),
        probability=_float(data["probability"]),
        options=tuple(_to_option(option) for option in data["options"]),
        covered=_float(data["covered"]),
        emc=_float(data["emc"]),
        satisfied=_float(data["satisfied"]),
        queries=data["queries"],
        certificate=None if data["certificate"] is None else Certificate(**data["certificate"]),
        nearest_miss=None if miss is None else NearestMiss(**_to_state(miss)),
    )


def _state(state: RecourseOption | NearestMiss) -> dict[str, Any]:
    return {
        "values": dict(state.values),
        "changes": [[c.feature, c.before, c.after, c.text] for c in state.changes],
        "probability": _number(state.probability),
    }


def _to_state(data: Mapping[str, Any]) -> dict[str, Any]:
    changes = tuple(Change(*change) for change in data["changes"])
    return {"values": data["values"], "changes": changes, "probability": _float(data["probability"])}


def _option(option: RecourseOption) -> dict[str, Any]:
    figures = {"expected_cost": _number(option.expected_cost), "best_for": _number(option.best_for)}
    return {"number": option.number} | _state(option) | figures


def _to_option(data: Mapping[str, Any]) -> RecourseOption:
    expected_cost, best_for = _float(data["expected_cost"]), _float(data["best_for"])
    return RecourseOption(number=data["number"], expected_cost=expected_cost, best_for=best_for, **_to_state(data))


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _float(value: float | str) -> float:
    return _NOT_FINITE[value] if isinstance(value, str) else float(value)
