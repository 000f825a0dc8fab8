"""The cheapest state a surrogate would accept, for one cost sample: a multiple-choice knapsack.

Costs here are means without noise: near enough to rank candidates, and they need no random numbers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.arrays import fill
from leastways.kernels.compiled import lean
from leastways.kernels.tables import TIE, Tables, linear_mean, row_of, scaled

COARSE = 24  # values of a long grid that the sweep looks at; trimming then looks at all
_SWEEPS = 9


class Items(NamedTuple):
    """A person's moves that are guessed to help, by feature: room for COARSE of each."""

    first: NDArray[np.int64]  # [F + 1]
    code: NDArray[np.int32]  # [COARSE F]
    lift: NDArray[np.float64]  # [COARSE F]
    linear: NDArray[np.float64]  # [COARSE F] share of the steps, NaN where a cost has no formula
    share: NDArray[np.float64]  # [COARSE F] difference of the percentiles
    cost: NDArray[np.float64]  # [COARSE F] for the sample at hand, infinite where it cannot make the move

    @classmethod
    def room(cls, F: int) -> Items:
        """Make room for the moves of F features."""
        n = COARSE * F
        return cls(np.empty(F + 1, np.int64), np.empty(n, np.int32), np.empty(n), np.empty(n), np.empty(n), np.empty(n))


@lean
def has_formula(t: Tables, p: int, f: int, j: int) -> bool:
    """Whether a move's mean cost follows from the step: not for categories, nor where the person stated the cost."""
    return bool(t.ordered[f]) and np.isnan(t.given[p, t.offsets[f] + j])


@lean
def percentile_step(t: Tables, p: int, f: int, j: int) -> float:
    """Return the difference of the percentiles between a move's end and its start."""
    return float(abs(t.percentile[p, t.offsets[f] + j] - t.percentile[p, t.offsets[f] + t.start[p, f]]))


@lean
def mean_costs(t: Tables, p: int, codes: NDArray[np.int32], out: NDArray[np.float64]) -> None:
    """Write what a state counts in the objective under the first S samples (out [S]), without the noise."""
    S = out.shape[0]
    fill(out, 0.0)
    for f in range(codes.shape[0]):
        j, i = codes[f], t.start[p, f]
        if j == i:
            continue
        if not has_formula(t, p, f, j):
            row = t.cells[row_of(t, p, f, j)]
            for m in range(S):
                out[m] += row[m]
            continue
        linear, share = linear_mean(i, j, t.used[p, f]), percentile_step(t, p, f, j)
        scores, alpha = t.scores[p, f], t.alpha[p]
        for m in range(S):  # the score is NaN where the feature is not editable, and the cost becomes so
            out[m] += (1.0 + TIE - scores[m]) * (share + alpha[m] * (linear - share))
    ceiling, slope, step, step_at = t.uncovered_cost, t.slope, t.step, t.step_at
    for m in range(S):
        out[m] = scaled(out[m] if out[m] >= 0.0 else np.inf, ceiling, slope, step, step_at)


@lean
def _mean_cost(t: Tables, p: int, f: int, j: int, m: int) -> float:
    """Return one cell's mean cost for an editable feature."""
    if not has_formula(t, p, f, j):
        return float(t.cells[row_of(t, p, f, j), m])
    linear, share = linear_mean(t.start[p, f], j, t.used[p, f]), percentile_step(t, p, f, j)
    return float((1.0 + TIE - t.scores[p, f, m]) * (share + t.alpha[p, m] * (linear - share)))


