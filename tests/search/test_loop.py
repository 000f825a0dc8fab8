"""The budget loop holds searchers to their allowance and outlives a failing model."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from leastways.errors import ModelError, SearcherError, SettingError
from leastways.search import COLS, PCOLS, LocalSearch, Questions, as_searcher, register_searcher, run_search
from tests.worlds import judge_of, make_problem, make_world


class Greedy:
    """Asks for one row too many."""

    def start(self, problem: object) -> Greedy:
        self.problem = problem
        return self

    def ask(self, left: NDArray[np.int64]) -> Questions:
        start = self.problem.samples.tables.start  # type: ignore[attr-defined]
        return Questions(np.zeros(left[0] + 1, np.int64), np.repeat(start[:1], left[0] + 1, axis=0))


def test_asking_beyond_the_budget_is_an_error() -> None:
    world = make_world(5)
    problem, encoded = make_problem(world, world.refused())
    with pytest.raises(SearcherError, match="more rows than their budget"):
        run_search(Greedy(), problem, judge_of(world, encoded), 0.5)  # type: ignore[arg-type]


def test_a_person_the_model_fails_on_keeps_what_was_found_and_the_others_go_on() -> None:
    world = make_world(5, n=40)
    problem, encoded = make_problem(world, world.refused(), budget=60)
    stuck = run_search(COLS(), problem, judge_of(world, encoded), 0.5).queries == 0  # no state meets the rules
    judge = judge_of(world, encoded)
    rounds = 0

    def failing(questions: Questions) -> tuple[NDArray[np.float64], dict[int, ModelError]]:
        nonlocal rounds
        rounds += 1
        probability, _ = judge(questions)
        return (probability, {}) if rounds < 10 else (probability, {1: ModelError("broken")})

    result = run_search(COLS(), problem, failing, 0.5)
    whole = run_search(COLS(), problem, judge, 0.5)
    assert list(result.failures) == [1]
    assert result.queries[1] == 10 * problem.n_options
    others = (np.arange(problem.n_people) != 1) & ~stuck
    assert (result.queries[others] == problem.budget).all()
    np.testing.assert_array_equal(result.chosen.codes[others], whole.chosen.codes[others])


def test_progress_rises_to_one() -> None:
    world = make_world(5)
    problem, encoded = make_problem(world, world.refused())
    seen: list[float] = []
    run_search(COLS(), problem, judge_of(world, encoded), 0.5, seen.append)
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
