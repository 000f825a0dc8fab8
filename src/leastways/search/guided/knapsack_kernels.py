"""The cheapest state a surrogate would accept, for one cost sample: a multiple-choice knapsack.

Costs here are means without noise: near enough to rank candidates, and they need no random numbers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways._compiled import lean
from leastways._lanes_kernels import WIDTH, load, total, where_below, zeros
from leastways._random_kernels import fill
from leastways.costs import TIE, Tables, linear_mean, row_of, scaled

COARSE = 24  # values of a long grid that the sweep looks at; trimming then looks at all
_SWEEPS = 9


class Items(NamedTuple):
    """A person's moves that are estimated to help, by feature and then by effect: room for COARSE of each feature.

    Whatever effect is worth, a feature's best move is a corner of the convex hull of its moves' costs over their lifts.
    """

    first: NDArray[np.int64]  # [F + 1]
    code: NDArray[np.int32]  # [COARSE F]
    effect: NDArray[np.float64]  # [COARSE F]
    linear: NDArray[np.float64]  # [COARSE F] share of the steps, NaN where a cost has no formula
    share: NDArray[np.float64]  # [COARSE F] difference of the percentiles
    corner_first: NDArray[np.int64]  # [F + 1]
    corner: NDArray[np.int64]  # [COARSE F] which move it is
    cost: NDArray[np.float64]  # [COARSE F] of the corner, for the sample at hand
    slope: NDArray[np.float64]  # [COARSE F] cost per effect from the corner before, rising within a feature
    rise: NDArray[np.float64]  # [COARSE F] effect from the corner before
    n_below: NDArray[np.int64]  # [F] permitted values below the person's own
    best_to: NDArray[
        np.float64
    ]  # [V] the best effect from the person's own value to this one, packed as the choices are

    @classmethod
    def room(cls, F: int, V: int) -> Items:
        """Make room for the moves of F features with V values in all."""
        n = COARSE * F
        firsts = np.empty(F + 1, np.int64), np.empty(F + 1, np.int64)
        moves = np.empty(n, np.int32), np.empty(n), np.empty(n), np.empty(n)
        corners = np.empty(n, np.int64), np.empty(n), np.empty(n), np.empty(n)
        return cls(firsts[0], *moves, firsts[1], *corners, np.empty(F, np.int64), np.empty(V))


@lean
def has_formula(t: Tables, p: int, f: int, j: int) -> bool:
    """Whether a move's mean cost follows from the step: not for categories, nor where the person stated the cost."""
    return bool(t.space.ordered[f]) and np.isnan(t.draws.given[p, t.space.offsets[f] + j])


@lean
def percentile_step(t: Tables, p: int, f: int, j: int) -> float:
    """Return the difference of the percentiles between a move's end and its start."""
    return float(
        abs(
            t.draws.percentile[p, t.space.offsets[f] + j]
            - t.draws.percentile[p, t.space.offsets[f] + t.space.start[p, f]]
        )
    )


@lean
def mean_costs(t: Tables, p: int, codes: NDArray[np.int32], first: int, out: NDArray[np.float64]) -> None:
    """Write the objective of a state under S samples from `first` on (out [S]), without the noise."""
    S = out.shape[0]
    fill(out, 0.0)
    for f in range(codes.shape[0]):
        j, i = codes[f], t.space.start[p, f]
        if j == i:
            continue
        if not has_formula(t, p, f, j):
            row = t.cache.cells[row_of(t, p, f, j), first : first + S]
            for m in range(S):
                out[m] += row[m]
            continue
        linear, share = linear_mean(i, j, t.space.used[p, f]), percentile_step(t, p, f, j)
        scores, alpha = t.draws.scores[p, f, first : first + S], t.draws.alpha[p, first : first + S]
        for m in range(S):  # the score is NaN where the feature is not editable, and the cost becomes so
            out[m] += (1.0 + TIE - scores[m]) * (share + alpha[m] * (linear - share))
    ceiling, slope, step, step_at = t.objective.uncovered_cost, t.objective.slope, t.objective.step, t.objective.step_at
    for m in range(S):
        out[m] = scaled(out[m] if out[m] >= 0.0 else np.inf, ceiling, slope, step, step_at)


