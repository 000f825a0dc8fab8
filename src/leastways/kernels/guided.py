"""Guided search for many people at once: know the costs, guess the model, ask only where it can pay.

Per person: every answered state, each sample's cheapest accepted cost so far, and a surrogate of the model. A round
makes candidates, scores each by (potential fall of EMC) x (guessed chance of acceptance), and asks about the best.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.arrays import copy, fill
from leastways.kernels.compiled import compiled
from leastways.kernels.gains import add_gain
from leastways.kernels.knapsack import Items, knapsack, mean_costs, prepare
from leastways.kernels.pool import LEAST_GAIN, choose_from_pool
from leastways.kernels.propose import perturb, same_state
from leastways.kernels.random import GOLDEN, below, mix64, uniform
from leastways.kernels.rules import RuleTables, repair
from leastways.kernels.surrogate import LEAST_SPREAD, chance, learn, lift_of, log_odds, solve, tabulate
from leastways.kernels.tables import TIE, Tables, objective_costs, reachable


class Guides(NamedTuple):
    """What guided search knows of each person."""

    stream: NDArray[np.uint64]  # [P]
    alive: NDArray[np.bool_]  # [P]
    rounds: NDArray[np.int64]  # [P]
    now: NDArray[np.float64]  # [P] present log-odds against the threshold
    n_asked: NDArray[np.int64]  # [P]
    asked: NDArray[np.int32]  # [P, B, F]
    odds: NDArray[np.float64]  # [P, B] answers as log-odds against the threshold
    probability: NDArray[np.float64]  # [P, B]
    accepted: NDArray[np.bool_]  # [P, B]
    seen: NDArray[np.uint64]  # [P, H] hashes of asked states, open addressing, 0 is empty
    lowest: NDArray[np.float64]  # [P, M] cheapest accepted bounded cost
    columns: NDArray[np.int64]  # [F + 1]
    normal: NDArray[np.float64]  # [P, D, D]
    moment: NDArray[np.float64]  # [P, D]
    lift: NDArray[np.float64]  # [P, V]
    spread: NDArray[np.float64]  # [P] how far the guess is off, in log-odds


class Scratch(NamedTuple):
    """Room for one person's round."""

    codes: NDArray[np.int32]  # [C, F]
    costs: NDArray[np.float64]  # [C, S] rough costs under the first S samples, enough to rank candidates
    value: NDArray[np.float64]  # [C]
    odds: NDArray[np.float64]  # [C] guessed chance of acceptance
    lowest: NDArray[np.float64]  # [S]
    rough: NDArray[np.float64]  # [S]
    row: NDArray[np.float64]  # [M]
    factor: NDArray[np.float64]  # [D, D]
    weights: NDArray[np.float64]  # [D]
    places: NDArray[np.int64]  # [2 F]
    values: NDArray[np.float64]  # [2 F]


@compiled
def state_hash(codes: NDArray[np.int32]) -> np.uint64:
    """Return a hash of a state that is never 0."""
    h = GOLDEN
    for f in range(codes.shape[0]):
        h = mix64(h ^ (np.uint64(codes[f]) + np.uint64(f + 1) * GOLDEN))
    return h | np.uint64(1)


@compiled
def is_new(seen: NDArray[np.uint64], h: np.uint64, enter: bool) -> bool:
    """Whether a hash is not in the table [H]; enters it if asked to."""
    place = np.int64(h % np.uint64(seen.shape[0]))
    while seen[place] != np.uint64(0):
        if seen[place] == h:
            return False
        place = (place + 1) % seen.shape[0]
    if enter:
        seen[place] = h
    return True


@compiled
def _bad_sample(g: Guides, p: int, row: NDArray[np.float64], total: float, state: np.uint64) -> tuple[np.uint64, int]:
    """Draw a sample in proportion to how badly it is served (row [M] holds the weights, summing to total)."""
    state, u = uniform(state)
    left = u * total
    for m in range(row.shape[0]):
        left -= row[m]
        if left <= 0.0:
            return state, m
    return state, row.shape[0] - 1


