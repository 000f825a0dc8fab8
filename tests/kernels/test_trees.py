from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from leastways.models.kernels import add_leaves, two_class_network


@given(st.integers(0, 2**16), st.sampled_from([np.float32, np.float64]))
def test_every_row_gets_its_leaf_of_every_tree(seed: int, dtype: type) -> None:
    rng = np.random.default_rng(seed)
    T, R, D, K = rng.integers(1, 6), rng.integers(0, 12), 3, rng.integers(1, 3)
    # a root with two leaves each; thresholds are values that occur, so that "up to here" is tested
    x: NDArray[Any] = rng.integers(0, 4, (R, D)).astype(dtype)
    roots = 3 * np.arange(T)
    feature = np.full(3 * T, -1)
    feature[roots] = rng.integers(0, D, T)
    threshold = rng.integers(0, 4, 3 * T).astype(float)
    left, right = np.arange(3 * T) + 1, np.arange(3 * T) + 2
    value = rng.normal(size=(3 * T, K))
    total = np.ones((R, K))
    add_leaves(x, roots, feature, threshold, left, right, value, total)
    wanted = np.ones((R, K))
    for root in roots:
        for r in range(R):
            wanted[r] += value[root + 1 if x[r, feature[root]] <= threshold[root] else root + 2]
    assert np.array_equal(total, wanted)


def network(x: NDArray[np.float64], seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The kernel's answer, and that of matrix products."""
    rng = np.random.default_rng(seed)
    W1, b1, w2 = rng.normal(size=(x.shape[1], 20)), rng.normal(size=20), rng.normal(size=20)
    out = np.empty(len(x))
    two_class_network(x, W1, b1, w2, 0.3, np.empty(20), out)
    return out, 1 / (1 + np.exp(-(np.maximum(x @ W1 + b1, 0) @ w2 + 0.3)))


@given(st.integers(0, 2**16), st.integers(0, 50))
def test_a_network_does_not_depend_on_the_company_of_a_row(seed: int, rows: int) -> None:
    x = np.random.default_rng(seed).normal(size=(rows, 7))
    whole, plain = network(x, seed)
    assert np.allclose(whole, plain, rtol=1e-12)
    alone = [network(x[[r]], seed)[0][0] for r in range(rows)]
    assert np.array_equal(whole, alone)
