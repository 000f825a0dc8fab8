"""Which of many states a person may be led to: every value permitted, no rule broken."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.compiled import lean
from leastways.kernels.rules import RuleTables, meets_rules


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
        fine = True
        for f in range(codes.shape[1]):
            if not allowed[offsets[f] + codes[r, f]]:
                fine = False
                break
        values_fit[r] = fine
        fits[r] = fine and meets_rules(rules, offsets, p, start, codes[r])
