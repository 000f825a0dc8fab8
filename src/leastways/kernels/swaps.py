"""One round of Cost-Optimized Local Search for many walkers at once (the paper's Algorithms 4 and 5).

A walker is one run for one person. Rows asked in a round are grouped by walker, in order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.arrays import copy
from leastways.kernels.compiled import lean
from leastways.kernels.gains import LEAST_GAIN, add_gain, mean_lowest, nearest_two, swap_gains
from leastways.kernels.propose import perturb
from leastways.kernels.rules import RuleTables
from leastways.kernels.tables import Tables, may_gain, objective_costs, reachable, top_of


class Walkers(NamedTuple):
    """The state of all walkers of a chunk."""

    person: NDArray[np.int64]  # [W]
    stream: NDArray[np.uint64]  # [W] random state
    alive: NDArray[np.bool_]  # [W] false once no proposal could be made: it would be so in any company, so it is final
    barren: NDArray[np.int64]  # [W] rounds that ended without a member
    n: NDArray[np.int64]  # [W] members
    members: NDArray[np.int32]  # [W, N, F]
    costs: NDArray[np.float64]  # [W, N, M] bounded costs of the members
    probability: NDArray[np.float64]  # [W, N]
    lowest: NDArray[np.float64]  # [W, M]
    second: NDArray[np.float64]  # [W, M]
    owner: NDArray[np.int32]  # [W, M]
    candidates: NDArray[np.float64]  # [N, M] scratch for one walker's round, as the rest
    rows: NDArray[np.int64]  # [N]
    taken: NDArray[np.bool_]  # [N]
    gains: NDArray[np.float64]  # [N]


@lean
def ask_round(
    t: Tables,
    rules: RuleTables,
    choices: NDArray[np.int32],  # [P, V]
    n_choices: NDArray[np.int32],  # [P, F]
    walkers: Walkers,
    quota: NDArray[np.int64],  # [W] rows each walker may ask now
    people: NDArray[np.int64],  # [W * N] written
    asked_by: NDArray[np.int64],  # [W * N] written
    codes: NDArray[np.int32],  # [W * N, F] written
) -> int:
    """Perturb every member of every walker's set; before the first member, the present state, ever more widely."""
    row = 0
    F = codes.shape[1]
    for w in range(walkers.person.shape[0]):
        if quota[w] == 0:
            continue
        p = walkers.person[w]
        state = walkers.stream[w]
        n = walkers.n[w]
        first = row
        most = min(F, 2 if n > 0 else 2 + walkers.barren[w])
        while row == first and most <= F:
            for c in range(quota[w]):
                base = walkers.members[w, c % n] if n > 0 else t.start[p]
                state, found = perturb(t, rules, choices, n_choices, p, base, most, codes[row], state)
                if found:
                    people[row] = p
                    asked_by[row] = w
                    row += 1
            most += 1
        walkers.alive[w] = row > first
        walkers.stream[w] = state
    return row


@lean
def _best_move(
    candidates: NDArray[np.float64],  # [C, M]
    n_candidates: int,
    taken: NDArray[np.bool_],  # [C]
    walkers: Walkers,
    w: int,
    weights: NDArray[np.float64],
    paper: bool,
    gains: NDArray[np.float64],  # [N] scratch
) -> tuple[float, int, int]:
    """Find the candidate and the place that lower EMC most: (gain, candidate, place); gain 0 if none does."""
    n = walkers.n[w]
    full = n == walkers.members.shape[1]
    best, candidate, place = 0.0, -1, -1
    for q in range(n_candidates):
        if taken[q]:
            continue
        most = add_gain(candidates[q], walkers.lowest[w], weights)
        if most <= max(best, LEAST_GAIN):  # no swap gains more than adding would
            continue
        if not full:
            best, candidate, place = most, q, n
            continue
        swap_gains(candidates[q], walkers.lowest[w], walkers.second[w], walkers.owner[w], weights, paper, gains)
        for o in range(n):
            if gains[o] > max(best, LEAST_GAIN):
                best, candidate, place = gains[o], q, o
    return best, candidate, place


@lean
def tell_round(
    t: Tables,
    walkers: Walkers,
    asked_by: NDArray[np.int64],  # [R] ascending
    codes: NDArray[np.int32],  # [R, F]
    accepted: NDArray[np.bool_],  # [R]
    probability: NDArray[np.float64],  # [R]
    paper: bool,
) -> None:
    """Let accepted candidates into the sets, best first, each at most once, gains recomputed after every move."""
    R = codes.shape[0]
    candidates, rows, taken, gains = walkers.candidates, walkers.rows, walkers.taken, walkers.gains
    top = top_of(t)
    first = 0
    while first < R:
        w = asked_by[first]
        p = walkers.person[w]
        last = first
        hopeful = False
        while last < R and asked_by[last] == w:
            if not hopeful and accepted[last] and reachable(t, p, codes[last]):
                hopeful = may_gain(t, p, codes[last], walkers.lowest[w])
            last += 1
        n_candidates = 0
        if hopeful:  # seldom: the others have a gain to be weighed only if one of them has
            for row in range(first, last):
                if accepted[row] and reachable(t, p, codes[row]):
                    objective_costs(t, p, codes[row], candidates[n_candidates])
                    rows[n_candidates] = row
                    taken[n_candidates] = False
                    n_candidates += 1
        first = last
        moves = 0
        while moves < n_candidates:
            gain, q, place = _best_move(candidates, n_candidates, taken, walkers, w, t.weights[p], paper, gains)
            if q < 0:
                break
            taken[q] = True
            moves += 1
            copy(codes[rows[q]], walkers.members[w, place])
            copy(candidates[q], walkers.costs[w, place])
            walkers.probability[w, place] = probability[rows[q]]
            if place == walkers.n[w]:
                walkers.n[w] += 1
            nearest_two(walkers.costs[w], walkers.n[w], top, walkers.lowest[w], walkers.second[w], walkers.owner[w])
        if walkers.n[w] == 0:  # nothing accepted, or nothing that serves a sample
            walkers.barren[w] += 1


@lean
def walker_emc(t: Tables, walkers: Walkers, out: NDArray[np.float64]) -> None:
    """Write each walker's EMC on the objective's scale, out [W]."""
    for w in range(out.shape[0]):
        out[w] = mean_lowest(walkers.lowest[w], t.weights[walkers.person[w]])
