"""All states in order of cost, cheapest first, each exactly once: a heap over sums of sorted lists.

Every open feature has its alternatives sorted by cost; a state is a vector of ranks, 0 for "stays". With features in
order of their cheapest alternative, each state has at most three successors, none cheaper: take the next alternative
of the last changed feature; also change the next feature; or change the next feature instead (from its first rank).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.arrays import copy
from leastways.kernels.compiled import compiled


class Ladder(NamedTuple):
    """The alternatives of the K open features, features by their cheapest alternative, alternatives by cost."""

    first: NDArray[np.int64]  # [K + 1] where each feature's alternatives begin
    feature: NDArray[np.int64]  # [K]
    code: NDArray[np.int32]  # [A]
    cost: NDArray[np.float64]  # [A]


class Heap(NamedTuple):
    """A binary heap of states by cost."""

    cost: NDArray[np.float64]  # [H]
    ranks: NDArray[np.int16]  # [H, K]
    last: NDArray[np.int64]  # [H] the last changed feature


@compiled
def _swap(heap: Heap, a: int, b: int) -> None:
    heap.cost[a], heap.cost[b] = heap.cost[b], heap.cost[a]
    heap.last[a], heap.last[b] = heap.last[b], heap.last[a]
    for k in range(heap.ranks.shape[1]):
        heap.ranks[a, k], heap.ranks[b, k] = heap.ranks[b, k], heap.ranks[a, k]


@compiled
def _rise(heap: Heap, i: int) -> None:
    while i > 0 and heap.cost[i] < heap.cost[(i - 1) // 2]:
        _swap(heap, i, (i - 1) // 2)
        i = (i - 1) // 2


@compiled
def _sink(heap: Heap, n: int) -> None:
    i = 0
    while True:
        child = 2 * i + 1
        if child >= n:
            return
        if child + 1 < n and heap.cost[child + 1] < heap.cost[child]:
            child += 1
        if heap.cost[i] <= heap.cost[child]:
            return
        _swap(heap, i, child)
        i = child


@compiled
def _cost(ladder: Ladder, ranks: NDArray[np.int16]) -> float:
    """Sum a state's cost from scratch, so that rounding does not build up along a path."""
    total = 0.0
    for k in range(ranks.shape[0]):
        if ranks[k] > 0:
            total += ladder.cost[ladder.first[k] + ranks[k] - 1]
    return total


@compiled
def _push(heap: Heap, n: int, ladder: Ladder, ranks: NDArray[np.int16], last: int) -> int:
    copy(ranks, heap.ranks[n])
    heap.cost[n] = _cost(ladder, ranks)
    heap.last[n] = last
    _rise(heap, n)
    return n + 1


@compiled
def next_states(
    ladder: Ladder,
    heap: Heap,
    n: int,  # states in the heap
    most_cost: float,
    start: NDArray[np.int32],  # [F]
    codes: NDArray[np.int32],  # [R, F] written
    costs: NDArray[np.float64],  # [R] written
) -> tuple[int, int]:
    """Pop the next R cheapest states that cost at most `most_cost`; returns (popped, left in the heap).

    The heap must have room for 3 R more.
    """
    K = ladder.feature.shape[0]
    ranks = np.empty(K, np.int16)
    row = 0
    while row < codes.shape[0] and n > 0 and heap.cost[0] <= most_cost:
        copy(heap.ranks[0], ranks)
        last = heap.last[0]
        costs[row] = heap.cost[0]
        copy(start, codes[row])
        for k in range(K):
            if ranks[k] > 0:
                codes[row, ladder.feature[k]] = ladder.code[ladder.first[k] + ranks[k] - 1]
        row += 1
        n -= 1
        if n > 0:
            _swap(heap, 0, n)
            _sink(heap, n)
        if ranks[last] < ladder.first[last + 1] - ladder.first[last]:
            ranks[last] += 1
            n = _push(heap, n, ladder, ranks, last)
            ranks[last] -= 1
        if last + 1 < K:
            ranks[last + 1] = 1
            n = _push(heap, n, ladder, ranks, last + 1)
            if ranks[last] == 1:
                ranks[last] = 0
                n = _push(heap, n, ladder, ranks, last + 1)
    return row, n
