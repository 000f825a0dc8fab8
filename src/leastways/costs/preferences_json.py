"""Preferences as JSON, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from leastways._messages import nearest
from leastways.costs.preferences import Preferences
from leastways.errors import PreferenceError
from leastways.io import canonical_json, is_finite_number, json_type
from leastways.schema import Schema, normal, range_of

PARTS = ("editable", "scores", "alpha", "ranges", "costs", "locked")


def preferences_from_json(data: object, schema: Schema) -> Preferences | None:
    """Read preferences, checked against the schema; a `PreferenceError` names what is wrong.

    A range is ``[low, high]`` for numbers (null: no limit), a list of values for categories. Costs are a list of
    ``[value, cost]`` for each feature; values left out are out of the question.
    """
    if data is None:
        return None
    if not isinstance(data, Mapping):
        raise PreferenceError(f"preferences must be an object with any of {', '.join(PARTS)}, not {data!r}.")
    for name in data:
        if name not in PARTS:
            raise PreferenceError(f"preferences: unknown {name!r}; allowed: {', '.join(PARTS)}.{nearest(name, PARTS)}")
    _check_sizes(data, schema)
    for part, value in data.items():
        _refuse_huge(part, value)
    said = Preferences(
        editable=data.get("editable"),
        scores=data.get("scores"),
        alpha=data.get("alpha"),
        ranges=_by_feature(data, "ranges", lambda name, value: _range(schema, name, value)),
        costs=_by_feature(data, "costs", _cost_table),
        locked=_names(data.get("locked")),
    )
    if said == Preferences():
        return None
    said.check(schema)
    return said


def preference_faults(data: object, schema: Schema) -> list[tuple[str, str]]:
    """Return (part, what is wrong) for each wrong part; the part is empty where only the whole does not fit."""
    said = data.items() if isinstance(data, Mapping) else ()
    faults = [(part, fault) for part, one in said if part in PARTS and (fault := _fault({part: one}, schema))]
    if faults:
        return faults
    whole = _fault(data, schema)
    return [("", whole)] if whole else []


def _fault(data: object, schema: Schema) -> str:
    try:
        preferences_from_json(data, schema)
    except PreferenceError as error:
        return str(error)
    return ""


def preferences_to_json(said: Preferences | None) -> dict[str, Any] | None:
    """Write preferences, leaving out what is not stated; costs as a table of present and future values are refused."""
    if said is None:
        return None
    data: dict[str, Any] = {}
    if said.editable is not None:
        data["editable"] = list(said.editable)
    if said.scores is not None:
        data["scores"] = {name: float(score) for name, score in said.scores.items()}
    if said.alpha is not None:
        data["alpha"] = float(said.alpha)
    if said.ranges:
        data["ranges"] = {name: list(normal(value)) for name, value in said.ranges.items()}
    if said.costs:
        data["costs"] = {name: _plain_costs(name, table) for name, table in said.costs.items()}
    if said.locked:
        data["locked"] = list(said.locked)
    return data


def _check_sizes(data: Mapping[str, Any], schema: Schema) -> None:
    """Refuse preferences with too many, repeated or non-text names before the detailed checks."""
    for part in ("editable", "scores", "ranges", "costs", "locked"):
        said = data.get(part)
        if isinstance(said, list | Mapping) and len(said) > len(schema.features):
            raise PreferenceError(f"{part} names {len(said)} features; the schema has {len(schema.features)}.")
    for part in ("editable", "locked"):
        names = data.get(part)
        if isinstance(names, list):
            odd = [name for name in names if not isinstance(name, str)]
            if odd:
                raise PreferenceError(f"{part} must be a list of features' names, not {odd[0]!r}.")
            if len(set(names)) != len(names):
                raise PreferenceError(f"{part} names a feature twice.")


def _refuse_huge(part: str, value: object) -> None:
    """Refuse numbers that no float can hold; JSON knows no limit."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, Mapping):
            left.extend(one.values())
        elif isinstance(one, list):
            left.extend(one)
        elif isinstance(one, int) and not is_finite_number(one) and not isinstance(one, bool):
            raise PreferenceError(f"{part} holds a number that is too large; allowed: below 1e300.")


