"""Percentiles of ordered features in the fitted data: mean rank for numbers, cumulative share for ordinals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._messages import listed
from leastways.errors import DataError
from leastways.schema import Feature, Schema, category_codes, not_numbers

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Percentiles:
    """Per feature: the sorted data of a number, the cumulative shares of an ordinal, nothing for a category."""

    features: tuple[Feature, ...]
    data: tuple[Numbers, ...]

    @classmethod
    def fit(cls, schema: Schema, frame: pd.DataFrame) -> Percentiles:
        """Learn the percentiles from a table; missing values do not count."""
        return cls(schema.features, tuple(_learn(f, frame[f.name].dropna()) for f in schema.features))

    def of(self, f: int, levels: Numbers) -> Numbers:
        """Return the percentiles, from 0 to 1, of feature f at these levels: [P, slots] in and out."""
        if not self.features[f].ordered:
            return np.broadcast_to(0.0, levels.shape)
        if levels.strides[0] == 0:  # all people have the same grid: once is enough
            return np.broadcast_to(self._at(f, levels[0]), levels.shape)
        return self._at(f, levels)

    def _at(self, f: int, levels: Numbers) -> Numbers:
        if self.features[f].numeric:
            return mean_rank(self.data[f], levels)
        return self.data[f][levels.astype(np.intp)]


def _learn(feature: Feature, column: pd.Series[Any]) -> Numbers:
    if not feature.ordered:
        return np.empty(0)
    if column.empty:
        raise DataError(f"column {feature.name!r} of the fitted table holds no value.")
    if feature.numeric:
        bad = column[not_numbers(column)].unique().tolist()
        if bad:
            raise DataError(f"column {feature.name!r} of the fitted table holds {listed(bad)}, which is not a number.")
        return np.sort(feature.as_held(column.to_numpy(dtype=np.float64)))
    codes = category_codes(feature, column)
    known = codes[codes >= 0]
    if not len(known):
        raise DataError(
            f"column {feature.name!r} of the fitted table holds none of its values, {feature.allowed_text()}, but "
            f"{listed(column.unique().tolist())}."
        )
    return np.bincount(known, minlength=len(feature.values)).cumsum() / len(known)


def mean_rank(data: Numbers, values: Numbers) -> Numbers:
    """Return each value's mean rank in sorted data, as a share (scipy's percentileofscore with kind="rank")."""
    left = np.searchsorted(data, values, side="left")
    right = np.searchsorted(data, values, side="right")
    return (left + right + (left < right)) / (2.0 * len(data))
