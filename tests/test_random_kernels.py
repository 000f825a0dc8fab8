"""The generator equals its twin on Python integers, and its draws have the distributions they claim."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from leastways import _random_kernels as kernel
from leastways._compiled import compiled
from tests.support.reference_kernels import Stream

keys = st.integers(0, 2**64 - 1)


@compiled
def _draws(key: np.uint64, kind: int, a: float, b: float, n: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    out = np.empty(n)
    for i in range(n):
        state = kernel.keyed(key, i)
        if kind == 0:
            state, out[i] = kernel.uniform(state)
        elif kind == 1:
            state, out[i] = kernel.exponential(state)
        elif kind == 2:
            state, out[i] = kernel.normal(state)
        else:
            state, out[i] = kernel.beta_draw(state, a, b)
    return out


@given(keys, st.integers(0, 2**31))
def test_uniform_equals_its_twin(key: int, counter: int) -> None:
    twin = Stream(key, counter)
    state = kernel.keyed(np.uint64(key), counter)
    for _ in range(3):
        state, value = kernel.uniform(np.uint64(state))
        assert value == twin.uniform()


@given(keys, st.integers(1, 1000))
def test_below_equals_its_twin_and_stays_below(key: int, n: int) -> None:
    twin = Stream(key)
    _, value = kernel.below(np.uint64(key), n)
    assert value == twin.below(n)
    assert 0 <= value < n


@pytest.mark.parametrize(("kind", "law"), [(0, stats.uniform()), (1, stats.expon()), (2, stats.norm())])
def test_simple_draws_have_their_law(kind: int, law: object) -> None:
    sample = _draws(np.uint64(11), kind, 0.0, 0.0, 50_000)
    assert stats.kstest(sample, law.cdf).pvalue > 1e-3  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("a", "b"),
    [(1250.0, 1250.0), (3.0, 200.0), (200.0, 3.0), (1.5, 1.2), (0.3, 5.0), (5.0, 0.3), (0.5, 0.5), (1.0, 1.0)],
)
def test_beta_draws_are_beta(a: float, b: float) -> None:
    sample = _draws(np.uint64(5), 3, a, b, 50_000)
    assert stats.kstest(sample, stats.beta(a, b).cdf).pvalue > 1e-3


def test_beta_survives_shapes_whose_variate_underflows() -> None:
    sample = _draws(np.uint64(5), 3, 1e-7, 1e-3, 20_000)
    assert np.isfinite(sample).all()
    assert sample.mean() == pytest.approx(1e-7 / (1e-3 + 1e-7), abs=3e-4)


def test_neighbouring_counters_are_uncorrelated() -> None:
    sample = _draws(np.uint64(3), 0, 0.0, 0.0, 100_000)
    assert abs(np.corrcoef(sample[:-1], sample[1:])[0, 1]) < 0.015
