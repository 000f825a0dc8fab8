"""Resampling: resamples and permutations have the right distribution, and corrections agree with outside references."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from leastways.audit import statistics
from leastways.audit.comparison import GroupMeasure, Resampling, ratio_table
from leastways.audit.groups import Grouping
from leastways.audit.statistics import (
    Tally,
    _ratio_and_error,
    _with_squares,
    bootstrap_sums,
    generator,
    holm,
    interval,
    p_value,
    permuted_sums,
)


def pairs(values: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    values = np.asarray(values, dtype=np.float64)
    return np.stack([values, np.ones(len(values))], axis=1)


def test_tally_does_not_depend_on_order() -> None:
    tally = Tally.of(pairs([0.5, 0, 0.5, 1]))
    assert tally.rows[:, 0].tolist() == [0, 0.5, 1]
    assert tally.counts.tolist() == [1, 2, 1]
    assert tally.n == 4
    assert tally.sums.tolist() == [2, 4]
    other = Tally.of(pairs([1, 0.5, 0, 0.5]))
    both = tally + Tally.of(pairs([1, 3]))
    assert (both.rows[:, 0].tolist(), both.counts.tolist()) == ([0, 0.5, 1, 3], [1, 2, 2, 1])
    assert (bootstrap_sums(tally, 50, generator(1, "x")) == bootstrap_sums(other, 50, generator(1, "x"))).all()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=30))
def test_tally_equals_numpy_unique(rows: list[tuple[int, int]]) -> None:
    table = np.array(rows, dtype=np.float64).reshape(-1, 2)
    tally = Tally.of(table)
    distinct, counts = np.unique(table, axis=0, return_counts=True)
    assert (tally.rows == distinct).all()
    assert (tally.counts == counts).all()


@pytest.mark.parametrize(("counts", "few"), [(0, 4), (10**9, 4), (10**9, 0)], ids=["counts", "looked up", "counted"])
def test_all_ways_to_resample_have_the_moments_of_the_bootstrap(
    counts: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics, "_FEW_COLUMNS", few)
    monkeypatch.setattr(statistics, "_COUNT_IN_DRAWS", counts)
    monkeypatch.setattr(statistics, "_COUNT_IN_SWAPS", counts)
    monkeypatch.setattr(statistics, "_CELLS", 3000)  # several blocks
    values = np.array([0, 0, 1, 1, 1, 2.5, 4, 4])
    tally, n, many = Tally.of(pairs(values)), len(values), 20_000
    drawn = bootstrap_sums(tally, many, generator(0, "moments"))
    assert drawn.shape == (many, 2)
    assert (drawn[:, 1] == n).all()
    assert drawn[:, 0].mean() == pytest.approx(values.sum(), abs=4 * np.sqrt(n * values.var() / many))
    assert drawn[:, 0].var() == pytest.approx(n * values.var(), rel=0.05)
    some = permuted_sums(tally, 3, many, generator(0, "some"))
    assert (some[:, 1] == 3).all()
    without = 3 * values.var(ddof=1) * (1 - 3 / n)  # of a sum drawn without replacement
    assert some[:, 0].mean() == pytest.approx(3 * values.mean(), abs=4 * np.sqrt(without / many))
    assert some[:, 0].var() == pytest.approx(without, rel=0.05)


def test_normal_sums_have_the_moments_of_resamples() -> None:
    """They are drawn from a normal distribution; the moments are those of the bootstrap and of permutations."""
    values = np.random.default_rng(1).exponential(size=30_000)
    tally, n, many = Tally.of(pairs(values)), len(values), 20_000
    drawn = bootstrap_sums(tally, many, generator(0, "many"))
    assert drawn[:, 1] == pytest.approx(n)
    assert drawn[:, 0].mean() == pytest.approx(values.sum(), abs=4 * np.sqrt(n * values.var() / many))
    assert drawn[:, 0].var() == pytest.approx(n * values.var(), rel=0.05)
    for some in (10_000, 25_000):
        sums = permuted_sums(tally, some, many, generator(0, "some"))
        without = some * values.var(ddof=1) * (1 - some / n)
        assert sums[:, 0].mean() == pytest.approx(some * values.mean(), abs=4 * np.sqrt(without / many))
        assert sums[:, 0].var() == pytest.approx(without, rel=0.05)


@pytest.mark.parametrize("some", [40, 11_960])
def test_small_samples_of_a_large_pool_have_the_right_moments(some: int) -> None:
    values = np.random.default_rng(1).exponential(size=12_000)
    sums = permuted_sums(Tally.of(pairs(values)), some, 3000, generator(0, "few"))
    assert (sums[:, 1] == some).all()
    without = some * values.var(ddof=1) * (1 - some / len(values))
    assert sums[:, 0].mean() == pytest.approx(some * values.mean(), abs=4 * np.sqrt(without / 3000))
    assert sums[:, 0].var() == pytest.approx(without, rel=0.12)


def test_skewed_figures_are_not_treated_as_normal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten of 6,000 people have nearly all of the sum: it is far from normal, and must not be drawn so."""
    values = np.random.default_rng(2).random(6000)
    values[:10] = 1e4
    tally = Tally.of(pairs(values))
    drawn = bootstrap_sums(tally, 1000, generator(0, "skew"))[:, 0]
    monkeypatch.setattr(statistics, "LARGE", 10**9)
    assert (drawn == bootstrap_sums(tally, 1000, generator(0, "skew"))[:, 0]).all()