@compiled
def _local(
    t: Tables,
    rules: RuleTables,
    choices: NDArray[np.int32],  # [P, V]
    n_choices: NDArray[np.int32],  # [P, F]
    g: Guides,
    p: int,
    m: int,
    valid: NDArray[np.int64],  # [A] places of accepted states
    n_valid: int,
    out: NDArray[np.int32],
    state: np.uint64,
) -> tuple[np.uint64, bool]:
    """Start from an accepted state (or the present): drop a change, pull one back, or change something m can afford."""
    F = out.shape[0]
    copy(t.start[p], out)
    if n_valid > 0:
        state, pick = below(state, n_valid)
        copy(g.asked[p, valid[pick]], out)
    state, kind = below(state, 4)
    changed = 0
    for f in range(F):
        if out[f] != t.start[p, f]:
            changed += 1
    if changed > 0 and kind < 3:
        state, which = below(state, changed)
        for f in range(F):
            if out[f] == t.start[p, f]:
                continue
            if which > 0:
                which -= 1
                continue
            if kind == 0 or not t.ordered[f]:
                out[f] = t.start[p, f]
            else:
                state, share = uniform(state)
                near = t.start[p, f] + np.int32((out[f] - t.start[p, f]) * share)
                if t.allowed[p, t.offsets[f] + near]:
                    out[f] = near
            break
    if kind >= 2:
        open_to = 0
        for f in range(F):
            if n_choices[p, f] > 1 and not np.isnan(t.scores[p, m, f]):
                open_to += 1
        if open_to > 0:
            state, which = below(state, open_to)
            for f in range(F):
                if n_choices[p, f] > 1 and not np.isnan(t.scores[p, m, f]):
                    if which == 0:
                        state, pick = below(state, n_choices[p, f])
                        out[f] = choices[p, t.offsets[f] + pick]
                        break
                    which -= 1
    state, fine = repair(rules, t.offsets, p, t.start[p], choices[p], n_choices[p], out, state)
    return state, fine and not same_state(out, t.start[p])


@compiled
def _first_moves(
    t: Tables,
    rules: RuleTables,
    choices: NDArray[np.int32],  # [P, V]
    n_choices: NDArray[np.int32],  # [P, F]
    p: int,
    s: Scratch,
    state: np.uint64,
) -> tuple[np.uint64, int]:
    """Write single moves, within the rules: every other value of a category, half the way to each end of an order."""
    n = 0
    for f in range(s.codes.shape[1]):
        v, last = t.offsets[f], n_choices[p, f] - 1
        own = 0
        while own < last and choices[p, v + own] < t.start[p, f]:
            own += 1
        for k in range(last + 1):
            half = k == own + (last - own + 1) // 2 or k == own - (own + 1) // 2
            if k == own or n == s.codes.shape[0] or (t.ordered[f] and not half):
                continue
            copy(t.start[p], s.codes[n])
            s.codes[n, f] = choices[p, v + k]
            state, fine = repair(rules, t.offsets, p, t.start[p], choices[p], n_choices[p], s.codes[n], state)
            if fine and not same_state(s.codes[n], t.start[p]):
                n += 1
    return state, n


@compiled
def _candidates(
    t: Tables,
    rules: RuleTables,
    choices: NDArray[np.int32],
    n_choices: NDArray[np.int32],
    g: Guides,
    p: int,
    s: Scratch,
    items: Items,
    state: np.uint64,
) -> tuple[np.uint64, int]:
    """Make this round's candidates."""
    C = s.codes.shape[0]
    n = 0
    if g.rounds[p] == 0:
        prepare(t, p)
        return _first_moves(t, rules, choices, n_choices, p, s, state)
    total = 0.0
    for m in range(s.row.shape[0]):
        s.row[m] = g.lowest[p, m] ** 2
        total += s.row[m]
    n_valid = 0
    valid = np.empty(g.n_asked[p], np.int64)
    for a in range(g.n_asked[p]):
        if g.accepted[p, a]:
            valid[n_valid] = a
            n_valid += 1
    bad = s.row.copy()
    tries = 0
    while n < C and tries < 2 * C:
        tries += 1
        state, m = _bad_sample(g, p, bad, total, state)
        if tries % 2 == 0:
            state, u = uniform(state)
            margin = g.spread[p] * (2.0 * u - 0.7)
            found = knapsack(t, p, choices[p], n_choices[p], g.lift[p], m, margin - g.now[p], items, s.codes[n])
            if found:
                state, found = repair(rules, t.offsets, p, t.start[p], choices[p], n_choices[p], s.codes[n], state)
                found = found and not same_state(s.codes[n], t.start[p])
        elif n_valid > 0:
            state, found = _local(t, rules, choices, n_choices, g, p, m, valid, n_valid, s.codes[n], state)
        else:
            most = min(s.codes.shape[1], 2 + g.rounds[p])
            state, found = perturb(t, rules, choices, n_choices, p, t.start[p], most, s.codes[n], state)
        if found:
            n += 1
    return state, n


