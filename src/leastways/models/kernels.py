"""A network with one hidden layer, a row at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastways._compiled import compiled


@compiled
def two_class_network(
    x: NDArray[np.float64],  # [R, D]
    W1: NDArray[np.float64],  # [D, H] a row per input, so that the inner loop runs over hidden units
    b1: NDArray[np.float64],  # [H]
    gap_weights: NDArray[np.float64],  # [H] output weights of class 1 minus those of class 0
    gap_bias: float,
    hidden: NDArray[np.float64],  # [H] scratch
    out: NDArray[np.float64],  # [R] written: P(class 1)
) -> None:
    """Compute softmax(W2 relu(W1 x + b1) + b2), class 1 of two.

    Every row goes through the same operations in the same order, so that its answer does not depend on how many rows
    share the call; a matrix product of a library does not promise that.
    """
    D, H = W1.shape
    for r in range(x.shape[0]):
        for h in range(H):
            hidden[h] = b1[h]
        for d in range(D):
            value = x[r, d]
            for h in range(H):
                hidden[h] += W1[d, h] * value
        gap = gap_bias
        for h in range(H):
            gap += gap_weights[h] * max(hidden[h], 0.0)
        out[r] = 1.0 / (1.0 + np.exp(-gap))


# Many decision trees, laid end to end.


@compiled
def add_leaves(
    x: NDArray[Any],  # [R, D] no NaN
    roots: NDArray[np.int64],  # [T] nodes where trees begin
    feature: NDArray[np.int64],  # [nodes] -1: a leaf
    threshold: NDArray[np.float64],  # [nodes] up to here to the left
    left: NDArray[np.int64],  # [nodes]
    right: NDArray[np.int64],  # [nodes]
    value: NDArray[np.float64],  # [nodes, K]
    total: NDArray[np.float64],  # [R, K] added to
) -> None:
    """Add to each row the values of its leaf in every tree, tree after tree: sums round as the libraries' do."""
    for t in range(roots.shape[0]):
        for r in range(x.shape[0]):
            node = roots[t]
            while feature[node] >= 0:
                node = left[node] if x[r, feature[node]] <= threshold[node] else right[node]
            for k in range(value.shape[1]):
                total[r, k] += value[node, k]


# From integer codes straight to a model's input: each (feature, value) was encoded once, the rest is copying.


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
