"""The oracle against full enumeration of small spaces."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from leastways.costs import Preferences
from leastways.costs.kernels import Tables, charged
from leastways.errors import ModelError
from leastways.search import Problem, Questions
from leastways.search.exact import best_first as oracle
from leastways.search.exact.best_first import Cheapest, cheapest_states, searches, searches_of
from tests.support.reference_kernels import meets_rules
from tests.support.small_searches import space_without_rules
from tests.support.small_worlds import World, evaluator_of, make_problem, make_world, seeds


def minima(world: World, problem: Problem, encoded: Any) -> NDArray[np.float64]:
    """The cheapest accepted state of every person and cost function, [P, M], by trying all of them."""
    t = problem.samples.tables
    out = np.full(t.draws.alpha.shape, np.inf)
    for p in range(len(t.space.start)):
        codes = np.array(every_state(t, p), np.int32).reshape(-1, t.space.start.shape[1])
        yes, _ = evaluator_of(world, encoded)(Questions(np.full(len(codes), p), codes))
        row = np.empty(t.draws.alpha.shape[1])
        for state in codes[yes >= 0.5]:
            if meets_rules(t.space, p, state.tolist()):
                charged(t, p, state, row)
                out[p] = np.minimum(out[p], row)
    return out


def every_state(t: Tables, p: int) -> list[tuple[int, ...]]:
    choices = [
        np.flatnonzero(t.space.allowed[p, a:b]).tolist()
        for a, b in zip(t.space.offsets, t.space.offsets[1:], strict=False)
    ]
    return [codes for codes in product(*choices) if codes != tuple(t.space.start[p])]


def small(seed: int, n_samples: int) -> tuple[World, Problem, Any] | None:
    world = make_world(seed % 200, n=5)
    people = world.refused().head(2)
    if people.empty:
        return None
    near = Preferences(ranges={"age": (18, 25)})  # small enough to try every state
    return world, *make_problem(world, people, n_samples=n_samples, seed=seed, preferences=near)


def solve(world: World, problem: Problem, encoded: Any, **settings: Any) -> Cheapest:
    samples = problem.samples
    return cheapest_states(searches_of(samples), evaluator_of(world, encoded), 0.5, **settings)


@settings(max_examples=8)
@given(seeds)
def test_the_oracle_is_the_best_of_all_states(seed: int) -> None:
    for n_samples in (1, 6):
        made = small(seed, n_samples)
        if made is None:
            return
        best = minima(*made).ravel()
        found = solve(*made)
        assert found.exact.all()
        np.testing.assert_allclose(found.cost, best, atol=1e-12)
        np.testing.assert_array_equal(found.bound, found.cost)
        capped = solve(*made, most_cost=0.4)
        np.testing.assert_allclose(capped.cost[best <= 0.4], best[best <= 0.4], atol=1e-12)
        assert capped.exact[best <= 0.4].all()
        assert (capped.bound <= best + 1e-12).all()
        assert (capped.bound[best > 0.4] > 0.4).all()
        # states beyond the cap may be accepted, too, and spare a person's other searches a question
        assert (capped.queries <= found.queries + n_samples).all()


@settings(max_examples=8)
@given(seeds)
def test_a_limit_leaves_a_bound(seed: int) -> None:
    made = small(seed, 4)
    if made is None:
        return
    best = minima(*made).ravel()
    for limit in (0, 3, 50):
        found = solve(*made, most_queries=limit)
        assert (found.queries <= limit).all()
        assert (found.bound <= best + 1e-12).all()
        assert (found.cost >= best - 1e-12).all()
        np.testing.assert_allclose(found.cost[found.exact], best[found.exact], atol=1e-12)


@settings(max_examples=6)
@given(seeds)
def test_oracle_evaluates_all_cheaper_states_exactly_once(seed: int) -> None:
    made = small(seed, 5)
    if made is None:
        return
    world, problem, encoded = made
    samples, rows = problem.samples, 0
    asked: set[Any] = set()
    inner = evaluator_of(world, encoded)

    def evaluate(questions: Questions) -> Any:
        nonlocal rows
        rows += len(questions.people)
        asked.update(zip(questions.people.tolist(), map(tuple, questions.codes.tolist()), strict=True))
        return inner(questions)

    found = cheapest_states(searches_of(samples), evaluate, 0.5)
    assert rows == len(asked) == found.queries.sum()
    t, row = samples.tables, np.empty(5)
    for p in range(len(t.space.start)):
        for state in every_state(t, p):
            charged(t, p, np.array(state, np.int32), row)
            if (row < found.cost[5 * p : 5 * p + 5] - 1e-9).any() and (p, state) not in asked:
                assert not meets_rules(t.space, p, list(state))
    known = Questions(np.arange(len(t.space.start)).repeat(5), found.codes)
    keep = np.isfinite(found.cost)
    told = cheapest_states(searches_of(samples), inner, 0.5, known=Questions(known.people[keep], known.codes[keep]))
    np.testing.assert_array_equal(told.cost, found.cost)
    assert (told.queries <= found.queries).all()


def test_oracle_cost_does_not_depend_on_memory_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    made = small(7, 6)
    assert made is not None
    wide = solve(*made)
    monkeypatch.setattr(oracle, "MOST_STATES", 40)
    monkeypatch.setattr(oracle, "MOST_ROWS", 3)
    narrow = solve(*made)
    np.testing.assert_array_equal(narrow.cost, wide.cost)
    assert narrow.exact.all()
    assert narrow.calls > wide.calls


def test_oracle_searches_a_grid_with_many_points() -> None:
    offsets = np.array([0, 40_000, 40_002], np.int64)
    costs = np.concatenate([np.arange(40_000) / 40_000, [0.0, 0.5]])[None, :]
    space = space_without_rules(np.zeros((1, 2), np.int32), offsets)
    q = searches(space, 1, costs, np.zeros((1, 2), np.bool_))
    found = cheapest_states(q, lambda asked: ((asked.codes[:, 0] >= 39_000).astype(np.float64), {}), 0.5)
    assert found.exact.all()
    assert found.codes.tolist() == [[39_000, 0]]


def test_a_failing_model_leaves_the_others_and_a_bound() -> None:
    made, whole = next((m, w) for m in map(small, range(99), [3] * 99) if m for w in [solve(*m)] if w.calls > 2)
    world, problem, encoded = made
    best, unlucky = minima(*made), int(whole.queries.argmax())
    inner, rounds = evaluator_of(world, encoded), []

    def evaluate(questions: Questions) -> Any:
        rounds.append(len(questions.people))
        probability, _ = inner(questions)
        mine = questions.people == unlucky
        if len(rounds) < 2 or not mine.any():
            return probability, {}
        return np.where(mine, np.nan, probability), {unlucky: ModelError("it broke")}

    samples = problem.samples
    found = cheapest_states(searches_of(samples), evaluate, 0.5)
    assert list(found.failures) == [unlucky]
    bound, exact = found.bound.reshape(-1, 3), found.exact.reshape(-1, 3)
    assert (bound <= best + 1e-12).all()
    others = np.arange(len(best)) != unlucky
    assert exact[others].all()
    assert not exact[unlucky].all()
    np.testing.assert_allclose(bound[others], best[others], atol=1e-12)


@settings(max_examples=6)
@given(seeds)
def test_a_model_that_fails_at_the_limit_leaves_a_bound(seed: int) -> None:
    """The states of the last call were not evaluated, also for searches that the limit ended in the same round."""
    made = small(seed, 3)
    if made is None:
        return
    best = minima(*made).ravel()
    samples = made[1].samples
    for limit, good in product((1, 2, 5, 11, 12, 30, 33), range(3)):
        calls, asked = 0, np.zeros(samples.n_people, np.int64)
        inner = evaluator_of(made[0], made[2])

        def evaluate(questions: Questions, good: int = good, asked: Any = asked, inner: Any = inner) -> Any:
            nonlocal calls
            calls += 1
            asked += np.bincount(questions.people, minlength=len(asked))
            probability, _ = inner(questions)
            failed = questions.people[: len(questions.people) if calls > good else 0]
            return probability, {int(p): ModelError("it broke") for p in failed}

        found = cheapest_states(searches_of(samples), evaluate, 0.5, most_queries=limit)
        assert (found.bound <= best + 1e-12).all()
        assert found.queries.tolist() == asked.tolist()


@pytest.mark.parametrize("limit", [20, 60, 1_000_000])
def test_oracle_result_does_not_depend_on_the_other_people(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """Also where there is no room for everybody's states, so that some have to wait."""
    monkeypatch.setattr(oracle, "MOST_STATES", 150)
    world = make_world(5, n=12)
    people = world.refused().head(4)
    assert len(people) == 4
    near = Preferences(ranges={"age": (18, 25)})
    problem, encoded = make_problem(world, people, n_samples=6, preferences=near)
    together = solve(world, problem, encoded, most_queries=limit)
    assert together.queries.max() > 15
    for p in range(4):
        alone = solve(world, *make_problem(world, people.iloc[[p]], n_samples=6, preferences=near), most_queries=limit)
        np.testing.assert_array_equal(alone.queries, together.queries[[p]])
        np.testing.assert_array_equal(alone.bound, together.bound.reshape(4, -1)[p])
        np.testing.assert_array_equal(alone.cost, together.cost.reshape(4, -1)[p])


def test_oracle_accepts_an_empty_list_of_people() -> None:
    world = make_world(3, n=6).frame
    stuck = make_world(3, n=6)
    fixed = stuck.schema.update({n: {"direction": "fixed"} for n in stuck.schema.names}, rules=[])
    problem, encoded = make_problem(World(world, fixed, stuck.weights, 9.0), world, n_samples=2)
    found = solve(stuck, problem, encoded)
    assert np.isinf(found.bound).all()
    assert found.exact.all()
    assert not found.queries.any()
