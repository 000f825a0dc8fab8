"""All states that could help a person and were not asked about, where they can reach few."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.compiled import compiled, lean
from leastways.kernels.guides import Guides, is_new, state_hash
from leastways.kernels.propose import same_state
from leastways.kernels.rules import RuleTables, meets_rules
from leastways.kernels.tables import Tables, may_gain


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
    t: Tables,
    rules: RuleTables,
    choices: NDArray[np.int32],  # [P, V] each feature's permitted codes, packed at its offset
    n_choices: NDArray[np.int32],  # [P, F]
    p: int,
) -> int:
    """Return how many states a person can reach within the rules, by looking at all there are without them."""
    F = t.start.shape[1]
    place, codes = np.zeros(F, np.int64), np.empty(F, np.int32)
    n, more = 0, True
    while more:
        for f in range(F):
            codes[f] = choices[p, t.offsets[f] + place[f]]
        if not same_state(codes, t.start[p]) and meets_rules(rules, t.offsets, p, t.start[p], codes):
            n += 1
        more = _turn(place, n_choices[p])
    return n


@compiled
def ask_rest(
    t: Tables,
    rules: RuleTables,
    g: Guides,  # states that are written are entered among those seen
    choices: NDArray[np.int32],  # [P, V] each feature's permitted codes, packed at its offset
    n_choices: NDArray[np.int32],  # [P, F]
    who: NDArray[np.int64],  # [W] people, in order
    people: NDArray[np.int64],  # [R] written
    codes: NDArray[np.int32],  # [R + 1, F] written; the last row is room to work in
) -> int:
    """Write the states of these people that are left, each within the rules; return their number.

    Of those who have an accepted state, only what would serve some sample better.
    """
    F = t.start.shape[1]
    place = np.zeros(F, np.int64)
    n = 0
    for p in who:
        more = True
        while more:
            more = _turn(place, n_choices[p])
            for f in range(F):
                codes[n, f] = choices[p, t.offsets[f] + place[f]]
            fits = not same_state(codes[n], t.start[p]) and meets_rules(rules, t.offsets, p, t.start[p], codes[n])
            helps = fits and (g.n_valid[p] == 0 or may_gain(t, p, codes[n], g.lowest[p]))
            if helps and is_new(g.seen[p], state_hash(codes[n]), True):
                people[n] = p
                n += 1
    return n
