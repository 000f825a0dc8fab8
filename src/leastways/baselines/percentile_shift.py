"""The log-percentile shift: what a move costs by how many people it passes (Ustun, Spangher, Liu 2019, section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.tables import Tables
from leastways.schema import Encoded, Schema
from leastways.schema.encoding import levels_now

Floats = NDArray[np.float64]
Quantile = Literal["cdf", "mid"]

# The shift is infinite where Q = 1, at the largest value that occurs. The published package keeps Q this far from 1.
TAIL = 1e-6


@dataclass(frozen=True)
class PercentileShift:
    """|log((1 - Q(new)) / (1 - Q(now)))| per feature, with Q learned from training rows.

    Of values with an order, ordinal places included, Q is the share of rows at or below (`cdf`), or below and half of
    those at (`mid`). A move between two values without an order is that of a binary feature: among rows that hold
    either, with the one that comes first in the schema as 0 and the other as 1.
    """

    quantile: Quantile
    data: tuple[Floats, ...]  # per feature: sorted levels of an ordered one, counts [values] of another
    ordered: tuple[bool, ...]

    @classmethod
    def fit(cls, schema: Schema, rows: Encoded, quantile: Quantile) -> PercentileShift:
        """Learn the distribution of each feature."""
        levels = levels_now(schema.features, rows)
        data = tuple(
            np.sort(levels[:, f])
            if feature.ordered
            else np.bincount(rows.codes[:, f], minlength=feature.n_slots).astype(np.float64)
            for f, feature in enumerate(schema.features)
        )
        return cls(quantile, data, tuple(f.ordered for f in schema.features))

    def of(self, t: Tables) -> Floats:
        """Return what each person's move to each slot costs, [P, V]; 0 for the slot they are at."""
        parts = []
        for f, ordered in enumerate(self.ordered):
            levels, start = t.levels[:, t.offsets[f] : t.offsets[f + 1]], t.start[:, f, None].astype(np.int64)
            parts.append(self._along(f, levels, start) if ordered else self._between(f, start))
        return np.concatenate(parts, axis=1)

    def _along(self, f: int, levels: Floats, start: NDArray[np.int64]) -> Floats:
        """Return the shifts of a feature with an order: levels [P, slots], start [P, 1]."""
        data = self.data[f]
        below, at_most = (np.searchsorted(data, levels, side=side) / len(data) for side in ("left", "right"))
        beyond = _off_zero(1.0 - (at_most if self.quantile == "cdf" else (below + at_most) / 2))
        return np.abs(np.log(beyond / np.take_along_axis(beyond, start, axis=1)))

    def _between(self, f: int, start: NDArray[np.int64]) -> Floats:
        """Return the shifts of a feature without one, each a binary feature's: start [P, 1]."""
        count, slots = self.data[f], np.arange(len(self.data[f]))
        later, either = count[np.maximum(slots, start)], count[slots] + count[start]
        share = np.where(either > 0, later / np.maximum(either, 1.0), 0.5)  # of the value that stands for 1
        ones, zeros = (np.zeros_like(share), share) if self.quantile == "cdf" else (share / 2, (1 + share) / 2)
        return np.where(slots == start, 0.0, np.abs(np.log(_off_zero(ones) / _off_zero(zeros))))


def _off_zero(beyond: Floats) -> Floats:
    return np.maximum(beyond, TAIL)
