"""The least cost of what may come from a state: against all of it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hypothesis import given

from leastways.search.exact.bound_kernels import Alternatives, Searches, least_permitted
from tests.support.reference_kernels import meets_rules
from tests.support.small_searches import (
    alternatives_of,
    random_searches,
    space_without_rules,
    with_rule_tables,
    with_rules,
)
from tests.support.small_worlds import seeds

State = tuple[tuple[int, ...], int]  # ranks, and the last changed feature


def successors(alternatives: Alternatives, s: int, state: State, most_changes: int) -> Iterator[State]:
    """What comes from a state next, as the search makes it."""
    ranks, last = state
    if ranks[last] < alternatives.first[s, last + 1] - alternatives.first[s, last]:
        yield (*ranks[:last], ranks[last] + 1, *ranks[last + 1 :]), last
    if last + 1 < len(ranks):
        if sum(r > 0 for r in ranks) < most_changes:
            yield (*ranks[: last + 1], 1, *ranks[last + 2 :]), last + 1
        if ranks[last] == 1:
            yield (*ranks[:last], 0, 1, *ranks[last + 2 :]), last + 1


def price(alternatives: Alternatives, s: int, state: State) -> float:
    return float(sum(alternatives.cost[s, alternatives.first[s, k] + r - 1] for k, r in enumerate(state[0]) if r))


def permitted(q: Searches, alternatives: Alternatives, s: int, state: State) -> bool:
    start = q.space.start[q.person[s]].tolist()
    codes = list(start)
    for k, r in enumerate(state[0]):
        if r:
            codes[alternatives.feature[s, k]] = int(alternatives.code[s, alternatives.first[s, k] + r - 1])
    return meets_rules(q.space, int(q.person[s]), codes)


def bounds(q: Searches, s: int) -> Iterator[tuple[float, float, float, bool]]:
    """For every state of a search: the kernel's bound, the true least, its own cost, and whether it is permitted."""
    alternatives, F = alternatives_of(q), q.space.start.shape[1]
    n = int(alternatives.n[s])

    def descend(state: State) -> Iterator[tuple[float, float, float, bool]]:
        below = [list(descend(x)) for x in successors(alternatives, s, state, q.space.rules.max_changes)]
        cost, good = price(alternatives, s, state), permitted(q, alternatives, s, state)
        true = min([cost if good else np.inf, *(b[-1][1] for b in below)])
        ranks, codes, taken = np.array(state[0], np.int16), np.empty(F, np.int32), np.ones(F, np.bool_)
        found = least_permitted(q, alternatives, s, ranks, state[1], cost, codes, taken)
        for part in below:
            yield from part
        yield found, true, cost, good

    if n:
        yield from descend(((1, *[0] * (n - 1)), 0))


@given(seeds)
def test_nothing_permitted_costs_less_than_the_bound(seed: int) -> None:
    q = with_rules(random_searches(seed), seed)
    for s in range(4):
        for found, true, cost, good in bounds(q, s):
            assert cost <= found <= true + 1e-15
            assert found == cost or not good


@given(seeds)
def test_one_broken_clause_is_priced_exactly(seed: int) -> None:
    q = with_rules(random_searches(seed), seed, clauses=1, links=0)
    for s in range(4):
        for found, true, _, _ in bounds(q, s):
            np.testing.assert_allclose(found, true, rtol=1e-9)


def test_clauses_on_different_features_add_up() -> None:
    """Two features of three values each, a third beside them; both have to be mended."""
    offsets, free = np.array([0, 3, 6, 8], np.int64), np.zeros((1, 3), np.bool_)
    costs = np.array([[0.0, 0.1, 0.5, 0.0, 0.2, 0.7, 0.0, 0.05]])
    q = Searches(space_without_rules(np.zeros((1, 3), np.int32), offsets), np.array([0, 1]), np.array([0]), costs, free)
    meets = np.zeros((1, 2, 8), np.bool_)
    meets[0, 0, 2] = meets[0, 1, 5] = True  # the dear values
    apart = np.array([[True, False, False], [False, True, False]])
    *_, (found, true, cost, _) = bounds(with_rule_tables(q, literal=apart, meets=meets), 0)
    assert cost == 0.05
    np.testing.assert_allclose([found, true], 1.2)
    meets[0, 1, 2] = True  # the first feature's dear value mends both
    *_, (found, true, _, _) = bounds(
        with_rule_tables(q, literal=apart | np.array([True, False, False]), meets=meets), 0
    )
    np.testing.assert_allclose([found, true], 0.5)


def test_a_link_is_mended_by_what_it_requires() -> None:
    offsets, free = np.array([0, 2, 5], np.int64), np.zeros((1, 2), np.bool_)
    costs = np.array([[0.0, 0.1, 0.0, 0.3, 0.6]])
    q = Searches(space_without_rules(np.zeros((1, 2), np.int32), offsets), np.array([0, 1]), np.array([0]), costs, free)
    link, amount = np.array([0]), np.array([2.0])
    q = with_rule_tables(
        q,
        link_feature=link,
        link_requires=link + 1,
        link_by=amount / 2,
        link_at_least=amount,
    )
    found = {round(cost, 9): (bound, true) for bound, true, cost, _ in bounds(q, 0)}
    np.testing.assert_allclose(found[0.1], 0.3)  # another feature instead
    np.testing.assert_allclose(found[0.4], 0.7)  # the same, further
    closed = q._replace(costs=np.array([[0.0, 0.1, np.inf, np.inf, np.inf]]))
    assert [(b, t) for b, t, _, _ in bounds(closed, 0)] == [(np.inf, np.inf)]
