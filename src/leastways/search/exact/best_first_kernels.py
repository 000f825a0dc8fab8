"""All states in order of cost, cheapest first, each exactly once: for each of many searches a heap over sums.

Every open feature has its alternatives sorted by cost; a state is a vector of ranks, 0 for "stays". With features in
order of their cheapest alternative, each state has at most three successors, none cheaper: take the next alternative
of the last changed feature; also change the next feature; or change the next feature instead (from its first rank).
No successor changes fewer features, so what changes too many is never made, nor is what costs too much.

A state that breaks a rule has the place of the cheapest permitted one that could come from it, so it may come later
than at its own cost; where there is none, it is left out. States that break no rule come in order of cost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways._compiled import compiled, lean
from leastways._random_kernels import copy, keyed
from leastways.costs import Tables, row_of
from leastways.feasibility import meets_rules
from leastways.search.exact.bound_kernels import Alternatives, Ranks, Searches, least_permitted, write_state

GROWTH = 3  # most states that one step adds before it takes one away


class Heaps(NamedTuple):
    """A binary heap of states for each search, all in the same arrays, by a lower bound on what follows.

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
    alternatives: Alternatives,
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
    for k in range(alternatives.n[s]):
        if ranks[k] > 0:
            cost += alternatives.cost[s, alternatives.first[s, k] + ranks[k] - 1]
    cost = least_permitted(q, alternatives, s, ranks, last, cost, scratch.codes, scratch.taken)
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
    alternatives: Alternatives,
    h: Heaps,
    most_cost: float,
    below: NDArray[np.float64],  # [S] as in `take`
) -> None:
    """Begin every search with its cheapest state; each heap has room for one."""
    F = q.space.start.shape[1]
    scratch = Scratch(np.zeros(h.ranks.shape[1], h.ranks.dtype), np.empty(F, np.int32), np.empty(F, np.bool_))
    for s in range(alternatives.n.shape[0]):
        if alternatives.n[s] > 0:
            scratch.ranks[0] = 1
            _push(q, alternatives, h, s, scratch, 0, most_cost, below[s])


@lean
def show(alternatives: Alternatives, h: Heaps, s: int, start: NDArray[np.int32], codes: NDArray[np.int32]) -> None:
    """Write the cheapest state of search s, codes [F], without taking it away."""
    slot = h.begin[s] + h.slot[h.begin[s]]
    write_state(alternatives, s, h.ranks[slot], start, codes)


