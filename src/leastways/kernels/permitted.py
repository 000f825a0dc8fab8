"""Which of many states a person may be led to: every value permitted, no rule broken."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.compiled import lean
from leastways.kernels.rules import RuleTables, meets_rules


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
    rules: RuleTables,
    allowed: NDArray[np.bool_],  # [V] the person's slots
    offsets: NDArray[np.int64],  # [F + 1]
    p: int,
    start: NDArray[np.int32],  # [F]
    codes: NDArray[np.int32],  # [R, F] states in the person's grid
    values_fit: NDArray[np.bool_],  # [R] written: every value is one the person may move to
    fits: NDArray[np.bool_],  # [R] written: and no rule is broken
) -> None:
    """Mark the states with permitted values, and those of them that break no rule."""
    for r in range(codes.shape[0]):
        values_fit[r] = _values_fit(allowed, offsets, codes[r])
        fits[r] = values_fit[r] and meets_rules(rules, offsets, p, start, codes[r])


@lean
def permitted_rows(
    rules: RuleTables,
    allowed: NDArray[np.bool_],  # [P, V]
    offsets: NDArray[np.int64],  # [F + 1]
    start: NDArray[np.int32],  # [P, F]
    people: NDArray[np.int64],  # [R] whose row it is
    codes: NDArray[np.int32],  # [R, F]
    fits: NDArray[np.bool_],  # [R] written
) -> None:
    """Mark the rows, each of its own person, that the person may be led to."""
    for r in range(codes.shape[0]):
        p = people[r]
        fits[r] = _values_fit(allowed[p], offsets, codes[r]) and meets_rules(rules, offsets, p, start[p], codes[r])
