"""The budget loop holds searchers to their allowance and outlives a failing model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from leastways.errors import ModelError, SearcherError, SettingError
from leastways.search import (
    COLS,
    PCOLS,
    Chosen,
    LocalSearch,
    Problem,
    Questions,
    as_searcher,
    register_searcher,
    run_search,
)
from leastways.search.loop import Accepted
from tests.support.small_worlds import evaluator_of, make_problem, make_world


class Greedy:
    """Asks for one row too many."""

    def start(self, problem: object) -> Greedy:
        self.problem = problem
        return self

    def ask(self, left: NDArray[np.int64]) -> Questions:
        start = self.problem.samples.tables.space.start  # type: ignore[attr-defined]
        return Questions(np.zeros(left[0] + 1, np.int64), np.repeat(start[:1], left[0] + 1, axis=0))


def test_evaluation_beyond_the_budget_is_an_error() -> None:
    world = make_world(5)
    problem, encoded = make_problem(world, world.refused())
    with pytest.raises(SearcherError, match="more rows than their budget"):
        run_search(Greedy(), problem, evaluator_of(world, encoded))  # type: ignore[arg-type]


def test_model_failure_on_one_person_keeps_their_options_and_the_others_searches() -> None:
    world = make_world(5, n=40)
    problem, encoded = make_problem(world, world.refused(), budget=60)
    stuck = run_search(COLS(), problem, evaluator_of(world, encoded)).queries == 0  # no state meets the rules
    evaluate = evaluator_of(world, encoded)
    rounds = 0

    def failing(questions: Questions) -> tuple[NDArray[np.float64], dict[int, ModelError]]:
        nonlocal rounds
        rounds += 1
        probability, _ = evaluate(questions)
        return (probability, {}) if rounds < 10 else (probability, {1: ModelError("broken")})

    result = run_search(COLS(), problem, failing)
    whole = run_search(COLS(), problem, evaluate)
    assert list(result.failures) == [1]
    assert result.queries[1] == 10 * problem.n_options
    others = (np.arange(problem.n_people) != 1) & ~stuck
    assert (result.queries[others] == problem.budget).all()
    np.testing.assert_array_equal(result.chosen.codes[others], whole.chosen.codes[others])


def test_progress_rises_to_one() -> None:
    world = make_world(5)
    problem, encoded = make_problem(world, world.refused())
    seen: list[float] = []
    run_search(COLS(), problem, evaluator_of(world, encoded), seen.append)
    assert seen == sorted(seen)
    assert 0.9 < seen[-1] <= 1.0


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: COLS(gain="exakt"), "gain must be one of 'exact', 'paper', not 'exakt'. Did you mean 'exact'"),  # type: ignore[arg-type]
        (lambda: PCOLS(runs=0), "runs must be a whole number of 1 or more, not 0"),
        (lambda: LocalSearch(objective="sparse"), "objective must be one of .* not 'sparse'"),  # type: ignore[arg-type]
        (lambda: as_searcher("colz"), "no method 'colz'.*Did you mean"),
        (lambda: as_searcher(COLS), "Give an instance"),
        (lambda: as_searcher(3), "method must be a name"),
        (lambda: register_searcher("cols", PCOLS), "already"),
    ],
)
def test_settings_are_checked(make: object, text: str) -> None:
    with pytest.raises(SettingError, match=text):
        make()  # type: ignore[operator]


def test_a_registered_searcher_is_found_by_name() -> None:
    register_searcher("cols-of-the-test", COLS)
    register_searcher("cols-of-the-test", COLS)
    assert as_searcher("cols-of-the-test") == COLS()


class Wrong:
    """COLS, but what it hands over is spoiled on the way."""

    def __init__(self, spoil: Any) -> None:
        self.spoil = spoil

    def start(self, problem: Problem) -> Any:
        run = COLS().start(problem)
        ask, chosen, spoil = run.ask, run.chosen, self.spoil

        class Spoiled:
            tell = run.tell

            def ask(self, left: NDArray[np.int64]) -> Any:
                return spoil(ask(left))

            def chosen(self) -> Any:
                return spoil(chosen())

        return Spoiled()


def of_questions(**changes: Any) -> Any:
    """Spoil questions alone."""
    return lambda given: given._replace(**{k: v(given) for k, v in changes.items()}) if len(given) == 2 else given


def of_chosen(**changes: Any) -> Any:
    """Spoil the options alone."""
    return lambda given: given._replace(**{k: v(given) for k, v in changes.items()}) if len(given) == 3 else given


def flipped(chosen: Chosen) -> NDArray[np.int32]:
    """Options with another value in every feature that the model was not asked about."""
    return np.where(chosen.codes == 0, 1, 0).astype(np.int32)


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda given: None, r"ask must return Questions\(people, codes\), of arrays; it returned None"),
        (lambda given: tuple(given), r"ask must return Questions"),
        (of_questions(people=lambda q: q.people.tolist()), r"ask must return Questions"),
        (of_questions(people=lambda q: q.people[1:]), r"people \[R\] and codes \[R, \d+\] of whole numbers"),
        (of_questions(codes=lambda q: q.codes.astype(float)), r"of whole numbers; it returned int64 .* and float64"),
        (of_questions(people=lambda q: q.people - 1), r"a question names person -1; there are \d+, counted from 0"),
        (of_questions(people=lambda q: q.people + 900), r"a question names person 9\d\d"),
        (of_questions(codes=lambda q: q.codes + 9999), r"has the code \d+ in feature 0, whose codes run from 0 to \d+"),
        (of_questions(codes=lambda q: q.codes - 9), r"has the code -\d+ in feature"),
        (of_chosen(n=lambda c: c.n + 50), r"n must be whole numbers from 0 to \d"),
        (of_chosen(n=lambda c: c.n * 0 - 1), r"n must be whole numbers from 0 to \d"),
        (of_chosen(codes=lambda c: c.codes[:, :1]), r"chosen must return codes \[\d+, \d, \d+\]"),
        (
            of_chosen(codes=lambda c: np.repeat(c.codes[:, :1], c.codes.shape[1], axis=1)),
            r"offered the same state twice",
        ),
        (of_chosen(codes=flipped), r"person \d+ is offered a state that the model did not accept when asked"),
    ],
)
def test_result_of_a_searcher_is_checked(spoil: Any, text: str) -> None:
    world = make_world(5, n=40)
    problem, encoded = make_problem(world, world.refused(), budget=60)
    with pytest.raises(SearcherError, match=text):
        run_search(Wrong(spoil), problem, evaluator_of(world, encoded))


class Lawless:
    """Asks for states over the whole space, and offers those that the model accepts, permitted or not."""

    def start(self, problem: Problem) -> Lawless:
        self.problem = problem
        P, F = problem.people.codes.shape
        self.out = Chosen(
            np.zeros((P, problem.n_options, F), np.int32), np.zeros(P, np.int64), np.zeros((P, problem.n_options))
        )
        return self

    def ask(self, left: NDArray[np.int64]) -> Questions:
        draw, used = np.random.default_rng(int(left.sum())), self.problem.samples.tables.space.used
        people = np.repeat(np.arange(len(left)), np.minimum(left, 10))
        return Questions(people, (draw.random((len(people), used.shape[1])) * used[people]).astype(np.int32))

    def tell(self, questions: Questions, probability: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        for p, codes in zip(questions.people[accepted], questions.codes[accepted], strict=True):
            if self.out.n[p] < self.problem.n_options:
                self.out.codes[p, self.out.n[p]] = codes
                self.out.n[p] += 1

    def chosen(self) -> Chosen:
        return self.out


def test_options_are_permitted_to_the_person() -> None:
    world = make_world(5, n=40)
    problem, encoded = make_problem(world, world.refused(), budget=60)
    with pytest.raises(SearcherError, match=r"person \d+ is offered a state that is not permitted to them"):
        run_search(Lawless(), problem, evaluator_of(world, encoded))
    study = type("Study", (Lawless,), {"offers_unpermitted": True})
    assert run_search(study(), problem, evaluator_of(world, encoded)).chosen.n.any()


def test_an_option_has_the_probability_that_the_model_gave() -> None:
    world = make_world(5, n=40)
    problem, encoded = make_problem(world, world.refused(), budget=60)
    right = run_search(COLS(), problem, evaluator_of(world, encoded)).chosen
    spoiled = Wrong(of_chosen(probability=lambda c: c.probability * np.nan))
    given = run_search(spoiled, problem, evaluator_of(world, encoded)).chosen
    there = np.arange(right.codes.shape[1]) < right.n[:, None]
    assert there.any()
    np.testing.assert_array_equal(given.probability[there], right.probability[there])


def test_acceptance_is_not_shared_between_people() -> None:
    """Also where the codes of the two differ by as much as their positions."""
    world = make_world(5, n=40)
    problem, _ = make_problem(world, world.refused(), budget=60)
    F = problem.people.codes.shape[1]
    grid = np.stack(np.meshgrid(*[np.arange(4)] * min(F, 4), indexing="ij"), axis=-1).reshape(-1, min(F, 4))
    codes = np.zeros((len(grid), F), np.int32)
    codes[:, : grid.shape[1]] = grid
    keys = [Accepted(problem)._key(np.full(len(codes), p), codes) for p in range(6)]
    assert len(np.unique(np.concatenate(keys))) == 6 * len(codes)


class Scribbler:
    """COLS, which writes into the answers it was handed once it has read them."""

    def start(self, problem: Problem) -> Any:
        run = COLS().start(problem)
        tell = run.tell

        def scribble(questions: Questions, probability: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
            tell(questions, probability, accepted)
            probability -= 0.5
            accepted[:] = True
            questions.codes[:] = 0

        run.tell = scribble  # type: ignore[method-assign]
        return run


def test_writing_into_the_evaluations_does_not_change_the_result() -> None:
    world = make_world(5, n=40)
    problem, encoded = make_problem(world, world.refused(), budget=60)
    right = run_search(COLS(), problem, evaluator_of(world, encoded))
    given = run_search(Scribbler(), problem, evaluator_of(world, encoded))
    there = np.arange(right.chosen.codes.shape[1]) < right.chosen.n[:, None]
    assert there.any()
    np.testing.assert_array_equal(given.chosen.n, right.chosen.n)
    np.testing.assert_array_equal(given.chosen.probability[there], right.chosen.probability[there])
    np.testing.assert_array_equal(given.misses.served, right.misses.served)
    np.testing.assert_array_equal(given.misses.codes, right.misses.codes)


def test_codes_of_no_state_have_no_cost() -> None:
    world = make_world(5, n=10)
    problem, _ = make_problem(world, world.refused())
    start = problem.samples.tables.space.start[0]
    for codes in (start[1:], start + 9999, start - 9999):
        with pytest.raises(SettingError, match="codes must be"):
            problem.costs(0, codes)


def test_problem_costs_need_no_model_query() -> None:
    world = make_world(5, n=40, rules=False)
    problem, _ = make_problem(world, world.refused())
    t = problem.samples.tables
    sex = world.schema.names.index("sex")  # fixed
    for p in range(problem.n_people):
        assert (problem.costs(p, t.space.start[p]) == 0.0).all()
        other = t.space.start[p].copy()
        other[sex] = 1 - other[sex]
        assert (problem.costs(p, other) == problem.uncovered).all()
        for f in range(len(t.space.start[p])):
            codes = t.space.start[p].copy()
            codes[f] = next(
                (c for c in range(t.space.used[p, f]) if c != codes[f] and t.space.allowed[p, t.space.offsets[f] + c]),
                codes[f],
            )
            if codes[f] != t.space.start[p, f]:
                counted = problem.costs(p, codes)
                editable = ~np.isnan(t.draws.scores[p, f])
                assert (counted[editable] < problem.uncovered).all()
                assert (counted[~editable] == problem.uncovered).all()
