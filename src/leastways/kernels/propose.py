"""New states to ask about: perturbations of a state, and uniform draws over the space. Rules hold for every one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.arrays import copy
from leastways.kernels.compiled import lean
from leastways.kernels.random import below
from leastways.kernels.rules import RuleTables, repair
from leastways.kernels.tables import Tables

_TRIES = 20


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
def _change_one(
    offsets: NDArray[np.int64],
    choices: NDArray[np.int32],
    n_choices: NDArray[np.int32],
    f: int,
    codes: NDArray[np.int32],
    state: np.uint64,
) -> np.uint64:
    """Set feature f to another of its permitted values."""
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
    t: Tables,
    rules: RuleTables,
    choices: NDArray[np.int32],  # [P, V]
    n_choices: NDArray[np.int32],  # [P, F]
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
        if n_choices[p, f] > 1:
            movable += 1
    if movable == 0:
        return state, False
    picked = t.picked
    for _ in range(_TRIES):
        copy(base, out)
        j = 0
        for f in range(F):
            if n_choices[p, f] > 1:
                picked[j] = f
                j += 1
        state, extra = below(state, min(most, movable))
        for i in range(extra + 1):
            state, step = below(state, movable - i)
            picked[i], picked[i + step] = picked[i + step], picked[i]
            state = _change_one(t.offsets, choices[p], n_choices[p], picked[i], out, state)
        state, fine = repair(rules, t.offsets, p, t.start[p], choices[p], n_choices[p], out, state)
        if fine and not same_state(out, base) and not same_state(out, t.start[p]):
            return state, True
    return state, False


@lean
def uniform_state(
    t: Tables,
    rules: RuleTables,
    choices: NDArray[np.int32],  # [P, V]
    n_choices: NDArray[np.int32],  # [P, F]
    p: int,
    out: NDArray[np.int32],  # [F] written
    state: np.uint64,
) -> tuple[np.uint64, bool]:
    """Draw a state uniformly over a person's permitted values, then bring it inside the rules."""
    for _ in range(_TRIES):
        for f in range(out.shape[0]):
            out[f] = t.start[p, f]
            if n_choices[p, f] > 1:
                state, pick = below(state, n_choices[p, f])
                out[f] = choices[p, t.offsets[f] + pick]
        state, fine = repair(rules, t.offsets, p, t.start[p], choices[p], n_choices[p], out, state)
        if fine and not same_state(out, t.start[p]):
            return state, True
    return state, False


@lean
def same_state(a: NDArray[np.int32], b: NDArray[np.int32]) -> bool:
    """Whether two states are the same."""
    for f in range(a.shape[0]):
        if a[f] != b[f]:
            return False
    return True
