"""The set of options on one person's samples: its cost, and what adding or swapping a candidate would gain.

EMC over a finite pool is k-medoids with people's samples as points. With the lowest and second-lowest cost kept per
sample, the gains of one candidate against all N members cost O(M + N) (the FastPAM identity).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways._compiled import compiled, lean
from leastways._lanes_kernels import WIDTH, load, positive, total, zeros
from leastways._random_kernels import copy, fill
from leastways.costs import Tables, charged, may_gain, objective_costs, reachable, top_of
from leastways.feasibility import perturb, same_state, uniform_state

LEAST_GAIN = 1e-12  # smaller "gains" are rounding


@lean
def nearest_two(
    costs: NDArray[np.float64],  # [N, M] bounded costs of the members
    n: int,
    top: float,  # what a sample without any option counts
    lowest: NDArray[np.float64],  # [M] written
    second: NDArray[np.float64],  # [M] written
    owner: NDArray[np.int32],  # [M] written: who holds the lowest, -1 with no members
) -> None:
    """Find each sample's lowest and second-lowest cost over the members, and which member has the lowest."""
    for m in range(lowest.shape[0]):
        lowest[m], second[m], owner[m] = top, top, -1
    for o in range(n):
        for m in range(lowest.shape[0]):
            c = costs[o, m]
            if c < lowest[m] or owner[m] < 0:
                second[m] = lowest[m]
                lowest[m] = c
                owner[m] = o
            elif c < second[m]:
                second[m] = c


