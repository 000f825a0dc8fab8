"""The cheapest state a surrogate would accept, for one cost sample: a multiple-choice knapsack.

Costs here are means without noise: near enough to rank candidates, and they need no random numbers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.arrays import fill
from leastways.kernels.compiled import compiled
from leastways.kernels.tables import TIE, Tables, bounded, fill_row, linear_mean

COARSE = 24  # values of a long grid that the sweep looks at; trimming then looks at all
_SWEEPS = 12


class Items(NamedTuple):
    """Moves open to one sample, by feature: room for COARSE of each."""

    first: NDArray[np.int64]  # [F + 1]
    code: NDArray[np.int32]  # [COARSE F]
    cost: NDArray[np.float64]  # [COARSE F]
    lift: NDArray[np.float64]  # [COARSE F]


@compiled
def mean_costs(t: Tables, p: int, codes: NDArray[np.int32], row: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Write a state's bounded costs under the first S samples (out [S]), without the noise of ordered features."""
    S = out.shape[0]
    fill(out, 0.0)
    for f in range(codes.shape[0]):
        j, i = codes[f], t.start[p, f]
        if j == i:
            continue
        v = t.offsets[f] + j
        if t.ready[p, v]:
            cells = t.cells[p, v]
            for m in range(S):
                out[m] += cells[m]
            continue
        linear = linear_mean(i, j, t.used[p, f])
        share = abs(t.percentile[p, v] - t.percentile[p, t.offsets[f] + i])
        fill(row, np.inf)
        for e in range(t.n_editors[p, f]):
            m = t.editors[p, f, e]
            if m >= S:
                break
            row[m] = max(1.0 - t.scores[p, m, f], TIE) * (t.alpha[p, m] * linear + (1.0 - t.alpha[p, m]) * share)
        for m in range(S):
            out[m] += row[m]
    ceiling = t.uncovered_cost
    for m in range(S):
        out[m] = bounded(out[m], ceiling)


@compiled
def prepare(t: Tables, p: int) -> None:
    """Make the cells that have no formula: of unordered features, and of costs the person stated."""
    for f in range(t.ordered.shape[0]):
        for j in range(t.used[p, f]):
            v = t.offsets[f] + j
            if t.allowed[p, v] and not t.ready[p, v] and (not t.ordered[f] or not np.isnan(t.given[p, v])):
                fill_row(t, p, f, j)


@compiled
def _mean_cost(t: Tables, p: int, f: int, j: int, m: int) -> float:
    """Return one cell's mean cost for an editable feature (`_prepare` has made the cells that have no formula)."""
    v = t.offsets[f] + j
    if not t.ordered[f] or not np.isnan(t.given[p, v]):
        return t.cells[p, v, m]
    i = t.start[p, f]
    share = abs(t.percentile[p, v] - t.percentile[p, t.offsets[f] + i])
    alpha = t.alpha[p, m]
    return max(1.0 - t.scores[p, m, f], 1e-3) * (alpha * linear_mean(i, j, t.used[p, f]) + (1.0 - alpha) * share)


@compiled
def _list_items(
    t: Tables,
    p: int,
    choices: NDArray[np.int32],  # [V]
    n_choices: NDArray[np.int32],  # [F]
    lift: NDArray[np.float64],  # [V]
    m: int,
    items: Items,
) -> None:
    """List the moves open to sample m with their cost and lift; of a long grid, evenly spaced ones."""
    n = 0
    for f in range(n_choices.shape[0]):
        items.first[f] = n
        if n_choices[f] < 2 or np.isnan(t.scores[p, m, f]):
            continue
        steps = min(n_choices[f], COARSE)
        for k in range(steps):
            j = choices[t.offsets[f] + (k * (n_choices[f] - 1)) // (steps - 1)]
            if j != t.start[p, f] and lift[t.offsets[f] + j] > 0.0:
                items.code[n] = j
                items.lift[n] = lift[t.offsets[f] + j]
                items.cost[n] = _mean_cost(t, p, f, j, m)
                n += 1
    items.first[n_choices.shape[0]] = n


@compiled
def _take_items(t: Tables, p: int, price: float, items: Items, out: NDArray[np.int32]) -> float:
    """Take the best move of each feature when lift is worth `price`; return the lift of them all."""
    total = 0.0
    for f in range(out.shape[0]):
        best, pick = 0.0, -1
        for k in range(items.first[f], items.first[f + 1]):
            value = price * items.lift[k] - items.cost[k]
            if value > best:
                best, pick = value, k
        out[f] = t.start[p, f]
        if pick >= 0:
            out[f] = items.code[pick]
            total += items.lift[pick]
    return total


@compiled
def knapsack(
    t: Tables,
    p: int,
    choices: NDArray[np.int32],  # [V]
    n_choices: NDArray[np.int32],  # [F]
    lift: NDArray[np.float64],  # [V]
    m: int,
    need: float,  # log-odds to be gained
    items: Items,
    out: NDArray[np.int32],  # [F] written
) -> bool:
    """Find the cheapest state for sample m that the surrogate accepts: a Lagrangian sweep, then trimming.

    A multiple-choice knapsack: one value per feature, cost against lift. False if no state is guessed to reach `need`.
    """
    _list_items(t, p, choices, n_choices, lift, m, items)
    low, high = 1e-3, 1e3
    if _take_items(t, p, high, items, out) < need:
        return False
    for _ in range(_SWEEPS):
        price = math.sqrt(low * high)
        if _take_items(t, p, price, items, out) >= need:
            high = price
        else:
            low = price
    total = _take_items(t, p, high, items, out)
    trim(t, p, choices, n_choices, lift, m, total - need, out)
    return True


@compiled
def trim(
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
        if codes[f] == t.start[p, f]:
            continue
        v = t.offsets[f]
        least = lift[v + codes[f]] - spare
        cost, pick = _mean_cost(t, p, f, codes[f], m), codes[f]
        if least <= 0.0:
            cost, pick = 0.0, t.start[p, f]
        else:
            for k in range(n_choices[f]):
                j = choices[v + k]
                if j != t.start[p, f] and lift[v + j] >= least:
                    c = _mean_cost(t, p, f, j, m)
                    if c < cost:
                        cost, pick = c, j
        gained = lift[v + pick] if pick != t.start[p, f] else 0.0
        spare -= lift[v + codes[f]] - gained
        codes[f] = pick
