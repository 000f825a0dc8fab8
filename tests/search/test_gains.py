"""Gains against brute-force recomputation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from leastways.search.kernels import add_gain, mean_lowest, nearest_two, swap_gains
from tests.support import reference_kernels as reference

TOP = 1.5


@st.composite
def sets(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Costs of members [N, M] with ties and unreached samples, a candidate [M], weights [M]."""
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    costs = np.minimum(rng.integers(0, 16, (n + 1, m)) / 8.0, TOP)
    weights = rng.random(m) + 0.01
    return costs[:n], costs[n], weights / weights.sum()


def nearest(costs: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]]:
    m = costs.shape[1]
    lowest, second, owner = np.empty(m), np.empty(m), np.empty(m, np.int32)
    nearest_two(costs, len(costs), TOP, lowest, second, owner)
    return lowest, second, owner


@given(sets())
def test_lowest_and_second_lowest_equal_recomputation(case: tuple[NDArray[np.float64], ...]) -> None:
    costs, _, weights = case
    lowest, second, owner = nearest(costs)
    with_top = np.sort(np.vstack([costs, np.full((2, costs.shape[1]), TOP)]), axis=0)
    np.testing.assert_array_equal(lowest, with_top[0])
    np.testing.assert_array_equal(second, with_top[1])
    np.testing.assert_array_equal(costs[owner, np.arange(len(owner))], lowest)
    assert mean_lowest(lowest, weights) == pytest.approx(reference.emc(costs, weights, TOP))


@given(sets())
def test_exact_gains_equal_recomputation(case: tuple[NDArray[np.float64], ...]) -> None:
    costs, candidate, weights = case
    gains = np.empty(len(costs))
    swap_gains(candidate, *nearest(costs), weights, False, gains)
    brute = [reference.swap_gain(costs, p, candidate, weights, TOP) for p in range(len(costs))]
    np.testing.assert_allclose(gains, brute, atol=1e-12)


@given(sets())
def test_paper_gains_equal_its_algorithm_and_never_exceed_the_exact(case: tuple[NDArray[np.float64], ...]) -> None:
    costs, candidate, weights = case
    paper, exact = np.empty(len(costs)), np.empty(len(costs))
    swap_gains(candidate, *nearest(costs), weights, True, paper)
    swap_gains(candidate, *nearest(costs), weights, False, exact)
    brute = [reference.paper_swap_gain(costs, p, candidate, weights, TOP) for p in range(len(costs))]
    np.testing.assert_allclose(paper, brute, atol=1e-12)
    assert (paper <= exact + 1e-12).all()


@given(sets())
def test_gain_of_adding_equals_recomputation_and_is_never_negative(case: tuple[NDArray[np.float64], ...]) -> None:
    costs, candidate, weights = case
    lowest, _, _ = nearest(costs)
    gain = add_gain(candidate, lowest, weights)
    after = reference.emc(np.vstack([costs, candidate]), weights, TOP)
    assert gain == pytest.approx(reference.emc(costs, weights, TOP) - after, abs=1e-12)
    assert gain >= 0
