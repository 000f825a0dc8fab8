"""Rules on codes: whether a state breaks one, and small repairs that bring a proposal back inside them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways._compiled import lean
from leastways._random_kernels import below, copy

_REPAIRS = 8  # attempts to bring a proposal inside the rules
_TRIES = 20  # proposals drawn before giving up


class RuleTables(NamedTuple):
    """The rules for a chunk of people. A clause holds if one of its literals does."""

    literal: NDArray[np.bool_]  # [K, F] which features a clause speaks of
    meets: NDArray[np.bool_]  # [P, K, V] slots that satisfy a clause's literal
    link_feature: NDArray[np.int64]  # [L]
    link_requires: NDArray[np.int64]  # [L]
    link_by: NDArray[np.float64]  # [L]
    link_at_least: NDArray[np.float64]  # [L]
    max_changes: int


class Space(NamedTuple):
    """The states that each person of a chunk may be offered: one grid a feature, permitted slots, rules."""

    start: NDArray[np.int32]  # [P, F] codes of the present state
    offsets: NDArray[np.int64]  # [F + 1] first slot of each feature
    used: NDArray[np.int32]  # [P, F] slots in use
    ordered: NDArray[np.bool_]  # [F]
    levels: NDArray[np.float64]  # [P, V] values as numbers; positions for categories
    span: NDArray[np.float64]  # [F] range of a number, 0 for categories (whose distance is 0 or 1)
    allowed: NDArray[np.bool_]  # [P, V] slots a person may move to, own slot included
    choices: NDArray[np.int32]  # [P, V] each feature's codes that proposals may use, packed at its offset
    n_choices: NDArray[np.int32]  # [P, F]
    rules: RuleTables
    picked: NDArray[np.int64]  # [F] scratch


@lean
def clause_holds(space: Space, p: int, k: int, codes: NDArray[np.int32]) -> bool:
    """Whether clause k holds in this state."""
    for f in range(codes.shape[0]):
        if space.rules.literal[k, f] and space.rules.meets[p, k, space.offsets[f] + codes[f]]:
            return True
    return False


@lean
def link_shortfall(space: Space, p: int, link: int, codes: NDArray[np.int32]) -> float:
    """How much the required feature still has to move, 0 or less if the link is met."""
    rules, levels, offsets, start = space.rules, space.levels, space.offsets, space.start[p]
    a, b = rules.link_feature[link], rules.link_requires[link]
    moved = (levels[p, offsets[a] + codes[a]] - levels[p, offsets[a] + start[a]]) / rules.link_by[link]
    if moved <= 0.0:
        return 0.0
    sign = 1.0 if rules.link_at_least[link] > 0.0 else -1.0
    has = sign * (levels[p, offsets[b] + codes[b]] - levels[p, offsets[b] + start[b]])
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
def meets_rules(space: Space, p: int, codes: NDArray[np.int32]) -> bool:
    """Whether a state breaks no rule."""
    rules = space.rules
    if changes(space.start[p], codes) > rules.max_changes:
        return False
    for k in range(rules.literal.shape[0]):
        if not clause_holds(space, p, k, codes):
            return False
    for link in range(rules.link_feature.shape[0]):
        if link_shortfall(space, p, link, codes) > 0.0:
            return False
    return True


@lean
def _repair_clause(space: Space, p: int, k: int, codes: NDArray[np.int32], state: np.uint64) -> np.uint64:
    """Set one feature of a broken clause, taken at random, to a random value that satisfies it."""
    rules, offsets, choices, n_choices = space.rules, space.offsets, space.choices[p], space.n_choices[p]
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
def _repair_link(space: Space, p: int, link: int, codes: NDArray[np.int32]) -> None:
    """Move the required feature as little as the link demands; if that is impossible, undo the move that demands it."""
    rules, offsets, choices, start = space.rules, space.offsets, space.choices[p], space.start[p]
    b = rules.link_requires[link]
    before = codes[b]
    best = -1
    for c in range(space.n_choices[p, b]):
        code = choices[offsets[b] + c]
        codes[b] = code
        near = abs(code - start[b])
        if link_shortfall(space, p, link, codes) <= 0.0 and (best < 0 or near < abs(best - start[b])):
            best = code
    if best >= 0:
        codes[b] = best
    else:
        codes[b] = before
        codes[rules.link_feature[link]] = start[rules.link_feature[link]]


@lean
def repair(
    space: Space,
    p: int,
    codes: NDArray[np.int32],  # [F] changed in place
    state: np.uint64,
) -> tuple[np.uint64, bool]:
    """Repair rule violations of a proposal; return whether none is left."""
    rules, start = space.rules, space.start[p]
    for _ in range(_REPAIRS):
        broken = False
        for link in range(rules.link_feature.shape[0]):
            if link_shortfall(space, p, link, codes) > 0.0:
                broken = True
                _repair_link(space, p, link, codes)
        for k in range(rules.literal.shape[0]):
            if not clause_holds(space, p, k, codes):
                broken = True
                state = _repair_clause(space, p, k, codes, state)
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
    return state, meets_rules(space, p, codes)


# Whether states are permitted: every value permitted, no rule broken.


@lean
def _values_fit(
    allowed: NDArray[np.bool_],  # [V] the person's slots
    offsets: NDArray[np.int64],  # [F + 1]
    codes: NDArray[np.int32],  # [F]
) -> bool:
    """Whether every value is one the person may move to."""
    for f in range(codes.shape[0]):
        if not allowed[offsets[f] + codes[f]]:
            return False
    return True


@lean
def permitted_states(
    space: Space,
    p: int,
    codes: NDArray[np.int32],  # [R, F] states in the person's grid
    values_fit: NDArray[np.bool_],  # [R] written: every value is one the person may move to
    fits: NDArray[np.bool_],  # [R] written: and no rule is broken
) -> None:
    """Mark the states with permitted values, and those of them that break no rule."""
    for r in range(codes.shape[0]):
        values_fit[r] = _values_fit(space.allowed[p], space.offsets, codes[r])
        fits[r] = values_fit[r] and meets_rules(space, p, codes[r])


@lean
def permitted_rows(
    space: Space,
    people: NDArray[np.int64],  # [R] whose row it is
    codes: NDArray[np.int32],  # [R, F]
    fits: NDArray[np.bool_],  # [R] written
) -> None:
    """Mark the rows that are permitted to their person."""
    for r in range(codes.shape[0]):
        p = people[r]
        fits[r] = _values_fit(space.allowed[p], space.offsets, codes[r]) and meets_rules(space, p, codes[r])


@lean
def list_choices(
    allowed: NDArray[np.bool_],  # [P, V]
    offsets: NDArray[np.int64],  # [F + 1]
    choices: NDArray[np.int32],  # [P, V] written: each feature's permitted codes, packed at its offset
    n_choices: NDArray[np.int32],  # [P, F] written
) -> None:
    """Pack the permitted codes of each feature, so that a random one is one draw."""
    for p in range(allowed.shape[0]):
        for f in range(offsets.shape[0] - 1):
            n = 0
            for v in range(offsets[f], offsets[f + 1]):
                if allowed[p, v]:
                    choices[p, offsets[f] + n] = v - offsets[f]
                    n += 1
            n_choices[p, f] = n


@lean
def _change_one(space: Space, p: int, f: int, codes: NDArray[np.int32], state: np.uint64) -> np.uint64:
    """Set feature f to another of its permitted values."""
    offsets, choices, n_choices = space.offsets, space.choices[p], space.n_choices[p]
    current = -1
    for c in range(n_choices[f]):
        if choices[offsets[f] + c] == codes[f]:
            current = c
            break
    if current < 0:
        state, pick = below(state, n_choices[f])
    else:
        state, pick = below(state, n_choices[f] - 1)
        pick += 1 if pick >= current else 0
    codes[f] = choices[offsets[f] + pick]
    return state


@lean
def perturb(
    space: Space,
    p: int,
    base: NDArray[np.int32],  # [F] the state to perturb
    most: int,  # change 1 .. most features
    out: NDArray[np.int32],  # [F] written
    state: np.uint64,
) -> tuple[np.uint64, bool]:
    """Change some features of a state to other permitted values, within the rules. False if no way was found."""
    F = base.shape[0]
    movable = 0
    for f in range(F):
        if space.n_choices[p, f] > 1:
            movable += 1
    if movable == 0:
        return state, False
    picked = space.picked
    for _ in range(_TRIES):
        copy(base, out)
        j = 0
        for f in range(F):
            if space.n_choices[p, f] > 1:
                picked[j] = f
                j += 1
        state, extra = below(state, min(most, movable))
        for i in range(extra + 1):
            state, step = below(state, movable - i)
            picked[i], picked[i + step] = picked[i + step], picked[i]
            state = _change_one(space, p, picked[i], out, state)
        state, fine = repair(space, p, out, state)
        if fine and not same_state(out, base) and not same_state(out, space.start[p]):
            return state, True
    return state, False


@lean
def uniform_state(
    space: Space,
    p: int,
    out: NDArray[np.int32],  # [F] written
    state: np.uint64,
) -> tuple[np.uint64, bool]:
    """Draw a state uniformly over a person's permitted values, then bring it inside the rules."""
    for _ in range(_TRIES):
        for f in range(out.shape[0]):
            out[f] = space.start[p, f]
            if space.n_choices[p, f] > 1:
                state, pick = below(state, space.n_choices[p, f])
                out[f] = space.choices[p, space.offsets[f] + pick]
        state, fine = repair(space, p, out, state)
        if fine and not same_state(out, space.start[p]):
            return state, True
    return state, False


@lean
def same_state(a: NDArray[np.int32], b: NDArray[np.int32]) -> bool:
    """Whether two states are the same."""
    for f in range(a.shape[0]):
        if a[f] != b[f]:
            return False
    return True