@lean
def list_items(
    t: Tables,
    p: int,
    choices: NDArray[np.int32],  # [V]
    n_choices: NDArray[np.int32],  # [F]
    lift: NDArray[np.float64],  # [V]
    items: Items,
) -> None:
    """List the moves that are guessed to help; of a long grid, evenly spaced ones."""
    n = 0
    for f in range(n_choices.shape[0]):
        items.first[f] = n
        steps = min(n_choices[f], COARSE)
        for k in range(steps if n_choices[f] > 1 else 0):
            j = choices[t.offsets[f] + (k * (n_choices[f] - 1)) // (steps - 1)]
            if j != t.start[p, f] and lift[t.offsets[f] + j] > 0.0:
                items.code[n] = j
                items.lift[n] = lift[t.offsets[f] + j]
                items.linear[n] = np.nan
                if has_formula(t, p, f, j):
                    items.linear[n] = linear_mean(t.start[p, f], j, t.used[p, f])
                    items.share[n] = percentile_step(t, p, f, j)
                n += 1
    items.first[n_choices.shape[0]] = n


@lean
def _price_items(t: Tables, p: int, m: int, items: Items) -> None:
    """Write what each listed move costs sample m."""
    alpha = t.alpha[p, m]
    for f in range(items.first.shape[0] - 1):
        scale = 1.0 + TIE - t.scores[p, f, m]
        for k in range(items.first[f], items.first[f + 1]):
            if np.isnan(scale):
                items.cost[k] = np.inf
            elif np.isnan(items.linear[k]):
                items.cost[k] = t.cells[row_of(t, p, f, items.code[k]), m]
            else:
                items.cost[k] = scale * (items.share[k] + alpha * (items.linear[k] - items.share[k]))


@lean
def _take_items(start: NDArray[np.int32], price: float, items: Items, out: NDArray[np.int32]) -> float:
    """Take the best move of each feature when lift is worth `price`; return the lift of them all."""
    total = 0.0
    for f in range(out.shape[0]):
        best, pick = 0.0, -1
        for k in range(items.first[f], items.first[f + 1]):
            value = price * items.lift[k] - items.cost[k]
            if value > best:
                best, pick = value, k
        out[f] = start[f]
        if pick >= 0:
            out[f] = items.code[pick]
            total += items.lift[pick]
    return total


@lean
def knapsack(
    t: Tables,
    p: int,
    choices: NDArray[np.int32],  # [V]
    n_choices: NDArray[np.int32],  # [F]
    lift: NDArray[np.float64],  # [V]
    m: int,
    need: float,  # log-odds to be gained
    items: Items,  # as `list_items` leaves them
    out: NDArray[np.int32],  # [F] written
) -> bool:
    """Find the cheapest state for sample m that the surrogate accepts: a Lagrangian sweep, then trimming.

    A multiple-choice knapsack: one value per feature, cost against lift. False if no state is guessed to reach `need`;
    `out` is then the one that comes nearest, whatever it costs.
    """
    _price_items(t, p, m, items)
    start = t.start[p]
    low, high = 1e-3, 1e3
    if _take_items(start, high, items, out) < need:
        return False
    for _ in range(_SWEEPS):
        price = math.sqrt(low * high)
        if _take_items(start, price, items, out) >= need:
            high = price
        else:
            low = price
    total = _take_items(start, high, items, out)
    _trim(t, p, choices, n_choices, lift, m, total - need, out)
    return True


@lean
def _nearest_reaching(
    choices: NDArray[np.int32],  # [n] in ascending order
    n: int,
    own: int,
    lift: NDArray[np.float64],  # [n or more] by code
    least: float,
    step: int,
) -> int:
    """Return the code nearest to `own` on one side (step -1 or 1) whose lift is at least `least`, or -1."""
    k = 0 if step > 0 else n - 1
    while 0 <= k < n and (choices[k] - own) * step <= 0:
        k += step
    while 0 <= k < n:
        if lift[choices[k]] >= least:
            return int(choices[k])
        k += step
    return -1


@lean
def _trim(
    t: Tables,
    p: int,
    choices: NDArray[np.int32],
    n_choices: NDArray[np.int32],
    lift: NDArray[np.float64],
    m: int,
    spare: float,
    codes: NDArray[np.int32],  # [F] changed in place
) -> None:
    """Give back what is not needed: of each change in turn, the cheapest value that keeps the guess above the bar."""
    for f in range(codes.shape[0]):
        own = t.start[p, f]
        if codes[f] == own:
            continue
        v, n = t.offsets[f], n_choices[f]
        least = lift[v + codes[f]] - spare
        pick = codes[f]
        if least <= 0.0:
            pick = own
        elif has_formula(t, p, f, codes[f]):  # the cost rises with the distance: the nearest on either side
            cost = _mean_cost(t, p, f, pick, m)
            for step in (-1, 1):
                j = _nearest_reaching(choices[v : v + n], n, own, lift[v : v + t.used[p, f]], least, step)
                if j >= 0 and _mean_cost(t, p, f, j, m) < cost:
                    pick, cost = j, _mean_cost(t, p, f, j, m)
        else:
            cost = _mean_cost(t, p, f, pick, m)
            for k in range(n):
                j = choices[v + k]
                if j != own and lift[v + j] >= least and _mean_cost(t, p, f, j, m) < cost:
                    pick, cost = j, _mean_cost(t, p, f, j, m)
        gained = lift[v + pick] if pick != own else 0.0
        spare -= lift[v + codes[f]] - gained
        codes[f] = pick
