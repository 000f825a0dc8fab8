"""Which states a person may be led to, against the slow twin."""

from __future__ import annotations

import numpy as np
import pytest

from leastways.feasibility.kernels import permitted_rows, permitted_states
from tests.support import reference_kernels as reference
from tests.worlds import make_problem, make_world


@pytest.mark.parametrize("seed", range(5))
def test_states_are_permitted_as_the_twin_says(seed: int) -> None:
    world = make_world(seed, n=40, directions=("any", "up", "down"))
    problem, _ = make_problem(world, world.frame.head(6))
    t, draw = problem.samples.tables, np.random.default_rng(seed)
    some = False
    for p in range(problem.n_people):
        codes = draw.integers(0, t.space.used[p], (60, t.space.start.shape[1])).astype(np.int32)
        codes = np.where(draw.random(codes.shape) < 0.7, t.space.start[p], codes).astype(np.int32)
        values_fit, fits = np.empty(60, np.bool_), np.empty(60, np.bool_)
        permitted_states(t.space, p, codes, values_fit, fits)
        fine = t.space.allowed[p, t.space.offsets[:-1] + codes].all(axis=1)
        keep = [reference.meets_rules(t.space, p, c.tolist()) for c in codes]
        np.testing.assert_array_equal(values_fit, fine)
        np.testing.assert_array_equal(fits, fine & np.array(keep))
        some |= bool((fits & (codes != t.space.start[p]).any(axis=1)).any())
    assert some


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_many_people_are_permitted_as_each_persons_are(seed: int) -> None:
    world = make_world(seed, n=40, directions=("any", "up", "down"))
    problem, _ = make_problem(world, world.frame.head(6))
    t, draw = problem.samples.tables, np.random.default_rng(seed)
    people = np.sort(draw.integers(0, problem.n_people, 200))
    codes = draw.integers(0, t.space.used[people], (200, t.space.start.shape[1]))
    states = np.where(draw.random(codes.shape) < 0.7, t.space.start[people], codes).astype(np.int32)
    fits = np.empty(200, np.bool_)
    permitted_rows(t.space, people, states, fits)
    fine = t.space.allowed[people[:, None], t.space.offsets[:-1] + states].all(axis=1)
    keep = [reference.meets_rules(t.space, p, c.tolist()) for p, c in zip(people, states, strict=True)]
    np.testing.assert_array_equal(fits, fine & np.array(keep))
    assert fits.any()
    assert not fits.all()
