"""The one codec between raw data frames and integer codes.

A code is a place in a person's own grid. Where the person's number lies between two points, or beyond the ends, it is
put in its place, so codes keep their order: code `k` below the insertion is grid point `k`, the insertion is the
person's number, and above it code `k` is grid point `k - 1`. A missing value stands behind the grid's last point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways.schema.feature import Feature

Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Encoded:
    """People as codes. Arrays are [people, features]."""

    codes: Codes
    inserted_at: Codes  # place of the person's own value, -1 where it is a grid point
    own: NDArray[np.float64]  # the person's own number where it was inserted, else NaN; also NaN where it is missing
    index: pd.Index[Any]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def shape(self) -> tuple[int, ...]:
        """People and features."""
        return self.codes.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.codes, dtype=dtype, copy=True if copy is None else copy)

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Where a person has no value."""
        return (self.inserted_at >= 0) & np.isnan(self.own)

    def take(self, rows: NDArray[np.intp] | slice) -> Encoded:
        """Return some of the people."""
        return Encoded(self.codes[rows], self.inserted_at[rows], self.own[rows], self.index[rows])

    def content(self) -> NDArray[np.float64]:
        """Return each person's state as numbers that identify it, for seeding."""
        return np.concatenate([self.codes.astype(np.float64), np.nan_to_num(self.own, nan=-1e300)], axis=1)


def encode_column(feature: Feature, column: pd.Series[Any]) -> tuple[Codes, Codes, NDArray[np.float64]]:
    """Encode a checked column: codes, insertion places, own numbers."""
    n = len(column)
    at, own = np.full(n, -1, np.int32), np.full(n, np.nan)
    if not feature.numeric:
        codes = category_codes(feature, column)
    else:
        x = floats_of(feature, column) + 0.0  # no minus zero: it is the same number with other bits
        codes = np.searchsorted(feature.array, x).astype(np.int32)
        off = feature.array[np.minimum(codes, len(feature.array) - 1)] != x
        at[off], own[off] = codes[off], x[off]
    if feature.missing:
        gone = column.isna().to_numpy()
        codes[gone] = at[gone] = len(feature.values)
    return codes, at, own


def floats_of(feature: Feature, column: pd.Series[Any]) -> NDArray[np.float64]:
    """Return a column of numbers as floats that the column can hold; NaN where one is missing."""
    return feature.as_held(column.to_numpy(dtype=np.float64, na_value=np.nan))


def category_codes(feature: Feature, column: pd.Series[Any]) -> Codes:
    """Return each value's place among the categories, -1 where it is none of them."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        places = feature.index.get_indexer(column.cat.categories.astype(object))
        codes = column.cat.codes.to_numpy()
        if not len(places):
            return np.full(len(column), -1, dtype=np.int32)
        return np.where(codes < 0, -1, places[codes]).astype(np.int32)
    values: pd.Index[Any] = pd.Index(column.to_numpy(dtype=object), dtype=object)
    try:
        return feature.index.get_indexer(values).astype(np.int32)
    except TypeError:  # a list in a cell, which is nobody's category and must not stop the others
        known = np.array([_is_hashable(value) for value in values], dtype=np.bool_)
        return np.where(known, feature.index.get_indexer(values.where(known, None)), -1).astype(np.int32)


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def encode_relative(feature: Feature, column: pd.Series[Any], at: Codes, own: NDArray[np.float64]) -> Codes:
    """Encode option values in the grids of their people; -1 where a value is in neither grid nor person."""
    if feature.numeric:
        x = floats_of(feature, column)
        place = np.searchsorted(feature.array, x)
        on_grid = feature.array[np.minimum(place, len(feature.array) - 1)] == x
        codes = np.where(on_grid, place + ((at >= 0) & (place >= at)), -1)
        codes = np.where((at >= 0) & (x == own), at, codes).astype(np.int32)
    else:
        codes = category_codes(feature, column)
    if feature.missing:
        codes = np.where(column.isna().to_numpy() & (at >= 0) & np.isnan(own), at, codes)
    return codes


def decode_column(feature: Feature, codes: Codes, at: Codes, own: NDArray[np.float64]) -> Any:
    """Turn one feature's codes, in the grids of their people, back into a column of the original dtype."""
    out = feature.held.take(np.minimum(codes - ((at >= 0) & (codes > at)), len(feature.values) - 1))
    inserted = (at >= 0) & (codes == at)
    if not inserted.any():
        return out
    gone = inserted & np.isnan(own)
    known = inserted & ~gone
    if known.any():
        out[known] = feature.to_column(own[known])
    return feature.with_gaps(out, gone) if gone.any() else out


def grid_places(slots: NDArray[np.intp], at: Codes, size: int) -> NDArray[np.intp]:
    """Return which point of a grid of `size` each slot is where own values were put in `at` (-1: none), [P, slots].

    A slot that an own value is in, or that is left over, has the next or the last point.
    """
    return np.minimum(np.where((at >= 0) & (slots > at), slots - 1, slots), size - 1)


def grid_levels(feature: Feature) -> NDArray[np.float64]:
    """Return a feature's grid as numbers: its values, or their places for categories."""
    return feature.array if feature.numeric else np.arange(len(feature.values), dtype=np.float64)


def levels_now(features: Sequence[Feature], people: Encoded) -> NDArray[np.float64]:
    """Return people's present values as numbers, places for categories, [P, F]; NaN where one is missing."""
    grids = map(grid_levels, features)
    on_grid = [grid[np.minimum(people.codes[:, f], len(grid) - 1)] for f, grid in enumerate(grids)]
    return np.where(people.inserted_at >= 0, people.own, np.stack(on_grid, axis=1))


def levels_of(features: Sequence[Feature], people: Encoded) -> list[NDArray[np.float64]]:
    """Return each feature's values as numbers for each person, [P, slots]: own numbers in place, places for categories.

    NaN where a value is missing, which meets no condition. The slot left over where nothing was inserted repeats the
    last grid point; `slots_used` says it is not used.
    """
    out = []
    for f, feature in enumerate(features):
        slots, base = np.arange(feature.n_slots), grid_levels(feature)
        at = people.inserted_at[:, f, None]
        if feature.open and (at >= 0).any():
            out.append(np.where(slots == at, people.own[:, f, None], base[grid_places(slots, at, len(base))]))
        else:
            grid = base[np.minimum(slots, len(base) - 1)]
            out.append(np.broadcast_to(grid, (len(people), len(slots))))
    return out


def finite(features: Sequence[Feature], levels: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """Return levels with a number where a value is missing: it stays, so distances are 0 whichever it is.

    A surrogate of the model reads it too, so it is the middle of the grid: most models take a gap for something usual.
    """
    out = []
    for feature, x in zip(features, levels, strict=True):
        middle = len(feature.values) // 2
        gone = feature.missing and np.isnan(x)
        out.append(np.where(gone, feature.array[middle] if feature.numeric else middle, x) if np.any(gone) else x)
    return out


def slots_used(features: Sequence[Feature], people: Encoded) -> NDArray[np.int32]:
    """Return how many slots of each feature a person's grid fills, [P, F]."""
    grid = np.array([len(f.values) for f in features], dtype=np.int32)
    return (grid + (people.inserted_at >= 0)).astype(np.int32)
