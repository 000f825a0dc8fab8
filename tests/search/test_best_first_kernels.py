"""States come once each, in order of cost: against full enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from leastways.costs.kernels import TIE, charged
from leastways.search.exact.best_first_kernels import GROWTH, Heaps, Scratch, first_states, show, slot_costs, take
from leastways.search.exact.bound_kernels import Searches
from tests.support.reference_kernels import meets_rules
from tests.support.small_searches import alternatives_of, random_searches, with_rule_tables, with_rules
from tests.support.small_worlds import make_problem, make_world, seeds


def twin(q: Searches, s: int, most_changes: int) -> list[tuple[float, tuple[int, ...]]]:
    """Every state of search s with its cost, by enumeration."""
    start = q.space.start[q.person[s]]
    out = []
    for codes in product(*(range(n) for n in np.diff(q.space.offsets))):
        moved = [f for f, code in enumerate(codes) if code != start[f]]
        steps = [q.costs[s, q.space.offsets[f] + codes[f]] for f in moved]
        if moved and len(moved) <= most_changes and np.isfinite(steps).all():
            paid = (c for f, c in zip(moved, steps, strict=True) if not q.free[s, f])
            out.append((float(sum(paid)), codes))
    return sorted(out)


def walk(q: Searches, s: int, most_cost: float) -> tuple[list[tuple[float, tuple[int, ...]]], float]:
    """Take every state off the heap of search s; returns them and the cheapest that was left out."""
    S, F, H = len(q.costs), q.space.start.shape[1], 400
    scratch = Scratch(np.empty(F, np.int16), np.empty(F, np.int32), np.empty(F, np.bool_))
    alternatives = alternatives_of(q)
    heaps = Heaps(
        np.arange(S + 1, dtype=np.int64) * H,
        np.zeros(S, np.int64),
        np.full(S, np.inf),
        np.empty(S * H),
        np.tile(np.arange(H, dtype=np.int32), S),
        np.empty(S * H, np.int16),
        np.zeros((S * H, F), np.int16),
    )
    first_states(q, alternatives, heaps, most_cost, np.full(S, np.inf))
    out, codes = [], np.empty(F, np.int32)
    while heaps.n[s]:
        assert heaps.n[s] + GROWTH <= H
        show(alternatives, heaps, s, q.space.start[q.person[s]], codes)
        out.append((float(heaps.cost[heaps.begin[s]]), tuple(codes.tolist())))
        take(q, alternatives, heaps, s, scratch, most_cost, np.inf)
    return out, float(heaps.beyond[s])


@given(seeds, st.sampled_from([0.3, 1.0, np.inf]), st.integers(1, 3))
def test_states_come_once_each_in_order_of_cost(seed: int, most_cost: float, most_changes: int) -> None:
    q = random_searches(seed)
    for s in range(4):
        came, beyond = walk(with_rule_tables(q, max_changes=most_changes), s, most_cost)
        every = twin(q, s, most_changes)
        expected = [(c, state) for c, state in every if c <= most_cost + 1e-12]
        assert {state for _, state in came} == {state for _, state in expected}
        assert len(came) == len(expected)
        np.testing.assert_allclose([c for c, _ in came], [c for c, _ in expected], atol=1e-12)
        assert (np.diff([c for c, _ in came]) >= -1e-12).all()
        dearer = [c for c, _ in every if c > most_cost + 1e-12]
        assert (beyond == np.inf) if not dearer else (most_cost < beyond <= dearer[0] + 1e-12)


@given(seeds, st.sampled_from([0.3, 1.0, np.inf]))
def test_permitted_states_come_once_each_in_order_of_cost(seed: int, most_cost: float) -> None:
    """Also where the present state breaks a rule. What breaks one never comes later than a permitted state from it."""
    q = with_rules(random_searches(seed), seed)
    for s in range(4):
        p = int(q.person[s])
        came, beyond = walk(q, s, most_cost)
        every = twin(q, s, q.space.rules.max_changes)
        assert len({state for _, state in came}) == len(came)
        assert {state for _, state in came} <= {state for _, state in every}
        good = {x for _, x in every if meets_rules(q.space, p, list(x))}
        mine = [(c, x) for c, x in came if x in good]
        expected = [(c, x) for c, x in every if x in good and c <= most_cost + 1e-12]
        assert {x for _, x in mine} == {x for _, x in expected}
        np.testing.assert_allclose([c for c, _ in mine], [c for c, _ in expected], atol=1e-12)
        dearer = [c for c, x in every if x in good and c > most_cost + 1e-12]
        assert most_cost < beyond or beyond == np.inf
        assert beyond <= min(dearer, default=np.inf) + 1e-12


@settings(max_examples=10)
@given(seeds)
def test_slot_costs_are_what_a_change_is_charged(seed: int) -> None:
    world = make_world(seed % 200, n=8)
    problem, _ = make_problem(world, world.frame, n_samples=5, seed=seed)
    t = problem.samples.tables
    P, F, M = t.draws.scores.shape
    costs, free = np.empty((P * M, t.cache.place.shape[1])), np.empty((P * M, F), np.bool_)
    slot_costs(t, costs, free)
    row: NDArray[np.float64] = np.empty(M)
    for p, f in product(range(P), range(F)):
        for j in range(t.space.offsets[f + 1] - t.space.offsets[f]):
            mine = costs[p * M : (p + 1) * M, t.space.offsets[f] + j]
            if j >= t.space.used[p, f] or not t.space.allowed[p, t.space.offsets[f] + j]:
                assert np.isinf(mine).all()
                continue
            state = t.space.start[p].copy()
            state[f] = j
            charged(t, p, state, row)
            is_free = free[p * M : (p + 1) * M, f]
            assert (mine[is_free & np.isfinite(mine)] <= TIE).all()
            np.testing.assert_array_equal(np.where(is_free & np.isfinite(mine), 0.0, mine), row)