@lean
def add_gain(candidate: NDArray[np.float64], lowest: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return how much EMC falls when the candidate [M] joins the set."""
    M = candidate.shape[0]
    whole = M - M % WIDTH
    lanes = zeros()
    for m in range(0, whole, WIDTH):
        lanes = lanes + load(weights, m) * positive(load(lowest, m) - load(candidate, m))
    gain = total(lanes)
    for m in range(whole, M):
        gain += weights[m] * max(lowest[m] - candidate[m], 0.0)
    return gain


@lean
def swap_gains(
    candidate: NDArray[np.float64],  # [M]
    lowest: NDArray[np.float64],  # [M]
    second: NDArray[np.float64],  # [M]
    owner: NDArray[np.int32],  # [M]
    weights: NDArray[np.float64],  # [M]
    paper: bool,
    gains: NDArray[np.float64],  # [N] written: fall of EMC when member p makes way for the candidate
) -> None:
    """Return the gain of each swap: exact, or as the paper's table counts it (only samples whose minimum p holds)."""
    shared = 0.0
    fill(gains, 0.0)
    for m in range(candidate.shape[0]):
        c, low = candidate[m], lowest[m]
        if c < low:
            gain = weights[m] * (low - c)
            if paper:
                gains[owner[m]] += gain
            else:
                shared += gain
        else:
            gains[owner[m]] -= weights[m] * (min(c, second[m]) - low)
    for p in range(gains.shape[0]):
        gains[p] += shared


@lean
def mean_lowest(lowest: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return EMC on the objective's scale, from each sample's lowest cost."""
    M = lowest.shape[0]
    whole = M - M % WIDTH
    lanes = zeros()
    for m in range(0, whole, WIDTH):
        lanes = lanes + load(weights, m) * load(lowest, m)
    mean = total(lanes)
    for m in range(whole, M):
        mean += weights[m] * lowest[m]
    return mean


# The best N of a pool of accepted states: EMC over a finite pool is k-medoids with cost samples as points.

_MOST_SWAPS = 10  # per option; far more than are ever needed


@compiled
def choose_from_pool(
    costs: NDArray[np.float64],  # [A, M]
    weights: NDArray[np.float64],  # [M]
    N: int,
    top: float,
    swaps: bool,  # whether to go on from the greedy set
) -> NDArray[np.int64]:
    """Return up to N positions in the pool that lower EMC most: greedy, then swaps until none helps.

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


# One round of Cost-Optimized Local Search for many walkers at once (the paper's Algorithms 4 and 5).
#
# A walker is one run for one person. Rows asked in a round are grouped by walker, in order.


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
                base = walkers.members[w, c % n] if n > 0 else t.space.start[p]
                state, found = perturb(t.space, p, base, most, codes[row], state)
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
    """Find the swap that lowers EMC most: (gain, candidate, position); gain 0 if none does."""
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
            gain, q, place = _best_move(
                candidates, n_candidates, taken, walkers, w, t.objective.weights[p], paper, gains
            )
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
        out[w] = mean_lowest(walkers.lowest[w], t.objective.weights[walkers.person[w]])


# Whole sets of states: how good one is (for local and random search), and what to report of it.

EMC, SPARSITY, PROXIMITY, DIVERSITY = 0, 1, 2, 3


class SetStates(NamedTuple):
    """The best set of each person so far, and the one being tried."""

    stream: NDArray[np.uint64]  # [P]
    alive: NDArray[np.bool_]  # [P] false once no proposal could be made
    score: NDArray[np.float64]  # [P] of the best set, -inf before the first
    codes: NDArray[np.int32]  # [P, N, F] the best set; accepted or not
    n: NDArray[np.int64]  # [P]
    accepted: NDArray[np.bool_]  # [P, N]
    probability: NDArray[np.float64]  # [P, N]


@compiled
def state_distance(t: Tables, p: int, a: NDArray[np.int32], b: NDArray[np.int32]) -> float:
    """Mean over features of |x - y| / range for numbers, 1 at most; 0 or 1 for categories."""
    total = 0.0
    for f in range(a.shape[0]):
        if a[f] != b[f]:
            if t.space.span[f] > 0.0:
                v = t.space.offsets[f]
                total += min(abs(t.space.levels[p, v + a[f]] - t.space.levels[p, v + b[f]]) / t.space.span[f], 1.0)
            else:
                total += 1.0
    return total / a.shape[0]


@compiled
def is_first(codes: NDArray[np.int32], o: int) -> bool:
    """Whether state o of codes [N, F] does not occur before."""
    for earlier in range(o):
        if same_state(codes[earlier], codes[o]):
            return False
    return True


@compiled
def set_score(
    t: Tables,
    p: int,
    codes: NDArray[np.int32],  # [N, F]
    n: int,
    accepted: NDArray[np.bool_],  # [N]
    size: int,  # options wanted
    objective: int,
    lowest: NDArray[np.float64],  # [M] scratch
    row: NDArray[np.float64],  # [M] scratch
) -> float:
    """Score a set, higher is better: minus EMC, or a distance measure averaged with validity."""
    if objective == EMC:
        fill(lowest, top_of(t))
        for o in range(n):
            if accepted[o] and reachable(t, p, codes[o]):
                objective_costs(t, p, codes[o], row)
                for m in range(row.shape[0]):
                    lowest[m] = min(lowest[m], row[m])
        total = 0.0
        for m in range(row.shape[0]):
            total += t.objective.weights[p, m] * lowest[m]
        return -total
    valid = 0
    measure = 0.0
    pairs = 0
    for o in range(n):
        if accepted[o] and reachable(t, p, codes[o]) and is_first(codes, o):
            valid += 1
        if objective == DIVERSITY:
            for other in range(o):
                measure += state_distance(t, p, codes[o], codes[other])
                pairs += 1
        elif objective == PROXIMITY:
            measure += 1.0 - state_distance(t, p, codes[o], t.space.start[p])
            pairs += 1
        else:
            changed = 0
            for f in range(codes.shape[1]):
                if codes[o, f] != t.space.start[p, f]:
                    changed += 1
            measure += 1.0 - changed / codes.shape[1]
            pairs += 1
    return (measure / max(pairs, 1) + valid / size) / 2.0


@compiled
def ask_sets(
    t: Tables,
    states: SetStates,
    quota: NDArray[np.int64],  # [P]
    everywhere: bool,  # draw uniformly over the space instead of perturbing the best set
    people: NDArray[np.int64],  # [P * N] written
    codes: NDArray[np.int32],  # [P * N, F] written
) -> int:
    """Propose each person's next set."""
    row = 0
    F = codes.shape[1]
    for p in range(states.score.shape[0]):
        if quota[p] == 0:
            continue
        state = states.stream[p]
        first = row
        most = min(2, F)
        while row == first and most <= max(F, 2):  # wider and wider, until something fits the rules
            for c in range(quota[p]):
                if everywhere:
                    state, found = uniform_state(t.space, p, codes[row], state)
                else:
                    base = states.codes[p, c % states.n[p]] if states.n[p] > 0 else t.space.start[p]
                    state, found = perturb(t.space, p, base, most, codes[row], state)
                if found:
                    people[row] = p
                    row += 1
            most += 1
        states.alive[p] = row > first
        states.stream[p] = state
    return row


@compiled
def tell_sets(
    t: Tables,
    states: SetStates,
    people: NDArray[np.int64],  # [R] ascending
    codes: NDArray[np.int32],  # [R, F]
    accepted: NDArray[np.bool_],  # [R]
    probability: NDArray[np.float64],  # [R]
    objective: int,
) -> None:
    """Replace a person's best set by the tried one where that is better as a whole."""
    R, N, M = codes.shape[0], states.codes.shape[1], t.draws.alpha.shape[1]
    lowest, row = np.empty(M), np.empty(M)
    first = 0
    while first < R:
        p = people[first]
        last = first
        while last < R and people[last] == p:
            last += 1
        score = set_score(t, p, codes[first:last], last - first, accepted[first:last], N, objective, lowest, row)
        if score > states.score[p]:
            states.score[p] = score
            states.n[p] = last - first
            copy(accepted[first:last], states.accepted[p])
            copy(probability[first:last], states.probability[p])
            for o in range(last - first):
                copy(codes[first + o], states.codes[p, o])
        first = last


@compiled
def keep_valid(
    t: Tables,
    states: SetStates,
    codes: NDArray[np.int32],  # [P, N, F] written
    n: NDArray[np.int64],  # [P] written
    probability: NDArray[np.float64],  # [P, N] written
) -> None:
    """Take the accepted, permitted, distinct members of each person's best set that some cost sample can take."""
    row = np.empty(t.draws.alpha.shape[1])
    for p in range(n.shape[0]):
        n[p] = 0
        for o in range(states.n[p]):
            state = states.codes[p, o]
            if not (states.accepted[p, o] and reachable(t, p, state) and is_first(states.codes[p], o)):
                continue
            charged(t, p, state, row)
            if row.min() < np.inf:
                copy(state, codes[p, n[p]])
                probability[p, n[p]] = states.probability[p, o]
                n[p] += 1


@compiled
def describe_sets(
    t: Tables,
    codes: NDArray[np.int32],  # [P, N, F]
    n: NDArray[np.int64],  # [P]
    satisfied_below: float,
    expected: NDArray[np.float64],  # [P, N] written: mean cost over the samples that reach the option
    best_for: NDArray[np.float64],  # [P, N] written: share of samples for which it is the cheapest
    covered: NDArray[np.float64],  # [P] written: share of samples that some option serves
    emc: NDArray[np.float64],  # [P] written: mean cost of the cheapest option over the covered, NaN if none
    satisfied: NDArray[np.float64],  # [P] written: share of samples whose cheapest option costs less than the bound
) -> None:
    """Compute the reported figures of each person's options."""
    M = t.draws.alpha.shape[1]
    row, lowest, cheapest, ranked = np.empty(M), np.empty(M), np.empty(M), np.empty(M)
    owner = np.empty(M, np.int64)
    for p in range(codes.shape[0]):
        fill(lowest, np.inf)
        fill(cheapest, np.inf)
        fill(owner, -1)
        for o in range(n[p]):
            charged(t, p, codes[p, o], row)
            objective_costs(t, p, codes[p, o], ranked)
            reach = 0.0
            total = 0.0
            for m in range(M):
                if np.isfinite(row[m]):
                    reach += t.objective.weights[p, m]
                    total += t.objective.weights[p, m] * row[m]
                    if ranked[m] < cheapest[m]:  # ties between free moves go to the smaller one
                        cheapest[m] = ranked[m]
                        lowest[m] = row[m]
                        owner[m] = o
            expected[p, o] = total / reach if reach > 0.0 else np.inf
            best_for[p, o] = 0.0
        share, cost, under = 0.0, 0.0, 0.0
        for m in range(M):
            if owner[m] >= 0:
                weight = t.objective.weights[p, m]
                best_for[p, owner[m]] += weight
                share += weight
                cost += weight * lowest[m]
                if lowest[m] < satisfied_below:
                    under += weight
        covered[p] = share
        emc[p] = cost / share if share > 0.0 else np.nan
        satisfied[p] = under