@lean
def take(
    q: Searches,
    alternatives: Alternatives,
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
    if ranks[last] < alternatives.first[s, last + 1] - alternatives.first[s, last]:
        ranks[last] += 1
        _push(q, alternatives, h, s, scratch, last, most_cost, below)
        ranks[last] -= 1
    if last + 1 < alternatives.n[s]:
        ranks[last + 1] = 1
        if changed < q.space.rules.max_changes:
            _push(q, alternatives, h, s, scratch, last + 1, most_cost, below)
        if ranks[last] == 1:
            ranks[last] = 0
            _push(q, alternatives, h, s, scratch, last + 1, most_cost, below)


@compiled
def move_heaps(old: Heaps, new: Heaps) -> None:
    """Copy every heap to its new place; `new` is written, and has at least as much room for each."""
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


# One round of the oracle: which states to ask about next, and what the answers mean for every search.
#
# The searches of one person share what the model said: a state is asked about once, however many of them meet it, and
# an accepted one lowers what the others still have to beat.

RUNNING, BLOCKED, DONE = 0, 1, 2
SKIPS_EACH = 20  # states that a search may skip, further, for each that breaks no rule


class Asked(NamedTuple):
    """States asked about, in the order of asking, and a hash table over them (of no length: nothing is looked up)."""

    slots: NDArray[np.int64]  # [C] a power of two, at least twice the rows; -1 where empty
    people: NDArray[np.int64]  # [B]
    codes: NDArray[np.int32]  # [B, F]
    answered: NDArray[np.bool_]  # [B]


class Status(NamedTuple):
    """How far each search is."""

    state: NDArray[np.int64]  # [S] running, blocked by a limit, or done
    floor: NDArray[np.float64]  # [S] nothing unanswered was cheaper when the last round began
    cost: NDArray[np.float64]  # [S] of the cheapest accepted state known, infinite if none
    codes: NDArray[np.int32]  # [S, F] that state
    skips: NDArray[np.int64]  # [S] states breaking a rule that may still be skipped
    left: NDArray[np.int64]  # [P] rows that may still be asked about
    round: NDArray[np.int64]  # [P] ... in this round
    turn: NDArray[np.int64]  # [P] which of a person's searches begins


@compiled
def slot_costs(
    t: Tables,
    costs: NDArray[np.float64],  # [P * M, V] written
    free: NDArray[np.bool_],  # [P * M, F] written
) -> None:
    """Lay out the sampled cost functions of a chunk of people as the searches want them: a row each."""
    P, F, M = t.draws.scores.shape
    for p in range(P):
        for f in range(F):
            stated = not np.isnan(t.draws.given[p, t.space.offsets[f]])
            for m in range(M):
                free[p * M + m, f] = t.draws.scores[p, f, m] == 1.0 and not stated
            for j in range(t.space.offsets[f + 1] - t.space.offsets[f]):
                v = t.space.offsets[f] + j
                inside = j < t.space.used[p, f] and t.space.allowed[p, v]
                row = row_of(t, p, f, j) if inside else -1
                for m in range(M):
                    costs[p * M + m, v] = t.cache.cells[row, m] if inside else np.inf


@lean
def _place(asked: Asked, p: int, codes: NDArray[np.int32]) -> int:
    """Return the slot of this state of person p in the hash table, or the empty slot where it belongs."""
    key = keyed(np.uint64(p), codes.shape[0])
    for f in range(codes.shape[0]):
        key = keyed(key, codes[f])
    mask = asked.slots.shape[0] - 1
    i = np.int64(key >> np.uint64(1)) & mask
    while asked.slots[i] >= 0:
        row = asked.slots[i]
        same = asked.people[row] == p
        for f in range(codes.shape[0]):
            same = same and asked.codes[row, f] == codes[f]
        if same:
            return i
        i = (i + 1) & mask
    return i


@compiled
def refill(asked: Asked, n: int) -> None:
    """Enter the first n rows into an empty hash table."""
    for row in range(n):
        asked.slots[_place(asked, asked.people[row], asked.codes[row])] = row


@lean
def _step(
    q: Searches,
    alternatives: Alternatives,
    heaps: Heaps,
    asked: Asked,
    status: Status,
    s: int,
    quota: int,  # states without an answer, at most
    most_cost: float,
    rows: int,
    scratch: Scratch,
    codes: NDArray[np.int32],  # [F] scratch
) -> int:
    """Take search s as far as it can go without answers; returns the rows now in the asked."""
    p = q.person[s]
    start = q.space.start[p]
    looks = asked.slots.shape[0] > 0
    waiting = 0
    while waiting < quota:
        top = heaps.begin[s]
        if heaps.n[s] == 0 or heaps.cost[top] >= status.cost[s]:
            if waiting == 0:
                status.state[s] = DONE
            return rows
        if heaps.n[s] + GROWTH > heaps.begin[s + 1] - top:
            return rows  # no room: another round
        show(alternatives, heaps, s, start, codes)
        permitted = meets_rules(q.space, p, codes)
        place = _place(asked, p, codes) if permitted and looks else -1
        known = place >= 0 and asked.slots[place] >= 0
        asks = permitted and not known
        if (asks and status.left[p] == 0) or (not permitted and status.skips[s] == 0):
            status.state[s] = BLOCKED
            return rows
        if asks and status.round[p] == 0:
            return rows  # the round is over for this person
        take(q, alternatives, heaps, s, scratch, most_cost, status.cost[s])
        status.skips[s] += SKIPS_EACH if permitted else -1
        if not permitted:
            continue
        if known:  # an accepted one was noted with its answer
            waiting += 0 if asked.answered[asked.slots[place]] else 1
            continue
        asked.people[rows] = p
        copy(codes, asked.codes[rows])
        asked.answered[rows] = False
        if looks:
            asked.slots[place] = rows
        status.left[p] -= 1
        status.round[p] -= 1
        rows += 1
        waiting += 1
    return rows


@compiled
def ask_states(
    q: Searches,
    alternatives: Alternatives,
    heaps: Heaps,
    asked: Asked,
    status: Status,
    share: NDArray[np.int64],  # [P] states without an answer that each search may have
    has_room: NDArray[np.bool_],  # [P] whose turn it is
    most_cost: float,
    most_rows: int,  # per person in this round
    rows: int,  # in the asked
) -> int:
    """Let every running search ask; returns the rows that are in the asked then.

    How far a person's searches come does not depend on who else is there. Where a round is too small for all of them,
    those that came last begin the next.
    """
    F = q.space.start.shape[1]
    codes, ahead, taken = np.empty(F, np.int32), np.empty(F, np.int32), np.empty(F, np.bool_)
    scratch = Scratch(np.empty(heaps.ranks.shape[1], heaps.ranks.dtype), ahead, taken)
    for p in range(q.space.start.shape[0]):
        if not has_room[p]:
            continue
        status.round[p] = most_rows
        first, M = q.first[p], q.first[p + 1] - q.first[p]
        turn = status.turn[p]
        for i in range(M):
            s = first + (turn + i) % M
            if status.state[s] != RUNNING:
                continue
            status.floor[s] = heaps.cost[heaps.begin[s]] if heaps.n[s] > 0 else np.inf
            had = status.round[p]
            rows = _step(q, alternatives, heaps, asked, status, s, share[p], most_cost, rows, scratch, codes)
            if had > 0 and status.round[p] == 0:
                status.turn[p] = s - first
    return rows


@compiled
def tell_states(
    q: Searches,
    people: NDArray[np.int64],  # [R]
    codes: NDArray[np.int32],  # [R, F]
    accepted: NDArray[np.bool_],  # [R]
    status: Status,
) -> None:
    """Note the accepted states: each search of the person keeps the cheapest; of equals, the one asked about first."""
    F = codes.shape[1]
    for r in range(people.shape[0]):
        if not accepted[r]:
            continue
        p = people[r]
        for s in range(q.first[p], q.first[p + 1]):
            cost = 0.0
            for f in range(F):
                if codes[r, f] != q.space.start[p, f]:
                    step = q.costs[s, q.space.offsets[f] + codes[r, f]]
                    if step == np.inf or not q.free[s, f]:
                        cost += step
                if cost >= status.cost[s]:
                    break
            if cost < status.cost[s]:
                status.cost[s] = cost
                copy(codes[r], status.codes[s])
