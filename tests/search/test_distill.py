"""The shared surrogate: kernels against numpy, and what fitting it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from sklearn.neural_network import MLPRegressor
from threadpoolctl import threadpool_info, threadpool_limits

from leastways.search import Problem, Questions
from leastways.search.guided.distillation import Distilled, _evaluate, distill
from leastways.search.guided.searcher import nothing_shared
from leastways.search.guided.surrogate_kernels import SharedNet, _enter, shared_effects, shared_log_odds
from tests.support.small_worlds import evaluator_of, make_problem, make_world, seeds


def made_net(problem: Problem, draw: np.random.Generator, hidden: int = 5) -> SharedNet:
    """A network of random weights over the features of a problem."""
    t = problem.samples.tables
    F = t.space.start.shape[1]
    columns = np.concatenate([[0], np.cumsum(np.where(t.space.ordered, 2, np.diff(t.space.offsets)))]).astype(np.int64)
    K = int(columns[-1])
    parts = draw.normal(size=(K, hidden)), draw.normal(size=hidden), draw.normal(size=hidden)
    return SharedNet(columns, draw.normal(size=(F,)), draw.uniform(0.5, 9, (F,)), *parts, doubt=0.5)


def states(problem: Problem, draw: np.random.Generator, n: int) -> Questions:
    t = problem.samples.tables
    people = draw.integers(0, problem.n_people, n)
    changed = draw.random((n, t.space.start.shape[1])) < 0.5
    codes = np.where(changed, draw.integers(0, t.space.used[people]), t.space.start[people]).astype(np.int32)
    return Questions(people, codes)


@settings(max_examples=20)
@given(seeds)
def test_log_odds_equal_numpys(seed: int) -> None:
    world, draw = make_world(seed % 100, n=8), np.random.default_rng(seed)
    problem, _ = make_problem(world, world.frame, n_samples=2)
    net, asked = made_net(problem, draw), states(problem, draw, 30)
    t, hidden = problem.samples.tables, np.empty(5)
    ours = [shared_log_odds(t, net, p, codes, hidden) for p, codes in zip(*asked, strict=True)]
    np.testing.assert_allclose(ours, _evaluate(problem.samples, net, asked), rtol=1e-9, atol=1e-9)


@settings(max_examples=20)
@given(seeds)
def test_lifts_are_those_of_single_moves(seed: int) -> None:
    world, draw = make_world(seed % 100, n=4), np.random.default_rng(seed)
    problem, _ = make_problem(world, world.frame, n_samples=2)
    net, t = made_net(problem, draw), problem.samples.tables
    present, effect = np.empty(4), np.full(t.space.allowed.shape, np.nan)
    shared_effects(t, net, present, effect, np.empty(5), np.empty(5))
    np.testing.assert_allclose(
        present, _evaluate(problem.samples, net, Questions(np.arange(4), t.space.start)), atol=1e-9
    )
    for p in range(4):
        moves = [
            (f, j) for f, j in np.ndindex(t.space.start.shape[1], int(t.space.used[p].max())) if j < t.space.used[p, f]
        ]
        for f, j in moves:
            slot = t.space.offsets[f] + j
            if j == t.space.start[p, f] or not t.space.allowed[p, slot]:
                assert np.isnan(effect[p, slot]), "only moves that the person may make are written"
                continue
            codes = t.space.start[p].copy()
            codes[f] = j
            moved = _evaluate(problem.samples, net, Questions(np.array([p]), codes[None]))[0]
            assert effect[p, slot] == pytest.approx(moved - present[p], abs=1e-9)


def test_surrogate_of_an_undistilled_model_is_empty() -> None:
    world = make_world(1, n=4)
    problem, _ = make_problem(world, world.frame, n_samples=2)
    t, none = problem.samples.tables, np.empty(0)
    present, effect = np.ones(4), np.zeros(t.space.allowed.shape)
    shared_effects(t, nothing_shared(t.space.start.shape[1]), present, effect, none, none)
    assert not present.any()
    assert not effect.any()


def learn(queries: int, seed: int = 0, n: int = 60) -> tuple[Problem, Distilled, list[Questions], Any]:
    world = make_world(3, n=n)
    problem, encoded = make_problem(world, world.frame, n_samples=1)
    evaluate, asked = evaluator_of(world, encoded), []

    def ask(questions: Questions) -> NDArray[np.float64]:
        asked.append(questions)
        answers: NDArray[np.float64] = evaluate(questions)[0]
        return answers

    return problem, distill(problem.samples, ask, 0.5, queries, seed), asked, evaluate


@pytest.mark.parametrize("queries", [100, 300, 1001])
def test_distillation_keeps_its_query_limit_and_reports_its_queries(queries: int) -> None:
    problem, learned, asked, _ = learn(queries)
    rows = sum(len(q.people) for q in asked)
    assert learned.queries == rows <= queries
    assert rows >= 0.9 * queries
    t = problem.samples.tables
    for people, codes in asked:
        assert ((codes >= 0) & (codes < t.space.used[people])).all()
        assert t.space.allowed[people[:, None], t.space.offsets[:-1] + codes].all(), (
            "only what people may do is asked about"
        )


def test_distilled_surrogate_separates_accepted_from_rejected() -> None:
    problem, learned, _, evaluate = learn(600)
    fresh = states(problem, np.random.default_rng(99), 500)
    truth = evaluate(fresh)[0]
    odds = np.log(truth / (1 - truth))
    estimate = _evaluate(problem.samples, learned.net, fresh)
    near = np.abs(odds) < 4
    assert np.corrcoef(estimate[near], odds[near])[0, 1] > 0.95
    assert ((estimate >= 0) == (truth >= 0.5)).mean() > 0.9
    assert 0 < learned.net.doubt < 2


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_surrogate_is_fitted_on_one_thread_and_the_model_evaluated_on_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large matrix products differ between numbers of threads, and so would plans."""
    fitting, asking = [], []

    class Watched(MLPRegressor):  # type: ignore[misc]
        def fit(self, X: Any, y: Any) -> Any:
            fitting.append(blas_threads())
            return super().fit(X, y)

    def answer(frame: Any) -> NDArray[np.float64]:
        asking.append(blas_threads())
        return np.asarray(frame["age"].to_numpy() / 60.0)

    world = make_world(3)
    problem, encoded = make_problem(world, world.frame, n_samples=1)
    monkeypatch.setattr("leastways.search.guided.distillation.MLPRegressor", Watched)
    with threadpool_limits(2, user_api="blas"):
        decode = world.schema.decode
        distill(problem.samples, lambda q: answer(decode(q.codes, encoded, q.people)), 0.5, 100, 0)
    assert fitting == [{1}] * 3
    assert asking == [{2}] * 2


def test_other_seeds_draw_other_rows() -> None:
    first, second, again = (learn(200, seed)[1].net.inner for seed in (0, 1, 0))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, second)


def test_where_nothing_was_learned_no_weight_is_read() -> None:
    """Runs in Python, where numpy checks indices; compiled code does not by default."""
    world = make_world(0)
    problem, _ = make_problem(world, world.refused().head(1))
    t, F = problem.samples.tables, len(world.schema.features)
    for f in range(F):
        for code in range(t.space.used[0, f]):
            _enter.py_func(t, nothing_shared(F), 0, f, code, 1.0, np.empty(0))  # type: ignore[attr-defined]