@compiled
def _pick(t: Tables, g: Guides, p: int, s: Scratch, n: int, wanted: int, out: NDArray[np.int32]) -> int:
    """Choose up to `wanted` candidates greedily by expected gain, each counting on those before it; out [wanted, F]."""
    for c in range(n):
        s.value[c] = -1.0
        h = state_hash(s.codes[c])
        if not is_new(g.seen[p], h, False) or not reachable(t, p, s.codes[c]):
            continue
        mean_costs(t, p, s.codes[c], s.rough, s.costs[c])
        s.odds[c] = max(chance(g.now[p] + lift_of(t, p, g.lift[p], s.codes[c]), g.spread[p]), 0.02)
        s.value[c] = s.odds[c] * add_gain(s.costs[c], g.lowest[p], t.weights[p])
    for m in range(s.lowest.shape[0]):
        s.lowest[m] = g.lowest[p, m]
    made = 0
    while made < wanted:
        best = 0.0
        pick = -1
        for c in range(n):  # values only fall as others are picked, so a stale one is an upper bound
            if s.value[c] > best:
                fresh = s.odds[c] * add_gain(s.costs[c], s.lowest, t.weights[p])
                s.value[c] = fresh
                if fresh > best:
                    best, pick = fresh, c
        if pick < 0 or best <= LEAST_GAIN:
            break
        s.value[pick] = -1.0
        if not is_new(g.seen[p], state_hash(s.codes[pick]), True):
            continue
        copy(s.codes[pick], out[made])
        made += 1
        for m in range(s.lowest.shape[0]):
            s.lowest[m] -= s.odds[pick] * max(s.lowest[m] - s.costs[pick, m], 0.0)
    return made


@compiled
def ask_guided(
    t: Tables,
    rules: RuleTables,
    choices: NDArray[np.int32],
    n_choices: NDArray[np.int32],
    g: Guides,
    s: Scratch,
    items: Items,
    quota: NDArray[np.int64],  # [P]
    people: NDArray[np.int64],  # [R] written
    codes: NDArray[np.int32],  # [R, F] written
) -> int:
    """Choose each person's next questions."""
    row = 0
    for p in range(quota.shape[0]):
        if quota[p] == 0:
            continue
        state = g.stream[p]
        made = 0
        for _ in range(3):
            state, n = _candidates(t, rules, choices, n_choices, g, p, s, items, state)
            made = _pick(t, g, p, s, n, quota[p], codes[row:])
            g.rounds[p] += 1
            if made > 0:
                break
        g.stream[p] = state
        g.alive[p] = made > 0
        fill(people[row : row + made], p)
        row += made
    return row


@compiled
def tell_guided(
    t: Tables,
    g: Guides,
    s: Scratch,
    people: NDArray[np.int64],  # [R] ascending
    codes: NDArray[np.int32],  # [R, F]
    accepted: NDArray[np.bool_],  # [R]
    probability: NDArray[np.float64],  # [R]
    threshold: float,
) -> None:
    """Take the answers: lower what accepted states serve better, and learn."""
    first = 0
    R = people.shape[0]
    while first < R:
        p = people[first]
        last = first
        while last < R and people[last] == p:
            a = g.n_asked[p]
            copy(codes[last], g.asked[p, a])
            g.odds[p, a] = log_odds(probability[last], threshold)
            g.probability[p, a] = probability[last]
            g.accepted[p, a] = accepted[last]
            g.n_asked[p] += 1
            weight = 1.0 / (1.0 + 0.25 * g.odds[p, a] ** 2)
            learn(
                t,
                p,
                g.columns,
                codes[last],
                g.odds[p, a] - g.now[p],
                weight,
                g.normal[p],
                g.moment[p],
                s.places,
                s.values,
            )
            if accepted[last] and reachable(t, p, codes[last]):
                objective_costs(t, p, codes[last], s.row)
                for m in range(s.row.shape[0]):
                    g.lowest[p, m] = min(g.lowest[p, m], s.row[m])
            last += 1
        first = last
        solve(g.normal[p], g.moment[p], s.factor, s.weights)
        tabulate(t, p, g.columns, s.weights, g.lift[p])
        error, total = 0.5, 1.0
        for a in range(g.n_asked[p]):
            weight = 1.0 / (1.0 + 0.25 * g.odds[p, a] ** 2)
            miss = g.now[p] + lift_of(t, p, g.lift[p], g.asked[p, a]) - g.odds[p, a]
            error += weight * miss * miss
            total += weight
        g.spread[p] = max(math.sqrt(error / total), LEAST_SPREAD)


@compiled
def choose_options(
    t: Tables,
    g: Guides,
    N: int,
    codes: NDArray[np.int32],  # [P, N, F] written
    n: NDArray[np.int64],  # [P] written
    probability: NDArray[np.float64],  # [P, N] written
) -> None:
    """Choose each person's options from all accepted states: greedily by coverage gain, then exact swaps."""
    M = g.lowest.shape[1]
    top = t.uncovered_cost + TIE
    for p in range(codes.shape[0]):
        A = 0
        pool = np.empty(g.n_asked[p], np.int64)
        for a in range(g.n_asked[p]):
            if g.accepted[p, a] and reachable(t, p, g.asked[p, a]):
                pool[A] = a
                A += 1
        costs = np.empty((A, M))
        for i in range(A):
            objective_costs(t, p, g.asked[p, pool[i]], costs[i])
        chosen = choose_from_pool(costs, t.weights[p], N, top)
        n[p] = chosen.shape[0]
        for o in range(chosen.shape[0]):
            copy(g.asked[p, pool[chosen[o]]], codes[p, o])
            probability[p, o] = g.probability[p, pool[chosen[o]]]