def _names(said: Any) -> Any:
    """Return names as a tuple, None as no names, and any other value unchanged, to be refused."""
    return () if said is None else tuple(said) if isinstance(said, list) else said


def _by_feature(data: Mapping[str, Any], part: str, read: Any) -> dict[str, Any]:
    said = data.get(part)
    if said is None:
        return {}
    if not isinstance(said, Mapping):
        raise PreferenceError(f"{part} must be an object with a list for each feature, not {said!r}.")
    return {name: read(name, value) for name, value in said.items()}


def _range(schema: Schema, name: str, value: Any) -> Any:
    feature = schema.by_name.get(name)
    if not isinstance(value, list):
        raise PreferenceError(f"ranges: {name!r} must be a list, not {value!r}.")
    odd = [v for v in value if isinstance(v, list | Mapping)]
    if odd:
        raise PreferenceError(f"ranges: {name!r} holds {odd[0]!r}, which is no value.")
    if feature is None or not feature.numeric:
        if feature is not None and len(value) > len(feature.values):
            raise PreferenceError(f"ranges: {name!r} lists {len(value)} values; there are {len(feature.values)}.")
        if feature is not None and any(json_type(v) not in {json_type(x) for x in feature.values} for v in value):
            raise PreferenceError(f"ranges: {name!r} must list values of it; allowed: {feature.allowed_text()}.")
        return value
    if len(value) != 2:
        raise PreferenceError(f"ranges: {name!r} must be [low, high], null where there is no limit, not {value!r}.")
    for end in value:
        if end is not None and not is_finite_number(end):
            raise PreferenceError(f"ranges: {name!r} must be [low, high], two numbers or null, not {value!r}.")
    return tuple(value)


def _cost_table(name: str, value: Any) -> dict[Any, float]:
    form = f"costs: {name!r} must be a list of [value, cost], the cost from 0 to 1"
    if not isinstance(value, list):
        raise PreferenceError(f"{form}, not {value!r}.")
    table: dict[Any, float] = {}
    for pair in value:
        if not isinstance(pair, list) or len(pair) != 2 or isinstance(pair[0], list | Mapping) or pair[0] is None:
            raise PreferenceError(f"{form}; {pair!r} is none.")
        if not is_finite_number(pair[1]) or (json_type(pair[0]) is float and not is_finite_number(pair[0])):
            raise PreferenceError(f"{form}; {pair!r} is none.")
        if pair[0] in table:
            raise PreferenceError(f"costs: {name!r} names the value {pair[0]!r} twice.")
        table[pair[0]] = pair[1]
    return table


def _plain_costs(name: str, table: Any) -> list[list[Any]]:
    if isinstance(table, pd.DataFrame):
        raise PreferenceError(f"costs: give {name!r} as a mapping from future value to cost; tables are not recorded.")
    return [[value, float(cost)] for value, cost in table.items() if math.isfinite(cost)]


def preferences_from_record(text: str | None) -> Preferences | None:
    """Read preferences that `preferences_to_record` wrote; they were checked before."""
    if text is None:
        return None
    data = json.loads(text)
    ranges = {name: tuple(value) if kind == "range" else value for name, (kind, value) in data["ranges"].items()}
    costs = {name: dict(pairs) for name, pairs in data["costs"].items()}
    locked = tuple(data.get("locked", ()))
    return Preferences(data["editable"], data["scores"], data["alpha"], ranges, costs, locked)


def preferences_to_record(preferences: Preferences | None) -> str | None:
    """Write preferences as one line that can be read without the schema, and equals them again."""
    if preferences is None:
        return None
    plain = preferences_to_json(preferences) or {}
    ranges = {
        name: ["list" if range_of(preferences.ranges[name]) is None else "range", value]
        for name, value in plain.get("ranges", {}).items()
    }
    parts = {part: plain.get(part) for part in ("editable", "scores", "alpha")}
    if preferences.locked:
        parts["locked"] = plain["locked"]
    return canonical_json({**parts, "ranges": ranges, "costs": plain.get("costs", {})})
