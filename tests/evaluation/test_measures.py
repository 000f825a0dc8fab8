"""Each measure against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from leastways import evaluation as metrics

COSTS = np.array([0.2, 0.6, 1.0, 2.0, np.inf])
# two numbers with ranges 10 and 4, then a category (span 0)
SPAN = np.array([10.0, 4.0, 0.0])
STATE = np.array([0.0, 0.0, 1.0])
OPTIONS = np.array([[5.0, 0.0, 1.0], [0.0, 2.0, 0.0]])


def test_shares_and_mean_of_costs() -> None:
    assert metrics.fraction_satisfied(COSTS) == 2 / 5  # a cost of exactly 1 is not below 1
    assert metrics.fraction_satisfied(COSTS, k=2.5) == 4 / 5
    assert metrics.coverage(COSTS) == 4 / 5
    assert metrics.population_average_cost(COSTS) == pytest.approx(0.95)


def test_lists_are_accepted() -> None:
    costs = [0.1, 2.0, float("inf")]
    assert metrics.fraction_satisfied(costs) == 1 / 3
    assert metrics.coverage(costs) == 2 / 3
    assert metrics.population_average_cost(costs) == pytest.approx(1.05)


def test_feature_distances() -> None:
    # option 1: 0.5 of a range; option 2: 0.5 of a range and another category; over three features
    assert metrics.proximity(STATE, OPTIONS, SPAN) == pytest.approx(1 - (0.5 / 3 + 1.5 / 3) / 2)
    assert metrics.sparsity(STATE, OPTIONS) == pytest.approx(1 - (1 / 3 + 2 / 3) / 2)
    assert metrics.diversity(OPTIONS, SPAN) == pytest.approx((0.5 + 0.5 + 1) / 3)
    assert metrics.validity(2, 10) == 0.2


def test_diversity_is_the_mean_over_pairs() -> None:
    three = np.array([[0.0, 0.0, 0.0], [10.0, 0.0, 0.0], [10.0, 4.0, 1.0]])
    assert metrics.diversity(three, SPAN) == pytest.approx((1 / 3 + 1.0 + 2 / 3) / 3)


@pytest.mark.parametrize(
    "value",
    [
        metrics.fraction_satisfied(np.empty(0)),
        metrics.coverage(np.empty(0)),
        metrics.population_average_cost(np.empty(0)),
        metrics.population_average_cost(np.array([np.inf])),
        metrics.proximity(STATE, OPTIONS[:0], SPAN),
        metrics.sparsity(STATE, OPTIONS[:0]),
        metrics.diversity(OPTIONS[:1], SPAN),
        metrics.validity(0, 0),
        metrics.fraction_satisfied([]),
        metrics.population_average_cost([]),
        metrics.disparate_impact_ratio(0.5, 0.0),
        metrics.disparate_impact_ratio(0.5, float("nan")),
        metrics.disparate_impact_ratio(float("nan"), 0.5),
    ],
)
def test_undefined_measures_are_nan(value: float) -> None:
    assert np.isnan(value)


def test_disparate_impact_ratio() -> None:
    assert metrics.disparate_impact_ratio(0.5, 0.25) == 2.0
    assert metrics.disparate_impact_ratio(0.0, 0.25) == 0.0


states = st.lists(st.tuples(*[st.floats(0, 4), st.floats(0, 4), st.integers(0, 2)]), min_size=2, max_size=6)


@given(states)
def test_all_distances_lie_between_0_and_1(rows: list[tuple[float, float, int]]) -> None:
    options: NDArray[np.float64] = np.array(rows, dtype=np.float64)
    for value in (
        metrics.proximity(options[0], options, np.array([4.0, 4.0, 0.0])),
        metrics.sparsity(options[0], options),
        metrics.diversity(options, np.array([4.0, 4.0, 0.0])),
    ):
        assert 0 <= value <= 1
    assert metrics.proximity(options[0], options[:1], np.array([4.0, 4.0, 0.0])) == 1
    assert metrics.sparsity(options[0], options[:1]) == 1
