"""Guided search for many people at once: know the costs, estimate the model, ask only where it can pay.

Per person: every answered state, each sample's cheapest accepted cost so far, and a surrogate of the model. A round
makes candidates, scores each by (potential fall of the objective) x (estimated chance of acceptance), and asks
about the best.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways._compiled import lean, wrapping
from leastways._random_kernels import GOLDEN, below, copy, fill, mix64, uniform
from leastways.costs import Tables, objective_costs, reachable
from leastways.feasibility import perturb, repair, same_state, uniform_state
from leastways.search.guided.knapsack_kernels import Items, knapsack, list_best, list_items, mean_costs
from leastways.search.guided.surrogate_kernels import (
    LEAST_SPREAD,
    MOST_LOG_ODDS,
    SharedNet,
    chance,
    effect_of,
    learn,
    log_odds,
    shared_log_odds,
    solve,
    tabulate,
)
from leastways.search.kernels import LEAST_GAIN, add_gain

_LEAST_CHANCE = 0.02  # the estimate may be wrong
_PATIENCE = 5  # rounds without an accepted state after which any is looked for, at any cost
_LESS_PATIENCE = 2  # the same where no answer so far tells one no from another


@lean
def _sum_needs(lowest: NDArray[np.float64], weights: NDArray[np.float64], aim: bool, need: NDArray[np.float64]) -> None:
    """Write the running sum of how badly samples are served: by weight, the square of their present objective."""
    heaviest = 0.0
    for m in range(weights.shape[0]):
        heaviest = max(heaviest, weights[m])
    total = 0.0
    for m in range(lowest.shape[0]):
        share = weights[m] / heaviest if heaviest > 0.0 else 1.0  # exactly 1 where weights are equal
        total += share * (lowest[m] * lowest[m] if aim else 1.0)
        need[m] = total


@lean
def _windows(g: Archive, s: Scratch) -> int:
    """Return how many windows it takes to look at every sample."""
    return -(-g.lowest.shape[1] // s.need.shape[0])


@lean
def _next_window(g: Archive, p: int, s: Scratch) -> int:
    """Return the first sample of the next window: windows take turns, so that no sample is overlooked."""
    S = s.need.shape[0]
    first = min(g.window[p] * S, g.lowest.shape[1] - S)
    g.window[p] = (g.window[p] + 1) % _windows(g, s)
    return int(first)


@lean
def _draw_needy(need: NDArray[np.float64], state: np.uint64) -> tuple[np.uint64, int]:
    """Draw a sample in proportion to how badly it is served."""
    state, u = uniform(state)
    low, high = 0, need.shape[0] - 1
    aim = u * need[high]
    while low < high:
        middle = (low + high) // 2
        if need[middle] < aim:
            low = middle + 1
        else:
            high = middle
    return state, low


@lean
def _in_need(g: Archive, p: int) -> bool:
    """Whether, after so many rounds without an accepted state, any accepted state is wanted."""
    if g.n_valid[p] > 0 or g.rounds[p] < _LESS_PATIENCE:
        return False
    differ = g.present[p] > -MOST_LOG_ODDS
    for a in range(g.n_asked[p]):
        differ = differ or g.odds[p, a] > -MOST_LOG_ODDS
    return bool(g.rounds[p] >= _PATIENCE or not differ)


@lean
def _make_candidates(
    t: Tables,
    g: Archive,
    p: int,
    s: Scratch,
    items: Items,
    first: int,
    in_need: bool,
    state: np.uint64,
) -> tuple[np.uint64, int]:
    """Make candidates for the window of samples at `first`: half by the knapsack, half by steps and exploration.

    None was asked before, and none is there twice.
    """
    C, parts = s.value.shape[0], g.parts
    fill(s.fresh, 0)
    n = 0
    for tries in range(3 * C):
        if n == C:
            break
        state, place = _draw_needy(s.need, state)
        m = first + place
        if parts.surrogate and (tries % 2 == 0 or not parts.steps):
            state, u = uniform(state)
            margin = g.spread[p] * (2.0 * u - 0.7)
            found = knapsack(t, p, g.effect[p], m, margin - g.present[p], items, s.codes[n])
            found = found or in_need  # the most promising state then
            if found:
                state, found = repair(t.space, p, s.codes[n], state)
                found = found and not same_state(s.codes[n], t.space.start[p])
        elif g.n_valid[p] > 0:
            state, found = step_from_accepted(t, g, p, m, s.codes[n], state)
        else:
            most = min(s.codes.shape[1], 2 + g.rounds[p])
            state, found = perturb(t.space, p, t.space.start[p], most, s.codes[n], state)
        if found:
            h = state_hash(s.codes[n])
            if is_new(g.seen[p], h, False) and is_new(s.fresh, h, True) and reachable(t, p, s.codes[n]):
                n += 1
    return state, n


@lean
def _estimate(
    t: Tables, net: SharedNet, g: Archive, p: int, present: float, codes: NDArray[np.int32], s: Scratch
) -> float:
    """Return the estimated log-odds of a state; `present` is the shared surrogate's estimate for the person."""
    estimate = g.present[p] + effect_of(t, p, g.own_effect[p], codes)
    if s.hidden.shape[0] > 0:
        estimate += shared_log_odds(t, net, p, codes, s.hidden) - present
    return estimate


