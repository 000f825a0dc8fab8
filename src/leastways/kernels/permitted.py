"""Which of many states a person may be offered: for methods that get their states from somewhere else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.compiled import lean
from leastways.kernels.rules import RuleTables, meets_rules


@lean
def permitted_rows(
    allowed: NDArray[np.bool_],  # [V] slots the person may be in
    rules: RuleTables,
    offsets: NDArray[np.int64],  # [F + 1]
    p: int,
    start: NDArray[np.int32],  # [F]
    codes: NDArray[np.int32],  # [R, F]
    out: NDArray[np.bool_],  # [R] written
) -> None:
    """Write whether each state is within the person's directions and the rules."""
    for r in range(codes.shape[0]):
        fine = True
        for f in range(codes.shape[1]):
            if not allowed[offsets[f] + codes[r, f]]:
                fine = False
        out[r] = fine and meets_rules(rules, offsets, p, start, codes[r])
