"""Group people by columns of a table, numbers in bins, and intersections of several columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._messages import listed, nearest
from leastways._values import plain
from leastways.errors import DataError, SettingError
from leastways.schema import Schema

NOT_STATED = "not stated"  # the group of people whose value is missing
CROSS = " × "  # between the parts of an intersection's name
FEW_NUMBERS, QUANTILES, MOST_GROUPS = 6, 4, 50
_TINY, _HUGE = 1e-6, 1e15  # bounds of bins between these are written without an exponent
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Grouping:
    """People sorted into groups: by one column, or by several at once."""

    columns: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]  # of each group: its value in each column
    codes: Places  # [people] index of each person's group in `parts`

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups: their values."""
        return tuple(CROSS.join(part) for part in self.parts)

    @property
    def name(self) -> str:
        """The name of the grouping: its columns."""
        return CROSS.join(self.columns)


def groupings_of(
    people: pd.DataFrame, schema: Schema, by: str | Sequence[str], groups: pd.DataFrame | None = None
) -> list[Grouping]:
    """Sort people by each column of `by`, by each pair of them, and by all at once."""
    wanted = [by] if isinstance(by, str) else list(by)
    if not wanted:
        raise SettingError("by names no column; name at least one to group people by, such as by=['sex'].")
    table = _with_groups(people, groups)
    single = [_by_column(table, schema, text) for text in wanted]
    names = [grouping.name for grouping in single]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SettingError(f"by names a column twice: {listed(twice)}.")
    sizes = dict.fromkeys((2, len(single)))
    crossed = [_crossed(some) for size in sizes if 2 <= size <= len(single) for some in combinations(single, size)]
    return single + crossed


def references_of(
    groupings: Sequence[Grouping], refused: NDArray[np.bool_], reference: Mapping[str, Any] | None
) -> list[int]:
    """Return the index of each grouping's reference group: the named one, or the one with most refused people."""
    if reference is not None and not isinstance(reference, Mapping):
        raise SettingError(f"reference must map a column to a group, such as {{'sex': 'male'}}, not {reference!r}.")
    given = {str(column): _text(value) for column, value in (reference or {}).items()}
    single = {g.name: g for g in groupings if len(g.columns) == 1}
    for column, value in given.items():
        if column not in single:
            raise SettingError(
                f"reference names {column!r}, which people are not grouped by; by has: {listed(list(single))}."
                + nearest(column, single)
            )
        if value not in single[column].groups:
            known = single[column].groups
            raise SettingError(
                f"reference: {column!r} has no group {value!r}; it has: {listed(known, 20)}.{nearest(value, known)}"
            )
    return [_reference(grouping, refused, given) for grouping in groupings]


def _reference(grouping: Grouping, refused: NDArray[np.bool_], given: Mapping[str, str]) -> int:
    counts = np.bincount(grouping.codes[refused], minlength=len(grouping.parts))
    wanted = {place: given[column] for place, column in enumerate(grouping.columns) if column in given}
    fits = np.array([all(part[place] == value for place, value in wanted.items()) for part in grouping.parts])
    if not counts[fits].any():
        named = CROSS.join(given.get(column, "...") for column in grouping.columns)
        raise SettingError(f"reference: no person in group {named!r} of {grouping.name!r} was refused; choose another.")
    return int(np.argmax(np.where(fits, counts, -1)))


def group_text(value: Any) -> str:
    """Return the name of the group of people with this value."""
    return NOT_STATED if pd.isna(value) else _text(value)


def group_texts(column: pd.Series[Any]) -> list[str]:
    """Return the name of each person's group, by the text of their values.

    1, 1.0 and "1" have the same text and are one group; True is not 1, although they are equal in Python.
    """
    missing = column.isna().tolist()
    return [NOT_STATED if gone else _text(value) for value, gone in zip(column.tolist(), missing, strict=True)]


def value_groups(column: pd.Series[Any]) -> tuple[str, ...]:
    """Return the groups of an attribute by its values; none where it holds numbers for bins, or too many values."""
    if _is_numeric(column) and column.nunique() > FEW_NUMBERS:
        return ()
    try:
        return _by_value(str(column.name), column, None).groups
    except SettingError:
        return ()


def _with_groups(people: pd.DataFrame, groups: pd.DataFrame | None) -> pd.DataFrame:
    """Join attributes that the model does not see to the people."""
    if groups is None:
        return people
    if not isinstance(groups, pd.DataFrame):
        raise DataError(f"groups must be a DataFrame with the people's index, not {type(groups).__name__}.")
    if groups.index.has_duplicates:
        twice = groups.index[groups.index.duplicated()].unique().tolist()
        raise DataError(f"groups has people twice or more: {listed(twice)}.")
    missing = people.index.difference(groups.index, sort=False)
    if len(missing):
        raise DataError(f"groups lacks {listed(missing.tolist())}, who are in the plans; it needs a row for each.")
    extra = groups.loc[people.index]
    return pd.concat([people.drop(columns=[c for c in extra.columns if c in people.columns]), extra], axis=1)


