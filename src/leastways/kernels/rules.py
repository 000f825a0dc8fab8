"""Rules on codes: whether a state breaks one, and small repairs that bring a proposal back inside them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.compiled import lean
from leastways.kernels.random import below

_REPAIRS = 8


class RuleTables(NamedTuple):
    """The rules for a chunk of people. A clause holds if one of its literals does."""

    literal: NDArray[np.bool_]  # [K, F] which features a clause speaks of
    meets: NDArray[np.bool_]  # [P, K, V] slots that satisfy a clause's literal
    link_feature: NDArray[np.int64]  # [L]
    link_requires: NDArray[np.int64]  # [L]
    link_by: NDArray[np.float64]  # [L]
    link_at_least: NDArray[np.float64]  # [L]
    levels: NDArray[np.float64]  # [P, V] values as numbers
    max_changes: int


@lean
def clause_holds(rules: RuleTables, offsets: NDArray[np.int64], p: int, k: int, codes: NDArray[np.int32]) -> bool:
    """Whether clause k holds in this state."""
    for f in range(codes.shape[0]):
        if rules.literal[k, f] and rules.meets[p, k, offsets[f] + codes[f]]:
            return True
    return False


@lean
def link_shortfall(
    rules: RuleTables,
    offsets: NDArray[np.int64],
    p: int,
    link: int,
    start: NDArray[np.int32],
    codes: NDArray[np.int32],
) -> float:
    """How much the required feature still has to move, 0 or less if the link is met."""
    a, b = rules.link_feature[link], rules.link_requires[link]
    moved = (rules.levels[p, offsets[a] + codes[a]] - rules.levels[p, offsets[a] + start[a]]) / rules.link_by[link]
    if moved <= 0.0:
        return 0.0
    sign = 1.0 if rules.link_at_least[link] > 0.0 else -1.0
    has = sign * (rules.levels[p, offsets[b] + codes[b]] - rules.levels[p, offsets[b] + start[b]])
    return abs(rules.link_at_least[link]) * moved - has - 1e-9


@lean
def changes(start: NDArray[np.int32], codes: NDArray[np.int32]) -> int:
    """Count the changed features."""
    n = 0
    for f in range(codes.shape[0]):
        if codes[f] != start[f]:
            n += 1
    return n


@lean
def meets_rules(
    rules: RuleTables, offsets: NDArray[np.int64], p: int, start: NDArray[np.int32], codes: NDArray[np.int32]
) -> bool:
    """Whether a state breaks no rule."""
    if changes(start, codes) > rules.max_changes:
        return False
    for k in range(rules.literal.shape[0]):
        if not clause_holds(rules, offsets, p, k, codes):
            return False
    for link in range(rules.link_feature.shape[0]):
        if link_shortfall(rules, offsets, p, link, start, codes) > 0.0:
            return False
    return True


@lean
def _repair_clause(
    rules: RuleTables,
    offsets: NDArray[np.int64],
    p: int,
    k: int,
    choices: NDArray[np.int32],
    n_choices: NDArray[np.int32],
    codes: NDArray[np.int32],
    state: np.uint64,
) -> np.uint64:
    """Set one feature of a broken clause, taken at random, to a random value that satisfies it."""
    options = 0
    for f in range(codes.shape[0]):
        if rules.literal[k, f]:
            for c in range(n_choices[f]):
                if rules.meets[p, k, offsets[f] + choices[offsets[f] + c]]:
                    options += 1
    if options == 0:
        return state
    state, pick = below(state, options)
    for f in range(codes.shape[0]):
        if rules.literal[k, f]:
            for c in range(n_choices[f]):
                if rules.meets[p, k, offsets[f] + choices[offsets[f] + c]]:
                    if pick == 0:
                        codes[f] = choices[offsets[f] + c]
                        return state
                    pick -= 1
    return state


@lean
def _repair_link(
    rules: RuleTables,
    offsets: NDArray[np.int64],
    p: int,
    link: int,
    start: NDArray[np.int32],
    choices: NDArray[np.int32],
    n_choices: NDArray[np.int32],
    codes: NDArray[np.int32],
) -> None:
    """Move the required feature just far enough; if nothing is far enough, undo the move that demands it."""
    b = rules.link_requires[link]
    before = codes[b]
    best = -1
    for c in range(n_choices[b]):
        code = choices[offsets[b] + c]
        codes[b] = code
        near = abs(code - start[b])
        if link_shortfall(rules, offsets, p, link, start, codes) <= 0.0 and (best < 0 or near < abs(best - start[b])):
            best = code
    if best >= 0:
        codes[b] = best
    else:
        codes[b] = before
        codes[rules.link_feature[link]] = start[rules.link_feature[link]]


@lean
def repair(
    rules: RuleTables,
    offsets: NDArray[np.int64],
    p: int,
    start: NDArray[np.int32],  # [F]
    choices: NDArray[np.int32],  # [V] each feature's permitted codes, packed at its offset
    n_choices: NDArray[np.int32],  # [F]
    codes: NDArray[np.int32],  # [F] changed in place
    state: np.uint64,
) -> tuple[np.uint64, bool]:
    """Try to bring a proposal inside the rules; the answer says whether it is there."""
    for _ in range(_REPAIRS):
        broken = False
        for link in range(rules.link_feature.shape[0]):
            if link_shortfall(rules, offsets, p, link, start, codes) > 0.0:
                broken = True
                _repair_link(rules, offsets, p, link, start, choices, n_choices, codes)
        for k in range(rules.literal.shape[0]):
            if not clause_holds(rules, offsets, p, k, codes):
                broken = True
                state = _repair_clause(rules, offsets, p, k, choices, n_choices, codes, state)
        excess = changes(start, codes) - rules.max_changes
        while excess > 0:
            broken = True
            state, pick = below(state, changes(start, codes))
            for f in range(codes.shape[0]):
                if codes[f] != start[f]:
                    if pick == 0:
                        codes[f] = start[f]
                        break
                    pick -= 1
            excess -= 1
        if not broken:
            return state, True
    return state, meets_rules(rules, offsets, p, start, codes)
