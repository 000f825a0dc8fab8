"""A network with one hidden layer, a row at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.compiled import compiled


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
