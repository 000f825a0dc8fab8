"""FS@k for every k: how many people of a group have an option below a cost."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import betaincinv

from leastways.audit.compare import Chance
from leastways.audit.figures import Figures
from leastways.audit.groups import Grouping
from leastways.audit.resample import LARGE, LEVEL, Beside, Floats, Tally, generator, weighed_means

STEP, SHORTEST, LONGEST = 0.02, 1.5, 3.0
MOST_POINTS = 500  # of a curve; a larger k widens the steps
MOST_RESAMPLES = 500  # the ends of a band are read off a picture, at a hundred points
_ROUNDING = 1e-12  # of shares that are sums
CURVE = ("k", "satisfied", "low", "high", "oracle")


def curve_grid(costs: Floats, k: float) -> Floats:
    """Return the costs to draw a curve at: from 0 to where nearly everybody is, or to `LONGEST`."""
    finite = costs[np.isfinite(costs)]
    most = float(np.quantile(finite, 0.99)) if len(finite) else SHORTEST
    last = max(SHORTEST, min(most, LONGEST), k)
    step = STEP * np.ceil(last / STEP / MOST_POINTS)
    return np.asarray(np.round(np.arange(int(np.ceil(last / step - 1e-9)) + 1) * step, 10), dtype=np.float64)


def curve_table(figures: Figures, grouping: Grouping, grid: Floats, chance: Chance) -> pd.DataFrame:
    """Return a row per group and cost k: FS@k, its pointwise interval, and the oracle's FS@k where there is one."""
    assert figures.costs is not None
    codes = grouping.codes[figures.places]
    parts = []
    for g, group in enumerate(grouping.groups):
        mine = codes == g
        if not mine.any():
            continue
        best = np.full(len(grid), np.nan)
        if figures.best is not None:
            best = _moments(_reached_at(figures.best[:, mine], grid), len(grid))[0]
        value, low, high = _with_interval(figures.costs[:, mine], grid, chance, grouping.name, group)
        columns = dict(zip(CURVE, (grid, value, low, high, best), strict=True))
        keys = pd.MultiIndex.from_tuples([(grouping.name, group)] * len(grid), names=["grouping", "group"])
        parts.append(pd.DataFrame(columns, index=keys))
    return pd.concat(parts)


def no_curves() -> pd.DataFrame:
    """Return the table without a row."""
    keys = pd.MultiIndex.from_arrays([pd.Index([], dtype="str")] * 2, names=["grouping", "group"])
    return pd.DataFrame({name: pd.Series(dtype=np.float64) for name in CURVE}).set_index(keys)


def _with_interval(costs: Floats, grid: Floats, chance: Chance, *words: str) -> tuple[Floats, Floats, Floats]:
    """Return a group's curve and its ends at each k.

    A share of all people, or of none, gets the ends that it has in the tables (see `drawn_values`); but that no cost is
    below 0 is sure.
    """
    value, low, high = _resampled(_reached_at(costs, grid), len(grid), chance, *words)
    end = betaincinv(0.5, costs.shape[1] + 0.5, (1 + LEVEL) / 2)
    low = np.where(value >= 1 - _ROUNDING, 1.0 - end, low)
    high = np.where((value <= _ROUNDING) & (grid > 0), end, high)
    # The share does not fall as k rises, so what is not sure of all is not sure of nearly all.
    return value, np.minimum.accumulate(low[::-1])[::-1], np.maximum.accumulate(high)


def _resampled(reached: NDArray[np.int64], points: int, chance: Chance, *words: str) -> tuple[Floats, Floats, Floats]:
    """Return the curve and its ends from resamples of people."""
    if len(reached) >= LARGE:
        return _normal_interval(reached, points)
    tally = Tally.of(reached.astype(np.float64))
    curves = Tally(_curves(tally.rows.astype(np.int64), points), tally.counts)
    value = curves.sums / tally.n
    resamples = min(chance.bootstraps, MOST_RESAMPLES)
    ends = np.zeros((2, points))
    ends[1, 1:] = 1.0  # no cost is below 0
    random = generator(chance.random_state, "curve", *words)
    draws = weighed_means(curves, Beside(ends, np.array([0.5, 0.5])), resamples, random)
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return value, np.minimum(low, value), np.maximum(high, value)


def _normal_interval(reached: NDArray[np.int64], points: int) -> tuple[Floats, Floats, Floats]:
    """Return the same for very many people: a share's interval is then as good as normal, and needs no resample."""
    mean, square = _moments(reached, points)
    half = NormalDist().inv_cdf((1 + LEVEL) / 2) * np.sqrt(np.maximum(square - mean**2, 0.0) / len(reached))
    return mean, np.maximum(mean - half, 0.0), np.minimum(mean + half, 1.0)


def _moments(reached: NDArray[np.int64], points: int) -> tuple[Floats, Floats]:
    """Return the means of people's curves and of their squares, without holding every curve.

    A person's share at a point is j of T where j of their functions are below it. Squared, that is the sum of
    2 i - 1 over i up to j, over T squared; and the i-th function in rising order is below where j is at least i.
    """
    n, T = reached.shape
    mean, square = np.zeros(points), np.zeros(points)
    for i, column in enumerate(np.sort(reached, axis=1).T, start=1):
        below = np.cumsum(np.bincount(column, minlength=points + 1)[:points]) / n
        mean += below / T
        square += (2 * i - 1) * below / T**2
    return mean, square


def _reached_at(costs: Floats, grid: Floats) -> NDArray[np.int64]:
    """Return from which point of the grid on a cost lies below it, [people, T]; its length where it never does."""
    return np.searchsorted(grid, costs.T, side="right").astype(np.int64)


def _curves(reached: NDArray[np.int64], points: int) -> Floats:
    """Return each person's curve, [people, points]: the share of their cost functions that are below."""
    out = np.zeros((len(reached), points + 1))
    for column in reached.T:
        out[np.arange(len(reached)), column] += 1.0 / reached.shape[1]
    return np.minimum(np.cumsum(out[:, :points], axis=1), 1.0)
