"""The best N of a pool of accepted states: EMC over a finite pool is k-medoids with cost samples as points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.arrays import copy
from leastways.kernels.compiled import compiled
from leastways.kernels.gains import LEAST_GAIN, add_gain, nearest_two, swap_gains

_MOST_SWAPS = 10  # per option; far more than are ever needed


@compiled
def choose_from_pool(
    costs: NDArray[np.float64],  # [A, M]
    weights: NDArray[np.float64],  # [M]
    N: int,
    top: float,
    swaps: bool,  # whether to go on from the greedy set
) -> NDArray[np.int64]:
    """Return places of up to N members of the pool that lower EMC most: greedy, then swaps until none helps.

    The fall of EMC is submodular, so the greedy set alone reaches at least 1 - 1/e of the largest possible fall; values
    of candidates only fall as others are picked, so a stale one is an upper bound and most need no second look.
    """
    A, M = costs.shape
    members = np.empty(N, np.int64)
    used = np.zeros(A, np.bool_)
    bound = np.full(A, np.inf)
    lowest, second, owner = np.full(M, top), np.full(M, top), np.full(M, -1, np.int32)
    n = 0
    while n < min(N, A):
        best, pick = LEAST_GAIN, -1
        for i in range(A):
            if not used[i] and bound[i] > best:
                bound[i] = add_gain(costs[i], lowest, weights)
                if bound[i] > best:
                    best, pick = bound[i], i
        if pick < 0:
            break
        used[pick] = True
        members[n] = pick
        for m in range(M):
            lowest[m] = min(lowest[m], costs[pick, m])
        n += 1
    gains = np.empty(n)
    held = np.empty((n, M))
    for o in range(n):
        copy(costs[members[o]], held[o])
    for _ in range(_MOST_SWAPS * n if swaps else 0):
        nearest_two(held, n, top, lowest, second, owner)
        best, place, pick = LEAST_GAIN, -1, -1
        for i in range(A):
            if used[i] or add_gain(costs[i], lowest, weights) <= best:
                continue
            swap_gains(costs[i], lowest, second, owner, weights, False, gains)
            for o in range(n):
                if gains[o] > best:
                    best, place, pick = gains[o], o, i
        if place < 0:
            break
        used[members[place]] = False
        used[pick] = True
        members[place] = pick
        copy(costs[pick], held[place])
    return members[:n]