@lean
def _pick(
    t: Tables,
    net: SharedNet,
    g: Archive,
    p: int,
    s: Scratch,
    first: int,  # sample of the window that candidates are ranked on
    n: int,
    wanted: int,
    in_need: bool,
    out: NDArray[np.int32],  # [wanted, F] written
) -> int:
    """Choose up to `wanted` candidates greedily by expected gain, each counting on those before it."""
    present = shared_log_odds(t, net, p, t.space.start[p], s.hidden)
    S = s.lowest.shape[0]
    weights, lowest = t.objective.weights[p, first : first + S], g.lowest[p, first : first + S]
    for c in range(n):
        mean_costs(t, p, s.codes[c], first, s.costs[c])
        s.chance[c] = 0.5
        if g.parts.surrogate:
            s.chance[c] = max(chance(_estimate(t, net, g, p, present, s.codes[c], s), g.spread[p]), _LEAST_CHANCE)
        s.value[c] = s.chance[c]
        if g.parts.gains:
            s.value[c] *= add_gain(s.costs[c], lowest, weights)
    for m in range(s.lowest.shape[0]):
        s.lowest[m] = lowest[m]
    made = 0
    while made < wanted:
        likeliest_first = not g.parts.gains or (made == 0 and in_need)
        pick = _likeliest(s, n) if likeliest_first else _most_gaining(s, n, weights)
        if pick < 0:
            break
        s.value[pick] = -1.0
        if not is_new(g.seen[p], state_hash(s.codes[pick]), True):  # two first moves that the rules made one
            continue
        copy(s.codes[pick], out[made])
        made += 1
        likely, costs = s.chance[pick], s.costs[pick]
        for m in range(s.lowest.shape[0]):
            s.lowest[m] -= likely * max(s.lowest[m] - costs[m], 0.0)
    return made


@lean
def _likeliest(s: Scratch, n: int) -> int:
    """Return the candidate that is most likely accepted, of those that gain anything: costly is better than none."""
    pick = -1
    for c in range(n):
        if s.value[c] > LEAST_GAIN and (pick < 0 or s.chance[c] > s.chance[pick]):
            pick = c
    return pick


@lean
def _most_gaining(s: Scratch, n: int, weights: NDArray[np.float64]) -> int:
    """Return the candidate with the largest expected gain, -1 if there is none."""
    best, pick = LEAST_GAIN, -1
    for c in range(n):  # values only fall as others are picked, so a stale one is an upper bound
        if s.value[c] > best:
            s.value[c] = s.chance[c] * add_gain(s.costs[c], s.lowest, weights)
            if s.value[c] > best:
                best, pick = s.value[c], c
    return pick


