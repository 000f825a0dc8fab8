"""A plan as one line of text and back, exactly: two plans are the same if and only if their texts are."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from leastways.plans import Certificate, Change, RecourseOption, RecoursePlan

_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_HAS_NEAREST_MISS = any(f.name == "nearest_miss" for f in fields(RecoursePlan))


def plan_to_text(plan: RecoursePlan) -> str:
    """Write a plan down, all but whose it is and their state, which are kept beside it."""
    miss = getattr(plan, "nearest_miss", None)
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
        "nearest_miss": None if miss is None else _option(miss),
    }
    return canonical(data, sort=False)  # in the order of the schema, in which it is also shown


def plan_from_text(text: str, person: str, state: Mapping[str, Any]) -> RecoursePlan:
    """Read a plan that `plan_to_text` wrote."""
    data = json.loads(text)
    more: dict[str, Any] = {}
    if _HAS_NEAREST_MISS:
        miss = data.get("nearest_miss")
        more["nearest_miss"] = None if miss is None else _to_option(miss)
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
        **more,
    )


def canonical(data: object, sort: bool = True) -> str:
    """Write JSON in the one form that is compared and hashed: ASCII only, numbers exact, keys sorted or as they are."""
    return json.dumps(data, sort_keys=sort, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _option(option: RecourseOption) -> dict[str, Any]:
    return {
        "number": option.number,
        "values": dict(option.values),
        "changes": [[c.feature, c.before, c.after, c.text] for c in option.changes],
        "probability": _number(option.probability),
        "expected_cost": _number(option.expected_cost),
        "best_for": _number(option.best_for),
    }


def _to_option(data: Mapping[str, Any]) -> RecourseOption:
    return RecourseOption(
        data["number"],
        data["values"],
        tuple(Change(*change) for change in data["changes"]),
        _float(data["probability"]),
        _float(data["expected_cost"]),
        _float(data["best_for"]),
    )


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _float(value: float | str) -> float:
    return _NOT_FINITE[value] if isinstance(value, str) else float(value)
