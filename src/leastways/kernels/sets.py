"""Whole sets of states: how good one is (for local and random search), and what to report of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.arrays import copy, fill
from leastways.kernels.compiled import compiled
from leastways.kernels.propose import perturb, same_state, uniform_state
from leastways.kernels.rules import RuleTables
from leastways.kernels.tables import Tables, charged, objective_costs, reachable, top_of

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
            if t.span[f] > 0.0:
                v = t.offsets[f]
                total += min(abs(t.levels[p, v + a[f]] - t.levels[p, v + b[f]]) / t.span[f], 1.0)
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
            total += t.weights[p, m] * lowest[m]
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
            measure += 1.0 - state_distance(t, p, codes[o], t.start[p])
            pairs += 1
        else:
            changed = 0
            for f in range(codes.shape[1]):
                if codes[o, f] != t.start[p, f]:
                    changed += 1
            measure += 1.0 - changed / codes.shape[1]
            pairs += 1
    return (measure / max(pairs, 1) + valid / size) / 2.0


@compiled
def ask_sets(
    t: Tables,
    rules: RuleTables,
    choices: NDArray[np.int32],  # [P, V]
    n_choices: NDArray[np.int32],  # [P, F]
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
                    state, found = uniform_state(t, rules, choices, n_choices, p, codes[row], state)
                else:
                    base = states.codes[p, c % states.n[p]] if states.n[p] > 0 else t.start[p]
                    state, found = perturb(t, rules, choices, n_choices, p, base, most, codes[row], state)
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
    R, N, M = codes.shape[0], states.codes.shape[1], t.alpha.shape[1]
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
    row = np.empty(t.alpha.shape[1])
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
    """Work out what is reported of each person's options."""
    M = t.alpha.shape[1]
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
                    reach += t.weights[p, m]
                    total += t.weights[p, m] * row[m]
                    if ranked[m] < cheapest[m]:  # ties between free moves go to the smaller one
                        cheapest[m] = ranked[m]
                        lowest[m] = row[m]
                        owner[m] = o
            expected[p, o] = total / reach if reach > 0.0 else np.inf
            best_for[p, o] = 0.0
        share, cost, under = 0.0, 0.0, 0.0
        for m in range(M):
            if owner[m] >= 0:
                weight = t.weights[p, m]
                best_for[p, owner[m]] += weight
                share += weight
                cost += weight * lowest[m]
                if lowest[m] < satisfied_below:
                    under += weight
        covered[p] = share
        emc[p] = cost / share if share > 0.0 else np.nan
        satisfied[p] = under
