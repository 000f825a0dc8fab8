"""The end of guided search: each person's options, from the accepted states in which no change can be made smaller."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.arrays import copy
from leastways.kernels.compiled import compiled, lean
from leastways.kernels.guides import Guides
from leastways.kernels.pool import choose_from_pool
from leastways.kernels.tables import Tables, objective_costs, top_of


@lean
def _asks_no_more(t: Tables, p: int, one: NDArray[np.int32], other: NDArray[np.int32]) -> bool:
    """Whether a state changes nothing that the other does not change as much, so that it should cost no more."""
    for f in range(one.shape[0]):
        start = t.start[p, f]
        if one[f] == other[f] or one[f] == start:
            continue
        stated = not np.isnan(t.given[p, t.offsets[f]])  # by the person: they may say that more costs less
        between = (start < one[f] < other[f]) or (other[f] < one[f] < start)
        if stated or not t.ordered[f] or not between:
            return False
    return True


@lean
def _steps(t: Tables, p: int, codes: NDArray[np.int32]) -> int:
    """Return how far a state is: a state that asks no more than it, and is another, is nearer."""
    steps = 0
    for f in range(codes.shape[0]):
        if codes[f] != t.start[p, f]:
            steps += 1 + (abs(codes[f] - t.start[p, f]) if t.ordered[f] else 0)
    return steps


@compiled
def smallest_changes(t: Tables, p: int, states: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the places of those states [A, F] for which no other state asks for less, in their order.

    A larger change can be the cheaper one under some cost functions by their noise alone. Nobody is to be asked for
    more where less does, and what is chosen for noise does not hold for other cost functions.
    """
    A = states.shape[0]
    steps = np.empty(A, np.int64)
    for i in range(A):
        steps[i] = _steps(t, p, states[i])
    nearest_first = np.argsort(steps, kind="mergesort")
    kept = np.empty(A, np.int64)
    n = 0
    for i in nearest_first:
        smaller = False
        for k in range(n):
            if _asks_no_more(t, p, states[kept[k]], states[i]):
                smaller = True
                break
        if not smaller:
            kept[n] = i
            n += 1
    return np.sort(kept[:n])


@compiled
def choose_for(
    t: Tables,
    g: Guides,
    p: int,
    codes: NDArray[np.int32],  # [N, F] written
    probability: NDArray[np.float64],  # [N] written
) -> int:
    """Choose a person's options from the smallest accepted changes: by coverage gain, then by exact swaps.

    If none of them is open to any sample, the nearest is chosen: a way that nobody was drawn to like is still a way.
    """
    pool = np.empty((g.n_valid[p], codes.shape[1]), np.int32)
    for i in range(pool.shape[0]):
        copy(g.asked[p, g.valid[p, i]], pool[i])
    small = smallest_changes(t, p, pool)
    costs = np.empty((small.shape[0], g.lowest.shape[1]))
    for i in range(small.shape[0]):
        objective_costs(t, p, pool[small[i]], costs[i])
    chosen = choose_from_pool(costs, t.weights[p], codes.shape[0], top_of(t), g.parts.swaps)
    if chosen.shape[0] == 0 and small.shape[0] > 0:
        chosen = np.zeros(1, np.int64)
        for i in range(1, small.shape[0]):
            if _steps(t, p, pool[small[i]]) < _steps(t, p, pool[small[chosen[0]]]):
                chosen[0] = i
    for o in range(chosen.shape[0]):
        a = g.valid[p, small[chosen[o]]]
        copy(g.asked[p, a], codes[o])
        probability[o] = g.probability[p, a]
    return int(chosen.shape[0])


@compiled
def choose_options(
    t: Tables,
    g: Guides,
    codes: NDArray[np.int32],  # [P, N, F] written
    n: NDArray[np.int64],  # [P] written
    probability: NDArray[np.float64],  # [P, N] written
) -> None:
    """Choose everybody's options."""
    for p in range(codes.shape[0]):
        n[p] = choose_for(t, g, p, codes[p], probability[p])
