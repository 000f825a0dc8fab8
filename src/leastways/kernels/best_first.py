"""All states in order of cost, cheapest first, each exactly once: for each of many searches a heap over sums.

Every open feature has its alternatives sorted by cost; a state is a vector of ranks, 0 for "stays". With features in
order of their cheapest alternative, each state has at most three successors, none cheaper: take the next alternative
of the last changed feature; also change the next feature; or change the next feature instead (from its first rank).
No successor changes fewer features, so what changes too many is never made, nor is what costs too much.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.arrays import copy
from leastways.kernels.compiled import compiled

Ranks = NDArray[np.signedinteger[Any]]  # 16 bits, or 32 where a grid has more points than those can count
GROWTH = 3  # most states that one step adds before it takes one away


class Searches(NamedTuple):
    """What is to be searched: S cost functions of P people. The searches of one person stand together."""

    start: NDArray[np.int32]  # [P, F]
    offsets: NDArray[np.int64]  # [F + 1]
    first: NDArray[np.int64]  # [P + 1] where each person's searches begin
    person: NDArray[np.int64]  # [S]
    costs: NDArray[np.float64]  # [S, V] of moving to a slot, infinite where that cannot be
    free: NDArray[np.bool_]  # [S, F] changes of this feature count 0; `costs` only says which is the smaller


class Ladders(NamedTuple):
    """The alternatives of each search's open features: features by their cheapest alternative, alternatives by cost."""

    n: NDArray[np.int64]  # [S] open features
    first: NDArray[np.int64]  # [S, F + 1] where each open feature's alternatives begin
    feature: NDArray[np.int64]  # [S, F]
    code: NDArray[np.int32]  # [S, V]
    cost: NDArray[np.float64]  # [S, V]


class Heaps(NamedTuple):
    """A binary heap of states by cost for each search, all in the same arrays.

    Only costs and slots move; a state stays in its slot. The slots of a heap are always a permutation: those behind
    the heap's end are free.
    """

    begin: NDArray[np.int64]  # [S + 1]
    n: NDArray[np.int64]  # [S] states in each heap
    beyond: NDArray[np.float64]  # [S] the cheapest state that was left out for its cost
    cost: NDArray[np.float64]  # [H]
    slot: NDArray[np.int32]  # [H] where the state is, counted from the search's begin
    last: NDArray[np.int16]  # [H] by slot: the last changed feature
    ranks: Ranks  # [H, K] by slot


@compiled
def _gather(q: Searches, s: int, f: int, codes: NDArray[np.int32], costs: NDArray[np.float64]) -> int:
    """List the alternatives of feature f that search s can pay for."""
    n = 0
    own = q.start[q.person[s], f]
    for j in range(q.offsets[f + 1] - q.offsets[f]):
        cost = q.costs[s, q.offsets[f] + j]
        if j != own and cost < np.inf:
            codes[n] = j
            costs[n] = cost
            n += 1
    return n


@compiled
def build_ladders(q: Searches, out: Ladders) -> None:
    """Sort the alternatives of every search; `out` is written."""
    S, F = q.free.shape
    V = q.costs.shape[1]
    codes, costs = np.empty(V, np.int32), np.empty(V)
    cheapest, order = np.empty(F), np.empty(F, np.int64)
    for s in range(S):
        K = 0
        for f in range(F):
            n = _gather(q, s, f, codes, costs)
            if n == 0:
                continue
            least = 0.0
            if not q.free[s, f]:
                least = costs[0]
                for i in range(1, n):
                    least = min(least, costs[i])
            place = K
            while place > 0 and cheapest[place - 1] > least:
                cheapest[place], order[place] = cheapest[place - 1], order[place - 1]
                place -= 1
            cheapest[place], order[place] = least, f
            K += 1
        out.n[s] = K
        filled = 0
        for k in range(K):
            f = order[k]
            n = _gather(q, s, f, codes, costs)
            ranking = np.argsort(costs[:n], kind="mergesort")
            out.first[s, k] = filled
            out.feature[s, k] = f
            for i in range(n):
                out.code[s, filled + i] = codes[ranking[i]]
                out.cost[s, filled + i] = 0.0 if q.free[s, f] else costs[ranking[i]]
            filled += n
        out.first[s, K] = filled


