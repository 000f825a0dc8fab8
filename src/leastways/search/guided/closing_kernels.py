"""The end of guided search: each person's options, from the accepted states in which no change can be made smaller."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastways._compiled import compiled, lean
from leastways._random_kernels import copy, fill
from leastways.costs import Tables, may_gain, objective_costs, top_of
from leastways.feasibility import Space, meets_rules, same_state
from leastways.search.guided.candidate_kernels import Archive, is_new, state_hash
from leastways.search.guided.surrogate_kernels import effect_of
from leastways.search.kernels import choose_from_pool


@lean
def _asks_no_more(t: Tables, p: int, one: NDArray[np.int32], other: NDArray[np.int32]) -> bool:
    """Whether a state changes nothing that the other does not change as much, so that it should cost no more."""
    for f in range(one.shape[0]):
        start = t.space.start[p, f]
        if one[f] == other[f] or one[f] == start:
            continue
        stated = not np.isnan(t.draws.given[p, t.space.offsets[f]])  # by the person: they may say that more costs less
        between = (start < one[f] < other[f]) or (other[f] < one[f] < start)
        if stated or not t.space.ordered[f] or not between:
            return False
    return True


@lean
def _steps(t: Tables, p: int, codes: NDArray[np.int32]) -> int:
    """Return how far a state is: a state that asks no more than it, and is another, is nearer."""
    steps = 0
    for f in range(codes.shape[0]):
        if codes[f] != t.space.start[p, f]:
            steps += 1 + (abs(codes[f] - t.space.start[p, f]) if t.space.ordered[f] else 0)
    return steps


@compiled
def smallest_changes(t: Tables, p: int, states: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the positions of the states [A, F] for which no other state asks for less, in their order.

    A larger change can be the cheaper one under some cost functions by their noise alone. No person is asked for
    more where less is accepted, and what is chosen for noise does not hold for other cost functions.
    """
    A = states.shape[0]
    steps = np.empty(A, np.int64)
    for i in range(A):
        steps[i] = _steps(t, p, states[i])
    nearest_first = np.argsort(steps, kind="mergesort")
    kept = np.empty(A, np.int64)
    n = 0
    for i in nearest_first:
        smaller = False
        for k in range(n):
            if _asks_no_more(t, p, states[kept[k]], states[i]):
                smaller = True
                break
        if not smaller:
            kept[n] = i
            n += 1
    return np.sort(kept[:n])


@compiled
def choose_for(
    t: Tables,
    g: Archive,
    p: int,
    codes: NDArray[np.int32],  # [N, F] written
    probability: NDArray[np.float64],  # [N] written
) -> int:
    """Choose a person's options from the smallest accepted changes: by coverage gain, then by exact swaps.

    If none of them is possible under any sample, the nearest is chosen: it is still accepted.
    """
    pool = np.empty((g.n_valid[p], codes.shape[1]), np.int32)
    for i in range(pool.shape[0]):
        copy(g.asked[p, g.valid[p, i]], pool[i])
    small = smallest_changes(t, p, pool)
    costs = np.empty((small.shape[0], g.lowest.shape[1]))
    for i in range(small.shape[0]):
        objective_costs(t, p, pool[small[i]], costs[i])
    chosen = choose_from_pool(costs, t.objective.weights[p], codes.shape[0], top_of(t), g.parts.swaps)
    if chosen.shape[0] == 0 and small.shape[0] > 0:
        chosen = np.zeros(1, np.int64)
        for i in range(1, small.shape[0]):
            if _steps(t, p, pool[small[i]]) < _steps(t, p, pool[small[chosen[0]]]):
                chosen[0] = i
    for o in range(chosen.shape[0]):
        a = g.valid[p, small[chosen[o]]]
        copy(g.asked[p, a], codes[o])
        probability[o] = g.probability[p, a]
    return int(chosen.shape[0])


@compiled
def choose_options(
    t: Tables,
    g: Archive,
    codes: NDArray[np.int32],  # [P, N, F] written
    n: NDArray[np.int64],  # [P] written
    probability: NDArray[np.float64],  # [P, N] written
) -> None:
    """Choose each person's options."""
    for p in range(codes.shape[0]):
        n[p] = choose_for(t, g, p, codes[p], probability[p])


# The last questions of guided search: would smaller changes be accepted, in the options that would be chosen now?


@lean
def _same_but(one: NDArray[np.int32], other: NDArray[np.int32], f: int) -> bool:
    """Whether two states are the same in all features but perhaps f."""
    for k in range(one.shape[0]):
        if k != f and one[k] != other[k]:
            return False
    return True


@lean
def _enter(t: Tables, g: Archive, p: int, codes: NDArray[np.int32]) -> bool:
    """Whether a state of permitted values is a change, within the rules and not asked about; it is entered as asked."""
    fits = not same_state(codes, t.space.start[p]) and meets_rules(t.space, p, codes)
    return fits and is_new(g.seen[p], state_hash(codes), True)


@lean
def _crossing(levels: NDArray[np.float64], near: int, far: int, refused: float, accepted: float, sign: int) -> int:
    """Return the first code behind `near` at which a straight line through the log-odds of both ends is not below 0."""
    aim = levels[near] + (levels[far] - levels[near]) * refused / (refused - accepted)
    code = near + sign
    while code != far - sign and sign * (aim - levels[code]) > 0.0:
        code += sign
    return code


