"""One round of the oracle: which states to ask about next, and what the answers mean for every search.

The searches of one person share what the model said: a state is asked about once, however many of them meet it, and
an accepted one lowers what the others still have to beat.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.arrays import copy
from leastways.kernels.best_first import GROWTH, Heaps, Scratch, show, take
from leastways.kernels.compiled import compiled, lean
from leastways.kernels.ladders import Ladders, Searches
from leastways.kernels.random import keyed
from leastways.kernels.rules import RuleTables, meets_rules
from leastways.kernels.tables import Tables, row_of

RUNNING, BLOCKED, DONE = 0, 1, 2
SKIPS_EACH = 20  # states that a search may skip, further, for each that breaks no rule


class Book(NamedTuple):
    """States asked about, in the order of asking, and a hash table over them (of no length: nothing is looked up)."""

    slots: NDArray[np.int64]  # [C] a power of two, at least twice the rows; -1 where empty
    people: NDArray[np.int64]  # [B]
    codes: NDArray[np.int32]  # [B, F]
    answered: NDArray[np.bool_]  # [B]


class Standing(NamedTuple):
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
    P, F, M = t.scores.shape
    for p in range(P):
        for f in range(F):
            stated = not np.isnan(t.given[p, t.offsets[f]])
            for m in range(M):
                free[p * M + m, f] = t.scores[p, f, m] == 1.0 and not stated
            for j in range(t.offsets[f + 1] - t.offsets[f]):
                v = t.offsets[f] + j
                inside = j < t.used[p, f] and t.allowed[p, v]
                row = row_of(t, p, f, j) if inside else -1
                for m in range(M):
                    costs[p * M + m, v] = t.cells[row, m] if inside else np.inf


@lean
def _place(book: Book, p: int, codes: NDArray[np.int32]) -> int:
    """Return where in the hash table this state of person p is, or the empty place where it belongs."""
    key = keyed(np.uint64(p), codes.shape[0])
    for f in range(codes.shape[0]):
        key = keyed(key, codes[f])
    mask = book.slots.shape[0] - 1
    i = np.int64(key >> np.uint64(1)) & mask
    while book.slots[i] >= 0:
        row = book.slots[i]
        same = book.people[row] == p
        for f in range(codes.shape[0]):
            same = same and book.codes[row, f] == codes[f]
        if same:
            return i
        i = (i + 1) & mask
    return i


@compiled
def refill(book: Book, n: int) -> None:
    """Enter the first n rows into an empty hash table."""
    for row in range(n):
        book.slots[_place(book, book.people[row], book.codes[row])] = row


@lean
def _step(
    q: Searches,
    rules: RuleTables,
    ladders: Ladders,
    heaps: Heaps,
    book: Book,
    standing: Standing,
    s: int,
    quota: int,  # states without an answer, at most
    most_cost: float,
    rows: int,
    scratch: Scratch,
    codes: NDArray[np.int32],  # [F] scratch
) -> int:
    """Take search s as far as it can go without answers; returns the rows now in the book."""
    p = q.person[s]
    start = q.start[p]
    looks = book.slots.shape[0] > 0
    waiting = 0
    while waiting < quota:
        top = heaps.begin[s]
        if heaps.n[s] == 0 or heaps.cost[top] >= standing.cost[s]:
            if waiting == 0:
                standing.state[s] = DONE
            return rows
        if heaps.n[s] + GROWTH > heaps.begin[s + 1] - top:
            return rows  # no room: another round
        show(ladders, heaps, s, start, codes)
        permitted = meets_rules(rules, q.offsets, p, start, codes)
        place = _place(book, p, codes) if permitted and looks else -1
        known = place >= 0 and book.slots[place] >= 0
        asks = permitted and not known
        if (asks and standing.left[p] == 0) or (not permitted and standing.skips[s] == 0):
            standing.state[s] = BLOCKED
            return rows
        if asks and standing.round[p] == 0:
            return rows  # the round is over for this person
        take(q, rules, ladders, heaps, s, scratch, most_cost, standing.cost[s])
        standing.skips[s] += SKIPS_EACH if permitted else -1
        if not permitted:
            continue
        if known:  # an accepted one was noted when it was told
            waiting += 0 if book.answered[book.slots[place]] else 1
            continue
        book.people[rows] = p
        copy(codes, book.codes[rows])
        book.answered[rows] = False
        if looks:
            book.slots[place] = rows
        standing.left[p] -= 1
        standing.round[p] -= 1
        rows += 1
        waiting += 1
    return rows


@compiled
def ask_states(
    q: Searches,
    rules: RuleTables,
    ladders: Ladders,
    heaps: Heaps,
    book: Book,
    standing: Standing,
    share: NDArray[np.int64],  # [P] states without an answer that each search may have
    has_room: NDArray[np.bool_],  # [P] whose turn it is
    most_cost: float,
    most_rows: int,  # per person in this round
    rows: int,  # in the book
) -> int:
    """Let every running search ask; returns the rows that are in the book then.

    How far a person's searches come does not depend on who else is there. Where a round is too small for all of them,
    those that came last begin the next.
    """
    F = q.start.shape[1]
    codes, ahead, taken = np.empty(F, np.int32), np.empty(F, np.int32), np.empty(F, np.bool_)
    scratch = Scratch(np.empty(heaps.ranks.shape[1], heaps.ranks.dtype), ahead, taken)
    for p in range(q.start.shape[0]):
        if not has_room[p]:
            continue
        standing.round[p] = most_rows
        first, M = q.first[p], q.first[p + 1] - q.first[p]
        turn = standing.turn[p]
        for i in range(M):
            s = first + (turn + i) % M
            if standing.state[s] != RUNNING:
                continue
            standing.floor[s] = heaps.cost[heaps.begin[s]] if heaps.n[s] > 0 else np.inf
            had = standing.round[p]
            rows = _step(q, rules, ladders, heaps, book, standing, s, share[p], most_cost, rows, scratch, codes)
            if had > 0 and standing.round[p] == 0:
                standing.turn[p] = s - first
    return rows


@compiled
def tell_states(
    q: Searches,
    people: NDArray[np.int64],  # [R]
    codes: NDArray[np.int32],  # [R, F]
    accepted: NDArray[np.bool_],  # [R]
    standing: Standing,
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
                if codes[r, f] != q.start[p, f]:
                    step = q.costs[s, q.offsets[f] + codes[r, f]]
                    if step == np.inf or not q.free[s, f]:
                        cost += step
                if cost >= standing.cost[s]:
                    break
            if cost < standing.cost[s]:
                standing.cost[s] = cost
                copy(codes[r], standing.codes[s])