@compiled
def _exchange(h: Heaps, a: int, b: int) -> None:
    h.cost[a], h.cost[b] = h.cost[b], h.cost[a]
    h.slot[a], h.slot[b] = h.slot[b], h.slot[a]


@compiled
def _push(ladders: Ladders, h: Heaps, s: int, ranks: Ranks, last: int, most_cost: float, below: float) -> None:
    """Put a state on the heap, unless it costs more than `most_cost`, or not less than `below`.

    The cost is summed from scratch, so that rounding does not build up along a path.
    """
    cost = 0.0
    for k in range(ladders.n[s]):
        if ranks[k] > 0:
            cost += ladders.cost[s, ladders.first[s, k] + ranks[k] - 1]
    if cost > most_cost or cost >= below:
        h.beyond[s] = min(h.beyond[s], cost)
        return
    begin, i = h.begin[s], h.n[s]
    slot = begin + h.slot[begin + i]
    copy(ranks, h.ranks[slot])
    h.last[slot] = last
    h.cost[begin + i] = cost
    h.n[s] += 1
    while i > 0 and h.cost[begin + i] < h.cost[begin + (i - 1) // 2]:
        _exchange(h, begin + i, begin + (i - 1) // 2)
        i = (i - 1) // 2


@compiled
def first_states(ladders: Ladders, h: Heaps, most_cost: float, below: NDArray[np.float64]) -> None:
    """Begin every search with its cheapest state: below [S] as in `take`; each heap has room for one."""
    ranks = np.zeros(h.ranks.shape[1], h.ranks.dtype)
    for s in range(ladders.n.shape[0]):
        if ladders.n[s] > 0:
            ranks[0] = 1
            _push(ladders, h, s, ranks, 0, most_cost, below[s])


@compiled
def show(ladders: Ladders, h: Heaps, s: int, start: NDArray[np.int32], codes: NDArray[np.int32]) -> None:
    """Write the cheapest state of search s, codes [F], without taking it away."""
    copy(start, codes)
    slot = h.begin[s] + h.slot[h.begin[s]]
    for k in range(ladders.n[s]):
        rank = h.ranks[slot, k]
        if rank > 0:
            codes[ladders.feature[s, k]] = ladders.code[s, ladders.first[s, k] + rank - 1]


@compiled
def take(
    ladders: Ladders,
    h: Heaps,
    s: int,
    ranks: Ranks,  # [K] scratch
    most_cost: float,
    below: float,
    most_changes: int,
) -> None:
    """Take the cheapest state of search s away and put its successors in; the heap has room for `GROWTH` more."""
    begin = h.begin[s]
    slot = begin + h.slot[begin]
    copy(h.ranks[slot], ranks)
    last = int(h.last[slot])
    h.n[s] -= 1
    n = h.n[s]
    _exchange(h, begin, begin + n)
    i = 0
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and h.cost[begin + child + 1] < h.cost[begin + child]:
            child += 1
        if h.cost[begin + i] <= h.cost[begin + child]:
            break
        _exchange(h, begin + i, begin + child)
        i = child
    changed = 0
    for k in range(last + 1):
        if ranks[k] > 0:
            changed += 1
    if ranks[last] < ladders.first[s, last + 1] - ladders.first[s, last]:
        ranks[last] += 1
        _push(ladders, h, s, ranks, last, most_cost, below)
        ranks[last] -= 1
    if last + 1 < ladders.n[s]:
        ranks[last + 1] = 1
        if changed < most_changes:
            _push(ladders, h, s, ranks, last + 1, most_cost, below)
        if ranks[last] == 1:
            ranks[last] = 0
            _push(ladders, h, s, ranks, last + 1, most_cost, below)


@compiled
def move_heaps(old: Heaps, new: Heaps) -> None:
    """Copy every heap to where it is to stand now; `new` is written, and has at least as much room for each."""
    for s in range(old.n.shape[0]):
        a, b = old.begin[s], new.begin[s]
        room = new.begin[s + 1] - b
        new.n[s], new.beyond[s] = old.n[s], old.beyond[s]
        for i in range(old.n[s]):
            slot = old.slot[a + i]
            new.cost[b + i] = old.cost[a + i]
            new.slot[b + i] = i
            new.last[b + i] = old.last[a + slot]
            copy(old.ranks[a + slot], new.ranks[b + i])
        for i in range(old.n[s], room):
            new.slot[b + i] = i
