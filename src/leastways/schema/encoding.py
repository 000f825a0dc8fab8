"""Encode raw data frames as integer codes, and decode them.

A code is a position in a person's own grid. A number of theirs that lies between two points, or beyond the ends, is
inserted in order: below the insertion code `k` is grid point `k`, the insertion is the person's number, and above it
code `k` is grid point `k - 1`. A missing value has the code after the grid's last point.
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
    """People as codes.

    Parameters
    ----------
    codes
        Their present values, [people, features].
    inserted_at
        The code of a value that is not a grid point, -1 where there is none, [people, features].
    own
        The number that was inserted, NaN where there is none or the value is missing, [people, features].
    index
        The labels of the table's rows.
    """

    codes: Codes
    inserted_at: Codes
    own: NDArray[np.float64]
    index: pd.Index[Any]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of people and of features."""
        return self.codes.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.codes, dtype=dtype, copy=True if copy is None else copy)

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Mask of the values that are missing, [people, features]."""
        return (self.inserted_at >= 0) & np.isnan(self.own)

    def take(self, rows: NDArray[np.intp] | slice) -> Encoded:
        """Return these rows."""
        return Encoded(self.codes[rows], self.inserted_at[rows], self.own[rows], self.index[rows])

    def content(self) -> NDArray[np.float64]:
        """Return numbers that identify each person's state, for seeding."""
        return np.concatenate([self.codes.astype(np.float64), np.nan_to_num(self.own, nan=-1e300)], axis=1)


def encode_column(feature: Feature, column: pd.Series[Any]) -> tuple[Codes, Codes, NDArray[np.float64]]:
    """Encode a checked column: codes, codes of inserted values, inserted numbers."""
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
    """Return a column of numbers as floats, rounded to its dtype; NaN where one is missing."""
    return feature.as_held(column.to_numpy(dtype=np.float64, na_value=np.nan))


def category_codes(feature: Feature, column: pd.Series[Any]) -> Codes:
    """Return each value's position among the categories, -1 where it is none of them."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        positions = feature.index.get_indexer(column.cat.categories.astype(object))
        codes = column.cat.codes.to_numpy()
        if not len(positions):
            return np.full(len(column), -1, dtype=np.int32)
        return np.where(codes < 0, -1, positions[codes]).astype(np.int32)
    values: pd.Index[Any] = pd.Index(column.to_numpy(dtype=object), dtype=object)
    try:
        return feature.index.get_indexer(values).astype(np.int32)
    except TypeError:  # a cell holds a list, which is no category; encode the other cells
        known = np.array([_is_hashable(value) for value in values], dtype=np.bool_)
        return np.where(known, feature.index.get_indexer(values.where(known, None)), -1).astype(np.int32)


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def encode_relative(feature: Feature, column: pd.Series[Any], at: Codes, own: NDArray[np.float64]) -> Codes:
    """Encode options in the grids of their people; -1 for a value that is neither a grid point nor the person's own."""
    if feature.numeric:
        x = floats_of(feature, column)
        point = np.searchsorted(feature.array, x)
        on_grid = feature.array[np.minimum(point, len(feature.array) - 1)] == x
        codes = np.where(on_grid, point + ((at >= 0) & (point >= at)), -1)
        codes = np.where((at >= 0) & (x == own), at, codes).astype(np.int32)
    else:
        codes = category_codes(feature, column)
    if feature.missing:
        codes = np.where(column.isna().to_numpy() & (at >= 0) & np.isnan(own), at, codes)
    return codes


def decode_column(feature: Feature, codes: Codes, at: Codes, own: NDArray[np.float64]) -> Any:
    """Decode one feature's codes, in the grids of their people, into a column of its dtype."""
    out = feature.held.take(np.minimum(codes - ((at >= 0) & (codes > at)), len(feature.values) - 1))
    inserted = (at >= 0) & (codes == at)
    if not inserted.any():
        return out
    gone = inserted & np.isnan(own)
    known = inserted & ~gone
    if known.any():
        out[known] = feature.to_column(own[known])
    return feature.with_gaps(out, gone) if gone.any() else out


def grid_points(slots: NDArray[np.intp], at: Codes, size: int) -> NDArray[np.intp]:
    """Return the grid point of each slot, [P, slots], in grids of `size` points.

    Own values were inserted `at` these codes, -1 where there is none. A slot that holds an own value or is not in use
    has the next or the last point.
    """
    return np.minimum(np.where((at >= 0) & (slots > at), slots - 1, slots), size - 1)


def grid_levels(feature: Feature) -> NDArray[np.float64]:
    """Return a feature's grid as numbers: its values, or positions for categories."""
    return feature.array if feature.numeric else np.arange(len(feature.values), dtype=np.float64)


def levels_now(features: Sequence[Feature], people: Encoded) -> NDArray[np.float64]:
    """Return present values as numbers, positions for categories, [P, F]; NaN where one is missing."""
    grids = map(grid_levels, features)
    on_grid = [grid[np.minimum(people.codes[:, f], len(grid) - 1)] for f, grid in enumerate(grids)]
    return np.where(people.inserted_at >= 0, people.own, np.stack(on_grid, axis=1))


def levels_of(features: Sequence[Feature], people: Encoded) -> list[NDArray[np.float64]]:
    """Return each feature's values by slot as numbers, positions for categories, one array [P, slots] a feature.

    A missing value is NaN, which meets no condition. Where nothing was inserted, the last slot is not in use (see
    `slots_used`) and repeats the last grid point.
    """
    out = []
    for f, feature in enumerate(features):
        slots, base = np.arange(feature.n_slots), grid_levels(feature)
        at = people.inserted_at[:, f, None]
        if feature.open and (at >= 0).any():
            out.append(np.where(slots == at, people.own[:, f, None], base[grid_points(slots, at, len(base))]))
        else:
            grid = base[np.minimum(slots, len(base) - 1)]
            out.append(np.broadcast_to(grid, (len(people), len(slots))))
    return out


def finite(features: Sequence[Feature], levels: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """Return levels with the middle of the grid in place of missing values.

    A missing value never changes, so distances do not depend on the number. Surrogates read it as well: most models
    treat a gap as a usual value.
    """
    out = []
    for feature, x in zip(features, levels, strict=True):
        middle = len(feature.values) // 2
        gone = feature.missing and np.isnan(x)
        out.append(np.where(gone, feature.array[middle] if feature.numeric else middle, x) if np.any(gone) else x)
    return out


def slots_used(features: Sequence[Feature], people: Encoded) -> NDArray[np.int32]:
    """Return the number of slots in use of each person's grids, [P, F]."""
    grid = np.array([len(f.values) for f in features], dtype=np.int32)
    return (grid + (people.inserted_at >= 0)).astype(np.int32)
