"""Candidates of guided search that need no guess of the model: first moves, steps around accepted states, and any."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.arrays import copy
from leastways.kernels.compiled import lean
from leastways.kernels.guides import Guides, is_new, state_hash
from leastways.kernels.propose import same_state, uniform_state
from leastways.kernels.random import below, uniform
from leastways.kernels.rules import RuleTables, repair
from leastways.kernels.tables import Tables


@lean
def first_moves(
    t: Tables,
    rules: RuleTables,
    choices: NDArray[np.int32],  # [P, V]
    n_choices: NDArray[np.int32],  # [P, F]
    p: int,
    out: NDArray[np.int32],  # [C, F] written
    most: int,
    state: np.uint64,
) -> tuple[np.uint64, int]:
    """Write single moves, within the rules: every other value of a category, half the way to each end of an order."""
    n = 0
    for f in range(out.shape[1]):
        v, last = t.offsets[f], n_choices[p, f] - 1
        own = 0
        while own < last and choices[p, v + own] < t.start[p, f]:
            own += 1
        for k in range(last + 1):
            half = k == own + (last - own + 1) // 2 or k == own - (own + 1) // 2
            if k == own or n == most or (t.ordered[f] and not half):
                continue
            copy(t.start[p], out[n])
            out[n, f] = choices[p, v + k]
            state, fine = repair(rules, t.offsets, p, t.start[p], choices[p], n_choices[p], out[n], state)
            if fine and not same_state(out[n], t.start[p]):
                n += 1
    return state, n


@lean
def _ease_one(t: Tables, p: int, drop: bool, out: NDArray[np.int32], state: np.uint64) -> np.uint64:
    """Take back one change of a state, at random: all of it, or part of the way."""
    changed = 0
    for f in range(out.shape[0]):
        if out[f] != t.start[p, f]:
            changed += 1
    if changed == 0:
        return state
    state, which = below(state, changed)
    for f in range(out.shape[0]):
        if out[f] == t.start[p, f]:
            continue
        if which > 0:
            which -= 1
            continue
        if drop or not t.ordered[f]:
            out[f] = t.start[p, f]
        else:
            state, share = uniform(state)
            near = t.start[p, f] + np.int32((out[f] - t.start[p, f]) * share)
            if t.allowed[p, t.offsets[f] + near]:
                out[f] = near
        break
    return state


@lean
def _change_affordable(
    t: Tables,
    choices: NDArray[np.int32],  # [P, V]
    n_choices: NDArray[np.int32],  # [P, F]
    p: int,
    m: int,
    out: NDArray[np.int32],
    state: np.uint64,
) -> np.uint64:
    """Set one feature that sample m may edit to a random value."""
    open_to = 0
    for f in range(out.shape[0]):
        if n_choices[p, f] > 1 and not np.isnan(t.scores[p, f, m]):
            open_to += 1
    if open_to == 0:
        return state
    state, which = below(state, open_to)
    for f in range(out.shape[0]):
        if n_choices[p, f] > 1 and not np.isnan(t.scores[p, f, m]):
            if which == 0:
                state, pick = below(state, n_choices[p, f])
                out[f] = choices[p, t.offsets[f] + pick]
                break
            which -= 1
    return state


@lean
def step_from_accepted(
    t: Tables,
    rules: RuleTables,
    choices: NDArray[np.int32],  # [P, V]
    n_choices: NDArray[np.int32],  # [P, F]
    g: Guides,
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
        state = _ease_one(t, p, kind == 0, out, state)
    if kind >= 2:
        state = _change_affordable(t, choices, n_choices, p, m, out, state)
    state, fine = repair(rules, t.offsets, p, t.start[p], choices[p], n_choices[p], out, state)
    return state, fine and not same_state(out, t.start[p])


@lean
def anywhere(
    t: Tables,
    rules: RuleTables,
    choices: NDArray[np.int32],  # [P, V]
    n_choices: NDArray[np.int32],  # [P, F]
    g: Guides,
    p: int,
    wanted: int,
    out: NDArray[np.int32],  # [wanted, F] written
    state: np.uint64,
) -> tuple[np.uint64, int]:
    """Draw states that were not asked about, anywhere: from the first yes, steps lead to cheaper ones."""
    made = 0
    for _ in range(wanted):
        state, found = uniform_state(t, rules, choices, n_choices, p, out[made], state)
        if found and is_new(g.seen[p], state_hash(out[made]), True):
            made += 1
    return state, made
