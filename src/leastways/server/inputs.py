"""Check people in a request, naming every wrong field, and convert them to a table for the search."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import pandas as pd

from leastways._messages import listed, nearest
from leastways._values import is_missing
from leastways.errors import FieldError, InputRefused
from leastways.io import is_finite_number, json_type
from leastways.schema import Feature, Schema, problems_of
from leastways.server.answers import Applicant

MAX_REFERENCE = 200  # characters of a caller's own label
MAX_TEXT = 2000  # characters of what a person writes
MOST_FAULTS = 100  # that are named; a request may have hundreds of thousands
_LONGEST_NAME = 100  # characters of an unknown name for which a similar one is looked up


def pointer(*steps: object) -> str:
    """Return a JSON pointer (RFC 6901)."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def checked_people(schema: Schema, group_names: Sequence[str], people: Sequence[Applicant]) -> list[dict[str, Any]]:
    """Return each person's state, every value in the type of its column; raise `InputRefused` with all faults."""
    errors: list[FieldError] = []
    for i, person in enumerate(people):
        if len(errors) > MOST_FAULTS:
            raise InputRefused(errors)
        errors += _unknown_names(person.state, schema.names, ("people", i, "state"), "a feature of the model")
        errors += _unknown_names(person.groups, group_names, ("people", i, "groups"), "an attribute for the audit")
        errors += _group_faults(person.groups, group_names, ("people", i, "groups"))
        errors += reference_faults(person.reference, ("people", i, "reference"))
    errors += _state_faults(schema, [person.state for person in people])
    if errors:
        raise InputRefused(errors)
    return [{f.name: _as_held(f, person.state[f.name]) for f in schema.features} for person in people]


def frame_of(schema: Schema, states: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> pd.DataFrame:
    """Return checked states as a table with the dtypes of the schema."""
    index: pd.Index[Any] = pd.Index(labels, dtype=object)
    columns = {f.name: f.column_of([state[f.name] for state in states]) for f in schema.features}
    return pd.DataFrame(columns, index=index, copy=False)


def fits_schema(schema: Schema, states: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether states recorded under another schema are valid states of this one."""
    return all(state.keys() == set(schema.names) for state in states) and not _state_faults(schema, states)


def text_fault(text: str, limit: int) -> str:
    """Return what is wrong with a text that would be recorded, or an empty text."""
    if len(text) > limit:
        return f"has {len(text)} characters; allowed: at most {limit}"
    if "\x00" in text or not _is_whole_text(text):
        return "holds a character that cannot be kept (NUL or half of a pair); allowed: any other text"
    return ""


def _is_whole_text(text: str) -> bool:
    """Return whether a text has no unpaired surrogates, which JSON can write and UTF-8 cannot."""
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)


def reference_faults(reference: object, where: tuple[object, ...]) -> list[FieldError]:
    """Check a caller's own label."""
    if reference is None:
        return []
    if not isinstance(reference, str) or not reference.strip():
        fault = f"must be a text that is not empty, at most {MAX_REFERENCE} characters long"
    else:
        fault = text_fault(reference, MAX_REFERENCE)
    return [FieldError(pointer(*where), "reference", fault)] if fault else []


def _unknown_names(
    given: Mapping[str, Any], known: Sequence[str], where: tuple[object, ...], what: str
) -> list[FieldError]:
    known_names = f"is not {what}; known: {listed(known, 40) or 'none'}."
    unknown = islice((name for name in given if name not in known), MOST_FAULTS + 1)
    return [
        FieldError(pointer(*where, name), name, known_names + nearest(name[:_LONGEST_NAME], known)) for name in unknown
    ]


def _group_faults(given: Mapping[str, Any], known: Sequence[str], where: tuple[object, ...]) -> list[FieldError]:
    allowed = "allowed: a text of at most 200 characters, a number, true or false, or null"
    errors = []
    for name, value in given.items():
        if name not in known or value is None or isinstance(value, bool):
            continue
        fine = is_finite_number(value) or (isinstance(value, str) and not text_fault(value, MAX_REFERENCE))
        if not fine:
            errors.append(FieldError(pointer(*where, name), name, f"cannot be kept; {allowed}"))
        elif isinstance(value, str) and not value.strip():
            errors.append(
                FieldError(pointer(*where, name), name, f"is empty; send null where it is not known; {allowed}")
            )
    return errors


def _state_faults(schema: Schema, states: Sequence[Mapping[str, Any]]) -> list[FieldError]:
    """Return the faults of states: first those that only JSON can have, then those that the schema finds."""
    if all(f.name in state and fits(f, state[f.name]) for state in states for f in schema.features):
        return []  # the check by the schema needs a table, which takes milliseconds
    errors: list[FieldError] = []
    columns: dict[str, Any] = {}
    reported: set[tuple[int, str]] = set()
    for f in schema.features:
        values = [state.get(f.name, math.nan) for state in states]
        for i, value in enumerate(values):
            absent = f.missing and f.name not in states[i]
            fault = f"is not there; send null where it is not known; {_allowed(f)}" if absent else _json_fault(f, value)
            if fault:
                errors.append(FieldError(pointer("people", i, "state", f.name), f.name, fault))
                reported.add((i, f.name))
            if fault or value is None:
                values[i] = math.nan
        columns[f.name] = pd.Series(values, dtype=object).infer_objects()
    problems = problems_of(pd.DataFrame(columns), schema.features)
    for place, problem in zip(problems.attrs["positions"], problems.itertuples(), strict=True):
        name = str(problem.column)
        if (int(place), name) not in reported:
            value = "" if str(problem.problem).startswith("is missing") else f"{problem.value!r} "
            errors.append(FieldError(pointer("people", int(place), "state", name), name, f"{value}{problem.problem}"))
    return errors


def fits(feature: Feature, value: Any) -> bool:
    """Return quickly whether a value is valid; False means that the schema has to check it."""
    if value is None:
        return feature.missing
    if not feature.numeric:
        return value in feature.values and any(json_type(value) is json_type(v) for v in feature.values)
    if not is_finite_number(value):
        return False
    held = value if feature.dtype in ("int64", "float64") else float(feature.as_held(value))
    low, high = feature.possible
    return low <= held <= high and not (feature.whole and held != round(held))


def _json_fault(feature: Feature, value: Any) -> str:
    """Return what is wrong with a JSON value before it goes into a table, or an empty text."""
    allowed = _allowed(feature)
    if isinstance(value, list | dict):
        return f"must be a single value; {allowed}"
    if value is None or (isinstance(value, float) and value != value):
        return ""  # missing, which the schema reports
    if isinstance(value, str) and not _is_whole_text(value):
        return f"holds half of a character; {allowed}"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and not is_finite_number(value):
        return f"is too large a number; {allowed}"
    if not feature.numeric and json_type(value) not in {json_type(v) for v in feature.values}:
        return f"{value!r} is not a known category; {allowed}"
    return ""


def _allowed(feature: Feature) -> str:
    return f"allowed: {feature.possible_text()}"


def _as_held(feature: Feature, value: Any) -> Any:
    """Return a checked value in the type of its column: 3.0 becomes 3 where only whole numbers are possible."""
    if is_missing(value):
        return None
    if feature.whole:
        return int(value)
    if feature.numeric:
        return float(feature.as_held(value))
    return feature.values[feature.values.index(value)]
