"""Permitted states and rules equal their slow twins; proposals are permitted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from leastways.feasibility import meets_rules, permitted_rows, permitted_states, perturb, uniform_state
from tests.support import reference_kernels as reference
from tests.support.small_worlds import make_problem, make_world, seeds


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


@pytest.mark.parametrize("everywhere", [False, True])
@settings(max_examples=25, deadline=None)
@given(seed=seeds)
def test_proposals_are_permitted_and_keep_the_rules(everywhere: bool, seed: int) -> None:
    world = make_world(seed % 50, n=15, directions=("any", "up", "down"))
    problem, _ = make_problem(world, world.frame)
    t = problem.samples.tables
    state, out = np.uint64(seed), np.empty(t.space.start.shape[1], np.int32)
    made = 0
    for p in range(len(t.space.start)):
        base = t.space.start[p]
        for _ in range(6):
            if everywhere:
                state, found = uniform_state(t.space, p, out, np.uint64(state))
            else:
                state, found = perturb(t.space, p, base, 2, out, np.uint64(state))
            if found:
                made += 1
                base = out.copy()
                assert t.space.allowed[p, t.space.offsets[:-1] + out].all()
                assert reference.meets_rules(t.space, p, out.tolist())
                assert (out != t.space.start[p]).any()
    assert made > 0


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_rule_checks_equal_their_twin(seed: int) -> None:
    world = make_world(seed % 50, n=15)
    problem, _ = make_problem(world, world.frame)
    t = problem.samples.tables
    draw = np.random.default_rng(seed)
    seen = set()
    for p in range(len(t.space.start)):
        changed = draw.random(t.space.start.shape[1]) < 0.4
        codes = np.where(changed, draw.integers(0, t.space.used[p]), t.space.start[p]).astype(np.int32)
        ours = meets_rules(t.space, p, codes)
        assert ours == reference.meets_rules(t.space, p, codes.tolist())
        seen.add(ours)
    assert seen


def test_perturbation_changes_one_or_two_features_evenly_without_rules() -> None:
    world = make_world(0, n=5, rules=False)
    problem, _ = make_problem(world, world.frame)
    t = problem.samples.tables
    state, out = np.uint64(1), np.empty(t.space.start.shape[1], np.int32)
    counts = np.zeros(t.space.start.shape[1] + 1, int)
    touched = np.zeros(t.space.start.shape[1], int)
    for _ in range(4000):
        state, _ = perturb(t.space, 0, t.space.start[0], 2, out, np.uint64(state))
        counts[(out != t.space.start[0]).sum()] += 1
        touched += out != t.space.start[0]
    assert counts[1] + counts[2] == 4000
    assert abs(counts[1] - 2000) < 200
    movable = t.space.n_choices[0] > 1
    assert (touched[~movable] == 0).all()
    expected = 6000 / movable.sum()
    assert (abs(touched[movable] - expected) < 0.15 * expected).all()