def test_few_people_are_not_treated_as_normal(monkeypatch: pytest.MonkeyPatch) -> None:
    tally = Tally.of(pairs(np.random.default_rng(3).random(statistics.LARGE - 1)))
    few = bootstrap_sums(tally, 5, generator(0, "few")), permuted_sums(tally, 2000, 5, generator(0, "few"))
    monkeypatch.setattr(statistics, "LARGE", 10**9)
    again = bootstrap_sums(tally, 5, generator(0, "few")), permuted_sums(tally, 2000, 5, generator(0, "few"))
    assert all((one == other).all() for one, other in zip(few, again, strict=True))


def test_interval_equals_that_of_scipy() -> None:
    values = np.random.default_rng(5).exponential(size=60)
    chance = Resampling(20_000, 1, 1, 0)
    member = GroupMeasure.of(pairs(values), False, chance, "scipy")
    low, high = interval(member.draws, member.value)
    other = stats.bootstrap((values,), np.mean, n_resamples=20_000, method="percentile", rng=1).confidence_interval
    assert member.value == pytest.approx(values.mean())
    assert (low, high) == pytest.approx((other.low, other.high), abs=0.02 * values.std())


def test_interval_keeps_infinities_and_ignores_nan() -> None:
    draws = np.concatenate([np.linspace(1, 2, 90), np.full(10, np.inf)])
    low, high = interval(draws, 1.5)
    assert 1 <= low < 1.1
    assert high == np.inf
    assert np.isnan(interval(np.full(10, np.nan), 1.0)).all()
    half = np.where(np.arange(100) % 2, np.nan, np.linspace(1, 2, 100))  # in some resamples, nobody has a cost
    assert interval(half, 1.5) == pytest.approx((1.0, 2.0), abs=0.1)
    half[0] = np.nan
    assert np.isnan(interval(half, 1.5)).all()
    assert np.isnan(interval(np.ones(10), float("nan"))).all()
    assert interval(np.linspace(2, 3, 100), 1.0)[0] == 1.0  # holds the value itself, always


def test_ratio_intervals_have_nominal_coverage() -> None:
    """150 pairs of groups from known populations: a 95 % interval misses now and then, and not more."""
    random = np.random.default_rng(7)
    chance, hits, truth = Resampling(400, 1, 1, 0), 0, 0.6 / 0.8
    for trial in range(150):
        groups = [random.random(n) < share for n, share in ((70, 0.6), (90, 0.8))]
        one, two = (GroupMeasure.of(pairs(g), True, chance, str(trial), str(i)) for i, g in enumerate(groups))
        low, high = interval(one.draws / two.draws, one.value / two.value)
        hits += low <= truth <= high
    assert 0.90 <= hits / 150 <= 0.99


