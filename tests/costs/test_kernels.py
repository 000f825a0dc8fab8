"""Cost tables against their twin, cell by cell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastways.costs import CostDistribution
from leastways.costs.kernels import TIE, Tables, bounded, charged, fill_row, objective_costs, reachable, scaled, top_of
from tests.support import reference_kernels as reference
from tests.support.small_worlds import make_problem, make_world, seeds


def filled(seed: int, noise_std: float = 0.0, alpha: float | None = None) -> Tables:
    world = make_world(seed, n=12)
    distribution = CostDistribution(alpha=alpha, noise_std=noise_std)
    problem, _ = make_problem(world, world.frame, n_samples=25, distribution=distribution)
    t = problem.samples.tables
    for p in range(len(t.space.start)):
        for f in range(t.space.start.shape[1]):
            for j in range(t.space.used[p, f]):
                fill_row(t, p, f, j)
    return t


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_means_equal_the_twin(seed: int) -> None:
    t = filled(seed)
    for p in range(0, len(t.space.start), 4):
        for f in range(t.space.start.shape[1]):
            for j in range(0, t.space.used[p, f], 3):
                twin = [reference.mean_cost(t, p, f, j, m) for m in range(t.draws.alpha.shape[1])]
                np.testing.assert_allclose(
                    t.cache.cells[t.cache.place[p, t.space.offsets[f] + j]], twin, rtol=1e-12, atol=1e-15
                )


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_profiles_equal_the_twin(seed: int) -> None:
    t = filled(seed)
    changeable = [True, True, True, True, True, False]
    for p in range(0, len(t.space.start), 5):
        for m in range(t.draws.alpha.shape[1]):
            scores, alpha = reference.draw_profile(int(t.draws.keys[p]), m, changeable, None, None, None)
            np.testing.assert_allclose(t.draws.scores.swapaxes(1, 2)[p, m], scores, rtol=1e-12)
            assert t.draws.alpha[p, m] == alpha


@settings(max_examples=10, deadline=None)
@given(seeds, st.integers(0, 2**31))
def test_costs_of_states_equal_the_twin(seed: int, state_seed: int) -> None:
    t = filled(seed, noise_std=0.01)
    draw = np.random.default_rng(state_seed)
    out = np.empty(t.draws.alpha.shape[1])
    for p in range(0, len(t.space.start), 3):
        codes = np.array([draw.integers(0, n) for n in t.space.used[p]], dtype=np.int32)
        for scale in (t, t._replace(objective=t.objective._replace(slope=0.01, step=1.0, step_at=0.3))):
            objective_costs(scale, p, codes, out)
            np.testing.assert_allclose(out, reference.objective_costs(scale, p, codes), rtol=1e-12)
            assert (out <= top_of(scale)).all()
        charged(t, p, codes, out)
        raw = np.sum([t.cache.cells[t.cache.place[p, t.space.offsets[f] + c]] for f, c in enumerate(codes)], axis=0)
        np.testing.assert_allclose(out, raw, atol=len(codes) * TIE)
        assert reachable(t, p, codes) or np.isinf(out).all()


def test_free_moves_are_charged_nothing_but_ranked_by_size() -> None:
    t = filled(3)
    single = (~np.isnan(t.draws.scores.swapaxes(1, 2))).sum(axis=2) == 1
    assert single.any(), "the sample must hold functions with a single editable feature"
    for p, m in np.argwhere(single)[:20]:
        f = int(np.flatnonzero(~np.isnan(t.draws.scores.swapaxes(1, 2)[p, m]))[0])
        codes, out = t.space.start[p].copy(), np.empty(t.draws.alpha.shape[1])
        seen = []
        for j in range(t.space.used[p, f]):
            codes[f] = j
            if reachable(t, p, codes) and j != t.space.start[p, f]:
                charged(t, p, codes, out)
                assert out[m] == 0.0
                seen.append(
                    (abs(j - int(t.space.start[p, f])), t.cache.cells[t.cache.place[p, t.space.offsets[f] + j], m])
                )
        if t.space.ordered[f] and (t.space.start[p, f] == 0):
            steps, ranks = zip(*sorted(seen), strict=True) if seen else ((), ())
            assert list(ranks) == sorted(ranks), steps


def test_rows_do_not_depend_on_what_was_touched_before() -> None:
    world = make_world(1, n=6)
    (first, _), (second, _) = (make_problem(world, world.frame) for _ in range(2))
    a, b = first.samples.tables, second.samples.tables
    for f in range(5):
        fill_row(a, 2, f, 1)
    for f in reversed(range(5)):
        for j in reversed(range(b.space.used[2, f])):
            fill_row(b, 2, f, j)
    for f in range(5):
        np.testing.assert_array_equal(
            a.cache.cells[a.cache.place[2, a.space.offsets[f] + 1]],
            b.cache.cells[b.cache.place[2, b.space.offsets[f] + 1]],
        )


@given(st.lists(st.floats(0, 20) | st.just(float("inf")), min_size=2, max_size=30), st.floats(0.1, 5))
def test_bounded_keeps_order_and_equals_its_twin(costs: list[float], ceiling: float) -> None:
    ordered = np.sort(np.array(costs))
    ours = np.array([bounded(c, ceiling) for c in ordered])
    assert (np.diff(ours) >= 0).all()
    assert (ours <= ceiling + TIE).all()
    np.testing.assert_allclose(ours, reference.bounded(ordered, ceiling), rtol=1e-12)
    np.testing.assert_array_equal(ours[ordered <= ceiling], ordered[ordered <= ceiling])


@given(
    st.lists(st.floats(0, 20) | st.just(float("inf")), min_size=2, max_size=30),
    st.floats(0.1, 5),
    st.sampled_from([(1.0, 0.0, np.inf), (0.01, 1.0, 1.0), (0.01, 1.0, 0.0), (0.5, 2.0, 3.0)]),
)
def test_the_objectives_scale_keeps_order_and_equals_its_twin(
    costs: list[float], ceiling: float, scale: tuple[float, float, float]
) -> None:
    ordered = np.sort(np.array([*costs, scale[2]]))
    ours = np.array([scaled(c, ceiling, *scale) for c in ordered])
    assert (np.diff(ours) >= 0).all()
    np.testing.assert_allclose(ours, reference.scaled(ordered, ceiling, *scale), rtol=1e-12)
    _, step, step_at = scale
    assert ((ours >= step) == (ordered >= step_at))[ordered > 0].all() or step == 0


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_fixed_alpha_is_an_end_of_the_mixture(alpha: float) -> None:
    t = filled(2, alpha=alpha)
    assert (t.draws.alpha == alpha).all()