@lean
def smaller_code(
    t: Tables,
    g: Archive,
    p: int,
    option: NDArray[np.int32],  # [F] an accepted state
    f: int,  # an ordered feature that it changes
    estimate: float,  # log-odds of the option without this change
    halve: bool,  # take the middle; else where a straight line through the answers crosses the threshold
) -> int:
    """Return a code of feature f between the farthest that is known to be refused and the option's, -1 if none is left.

    The other changes are the option's. A straight line is soon at the boundary of a smooth model; halving never takes
    long.
    """
    near, far = t.space.start[p, f], option[f]
    sign = 1 if far > near else -1
    refused, accepted = estimate, 0.0
    for a in range(g.n_asked[p]):
        code, odds = g.asked[p, a, f], g.odds[p, a]
        if sign * (code - near) < 0 or sign * (far - code) < 0 or not _same_but(g.asked[p, a], option, f):
            continue
        if code == far:
            accepted = odds
        elif odds < 0.0:
            near, refused = code, odds
    if sign * (far - near) < 2:
        return -1
    code = (near + far) // 2
    if not halve and refused < 0.0:
        code = _crossing(
            t.space.levels[p, t.space.offsets[f] : t.space.offsets[f + 1]], near, far, refused, accepted, sign
        )
    while code != far and not t.space.allowed[p, t.space.offsets[f] + code]:
        code += sign
    return int(code) if code != far else -1


@lean
def _shrink(
    t: Tables,
    g: Archive,
    p: int,
    option: NDArray[np.int32],  # [F]
    halve: bool,
    out: NDArray[np.int32],  # [R, F] written
) -> int:
    """Write states that ask for less than an option in one feature: nothing, if that may do, or a smaller change."""
    n = 0
    for f in range(option.shape[0]):
        if option[f] == t.space.start[p, f] or n == out.shape[0]:
            continue
        copy(option, out[n])
        out[n, f] = t.space.start[p, f]
        estimate = g.present[p] + effect_of(t, p, g.effect[p], out[n])
        if estimate > -g.spread[p] and _enter(t, g, p, out[n]):
            n += 1
        elif t.space.ordered[f] and np.isnan(
            t.draws.given[p, t.space.offsets[f]]
        ):  # what a person stated need not rise with the step
            code = smaller_code(t, g, p, option, f, estimate, halve)
            if code >= 0:
                out[n, f] = code
                n += 1 if _enter(t, g, p, out[n]) else 0
    return n


@compiled
def ask_smaller(
    t: Tables,
    g: Archive,  # states that are written are entered among those seen
    N: int,  # options that would be chosen
    quota: NDArray[np.int64],  # [P] rows that each may ask about
    halve: NDArray[np.bool_],  # [P]
    people: NDArray[np.int64],  # [R] written
    codes: NDArray[np.int32],  # [R, F] written
) -> int:
    """Write the states to ask about, for the options that come first first; return their number."""
    options, probability = np.empty((N, codes.shape[1]), np.int32), np.empty(N)
    row = 0
    for p in range(quota.shape[0]):
        if quota[p] == 0:
            continue
        first, end = row, row + quota[p]
        for o in range(choose_for(t, g, p, options, probability)):
            row += _shrink(t, g, p, options[o], halve[p], codes[row:end])
        fill(people[first:row], p)
    return row


# All states that could help a person and were not asked about, where they can reach few.


@lean
def _turn(place: NDArray[np.int64], n_choices: NDArray[np.int32]) -> bool:
    """Go on to the next state as the wheels of a counter do, [F]; False where that is the first one again."""
    for f in range(place.shape[0]):
        place[f] += 1
        if place[f] < n_choices[f]:
            return True
        place[f] = 0
    return False


@compiled
def count_states(
    space: Space,
    p: int,
) -> int:
    """Return how many states a person can reach within the rules, by looking at all there are without them."""
    F = space.start.shape[1]
    place, codes = np.zeros(F, np.int64), np.empty(F, np.int32)
    n, more = 0, True
    while more:
        for f in range(F):
            codes[f] = space.choices[p, space.offsets[f] + place[f]]
        if not same_state(codes, space.start[p]) and meets_rules(space, p, codes):
            n += 1
        more = _turn(place, space.n_choices[p])
    return n


@compiled
def ask_rest(
    t: Tables,
    g: Archive,  # states that are written are entered among those seen
    who: NDArray[np.int64],  # [W] people, in order
    people: NDArray[np.int64],  # [R] written
    codes: NDArray[np.int32],  # [R + 1, F] written; the last row is room to work in
) -> int:
    """Write the states of these people that are left, each within the rules; return their number.

    Of those who have an accepted state, only what would serve some sample better.
    """
    F = t.space.start.shape[1]
    place = np.zeros(F, np.int64)
    n = 0
    for p in who:
        more = True
        while more:
            more = _turn(place, t.space.n_choices[p])
            for f in range(F):
                codes[n, f] = t.space.choices[p, t.space.offsets[f] + place[f]]
            fits = not same_state(codes[n], t.space.start[p]) and meets_rules(t.space, p, codes[n])
            helps = fits and (g.n_valid[p] == 0 or may_gain(t, p, codes[n], g.lowest[p]))
            if helps and is_new(g.seen[p], state_hash(codes[n]), True):
                people[n] = p
                n += 1
    return n
