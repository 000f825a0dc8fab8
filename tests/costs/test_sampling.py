"""The sampler's subsets, scores, means and noise have the distributions that the method gives them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from leastways.costs import CostDistribution
from leastways.costs.kernels import Tables, fill_row
from tests.support.small_worlds import make_problem, make_world

M = 20_000


@pytest.fixture(scope="module")
def tables() -> Tables:
    world = make_world(0, n=4, rules=False)
    problem, _ = make_problem(world, world.frame, n_samples=M)
    return problem.samples.tables


def test_subset_sizes_are_uniform_and_subsets_even(tables: Tables) -> None:
    editable = ~np.isnan(tables.draws.scores.swapaxes(1, 2)[0])
    assert not editable[:, 5].any(), "a fixed feature is never editable"
    sizes = np.bincount(editable.sum(axis=1), minlength=6)[1:]
    assert stats.chisquare(sizes).pvalue > 1e-3
    for k in (1, 2, 3):
        of_size = editable[editable.sum(axis=1) == k][:, :5]
        _, counts = np.unique(of_size, axis=0, return_counts=True)
        assert len(counts) == [5, 10, 10][k - 1]
        assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("k", [2, 3, 5])
def test_scores_are_dirichlet(tables: Tables, k: int) -> None:
    scores = tables.draws.scores.swapaxes(1, 2)[1]
    editable = ~np.isnan(scores)
    rows = editable.sum(axis=1) == k
    np.testing.assert_allclose(np.nansum(scores[rows], axis=1), 1.0)
    for f in range(5):  # each coordinate of a flat Dirichlet over k is Beta(1, k - 1)
        sample = scores[rows & editable[:, f], f]
        assert stats.kstest(sample, stats.beta(1, k - 1).cdf).pvalue > 1e-4


def test_a_single_editable_feature_has_score_one(tables: Tables) -> None:
    single = (~np.isnan(tables.draws.scores.swapaxes(1, 2)[0])).sum(axis=1) == 1
    assert (np.nansum(tables.draws.scores.swapaxes(1, 2)[0][single], axis=1) == 1.0).all()


def test_alpha_is_uniform_and_independent_of_the_scores(tables: Tables) -> None:
    assert stats.kstest(tables.draws.alpha[2], "uniform").pvalue > 1e-3
    both = ~np.isnan(tables.draws.scores.swapaxes(1, 2)[2][:, 0])
    assert (
        abs(stats.spearmanr(tables.draws.alpha[2][both], tables.draws.scores.swapaxes(1, 2)[2][both, 0]).statistic)
        < 0.03
    )


def test_people_have_independent_draws(tables: Tables) -> None:
    assert abs(np.corrcoef(tables.draws.alpha[0], tables.draws.alpha[1])[0, 1]) < 0.03


@pytest.mark.parametrize("noise_std", [0.01, 0.03])
def test_noise_is_beta_with_the_given_mean_and_std(noise_std: float) -> None:
    world = make_world(0, n=4, rules=False, directions=("any",))
    quiet, _ = make_problem(world, world.frame, n_samples=M, distribution=CostDistribution(noise_std=0))
    noisy, _ = make_problem(world, world.frame, n_samples=M, distribution=CostDistribution(noise_std=noise_std))
    t, base = noisy.samples.tables, quiet.samples.tables
    far = 0 if t.space.start[0, 1] > 0 else t.space.used[0, 1] - 1
    fill_row(t, 0, 1, far)
    fill_row(base, 0, 1, far)
    v = t.space.offsets[1] + far
    usable = np.isfinite(t.cache.cells[t.cache.place[0, v]]) & (t.draws.scores.swapaxes(1, 2)[0, :, 1] < 1)
    mean, cost = base.cache.cells[base.cache.place[0, v]][usable], t.cache.cells[t.cache.place[0, v]][usable]
    assert ((cost >= 0) & (cost <= 1)).all()
    inner = (mean > 0.02) & (mean < 0.98)
    spread = np.minimum(noise_std, np.sqrt(mean[inner] * (1 - mean[inner])))
    standard = (cost[inner] - mean[inner]) / spread
    assert abs(standard.mean()) < 4 / np.sqrt(inner.sum())
    assert standard.std() == pytest.approx(1.0, abs=0.05)
    size = mean[inner] * (1 - mean[inner]) / spread**2 - 1
    ranks = stats.beta(mean[inner] * size, (1 - mean[inner]) * size).cdf(cost[inner])
    assert stats.kstest(ranks, "uniform").pvalue > 1e-3


def test_unordered_means_are_fresh_uniforms_for_each_part_and_value() -> None:
    world = make_world(0, n=4, rules=False)
    problem, _ = make_problem(world, world.frame, n_samples=M, distribution=CostDistribution(alpha=1, noise_std=0))
    t = problem.samples.tables
    f = 3
    others = [j for j in range(3) if j != t.space.start[0, f]]
    unscaled = []
    for j in others:
        fill_row(t, 0, f, j)
        usable = np.isfinite(t.cache.cells[t.cache.place[0, t.space.offsets[f] + j]]) & (
            t.draws.scores.swapaxes(1, 2)[0, :, f] < 1
        )
        unscaled.append(
            t.cache.cells[t.cache.place[0, t.space.offsets[f] + j]][usable]
            / (1 - t.draws.scores.swapaxes(1, 2)[0, usable, f])
        )
        assert stats.kstest(unscaled[-1], "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(unscaled[0], unscaled[1])[0, 1]) < 0.03


def test_d_lin_and_d_perc_are_the_ends_of_d_mix() -> None:
    """With the same seed, a mixed mean is alpha times the linear plus (1 - alpha) times the percentile one."""
    world = make_world(4, n=4, rules=False)
    named = ("mix", "linear", "percentile")
    settings = [CostDistribution(alpha=CostDistribution.of(n).alpha, noise_std=0) for n in named]
    mix, lin, perc = (
        make_problem(world, world.frame, n_samples=500, distribution=s)[0].samples.tables for s in settings
    )
    for p in range(4):
        for f in range(5):
            for j in range(mix.space.used[p, f]):
                for t in (mix, lin, perc):
                    fill_row(t, p, f, j)
                v = mix.space.offsets[f] + j
                blend = (
                    mix.draws.alpha[p] * lin.cache.cells[lin.cache.place[p, v]]
                    + (1 - mix.draws.alpha[p]) * perc.cache.cells[perc.cache.place[p, v]]
                )
                finite = np.isfinite(mix.cache.cells[mix.cache.place[p, v]])
                np.testing.assert_allclose(mix.cache.cells[mix.cache.place[p, v]][finite], blend[finite], atol=1e-12)
                assert (np.isinf(lin.cache.cells[lin.cache.place[p, v]]) == ~finite).all()


def test_more_samples_begin_with_the_same_ones() -> None:
    world = make_world(0, n=4)
    few, many = (make_problem(world, world.frame, n_samples=n)[0].samples.tables for n in (10, 50))
    np.testing.assert_array_equal(few.draws.scores.swapaxes(1, 2), many.draws.scores.swapaxes(1, 2)[:, :10])
    np.testing.assert_array_equal(few.draws.alpha, many.draws.alpha[:, :10])
