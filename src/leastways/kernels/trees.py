"""Many decision trees, laid end to end."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.compiled import compiled


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
