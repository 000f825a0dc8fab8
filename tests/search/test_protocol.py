"""What a problem says of people's grids, permitted states and costs."""

from __future__ import annotations

import numpy as np
import pytest

from leastways.errors import SettingError
from leastways.search import Problem
from tests.support.small_worlds import make_problem, make_world


@pytest.fixture(scope="module")
def problem() -> Problem:
    world = make_world(5, n=40)
    return make_problem(world, world.refused())[0]


def test_arrays_of_a_problem_have_the_documented_shapes(problem: Problem) -> None:
    P, F = problem.n_people, problem.n_features
    assert problem.start.shape == problem.sizes.shape == (P, F)
    assert problem.ordered.shape == (F,)
    assert ((problem.start >= 0) & (problem.start < problem.sizes)).all()
    np.testing.assert_allclose(problem.weights.sum(axis=1), 1.0)


def test_choices_are_codes_of_the_grid_and_hold_the_present_one(problem: Problem) -> None:
    for p in range(problem.n_people):
        for f in range(problem.n_features):
            choices = problem.choices(p, f)
            assert problem.start[p, f] in choices
            assert (np.diff(choices) > 0).all()
            assert set(choices.tolist()) <= set(range(problem.sizes[p, f]))


def test_values_are_in_order_of_codes(problem: Problem) -> None:
    for p in range(problem.n_people):
        for f in range(problem.n_features):
            values = problem.values(p, f)
            assert len(values) == problem.sizes[p, f]
            assert (np.diff(values) > 0).all()


def test_a_state_outside_a_persons_choices_is_not_permitted(problem: Problem) -> None:
    tried = 0
    for p in range(problem.n_people):
        for f in range(problem.n_features):
            for code in np.setdiff1d(np.arange(problem.sizes[p, f]), problem.choices(p, f)):
                codes = problem.start[p].copy()
                codes[f] = code
                assert not problem.permits(p, codes[None]).any()
                tried += 1
    assert tried


def test_one_person_may_be_given_for_all_rows(problem: Problem) -> None:
    draw = np.random.default_rng(0)
    codes = draw.integers(0, problem.sizes[0], (50, problem.n_features)).astype(np.int32)
    one = problem.permits(0, codes)
    assert 0 < one.sum() < len(one)
    np.testing.assert_array_equal(one, problem.permits(np.zeros(50, np.int64), codes))


def test_costs_of_several_states_are_those_of_each(problem: Problem) -> None:
    draw = np.random.default_rng(0)
    codes = draw.integers(0, problem.sizes[1], (9, problem.n_features)).astype(np.int32)
    np.testing.assert_array_equal(problem.costs(1, codes), [problem.costs(1, row) for row in codes])


def test_codes_outside_the_grid_are_refused(problem: Problem) -> None:
    start = problem.start[0]
    for codes in (start[None, 1:], start[None] + 9999, start[None] - 9999):
        with pytest.raises(SettingError, match="codes must be"):
            problem.permits(0, codes)


def test_random_depends_on_the_person_alone(problem: Problem) -> None:
    world = make_world(5, n=40)
    people = world.refused()
    alone = make_problem(world, people.iloc[[3]])[0]
    draws = [problem.random(p).random() for p in range(problem.n_people)]
    assert alone.random(0).random() == draws[3] == problem.random(3).random()
    assert len(set(draws)) == len(draws)
