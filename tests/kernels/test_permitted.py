"""Which states a person may be offered, against the slow twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from leastways.kernels import reference
from leastways.kernels.permitted import permitted_rows
from tests.worlds import make_problem, make_world, seeds


@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_permitted_rows(seed: int) -> None:
    world = make_world(seed % 1000, n=20, directions=("any", "up", "down"))
    people = world.refused()
    if people.empty:
        return
    problem, _ = make_problem(world, people)
    t, rules = problem.samples.tables, problem.samples.rules
    draw, out = np.random.default_rng(seed), np.zeros(30, np.bool_)
    for p in range(len(people)):
        anywhere = (draw.random((30, t.start.shape[1])) * t.used[p]).astype(np.int32)
        codes = np.where(draw.random(anywhere.shape) < 0.6, t.start[p], anywhere).astype(np.int32)
        permitted_rows(t.allowed[p], rules, t.offsets, p, t.start[p], codes, out)
        for row, fine in zip(codes, out, strict=True):
            moves = bool(t.allowed[p, t.offsets[:-1] + row].all())
            assert fine == (moves and reference.meets_rules(rules, t.offsets, p, t.start[p].tolist(), row.tolist()))