def test_share_of_one_has_an_interval() -> None:
    """Ten of ten served: the next may not be. The interval is Jeffreys', which reaches to 1."""
    for value, n in ((1.0, 10), (0.0, 10), (1.0, 1)):
        member = GroupMeasure.of(pairs([value] * n), True, Resampling(20_000, 1, 1, 0), "all")
        low, high = interval(member.draws, member.value)
        theirs = np.asarray(stats.beta.ppf([0.025, 0.975], n * value + 0.5, n * (1 - value) + 0.5))
        ends = (theirs[0], 1.0) if value else (0.0, theirs[1])
        assert (low, high) == pytest.approx(ends, abs=0.03)
    two = [
        GroupMeasure.of(pairs([0.0] * 99), True, Resampling(200, 1, 1, 0), name) for name in ("coverage", "satisfied")
    ]
    assert interval(two[0].draws, 0.0) == interval(two[1].draws, 0.0)
    assert (two[0].draws != two[1].draws).any()  # each in its own order
    alone = GroupMeasure.of(pairs([3.0]), False, Resampling(10, 1, 1, 0), "one")
    assert np.isnan(alone.draws).all()
    assert np.isnan(GroupMeasure.of(pairs([]), True, Resampling(10, 1, 1, 0), "none").value)


def test_share_near_one_is_no_more_certain_than_one() -> None:
    """One of thirty is served under two of three cost functions: the interval must not become narrower."""
    chance = Resampling(4000, 1, 1, 0)
    one, all_served = (GroupMeasure.of(pairs([last] + [1.0] * 29), True, chance, "near") for last in (2 / 3, 1.0))
    assert one.ends[0] < all_served.ends[0]
    most = GroupMeasure.of(pairs([0.0] + [1.0] * 29), True, chance, "most")
    assert most.ends == pytest.approx(stats.beta.interval(0.95, 29.5, 1.5), abs=0.01)
    alike = GroupMeasure.of(pairs([0.5] * 30), True, chance, "alike")  # nothing to resample, and half of it unknown
    assert alike.ends[0] < 0.48
    assert alike.ends[1] > 0.52


def test_share_intervals_have_nominal_coverage_near_one() -> None:
    """Percentiles of plain resamples do in four of five cases."""
    random, chance, hits = np.random.default_rng(3), Resampling(400, 1, 1, 0), 0
    for trial in range(300):
        served = random.binomial(10, random.beta(0.95, 0.05, 30)) / 10
        low, high = GroupMeasure.of(pairs(served), True, chance, str(trial)).ends
        hits += low <= 0.95 <= high
    assert 0.92 <= hits / 300 <= 0.99


@pytest.mark.parametrize("n", [5, 8, 40])
def test_mean_interval_of_few_people_is_as_wide_as_students(n: int) -> None:
    values = stats.norm.ppf((np.arange(n) + 0.5) / n) + 4
    member = GroupMeasure.of(pairs(values), False, Resampling(50_000, 1, 1, 0), "few")
    half = stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n)
    assert member.ends == pytest.approx((4 - half, 4 + half), abs=0.1 * half)
    assert interval(np.arange(200.0), 2.0, 1) == (0.0, 199.0)


def test_ratio_interval_is_widened_for_the_smaller_group() -> None:
    random, chance = np.random.default_rng(4), Resampling(4000, 1, 1, 0)
    few, many = (GroupMeasure.of(pairs(random.random(n) + 1), False, chance, str(n)) for n in (6, 300))
    grouping = Grouping(("size",), (("few",), ("many",)), np.zeros(0, np.int64))
    for reference, (one, other) in ((1, (few, many)), (0, (many, few))):
        table = ratio_table(grouping, reference, [{"cost": few}, {"cost": many}], chance)
        line = table.to_dict("records")[1 - reference]
        ends = interval(one.draws / other.draws, one.value / other.value, 6)
        assert (line["low"], line["high"]) == pytest.approx(ends)


def test_fractional_shares_are_not_treated_as_binary() -> None:
    """Forty people, each half served, vary less than forty of whom half are served."""
    chance = Resampling(4000, 1, 1, 0)
    low, high = GroupMeasure.of(pairs([0.5] * 40), True, chance, "x").ends
    assert 0.45 < low < 0.5 < high < 0.55
    assert np.isnan(GroupMeasure.of(pairs([0.5]), True, chance, "x").ends).all()


