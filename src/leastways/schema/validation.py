"""Check that a data frame fits the schema; report each fault with its column, row, value and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._messages import listed, nearest
from leastways._validation import is_real
from leastways._values import plain
from leastways.errors import DataError
from leastways.io import may_hold_none, read_table
from leastways.schema.encoding import category_codes
from leastways.schema.feature import Feature

if TYPE_CHECKING:
    from leastways.schema.schema import Schema

_COLUMNS = ["row", "column", "value", "problem"]
_LONGEST = 200  # characters of a value that a message shows


def check_is_frame(frame: object) -> pd.DataFrame:
    """Return a DataFrame unchanged; raise for anything else, with a hint how to make one."""
    if isinstance(frame, pd.DataFrame):
        return frame
    kind, package = type(frame).__qualname__, type(frame).__module__.split(".")[0]
    name = kind if package in ("builtins", "pandas") else f"{package}.{kind}"  # other packages have a DataFrame too
    if isinstance(frame, pd.Series):
        hint = " For one person, double brackets keep the table: people.loc[[label]], people.iloc[[0]]."
    elif isinstance(frame, Mapping):
        hint = " For one person: pd.DataFrame([values])."
    elif hasattr(frame, "to_pandas"):
        hint = " Its to_pandas() makes one."
    elif isinstance(frame, np.ndarray | list | tuple):
        hint = " pd.DataFrame(rows, columns=[...]) makes one."
    else:
        hint = ""
    raise DataError(f"expected a pandas DataFrame, not {name}.{hint}")


def check_columns(frame: object, features: Sequence[Feature], target: str | None) -> pd.DataFrame:
    """Check the table as a whole, and return its feature columns in the schema's order."""
    frame = check_is_frame(frame)
    names = [f.name for f in features]
    doubled = frame.columns[frame.columns.duplicated()].tolist()
    if doubled:
        raise DataError(f"columns occur twice: {listed(doubled)}.")
    missing = [n for n in names if n not in frame.columns]
    unknown = [c for c in frame.columns if c not in names and c != target]
    if missing or unknown:
        parts = []
        if missing:
            parts.append(f"missing columns: {listed(missing)}")
        if unknown:
            hint = nearest(unknown[0], missing or names)
            parts.append(f"unknown columns: {listed(unknown)}.{hint} Drop what the model does not use")
        raise DataError(". ".join(parts) + f". The schema has: {listed(names, 40)}.")
    if frame.empty:
        raise DataError("the table has no rows.")
    if frame.index.has_duplicates:
        twice = frame.index[frame.index.duplicated()].unique().tolist()
        raise DataError(f"the index names people, so its labels must be unique; twice or more: {listed(twice)}.")
    return frame[names]


def problems_of(frame: pd.DataFrame, features: Sequence[Feature]) -> pd.DataFrame:
    """List every value that does not fit, in row order."""
    found: list[tuple[int, int, Any, str]] = []
    for f, feature in enumerate(features):
        column = frame[feature.name]
        if _fits(feature, column):
            continue
        for rows, text in _faults(feature, column):
            values = column.iloc[rows].tolist()
            found.extend((int(r), f, plain(v), text) for r, v in zip(rows, values, strict=True))
    if not found:
        return _NO_PROBLEMS.copy()
    found.sort(key=lambda fault: fault[:2])
    return _problem_table(frame, features, found)


def _problem_table(
    frame: pd.DataFrame, features: Sequence[Feature], found: Sequence[tuple[int, int, Any, str]]
) -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "row": pd.Series([frame.index[r] for r, *_ in found], dtype=object),
            "column": pd.Series([features[f].name for _, f, *_ in found], dtype=object),
            "value": pd.Series([v for *_, v, _ in found], dtype=object),
            "problem": pd.Series([t for *_, t in found], dtype=object),
        },
        columns=_COLUMNS,
    )
    table.attrs["positions"] = np.array([r for r, *_ in found], dtype=np.intp)
    return table


_NO_PROBLEMS = _problem_table(pd.DataFrame(), (), ())


def describe(problem: Any) -> str:
    """Return one fault, a row of `problems_of`, as a phrase."""
    return f"column {problem.column!r}: {_shown(problem.value)} {problem.problem}"


def raise_problems(problems: pd.DataFrame) -> None:
    """Raise an error that names the first faults and keeps all of them as `problems`."""
    lines = [f"  row {plain(p.row)!r}, {describe(p)}" for p in problems.head(5).itertuples()]
    more = f"\n  ... and {len(problems) - 5} more (see error.problems)" if len(problems) > 5 else ""
    raise DataError("the table does not fit the schema:\n" + "\n".join(lines) + more, problems)


def _fits(feature: Feature, column: pd.Series[Any]) -> bool:
    """Whether a quick check finds no fault in a column; if not, `_faults` checks it value by value."""
    if not feature.numeric:
        return bool((category_codes(feature, column) >= 0).all()) and not column.hasnans
    if not isinstance(column.dtype, np.dtype) or column.dtype.kind not in "iuf":
        return False
    x = feature.as_held(column.to_numpy())
    low, high = feature.possible
    possible = bool(((x >= low) & (x <= high)).all())  # NaN is not
    return possible and not (feature.whole and (x != np.round(x)).any())


