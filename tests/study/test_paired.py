"""The interval of a paired difference: figures published elsewhere, how often it covers, and that it has a width."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import binomtest, multinomial, norm

from leastways.study.analyse import paired_interval

COUNTS = st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60)).filter(any)


def test_as_in_the_r_package_contingencytables() -> None:
    """Its Tango_asymptotic_score_CI_paired_2x2 on cavo_2012 (59, 6, 16, 80), as its own tests have it."""
    assert paired_interval(6, 16, 161, 0.95) == pytest.approx((-0.1240, -0.0054), abs=5e-5)


@pytest.mark.parametrize("n", [1, 6, 30, 1000])
def test_items_that_all_agree_are_as_sure_as_a_share(n: int) -> None:
    share = binomtest(n, n).proportion_ci(0.95, method="wilson")
    assert paired_interval(n, 0, n, 0.95) == pytest.approx((2 * share.low - 1, 1))
    assert paired_interval(0, n, n, 0.95) == pytest.approx((-1, 1 - 2 * share.low))
    nobody = binomtest(0, n).proportion_ci(0.95, method="wilson")
    assert paired_interval(0, 0, n, 0.95) == pytest.approx((-nobody.high, nobody.high))


@given(COUNTS)
def test_it_holds_what_was_seen_and_has_a_width(counts: tuple[int, int, int]) -> None:
    b, c, neither = counts
    n = b + c + neither
    low, high = paired_interval(b, c, n, 0.95)
    assert -1 <= low <= (b - c) / n <= high <= 1
    assert high - low > 1 / n
    assert paired_interval(c, b, n, 0.95) == pytest.approx((-high, -low), abs=1e-9)
    inner = paired_interval(b, c, n, 0.8)
    assert low <= inner[0] <= inner[1] <= high


@pytest.mark.parametrize(("b", "c", "n"), [(5, 1, 60), (12, 30, 60), (3, 0, 10), (1, 1, 9)])
def test_its_ends_are_where_a_score_test_rejects(b: int, c: int, n: int) -> None:
    """The likelihood under a given difference is maximised by search here, not by a formula."""
    for end in paired_interval(b, c, n, 0.95):

        def unlikely(second: float, end: float = end) -> float:
            shares = np.array([second + end, second, 1 - 2 * second - end])
            counts = np.array([b, c, n - b - c])
            return -float((counts * np.log(np.maximum(shares, 1e-300))).sum())

        second = minimize_scalar(unlikely, bounds=(max(0.0, -end), (1 - end) / 2), options={"xatol": 1e-12}).x
        error = np.sqrt((2 * second + end - end**2) / n)
        assert abs((b - c) / n - end) / error == pytest.approx(norm.ppf(0.975), rel=1e-4)


@pytest.mark.parametrize(("n", "least"), [(5, 0.92), (10, 0.935), (30, 0.93)])
def test_it_covers_about_as_often_as_it_says(n: int, least: float) -> None:
    """By the exact probability of every outcome; the normal approximation covers 18, 33 and 70 % at its worst here."""
    outcomes = np.array([(b, c, n - b - c) for b in range(n + 1) for c in range(n + 1 - b)])
    ends = np.array([paired_interval(b, c, n, 0.95) for b, c, _ in outcomes.tolist()])
    covered = []
    for first in np.arange(0.01, 1, 0.05):
        for second in np.arange(0.01, 1 - first, 0.05):
            chance = multinomial.pmf(outcomes, n, [first, second, 1 - first - second])
            true = first - second
            covered.append(chance[(ends[:, 0] - 1e-9 <= true) & (true <= ends[:, 1] + 1e-9)].sum())
    assert min(covered) > least
    assert 0.95 < np.mean(covered) < 0.975