@pytest.mark.parametrize("kind", ["numbers", "shares"])
def test_p_value_equals_that_of_all_permutations(kind: str) -> None:
    random = np.random.default_rng(3)
    one, two = random.normal(0.9, 1, 6), random.normal(0, 1, 7)
    if kind == "shares":
        one, two = (one > 0.2).astype(float), (two > 0.2).astype(float)

    def over_error(x: Any, y: Any) -> Any:
        error = np.sqrt(x.var() / len(x) + y.var() / len(y))
        return (x.mean() - y.mean()) / error if error else np.sign(x.mean() - y.mean()) * np.inf

    exact = stats.permutation_test(  # 1,716 ways to choose 6 of 13: all of them
        (one, two), over_error, permutation_type="independent", n_resamples=10_000
    ).pvalue
    mine = p_value(Tally.of(pairs([*one, *two])), Tally.of(pairs(one)), 20_000, generator(0, kind))
    assert mine == pytest.approx(exact, abs=0.012)


def test_p_values_are_uniform_under_the_null() -> None:
    random = np.random.default_rng(11)
    p = np.empty(400)
    for trial in range(len(p)):
        values = random.random(40)
        p[trial] = p_value(Tally.of(pairs(values)), Tally.of(pairs(values[:15])), 199, generator(trial, "null"))
    assert stats.kstest(p, "uniform").pvalue > 0.01
    assert (p <= 0.05).mean() <= 0.08
    assert p.min() > 0


@pytest.mark.parametrize(("n", "spread"), [((50, 300), (1.0, 0.3)), ((50, 300), (0.3, 1.0)), ((100, 400), (0.8, 0.4))])
def test_unequal_variances_raise_no_false_alarm(n: tuple[int, int], spread: tuple[float, float]) -> None:
    """Of a plain difference a third of the first case's p-values would be below 0.05, and none of the second's."""
    random = np.random.default_rng(5)
    alarms = 0
    for trial in range(300):
        one, two = (random.gamma(sd**-2, sd**2, people) for people, sd in zip(n, spread, strict=True))
        p = p_value(Tally.of(pairs([*one, *two])), Tally.of(pairs(one)), 199, generator(trial, "spread"))
        alarms += p <= 0.05
    assert 0.02 < alarms / 300 < 0.1


def test_delta_method_error_equals_that_of_resamples() -> None:
    """Costs that only some people have: the error is that of a ratio, as resampling people shows it."""
    random = np.random.default_rng(2)
    weights = random.integers(0, 4, 200) / 3
    figures = np.stack([weights * random.random(200), weights], axis=1)
    tally = Tally.of(figures[weights > 0])
    drawn = bootstrap_sums(tally, 20_000, generator(0, "error"))
    ratio, square = _ratio_and_error(_with_squares(tally, 0.4).sums)
    assert ratio + 0.4 == pytest.approx(tally.sums[0] / tally.sums[1])
    assert np.sqrt(square) == pytest.approx((drawn[:, 0] / drawn[:, 1]).std(), rel=0.03)


def test_equal_figures_have_p_value_one() -> None:
    alike = pairs([0.25] * 30)
    assert p_value(Tally.of(alike), Tally.of(alike[:10]), 99, generator(0, "alike")) == 1.0


def test_p_value_is_never_zero() -> None:
    values = [1.0] * 40 + [0.0] * 40
    p = p_value(Tally.of(pairs(values)), Tally.of(pairs([1.0] * 40)), 999, generator(0, "large"))
    assert p == pytest.approx(2 / 1000)
    assert np.isnan(p_value(Tally.of(pairs(values)), Tally.of(pairs([])), 9, generator(0, "nobody")))


def test_holm_equals_that_of_statsmodels(monkeypatch: pytest.MonkeyPatch) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    monkeypatch.setattr("gc.collect", lambda: 0)  # it collects in every call: 40 seconds in a full suite

    @given(st.lists(st.one_of(st.just(float("nan")), st.floats(0, 1)), min_size=1, max_size=12))
    def check(p: list[float]) -> None:
        values = np.array(p)
        known = ~np.isnan(values)
        mine = holm(values)
        assert np.isnan(mine[~known]).all()
        if known.any():
            np.testing.assert_allclose(mine[known], multitest.multipletests(values[known], method="holm")[1])

    check()


def test_generators_depend_on_seed_and_words_alone() -> None:
    first = generator(0, "a", "b").random()
    assert first == generator(0, "a", "b").random()
    assert (
        len({first, generator(1, "a", "b").random(), generator(0, "ab").random(), generator(0, "b", "a").random()}) == 4
    )