def _faults(feature: Feature, column: pd.Series[Any]) -> list[tuple[NDArray[np.intp], str]]:
    """Return the faults of one column: row positions, and what is wrong there."""
    empty = column.isna().to_numpy()
    allowed = feature.possible_text()
    if not feature.missing:
        out = [(np.flatnonzero(empty), f"is missing; allowed: {allowed}")]
    else:  # a model tells None and NaN apart, and a column of objects can hold both
        both = may_hold_none(feature, column)
        odd = [row for row in np.flatnonzero(empty) if both and not _is_nan(column.iloc[row])]
        out = [(np.array(odd, dtype=np.intp), "is missing in another way than NaN; write it as NaN, or fill it")]
    if not feature.numeric:
        unseen = np.flatnonzero((category_codes(feature, column) < 0) & ~empty)
        hints = {text: nearest(text, feature.values) for text in {str(column.iloc[row]) for row in unseen}}
        for row in unseen:
            hint = hints[str(column.iloc[row])]
            out.append((np.array([row]), f"is not a known category; allowed: {allowed}.{hint}"))
        return [o for o in out if len(o[0])]
    wrong = not_numbers(column) & ~empty
    out.append((np.flatnonzero(wrong), f"is not a number; allowed: {allowed}"))
    x = np.full(len(column), feature.array[0])
    usable = ~empty & ~wrong
    given = column.to_numpy(dtype=object)[usable]
    x[usable] = feature.as_held([_as_float(value) for value in given])
    low, high = feature.possible
    beyond = usable & ~((x >= low) & (x <= high))
    least, most = (np.nan if end is None else end for end in feature.valid_range)
    outside = beyond & ((x < least) | (x > most))
    out.append((np.flatnonzero(outside), f"is outside the valid range; allowed: {allowed}"))
    infinite = np.zeros(len(column), dtype=bool)
    infinite[usable] = [_is_infinite(value) for value in given]
    infinite &= beyond & ~outside
    out.append((np.flatnonzero(infinite), f"is not finite; allowed: {allowed}"))
    held = f"is beyond what can be worked with; allowed: {low:.16g} to {high:.16g}"
    out.append((np.flatnonzero(beyond & ~outside & ~infinite), held))
    if feature.whole:
        broken = usable & ~beyond & (x != np.round(x))
        out.append((np.flatnonzero(broken), f"is not a whole number; allowed: {allowed}"))
    return [o for o in out if len(o[0])]


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a Python integer can exceed all floats
        return np.inf if value > 0 else -np.inf


def _is_infinite(value: Any) -> bool:
    try:
        return math.isinf(value)
    except OverflowError:  # an integer is finite, however large
        return False


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def not_numbers(column: pd.Series[Any]) -> NDArray[np.bool_]:
    """Return a mask of the values that are no numbers; truth values and texts are none."""
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
        return np.zeros(len(column), dtype=np.bool_)
    return np.array([not is_real(v) for v in column], dtype=np.bool_)


def _shown(value: Any) -> str:
    """Return a value for a message, shortened if it is very long."""
    text = repr(plain(value))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"


def read_people(path: Path, schema: Schema, index: str | None = None) -> pd.DataFrame:
    """Read a table of people; every column must be a feature of the schema, or its target."""
    frame = read_table(path, schema.by_name, index)
    try:
        check_columns(frame, schema.features, schema.target)
    except DataError as error:
        labels = index is None and any(name not in schema.by_name for name in frame.columns)
        hint = " If a column labels people, name it: --index." if labels else ""
        raise DataError(f"{str(path)!r}: {error}{hint}") from error
    return frame


def read_training(path: Path, schema: Schema) -> pd.DataFrame:
    """Read the training table: the features of the schema and its target; other columns are left out.

    A text in a numeric column is an error here, as no single person would be refused for it.
    """
    frame = read_table(path, schema.by_name)
    known = [name for name in frame.columns if name in schema.by_name or name == schema.target]
    missing = [name for name in schema.names if name not in frame.columns]
    if missing:
        hint = nearest(missing[0], [name for name in frame.columns if name not in known])
        raise DataError(
            f"{str(path)!r}: missing columns: {listed(missing)}.{hint} The schema has: {listed(schema.names, 40)}."
        )
    frame = frame[known]
    for feature in schema.features:
        column = frame[feature.name]
        if not feature.numeric or pd.api.types.is_numeric_dtype(column.dtype):
            continue
        for label, value in column.items():
            if isinstance(value, str):
                raise DataError(
                    f"{str(path)!r}, row {label!r}, column {feature.name!r}: {value!r} is not a number, but the "
                    f"schema says that this column is {feature.kind}."
                )
    return frame
