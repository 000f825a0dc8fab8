"""The oracle against full enumeration of small spaces."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from leastways.kernels.best_first import next_states
from leastways.kernels.reference import meets_rules
from leastways.kernels.tables import Tables, charged
from leastways.schema import Encoded
from leastways.search.oracle import _first_heap, _with_room, cheapest_state, ladder_of
from tests.worlds import World, make_problem, make_world, seeds


def enumerate_all(t: Tables, p: int, m: int) -> list[tuple[float, tuple[int, ...]]]:
    """Every state person p can reach under function m, with its cost."""
    choices = [np.flatnonzero(t.allowed[p, a:b]).tolist() for a, b in zip(t.offsets, t.offsets[1:], strict=False)]
    out, row = [], np.empty(t.alpha.shape[1])
    for codes in product(*choices):
        charged(t, p, np.array(codes, np.int32), row)
        if np.isfinite(row[m]) and codes != tuple(t.start[p]):
            out.append((float(row[m]), codes))
    return sorted(out)


def judge_for(world: World, people: Encoded, p: int):  # type: ignore[no-untyped-def]
    def judge(codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        return world.probability(world.schema.decode(codes, people, np.full(len(codes), p))) >= 0.5

    return judge


@settings(max_examples=15)
@given(seeds)
def test_the_oracle_is_the_best_of_all_states(seed: int) -> None:
    world = make_world(seed % 200, n=6)
    people = world.refused()
    if people.empty:
        return
    problem, encoded = make_problem(world, people, n_samples=4, seed=seed)
    t, rules = problem.samples.tables, problem.samples.rules
    p, m = seed % len(people), seed % 4
    states = enumerate_all(t, p, m)
    judge = judge_for(world, encoded, p)
    kept = [s for s in states if meets_rules(rules, t.offsets, p, t.start[p].tolist(), list(s[1]))]
    accepted = judge(np.array([c for _, c in kept], np.int32)) if kept else np.zeros(0, bool)
    best = min((cost for (cost, _), ok in zip(kept, accepted, strict=True) if ok), default=np.inf)
    found = cheapest_state(t, rules, p, m, judge, batch=7)
    assert found.cost == pytest.approx(best, abs=1e-12)
    assert found.status == ("exact" if np.isfinite(best) else "none_exists")
    limited = cheapest_state(t, rules, p, m, judge, batch=7, most_queries=3)
    assert limited.queries <= 3
    assert limited.bound <= best + 1e-12


@settings(max_examples=15)
@given(seeds)
def test_states_come_once_each_in_order_of_cost(seed: int) -> None:
    world = make_world(seed % 200, n=6, rules=False)
    problem, _ = make_problem(world, world.frame, n_samples=3, seed=seed)
    t = problem.samples.tables
    p, m = seed % 6, seed % 3
    ladder = ladder_of(t, p, m)
    if not len(ladder.feature):
        return
    expected = enumerate_all(t, p, m)
    size = len(expected) + 5
    heap = _with_room(_first_heap(ladder, 16), 1, 3 * size)
    codes, costs = np.empty((size, t.start.shape[1]), np.int32), np.empty(size)
    popped, left = next_states(ladder, heap, 1, np.inf, t.start[p], codes, costs)
    assert popped == len(expected)
    assert left == 0
    assert (np.diff(costs[:popped]) >= 0).all()
    assert {tuple(c) for c in codes[:popped].tolist()} == {c for _, c in expected}
    np.testing.assert_allclose(costs[:popped], [c for c, _ in expected], atol=1e-9)