@lean
def ask_guided(
    t: Tables,
    net: SharedNet,
    g: Archive,
    s: Scratch,
    items: Items,
    quota: NDArray[np.int64],  # [P]
    people: NDArray[np.int64],  # [R] written
    codes: NDArray[np.int32],  # [R, F] written
) -> int:
    """Choose the states to ask about next for each person."""
    row = 0
    for p in range(quota.shape[0]):
        if quota[p] == 0:
            continue
        state, in_need = g.stream[p], _in_need(g, p)
        made = far = 0
        if g.rounds[p] == 0 and s.hidden.shape[0] == 0 and g.parts.first_moves:
            state, n = first_moves(t, p, s.codes, s.value.shape[0], state)
            first = int(np.int64(0))  # a plain 0 is a type of its own to numba, for which `_pick` would be compiled too
            made = _pick(t, net, g, p, s, first, n, quota[p], in_need, codes[row:])
        elif in_need and g.parts.steps:
            state, far = anywhere(t, g, p, quota[p] // 2, codes[row:], state)
        if made == 0:
            list_items(t, p, g.effect[p], items)
            list_best(t, p, g.effect[p], items)
            for _ in range(_windows(g, s)):  # until one has something to gain
                first = _next_window(g, p, s)
                last = first + s.need.shape[0]
                _sum_needs(g.lowest[p, first:last], t.objective.weights[p, first:last], g.parts.aim, s.need)
                state, n = _make_candidates(t, g, p, s, items, first, in_need, state)
                made = _pick(t, net, g, p, s, first, n, quota[p] - far, in_need, codes[row + far :])
                if made > 0:
                    break
        made += far
        g.rounds[p] += 1
        g.stream[p] = state
        g.alive[p] = made > 0
        fill(people[row : row + made], p)
        row += made
    return row


@lean
def _nearness(odds: float) -> float:
    """Return the weight of an answer in the regression: highest at the decision boundary."""
    return 1.0 / (1.0 + 0.25 * odds * odds)


@lean
def _take_answer(
    t: Tables, net: SharedNet, g: Archive, p: int, s: Scratch, codes: NDArray[np.int32], present: float, accepted: bool
) -> None:
    """Record the newest answer (its odds are set): learn from it, and lower the costs that it improves."""
    a = g.n_asked[p]
    copy(codes, g.asked[p, a])
    g.shared[p, a] = 0.0
    if s.hidden.shape[0] > 0:
        g.shared[p, a] = shared_log_odds(t, net, p, codes, s.hidden) - present
    g.n_asked[p] += 1
    change = g.odds[p, a] - g.present[p] - g.shared[p, a]
    learn(t, p, g.columns, codes, change, _nearness(g.odds[p, a]), g.normal[p], g.moment[p], s.places, s.values)
    if accepted and reachable(t, p, codes):
        g.valid[p, g.n_valid[p]] = a
        g.n_valid[p] += 1
        objective_costs(t, p, codes, s.row)
        lowest = g.lowest[p]
        for m in range(lowest.shape[0]):
            lowest[m] = min(lowest[m], s.row[m])


@lean
def tell_guided(
    t: Tables,
    net: SharedNet,
    g: Archive,
    s: Scratch,
    people: NDArray[np.int64],  # [R] ascending
    codes: NDArray[np.int32],  # [R, F]
    accepted: NDArray[np.bool_],  # [R]
    probability: NDArray[np.float64],  # [R]
    shared_effect: NDArray[np.float64],  # [P, V]
    threshold: float,
) -> None:
    """Record answers: lower the costs that accepted states improve, and learn."""
    row = 0
    while row < people.shape[0]:
        p = people[row]
        present = shared_log_odds(t, net, p, t.space.start[p], s.hidden)
        while row < people.shape[0] and people[row] == p:
            g.odds[p, g.n_asked[p]] = log_odds(probability[row], threshold)
            g.probability[p, g.n_asked[p]] = probability[row]
            _take_answer(t, net, g, p, s, codes[row], present, accepted[row])
            row += 1
        solve(g.normal[p], g.moment[p], s.factor, s.used, s.weights)
        tabulate(t, p, g.columns, s.weights, g.own_effect[p])
        for v in range(shared_effect.shape[1]):
            g.effect[p, v] = g.own_effect[p, v] + shared_effect[p, v]
        error, total = net.doubt * net.doubt, 1.0  # as if one answer had been off by that much
        for a in range(g.n_asked[p]):
            weight = _nearness(g.odds[p, a])
            miss = g.present[p] + g.shared[p, a] + effect_of(t, p, g.own_effect[p], g.asked[p, a]) - g.odds[p, a]
            error += weight * miss * miss
            total += weight
        g.spread[p] = max(math.sqrt(error / total), LEAST_SPREAD)


# What guided search records of each person, and the set of states it has asked about.


class Parts(NamedTuple):
    """Parts of guided search that are switched on; all of them, except to measure one."""

    first_moves: bool  # begin with single moves
    aim: bool  # at samples that are badly served; else at any
    surrogate: bool  # estimate what the model would say, and solve on the estimate
    steps: bool  # around accepted states, and exploration, beside what the estimate proposes
    gains: bool  # ask first where an answer would lower the objective most; else where acceptance is likeliest
    shrink: bool  # ask in the end whether smaller changes are accepted
    swaps: bool  # choose the options greedily and then by exact swaps; else greedily alone


class Archive(NamedTuple):
    """All that guided search has recorded of each person."""

    parts: Parts

    stream: NDArray[np.uint64]  # [P]
    alive: NDArray[np.bool_]  # [P]
    rounds: NDArray[np.int64]  # [P]
    window: NDArray[np.int64]  # [P] which window of the samples is next
    present: NDArray[np.float64]  # [P] present log-odds against the threshold
    n_asked: NDArray[np.int64]  # [P]
    asked: NDArray[np.int32]  # [P, B, F]
    odds: NDArray[np.float64]  # [P, B] answers as log-odds against the threshold
    shared: NDArray[np.float64]  # [P, B] what the shared surrogate adds to the present log-odds for them
    probability: NDArray[np.float64]  # [P, B]
    n_valid: NDArray[np.int64]  # [P]
    valid: NDArray[np.int32]  # [P, B] which of the asked were accepted and are permitted
    seen: NDArray[np.uint64]  # [P, H] hashes of asked states, open addressing, 0 is empty
    lowest: NDArray[np.float64]  # [P, M] cheapest accepted so far, on the objective's scale
    columns: NDArray[np.int64]  # [F + 1] where each feature's columns of the person's own surrogate begin
    normal: NDArray[np.float64]  # [P, D, D]
    moment: NDArray[np.float64]  # [P, D]
    own_effect: NDArray[np.float64]  # [P, V] what a move adds to the log-odds, by the person's own surrogate
    effect: NDArray[np.float64]  # [P, V] the same with the shared surrogate's share
    spread: NDArray[np.float64]  # [P] how far the estimate is off, in log-odds


class Scratch(NamedTuple):
    """Room for one person's round."""

    codes: NDArray[np.int32]  # [C + 1, F]
    costs: NDArray[np.float64]  # [C, S] rough costs under a window of the samples, enough to rank candidates
    value: NDArray[np.float64]  # [C]
    chance: NDArray[np.float64]  # [C] estimated chance of acceptance
    lowest: NDArray[np.float64]  # [S]
    fresh: NDArray[np.uint64]  # [H] hashes of this round's candidates
    need: NDArray[np.float64]  # [S] running sum of how badly samples are served
    row: NDArray[np.float64]  # [M]
    factor: NDArray[np.float64]  # [D, D]
    used: NDArray[np.int64]  # [D]
    weights: NDArray[np.float64]  # [D]
    places: NDArray[np.int64]  # [2 F]
    values: NDArray[np.float64]  # [2 F]
    hidden: NDArray[np.float64]  # [hidden units of the shared surrogate]


@wrapping
def state_hash(codes: NDArray[np.int32]) -> np.uint64:
    """Return a hash of a state that is never 0."""
    h = GOLDEN
    for f in range(codes.shape[0]):
        h = mix64(h ^ (np.uint64(codes[f]) + np.uint64(f + 1) * GOLDEN))
    return h | np.uint64(1)


@lean
def is_new(seen: NDArray[np.uint64], h: np.uint64, enter: bool) -> bool:
    """Whether a hash is not in the table [H, a power of two]; enters it if asked to."""
    last = seen.shape[0] - 1
    place = np.int64(h >> np.uint64(1)) & last
    while seen[place] != np.uint64(0):
        if seen[place] == h:
            return False
        place = (place + 1) & last
    if enter:
        seen[place] = h
    return True


@lean
def enter_seen(g: Archive, people: NDArray[np.int64], codes: NDArray[np.int32], new: NDArray[np.bool_]) -> None:
    """Enter states (codes [R, F]) as asked; new [R] is written: which of them were not in before."""
    for r in range(people.shape[0]):
        new[r] = is_new(g.seen[people[r]], state_hash(codes[r]), True)


# Candidates of guided search that need no estimate of the model: first moves, steps around accepted states, and any.


@lean
def first_moves(
    t: Tables,
    p: int,
    out: NDArray[np.int32],  # [C, F] written
    most: int,
    state: np.uint64,
) -> tuple[np.uint64, int]:
    """Write single moves, within the rules: every other value of a category, half the way to each end of an order."""
    n = 0
    for f in range(out.shape[1]):
        v, last = t.space.offsets[f], t.space.n_choices[p, f] - 1
        own = 0
        while own < last and t.space.choices[p, v + own] < t.space.start[p, f]:
            own += 1
        for k in range(last + 1):
            half = k == own + (last - own + 1) // 2 or k == own - (own + 1) // 2
            if k == own or n == most or (t.space.ordered[f] and not half):
                continue
            copy(t.space.start[p], out[n])
            out[n, f] = t.space.choices[p, v + k]
            state, fine = repair(t.space, p, out[n], state)
            if fine and not same_state(out[n], t.space.start[p]):
                n += 1
    return state, n


@lean
def _shrink_one(t: Tables, p: int, drop: bool, out: NDArray[np.int32], state: np.uint64) -> np.uint64:
    """Take back one change of a state, at random: all of it, or part of the way."""
    changed = 0
    for f in range(out.shape[0]):
        if out[f] != t.space.start[p, f]:
            changed += 1
    if changed == 0:
        return state
    state, which = below(state, changed)
    for f in range(out.shape[0]):
        if out[f] == t.space.start[p, f]:
            continue
        if which > 0:
            which -= 1
            continue
        if drop or not t.space.ordered[f]:
            out[f] = t.space.start[p, f]
        else:
            state, share = uniform(state)
            near = t.space.start[p, f] + np.int32((out[f] - t.space.start[p, f]) * share)
            if t.space.allowed[p, t.space.offsets[f] + near]:
                out[f] = near
        break
    return state


@lean
def _change_affordable(
    t: Tables,
    p: int,
    m: int,
    out: NDArray[np.int32],
    state: np.uint64,
) -> np.uint64:
    """Set one feature that sample m may edit to a random value."""
    open_to = 0
    for f in range(out.shape[0]):
        if t.space.n_choices[p, f] > 1 and not np.isnan(t.draws.scores[p, f, m]):
            open_to += 1
    if open_to == 0:
        return state
    state, which = below(state, open_to)
    for f in range(out.shape[0]):
        if t.space.n_choices[p, f] > 1 and not np.isnan(t.draws.scores[p, f, m]):
            if which == 0:
                state, pick = below(state, t.space.n_choices[p, f])
                out[f] = t.space.choices[p, t.space.offsets[f] + pick]
                break
            which -= 1
    return state


@lean
def step_from_accepted(
    t: Tables,
    g: Archive,
    p: int,
    m: int,
    out: NDArray[np.int32],
    state: np.uint64,
) -> tuple[np.uint64, bool]:
    """Start from an accepted state: drop a change, pull one back, or change something that sample m can afford."""
    state, pick = below(state, g.n_valid[p])
    copy(g.asked[p, g.valid[p, pick]], out)
    state, kind = below(state, 4)
    if kind < 3:
        state = _shrink_one(t, p, kind == 0, out, state)
    if kind >= 2:
        state = _change_affordable(t, p, m, out, state)
    state, fine = repair(t.space, p, out, state)
    return state, fine and not same_state(out, t.space.start[p])


@lean
def anywhere(
    t: Tables,
    g: Archive,
    p: int,
    wanted: int,
    out: NDArray[np.int32],  # [wanted, F] written
    state: np.uint64,
) -> tuple[np.uint64, int]:
    """Draw states that were not asked about, anywhere: from the first accepted one, steps find cheaper ones."""
    made = 0
    for _ in range(wanted):
        state, found = uniform_state(t.space, p, out[made], state)
        if found and is_new(g.seen[p], state_hash(out[made]), True):
            made += 1
    return state, made
