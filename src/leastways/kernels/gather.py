"""From integer codes straight to a model's input: each (feature, value) was encoded once, the rest is copying."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.compiled import compiled


@compiled
def gather(
    codes: NDArray[np.int32],  # [R, F]
    people: NDArray[np.int64],  # [R] whose grid a row is in
    inserted_at: NDArray[np.int32],  # [P, F] place of the person's own value, -1: none
    own: NDArray[Any],  # [P, D] the people as they are, encoded; read where a code is their own value
    sizes: NDArray[np.int64],  # [F] values in each grid
    first: NDArray[np.int64],  # [F + 1] where each feature's part of `columns` begins
    columns: NDArray[np.int64],  # [C] columns of the output, feature by feature
    start: NDArray[np.int64],  # [F] where each feature's part of `cells` begins
    cells: NDArray[Any],  # for each feature, its values by its columns
    constant: NDArray[Any],  # [D] what the columns hold that no feature reaches
    row_step: int,  # out[r * row_step + d * column_step] is row r, column d: either memory order
    column_step: int,
    out: NDArray[Any],  # [R * D] written
) -> bool:
    """Fill `out`; False, with `out` unfinished, if a code or a person is not one of those known."""
    D = constant.shape[0]
    for r in range(codes.shape[0]):
        p = people[r]
        if p < 0 or p >= inserted_at.shape[0]:
            return False
        for d in range(D):
            out[r * row_step + d * column_step] = constant[d]
        for f in range(codes.shape[1]):
            code = codes[r, f]
            at = inserted_at[p, f]
            if at >= 0 and code == at:
                for k in range(first[f], first[f + 1]):
                    out[r * row_step + columns[k] * column_step] = own[p, columns[k]]
                continue
            if at >= 0 and code > at:
                code -= 1
            if code < 0 or code >= sizes[f]:
                return False
            width = first[f + 1] - first[f]
            cell = start[f] + code * width
            for k in range(width):
                out[r * row_step + columns[first[f] + k] * column_step] = cells[cell + k]
    return True
