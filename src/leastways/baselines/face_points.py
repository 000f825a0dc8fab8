"""Training rows as points: where they lie, how far apart they are, how densely they lie.

Points lie on the schema's grid, for an option must be made of grid values. A value between two grid points counts as
the nearer one, a person's own value too; where an option has the grid point nearest to the person's own value, it keeps
the own value. So "the same grid point" always means "no change".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leastways.schema import Encoded, Schema

_DECIMALS = 9  # distances are compared after rounding: the last bits depend on the order of a sum
LEAST = 1e-9  # no arc is free: a sparse matrix takes a zero for no arc at all
_BLOCK_CELLS = 4_000_000  # of a distance matrix that is held at a time


@dataclass(frozen=True)
class Space:
    """What distances need to know of a schema."""

    ordered: NDArray[np.bool_]  # [F] numbers and ordered categories
    sense: NDArray[np.int8]  # [F] 1: only up, -1: only down, 0: either way
    fixed: NDArray[np.bool_]  # [F]
    grids: tuple[NDArray[np.float64], ...]  # each feature's grid on a scale from 0 to 1; places for categories

    @classmethod
    def of(cls, schema: Schema) -> Space:
        """Read the scales and directions off a schema."""
        features = schema.features
        return cls(
            ordered=np.array([f.ordered for f in features]),
            sense=np.array([{"up": 1, "down": -1}.get(f.direction, 0) for f in features], dtype=np.int8),
            fixed=np.array([f.direction == "fixed" for f in features]),
            grids=tuple(
                (f.array - f.array[0]) / (f.range or 1.0)
                if f.numeric
                else np.arange(len(f.values)) / (max(len(f.values) - 1, 1) if f.ordered else 1.0)
                for f in features
            ),
        )

    def places(self, codes: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return where grid codes lie, [R, F]."""
        return np.stack([grid[codes[:, f]] for f, grid in enumerate(self.grids)], axis=1)

    def distances(self, a: NDArray[np.int32], b: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the distances [A, B] of points: per feature, difference over range, or 0 or 1 for categories; summed.

        Infinite where a fixed feature differs. Feature by feature, so that a distance does not depend on how many
        are computed together.
        """
        at, to = self.places(a), self.places(b)
        out = np.zeros((len(a), len(b)))
        for f in range(len(self.grids)):
            if self.ordered[f] and not self.fixed[f]:
                out += np.abs(at[:, f, None] - to[None, :, f])
            else:
                out += np.where(a[:, f, None] != b[None, :, f], np.inf if self.fixed[f] else 1.0, 0.0)
        return rounded(out)

    def one_way(self, a: NDArray[np.int32], b: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whether the step from each point of `a` to the same row of `b` goes against no direction; shapes [R, F]."""
        fine = np.ones(len(a), np.bool_)
        for f in np.flatnonzero(self.sense):
            fine &= (b[:, f] >= a[:, f]) if self.sense[f] > 0 else (b[:, f] <= a[:, f])
        for f in np.flatnonzero(self.fixed):
            fine &= a[:, f] == b[:, f]
        return fine


def rounded(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round distances so that equal ones are equal however they were summed."""
    return np.round(distances, _DECIMALS)


def grid_codes(schema: Schema, rows: Encoded) -> NDArray[np.int32]:
    """Return the nearest grid point of every value, [R, F]."""
    out = rows.codes.copy()
    for f, feature in enumerate(schema.features):
        if not feature.open:
            continue
        out[rows.missing[:, f], f] = 0  # it has no place, and stays: the first is as good as any
        at = np.flatnonzero((rows.inserted_at[:, f] >= 0) & ~rows.missing[:, f])
        if not feature.numeric:
            continue
        own, above = rows.own[at, f], np.minimum(rows.inserted_at[at, f], len(feature.array) - 1)
        below = np.maximum(rows.inserted_at[at, f] - 1, 0)
        lower = own - feature.array[below] <= feature.array[above] - own
        out[at, f] = np.where(lower, below, above)
    return out


def in_grid_of(
    points: NDArray[np.int32],  # [R, F] places in the schema's grid
    start: NDArray[np.int32],  # [F] the person, in the own grid
    inserted_at: NDArray[np.int32],  # [F]
    stands_at: NDArray[np.int32],  # [F] the person, in the schema's grid
) -> NDArray[np.int32]:
    """Return points as codes of one person's own grid, [R, F]."""
    shifted = points + ((inserted_at >= 0) & (points >= inserted_at))
    return np.where(points == stands_at, start, shifted).astype(np.int32)


@dataclass(frozen=True)
class Density:
    """A kernel density estimate, as a share: 1 where all rows lie, never below what one row gives by itself."""

    space: Space
    codes: NDArray[np.int32]  # [R, F] points that the estimate sums over
    weight: NDArray[np.float64]  # [R] their rows, summing to 1
    bandwidth: float
    floor: float

    def at(self, codes: NDArray[np.int32]) -> NDArray[np.float64]:
        """Estimate the density at some points, [Q]; fixed features of others count as far as any category does."""
        space = replace(self.space, fixed=np.zeros_like(self.space.fixed))
        size = max(1, _BLOCK_CELLS // max(1, len(self.codes)))
        out = np.empty(len(codes))
        for first in range(0, len(codes), size):
            part = slice(first, first + size)
            near = space.distances(codes[part], self.codes)
            out[part] = (np.exp(-0.5 * (near / self.bandwidth) ** 2) * self.weight).sum(axis=1)
        return np.clip(out, self.floor, 1.0)
