"""The compiled loops: trees, a network, and rows gathered from an encoder table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from leastways.models.kernels import add_leaves, gather, two_class_network


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


def slow_gather(
    codes: NDArray[Any], people: NDArray[Any], at: NDArray[Any], own: NDArray[Any], tables: list[Any], base: Any
) -> NDArray[Any]:
    """One row, one feature at a time; `tables` holds (columns, values by columns) per feature."""
    out = np.tile(base, (len(codes), 1))
    for r, person in enumerate(people):
        for f, (columns, values) in enumerate(tables):
            code, place = codes[r, f], at[person, f]
            if place >= 0 and code == place:
                out[r, columns] = own[person, columns]
            else:
                slot = code - (place >= 0 and code > place)
                out[r, columns] = values[slot]
    return out


def flat(tables: list[Any]) -> tuple[NDArray[Any], ...]:
    widths = [len(columns) for columns, _ in tables]
    parts = [values.ravel() for _, values in tables]
    return (
        np.array([len(values) for _, values in tables], dtype=np.int64),
        np.concatenate([[0], np.cumsum(widths)]).astype(np.int64),
        np.concatenate([columns for columns, _ in tables]).astype(np.int64),
        np.concatenate([[0], np.cumsum([len(p) for p in parts])[:-1]]).astype(np.int64),
        np.concatenate(parts),
    )


@given(st.integers(0, 2**16), st.booleans())
def test_agrees_with_the_slow_twin(seed: int, by_columns: bool) -> None:
    rng = np.random.default_rng(seed)
    F, P, R = rng.integers(1, 5), rng.integers(1, 4), rng.integers(0, 20)
    owner = rng.integers(-1, F, rng.integers(1, 12))  # whose each column is; -1: a constant
    D = len(owner)
    sizes = rng.integers(1, 6, F)
    tables = []
    for f in range(F):
        columns = np.flatnonzero(owner == f)
        tables.append((columns, rng.integers(0, 100, (sizes[f], len(columns)))))
    at = np.where(rng.random((P, F)) < 0.5, rng.integers(0, sizes + 1, (P, F)), -1).astype(np.int32)
    own, base = rng.integers(100, 200, (P, D)), rng.integers(200, 300, D)
    people = rng.integers(0, P, R)
    codes = rng.integers(0, sizes + (at[people] >= 0), (R, F)).astype(np.int32)
    out = np.empty(R * D, np.int64)
    row_step, column_step = (1, int(R)) if by_columns else (D, 1)
    sizes, first, columns, start, cells = flat(tables)
    assert gather(codes, people, at, own, sizes, first, columns, start, cells, base, row_step, column_step, out)
    got = out.reshape(D, R).T if by_columns else out.reshape(R, D)
    assert np.array_equal(got, slow_gather(codes, people, at, own, tables, base))


@pytest.mark.parametrize(("code", "person"), [(-1, 0), (3, 0), (0, 1), (0, -1)])
def test_what_is_in_no_grid_is_refused(code: int, person: int) -> None:
    sizes, first, columns, start, cells = flat([(np.array([0]), np.arange(3)[:, None])])
    codes, people, nowhere = np.array([[code]], np.int32), np.array([person]), np.array([[-1]], np.int32)
    base, out = np.zeros(1, np.int64), np.empty(1, np.int64)
    known = gather(codes, people, nowhere, base[None], sizes, first, columns, start, cells, base, 1, 1, out)
    assert not known
