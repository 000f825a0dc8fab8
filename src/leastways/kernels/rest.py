"""All states that a person can reach and was not asked about, where they are few."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.compiled import compiled
from leastways.kernels.guides import is_new, state_hash
from leastways.kernels.propose import same_state
from leastways.kernels.rules import RuleTables, meets_rules


@compiled
def ask_rest(
    rules: RuleTables,
    offsets: NDArray[np.int64],  # [F + 1]
    start: NDArray[np.int32],  # [P, F]
    choices: NDArray[np.int32],  # [P, V] each feature's permitted codes, packed at its offset
    n_choices: NDArray[np.int32],  # [P, F]
    seen: NDArray[np.uint64],  # [P, H] hashes of asked states; those written are entered
    who: NDArray[np.int64],  # [W] people, in order
    people: NDArray[np.int64],  # [R] written
    codes: NDArray[np.int32],  # [R + 1, F] written; the last row is room to work in
) -> int:
    """Write the states of these people that are left, each within the rules; return their number."""
    F = start.shape[1]
    place = np.zeros(F, np.int64)
    n = 0
    for p in who:
        turned = 0
        while turned < F:  # as the wheels of a counter; all features with one value only: nothing to turn
            turned = 0
            while turned < F:
                place[turned] += 1
                if place[turned] < n_choices[p, turned]:
                    break
                place[turned] = 0
                turned += 1
            for f in range(F):
                codes[n, f] = choices[p, offsets[f] + place[f]]
            fits = not same_state(codes[n], start[p]) and meets_rules(rules, offsets, p, start[p], codes[n])
            if fits and is_new(seen[p], state_hash(codes[n]), True):
                people[n] = p
                n += 1
    return n