@lean
def _mean_cost(t: Tables, p: int, f: int, j: int, m: int) -> float:
    """Return one cell's mean cost for an editable feature."""
    if not has_formula(t, p, f, j):
        return float(t.cache.cells[row_of(t, p, f, j), m])
    linear, share = linear_mean(t.space.start[p, f], j, t.space.used[p, f]), percentile_step(t, p, f, j)
    return float((1.0 + TIE - t.draws.scores[p, f, m]) * (share + t.draws.alpha[p, m] * (linear - share)))


@lean
def list_items(
    t: Tables,
    p: int,
    effect: NDArray[np.float64],  # [V]
    items: Items,
) -> None:
    """List the moves that are estimated to help, by effect; of a long grid, evenly spaced ones."""
    choices, n_choices = t.space.choices[p], t.space.n_choices[p]
    n = 0
    for f in range(n_choices.shape[0]):
        items.first[f] = n
        steps = min(n_choices[f], COARSE)
        for k in range(steps if n_choices[f] > 1 else 0):
            j = choices[t.space.offsets[f] + (k * (n_choices[f] - 1)) // (steps - 1)]
            own = effect[t.space.offsets[f] + j]
            if j != t.space.start[p, f] and own > 0.0:
                at = n
                while at > items.first[f] and items.effect[at - 1] > own:
                    items.effect[at], items.code[at] = items.effect[at - 1], items.code[at - 1]
                    at -= 1
                items.effect[at], items.code[at] = own, j
                n += 1
        for k in range(items.first[f], n):
            j = items.code[k]
            items.linear[k] = np.nan
            if has_formula(t, p, f, j):
                items.linear[k] = linear_mean(t.space.start[p, f], j, t.space.used[p, f])
                items.share[k] = percentile_step(t, p, f, j)
    items.first[n_choices.shape[0]] = n


@lean
def list_best(
    t: Tables,
    p: int,
    effect: NDArray[np.float64],  # [V]
    items: Items,
) -> None:
    """Write the best effect from the person's own value up to each other: from it follows the nearest that suffices."""
    choices, n_choices = t.space.choices[p], t.space.n_choices[p]
    for f in range(n_choices.shape[0]):
        v, n, own = t.space.offsets[f], n_choices[f], t.space.start[p, f]
        below = 0
        while below < n and choices[v + below] < own:
            below += 1
        items.n_below[f] = below
        best = -np.inf
        for k in range(below - 1, -1, -1):
            best = max(best, effect[v + choices[v + k]])
            items.best_to[v + k] = best
        best = -np.inf
        for k in range(below, n):
            if choices[v + k] != own:
                best = max(best, effect[v + choices[v + k]])
            items.best_to[v + k] = best


@lean
def _find_corners(t: Tables, p: int, m: int, items: Items) -> None:
    """Find the corners of each feature's hull for sample m, from no move upward: Andrew's chain by effect."""
    n, alpha = 0, t.draws.alpha[p, m]
    for f in range(items.first.shape[0] - 1):
        begin = n
        items.corner_first[f] = begin
        scale = 1.0 + TIE - t.draws.scores[p, f, m]
        if np.isnan(scale):  # this sample cannot change it
            continue
        x, y = 0.0, 0.0  # the last corner, as effect and cost
        for k in range(items.first[f], items.first[f + 1]):
            effect = items.effect[k]
            if np.isnan(items.linear[k]):
                cost = t.cache.cells[row_of(t, p, f, items.code[k]), m]
                if cost == np.inf:
                    continue
            else:
                cost = scale * (items.share[k] + alpha * (items.linear[k] - items.share[k]))
            # a corner that the new move undercuts is none: the slope from it would not be above its own
            while n > begin and cost - y <= items.slope[n - 1] * (effect - x):
                n -= 1
                x, y = 0.0, 0.0
                if n > begin:
                    x, y = items.effect[items.corner[n - 1]], items.cost[n - 1]
            if effect > x:
                items.corner[n] = k
                items.cost[n] = cost
                items.slope[n] = (cost - y) / (effect - x)
                items.rise[n] = effect - x
                n += 1
                x, y = effect, cost
    items.corner_first[items.first.shape[0] - 1] = n


@lean
def _effect_at(price: float, slope: NDArray[np.float64], rise: NDArray[np.float64]) -> float:
    """Return the effect of the best moves when effect is worth `price`: corners cheaper than that are worth it."""
    n = slope.shape[0]
    whole = n - n % WIDTH
    lanes = zeros()
    for i in range(0, whole, WIDTH):
        lanes = lanes + where_below(load(slope, i), price, load(rise, i))
    effect = total(lanes)
    for i in range(whole, n):
        effect += rise[i] if slope[i] < price else 0.0
    return effect


@lean
def _take_moves(start: NDArray[np.int32], price: float, items: Items, out: NDArray[np.int32]) -> float:
    """Take the best move of each feature when effect is worth `price`; return the effect of them all."""
    taken = 0.0
    for f in range(out.shape[0]):
        i = items.corner_first[f]
        while i < items.corner_first[f + 1] and items.slope[i] < price:
            i += 1
        out[f] = start[f]
        if i > items.corner_first[f]:
            pick = items.corner[i - 1]
            out[f] = items.code[pick]
            taken += items.effect[pick]
    return taken


@lean
def knapsack(
    t: Tables,
    p: int,
    effect: NDArray[np.float64],  # [V]
    m: int,
    need: float,  # log-odds to be gained
    items: Items,  # as `list_items` and `list_best` leave them
    out: NDArray[np.int32],  # [F] written
) -> bool:
    """Find the cheapest state for sample m that the surrogate accepts: a Lagrangian sweep, then trimming.

    A multiple-choice knapsack: one value per feature, cost against effect. False if no state is estimated to
    reach `need`; `out` is then the one that comes nearest, whatever it costs.
    """
    _find_corners(t, p, m, items)
    n = items.corner_first[out.shape[0]]
    slope, rise = items.slope[:n], items.rise[:n]
    low, high = 1e-3, 1e3
    if _effect_at(high, slope, rise) < need:
        _take_moves(t.space.start[p], high, items, out)
        return False
    for _ in range(_SWEEPS):
        price = math.sqrt(low * high)
        if _effect_at(price, slope, rise) >= need:
            high = price
        else:
            low = price
    taken = _take_moves(t.space.start[p], high, items, out)
    _trim(t, p, effect, m, taken - need, items, out)
    return True


@lean
def _nearest_below(best_to: NDArray[np.float64], n_below: int, least: float) -> int:
    """Return the position of the nearest value below the person's own whose effect is at least `least`, or -1."""
    low, high = -1, n_below - 1
    while low < high:  # the best so far rises as places fall
        middle = low + (high - low + 1) // 2
        if best_to[middle] >= least:
            low = middle
        else:
            high = middle - 1
    return low


@lean
def _nearest_above(best_to: NDArray[np.float64], n_below: int, least: float) -> int:
    """Return the position of the nearest value above the person's own whose effect is at least `least`, or -1."""
    low, high = n_below, best_to.shape[0]
    while low < high:
        middle = (low + high) // 2
        if best_to[middle] >= least:
            high = middle
        else:
            low = middle + 1
    return low if low < best_to.shape[0] else -1


@lean
def _trim(
    t: Tables,
    p: int,
    effect: NDArray[np.float64],
    m: int,
    spare: float,
    items: Items,
    codes: NDArray[np.int32],  # [F] changed in place
) -> None:
    """Shrink each change in turn to the cheapest value that keeps the estimate above what is needed."""
    choices, n_choices = t.space.choices[p], t.space.n_choices[p]
    for f in range(codes.shape[0]):
        own = t.space.start[p, f]
        if codes[f] == own:
            continue
        v, n = t.space.offsets[f], n_choices[f]
        least = effect[v + codes[f]] - spare
        pick = codes[f]
        if least <= 0.0:
            pick = own
        elif has_formula(t, p, f, codes[f]):  # the cost rises with the distance: the nearest on either side
            cost = _mean_cost(t, p, f, pick, m)
            best_to = items.best_to[v : v + n]
            for k in (
                _nearest_below(best_to, items.n_below[f], least),
                _nearest_above(best_to, items.n_below[f], least),
            ):
                if k >= 0 and _mean_cost(t, p, f, choices[v + k], m) < cost:
                    pick, cost = choices[v + k], _mean_cost(t, p, f, choices[v + k], m)
        else:
            cost = _mean_cost(t, p, f, pick, m)
            for k in range(n):
                j = choices[v + k]
                if j != own and effect[v + j] >= least and _mean_cost(t, p, f, j, m) < cost:
                    pick, cost = j, _mean_cost(t, p, f, j, m)
        gained = effect[v + pick] if pick != own else 0.0
        spare -= effect[v + codes[f]] - gained
        codes[f] = pick