def _by_column(table: pd.DataFrame, schema: Schema, text: str) -> Grouping:
    """Sort people by a column, given as its name or as ``name:25,40,60`` with the bounds of bins."""
    name, edges = _parsed(table, text)
    column = table[name]
    feature = schema.by_name.get(name)
    if _is_numeric(column) or (feature is not None and feature.numeric):
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan)
        if edges is not None or len(np.unique(numbers[~np.isnan(numbers)])) > FEW_NUMBERS:
            return _binned(name, numbers, edges)
    elif edges is not None:
        raise SettingError(f"by: {text!r} gives bins, but {name!r} does not hold numbers.")
    order = list(feature.values) if feature is not None and not feature.numeric else None
    return _by_value(name, column, order)


def _is_numeric(column: pd.Series[Any]) -> bool:
    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)


def _parsed(table: pd.DataFrame, text: str) -> tuple[str, list[float] | None]:
    if text in table.columns:
        return text, None
    name, colon, bounds = str(text).rpartition(":")
    if not colon or name not in table.columns:
        known = [str(column) for column in table.columns]
        raise SettingError(
            f"by: there is no column {name or text!r}; there are: {listed(known, 40)}.{nearest(name or text, known)} "
            "Attributes that the model does not see go into groups."
        )
    try:
        edges = [float(bound) for bound in bounds.split(",")]
    except ValueError:
        edges = []
    if not edges or not all(np.isfinite(edges)) or any(a >= b for a, b in pairwise(edges)):
        raise SettingError(f"by: {text!r}: bins are rising numbers with commas between, such as {name}:25,40,60.")
    return name, edges


def _binned(name: str, numbers: NDArray[np.float64], edges: list[float] | None) -> Grouping:
    """Sort numbers into bins; quartiles unless bounds are given. A bound belongs to the bin above it."""
    known = ~np.isnan(numbers)
    if edges is None:
        shares = np.arange(1, QUANTILES) / QUANTILES
        distinct = np.unique(numbers[known])
        edges = np.unique(np.quantile(numbers[known], shares, method="higher")).tolist()
        # where most people have the least value (no capital gain), the others form the second group
        edges = [edge for edge in edges if edge > distinct[0]] or [float(distinct[1])]
    ends = _bounds_text(edges)
    between = [f"{low} to below {high}" for low, high in pairwise(ends)]
    names = [f"below {ends[0]}", *between, f"{ends[-1]} and above"]
    codes = np.where(known, np.searchsorted(edges, numbers, side="right"), len(names))
    return _present(name, [*names, NOT_STATED], codes)


def _bounds_text(edges: list[float]) -> list[str]:
    """Return the bounds of bins as text, in one format, with as few digits as distinguish them."""
    sizes = [abs(edge) for edge in edges if edge]
    readable = not sizes or (min(sizes) >= _TINY and max(sizes) < _HUGE)
    short = [_digits(edge) if readable else _power(edge, 5) for edge in edges]
    if len(set(short)) == len(short):
        return short
    return [f"{edge:,}" if readable else _power(edge, 16) for edge in edges]


def _digits(edge: float) -> str:
    """Return a number with grouped thousands and at least six digits."""
    if edge.is_integer():
        return f"{edge:,.0f}"
    before = math.floor(math.log10(abs(edge))) + 1
    text = f"{edge:,.{max(0, 6 - before)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _power(edge: float, places: int) -> str:
    """Return a number in scientific notation with at most that many decimals."""
    number, e, power = f"{edge:.{places}e}".partition("e")
    return number.rstrip("0").rstrip(".") + e + power


def _by_value(name: str, column: pd.Series[Any], order: list[Any] | None) -> Grouping:
    """Sort people by the text of a value, in the schema's order or the column's own, else rising."""
    if order is None and isinstance(column.dtype, pd.CategoricalDtype):
        order = column.cat.categories.tolist()
    missing = column.isna().to_numpy()
    values = column.tolist()
    texts = group_texts(column)
    given = {text: value for text, value, gone in zip(texts, values, missing, strict=True) if not gone}
    if order is None:
        numbers = all(isinstance(plain(value), int | float) for value in column[~missing].tolist())
        rising = sorted(given, key=lambda text: plain(given[text])) if numbers else sorted(given)
    else:
        rising = [*(_text(value) for value in order), *sorted(given)]
    if len(given) > MOST_GROUPS:
        raise SettingError(
            f"by: {name!r} has {len(given)} different values, more than {MOST_GROUPS} groups can be compared; "
            "use a coarser column, or bins for numbers (such as age:25,40,60)."
        )
    place = {text: i for i, text in enumerate(dict.fromkeys([*rising, NOT_STATED]))}
    return _present(name, list(place), np.array([place[text] for text in texts], dtype=np.int64))


def _text(value: Any) -> str:
    value = plain(value)
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _present(name: str, names: Sequence[str], codes: NDArray[Any]) -> Grouping:
    """Leave out groups without people."""
    used, places = np.unique(codes, return_inverse=True)
    return Grouping((name,), tuple((names[place],) for place in used), places.astype(np.int64))


def _crossed(some: Sequence[Grouping]) -> Grouping:
    """Sort people by several columns at once; only the combinations that occur."""
    shape = tuple(len(grouping.parts) for grouping in some)
    flat = np.ravel_multi_index(tuple(grouping.codes for grouping in some), shape)
    used, codes = np.unique(flat, return_inverse=True)
    cells = zip(*np.unravel_index(used, shape), strict=True)
    parts = tuple(tuple(g.parts[int(i)][0] for g, i in zip(some, places, strict=True)) for places in cells)
    return Grouping(tuple(grouping.name for grouping in some), parts, codes.astype(np.int64))
