"""Scores and descriptions of whole sets against their twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from leastways.costs.kernels import Tables, fill_row
from leastways.search import kernels as sets
from tests.support import reference_kernels as reference
from tests.support.small_worlds import make_problem, make_world, seeds


def random_sets(seed: int) -> tuple[Tables, NDArray[np.int32], NDArray[np.bool_]]:
    """Tables with every row filled, and a set of four states per person: near the present, with repetitions."""
    world = make_world(seed % 100, n=10)
    problem, _ = make_problem(world, world.frame, n_samples=30)
    t = problem.samples.tables
    draw = np.random.default_rng(seed)
    P, F = t.space.start.shape
    for p in range(P):
        for f in range(F):
            for j in range(t.space.used[p, f]):
                fill_row(t, p, f, j)
    changed = draw.random((P, 4, F)) < 0.3
    codes = np.where(changed, draw.integers(0, t.space.used[:, None, :], (P, 4, F)), t.space.start[:, None, :]).astype(
        np.int32
    )
    codes[:, 3] = np.where(draw.random((P, 1)) < 0.5, codes[:, 0], codes[:, 3])
    accepted = (codes @ draw.integers(1, 1000, F)) % 10 < 7  # the same answer for the same state
    return t, codes, accepted


@pytest.mark.parametrize("objective", ["emc", "sparsity", "proximity", "diversity"])
@settings(max_examples=15)
@given(seed=seeds)
def test_set_scores_equal_the_reference_implementation(objective: str, seed: int) -> None:
    t, codes, accepted = random_sets(seed)
    number = getattr(sets, objective.upper())
    M = t.draws.alpha.shape[1]
    for p in range(len(codes)):
        ours = sets.set_score(t, p, codes[p], 4, accepted[p], 4, number, np.empty(M), np.empty(M))
        assert ours == pytest.approx(reference.set_score(t, p, codes[p], accepted[p], 4, objective), abs=1e-12)


@settings(max_examples=15)
@given(seed=seeds)
def test_descriptions_equal_the_reference_implementation(seed: int) -> None:
    t, codes, _ = random_sets(seed)
    P, N = codes.shape[:2]
    expected, best_for = np.zeros((P, N)), np.zeros((P, N))
    covered, emc, satisfied = np.zeros(P), np.zeros(P), np.zeros(P)
    n = np.full(P, N)
    sets.describe_sets(t, codes, n, 0.5, expected, best_for, covered, emc, satisfied)
    for p in range(P):
        twin = reference.describe_set(t, p, codes[p], 0.5)
        np.testing.assert_allclose(expected[p], twin["expected"], atol=1e-12)
        np.testing.assert_allclose(best_for[p], twin["best_for"], atol=1e-12)
        ours = {"covered": covered[p], "emc": emc[p], "satisfied": satisfied[p]}
        assert ours == pytest.approx({k: twin[k] for k in ours}, abs=1e-12, nan_ok=True)


@settings(max_examples=15)
@given(seed=seeds)
def test_distances_equal_the_reference_implementation_and_are_symmetric(seed: int) -> None:
    t, codes, _ = random_sets(seed)
    for p in range(len(codes)):
        a, b = codes[p, 0], codes[p, 1]
        x, y = (t.space.levels[p, t.space.offsets[:-1] + c] for c in (a, b))
        ours = sets.state_distance(t, p, a, b)
        assert ours == pytest.approx(reference.state_distance(x, y, t.space.span))
        assert ours == sets.state_distance(t, p, b, a)
        assert 0 <= ours <= 1


def test_person_without_options_is_uncovered() -> None:
    t, codes, _ = random_sets(0)
    P, N = codes.shape[:2]
    covered, emc, satisfied = np.ones(P), np.zeros(P), np.ones(P)
    sets.describe_sets(
        t, codes, np.zeros(P, np.int64), 1.0, np.zeros((P, N)), np.zeros((P, N)), covered, emc, satisfied
    )
    assert (covered == 0).all()
    assert (satisfied == 0).all()
    assert np.isnan(emc).all()
