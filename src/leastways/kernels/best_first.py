"""All states in order of cost, cheapest first, each exactly once: for each of many searches a heap over sums.

Every open feature has its alternatives sorted by cost; a state is a vector of ranks, 0 for "stays". With features in
order of their cheapest alternative, each state has at most three successors, none cheaper: take the next alternative
of the last changed feature; also change the next feature; or change the next feature instead (from its first rank).
No successor changes fewer features, so what changes too many is never made, nor is what costs too much.

A state that breaks a rule stands where the cheapest permitted one could be that comes from it, so it may come later
than at its own cost; where there is none, it is left out. States that break no rule come in order of cost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.arrays import copy
from leastways.kernels.compiled import compiled, lean
from leastways.kernels.ladders import Ladders, Ranks, Searches
from leastways.kernels.owed import least_permitted, write_state
from leastways.kernels.rules import RuleTables

GROWTH = 3  # most states that one step adds before it takes one away


class Heaps(NamedTuple):
    """A binary heap of states for each search, all in the same arrays, by the least cost of what may come from them.

    Only costs and slots move; a state stays in its slot. The slots of a heap are always a permutation: those behind
    the heap's end are free.
    """

    begin: NDArray[np.int64]  # [S + 1]
    n: NDArray[np.int64]  # [S] states in each heap
    beyond: NDArray[np.float64]  # [S] the cheapest state that was left out for its cost
    cost: NDArray[np.float64]  # [H] nothing permitted that comes from a state costs less; of permitted ones, their own
    slot: NDArray[np.int32]  # [H] where the state is, counted from the search's begin
    last: NDArray[np.int16]  # [H] by slot: the last changed feature
    ranks: Ranks  # [H, K] by slot


class Scratch(NamedTuple):
    """Room to work in."""

    ranks: Ranks  # [K]
    codes: NDArray[np.int32]  # [F]
    taken: NDArray[np.bool_]  # [F]


@lean
def _exchange(h: Heaps, a: int, b: int) -> None:
    h.cost[a], h.cost[b] = h.cost[b], h.cost[a]
    h.slot[a], h.slot[b] = h.slot[b], h.slot[a]


@lean
def _push(
    q: Searches,
    rules: RuleTables,
    ladders: Ladders,
    h: Heaps,
    s: int,
    scratch: Scratch,  # its ranks are the state
    last: int,
    most_cost: float,
    below: float,
) -> None:
    """Put a state on the heap, unless all that comes from it costs more than `most_cost`, or not less than `below`.

    The cost is summed from scratch, so that rounding does not build up along a path.
    """
    ranks, cost = scratch.ranks, 0.0
    for k in range(ladders.n[s]):
        if ranks[k] > 0:
            cost += ladders.cost[s, ladders.first[s, k] + ranks[k] - 1]
    cost = least_permitted(q, rules, ladders, s, ranks, last, cost, scratch.codes, scratch.taken)
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
def first_states(
    q: Searches,
    rules: RuleTables,
    ladders: Ladders,
    h: Heaps,
    most_cost: float,
    below: NDArray[np.float64],  # [S] as in `take`
) -> None:
    """Begin every search with its cheapest state; each heap has room for one."""
    F = q.start.shape[1]
    scratch = Scratch(np.zeros(h.ranks.shape[1], h.ranks.dtype), np.empty(F, np.int32), np.empty(F, np.bool_))
    for s in range(ladders.n.shape[0]):
        if ladders.n[s] > 0:
            scratch.ranks[0] = 1
            _push(q, rules, ladders, h, s, scratch, 0, most_cost, below[s])


@lean
def show(ladders: Ladders, h: Heaps, s: int, start: NDArray[np.int32], codes: NDArray[np.int32]) -> None:
    """Write the cheapest state of search s, codes [F], without taking it away."""
    slot = h.begin[s] + h.slot[h.begin[s]]
    write_state(ladders, s, h.ranks[slot], start, codes)


@lean
def take(
    q: Searches,
    rules: RuleTables,
    ladders: Ladders,
    h: Heaps,
    s: int,
    scratch: Scratch,
    most_cost: float,
    below: float,
) -> None:
    """Take the cheapest state of search s away and put its successors in; the heap has room for `GROWTH` more."""
    begin, ranks = h.begin[s], scratch.ranks
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
        _push(q, rules, ladders, h, s, scratch, last, most_cost, below)
        ranks[last] -= 1
    if last + 1 < ladders.n[s]:
        ranks[last + 1] = 1
        if changed < rules.max_changes:
            _push(q, rules, ladders, h, s, scratch, last + 1, most_cost, below)
        if ranks[last] == 1:
            ranks[last] = 0
            _push(q, rules, ladders, h, s, scratch, last + 1, most_cost, below)


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
