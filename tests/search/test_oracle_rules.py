"""The oracle for people whose present state breaks a rule: exact, and never through the whole grid."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from numpy.typing import NDArray

import leastways as lw
from leastways.search import Questions
from leastways.search.exact import best_first as oracle
from leastways.search.exact.best_first import cheapest_states, searches
from leastways.search.exact.bound_kernels import Searches
from tests.support.reference_kernels import meets_rules
from tests.support.small_searches import random_searches, space_without_rules, with_rule_tables, with_rules
from tests.support.small_worlds import seeds


class DrawnAnswers:
    """Says yes to a drawn share of all states, and remembers what it was asked."""

    def __init__(self, q: Searches, seed: int) -> None:
        sizes = tuple(np.diff(q.space.offsets))
        self.says = np.random.default_rng([seed, 2]).random((len(q.space.start), *sizes)) < 0.2
        self.asked: list[tuple[int, ...]] = []

    def __call__(self, questions: Questions) -> Any:
        rows = np.column_stack([questions.people, questions.codes])
        self.asked += [tuple(row) for row in rows.tolist()]
        return self.says[tuple(rows.T)].astype(np.float64), {}


def every_cost(q: Searches, s: int) -> dict[tuple[int, ...], float]:
    """All permitted states of a search that can be paid for."""
    p, out = int(q.person[s]), {}
    start = q.space.start[p].tolist()
    for codes in product(*(range(n) for n in np.diff(q.space.offsets))):
        moved = [f for f in range(len(codes)) if codes[f] != start[f]]
        steps = [float(q.costs[s, q.space.offsets[f] + codes[f]]) for f in moved]
        if moved and np.isfinite(steps).all() and meets_rules(q.space, p, codes):
            out[codes] = sum(c for f, c in zip(moved, steps, strict=True) if not q.free[s, f])
    return out


def minima(q: Searches, evaluate: DrawnAnswers) -> NDArray[np.float64]:
    """The cheapest permitted and accepted state of every search, by trying all."""
    return np.array(
        [
            min((c for x, c in every_cost(q, s).items() if evaluate.says[(q.person[s], *x)]), default=np.inf)
            for s in range(len(q.costs))
        ]
    )


@given(seeds)
def test_the_oracle_is_the_best_of_all_permitted_states(seed: int) -> None:
    q, evaluate = with_rules(random_searches(seed), seed), DrawnAnswers(random_searches(seed), seed)
    best = minima(q, evaluate)
    found = cheapest_states(q, evaluate, 0.5)
    assert found.exact.all()
    np.testing.assert_allclose(found.cost, best, atol=1e-12)
    assert len(evaluate.asked) == len(set(evaluate.asked))
    for p, *codes in evaluate.asked:
        assert meets_rules(q.space, p, codes)
    capped = cheapest_states(q, DrawnAnswers(q, seed), 0.5, most_cost=0.4)
    np.testing.assert_allclose(capped.cost[best <= 0.4], best[best <= 0.4], atol=1e-12)
    assert (capped.bound <= best + 1e-12).all()
    assert (capped.bound[best > 0.4] > 0.4).all()
    short = cheapest_states(q, DrawnAnswers(q, seed), 0.5, most_queries=2)
    assert (short.bound <= best + 1e-12).all()
    np.testing.assert_allclose(short.cost[short.exact], best[short.exact], atol=1e-12)


def contradictory(n: int) -> Searches:
    """Two dear features, which mend the clauses one by one, never all of them; n cheap ones that have no part in it."""
    sizes = [*[3] * n, 2, 2]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    costs = np.append(np.linspace(0.1, 0.2, 3 * n), [0.3] * 4)[None]
    q = searches(space_without_rules(np.zeros((1, n + 2), np.int32), offsets), 1, costs, np.zeros((1, n + 2), np.bool_))
    literal, meets = np.zeros((4, n + 2), np.bool_), np.zeros((1, 4, 3 * n + 4), np.bool_)
    literal[:, n:] = True
    for k, (a, b) in enumerate(product(range(2), repeat=2)):  # not these two values together
        meets[0, k, [3 * n + 1 - a, 3 * n + 3 - b]] = True
    return with_rule_tables(q, literal=literal, meets=meets)


def test_a_search_that_only_skips_ends_with_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether rules can be met together is not looked into: some grids could be walked through for ever."""
    q = contradictory(3)
    evaluate = DrawnAnswers(q, 0)
    assert np.isinf(cheapest_states(q, evaluate, 0.5).bound).all()  # small enough to be walked through
    bounds = []
    for most in (0, 1, 10, 30):
        monkeypatch.setattr(oracle, "MOST_SKIPPED", most)
        found = cheapest_states(q, evaluate, 0.5)
        assert not found.exact.any()
        bounds.append(float(found.bound[0]))
    assert 0.29 < bounds[0] <= bounds[1] < bounds[2] < bounds[3] < np.inf
    q = contradictory(40)  # 3 ** 40 states
    monkeypatch.setattr(oracle, "MOST_SKIPPED", 5000)
    found = cheapest_states(q, lambda questions: pytest.fail("nothing is permitted"), 0.5)
    assert 0.4 < found.bound[0] < np.inf


@given(seeds)
def test_a_limit_on_skipping_leaves_a_bound(seed: int) -> None:
    q, evaluate = with_rules(random_searches(seed), seed), DrawnAnswers(random_searches(seed), seed)
    best = minima(q, evaluate)
    with pytest.MonkeyPatch.context() as patch:
        for most in (0, 2):
            patch.setattr(oracle, "MOST_SKIPPED", most)
            found = cheapest_states(q, DrawnAnswers(q, seed), 0.5)
            assert (found.bound <= best + 1e-12).all()
            assert (found.cost >= best - 1e-12).all()


RULE = lw.IfThen({"job": "professional"}, {"education": ["bachelor", "master or higher"]})
A_LOT = {
    **{"age": 50, "hours_per_week": 50, "monthly_income": 6400, "savings": 60_000, "card_utilisation": 100},
    **{"late_payments": 10, "loan_amount": 30_000, "loan_months": 72},
}


def priced(education: float) -> Any:
    """A cost function under which the rule can be mended at this price, or not at all."""

    def cost(feature: str, before: Any, after: Any) -> float:
        if feature in A_LOT:
            return float(abs(after - before)) / A_LOT[feature]
        return education if feature == "education" else np.inf

    return cost


@pytest.fixture(scope="module")
def odd() -> tuple[Any, lw.Schema, pd.DataFrame]:
    """The credit data with a rule, and somebody who breaks it."""
    credit = lw.datasets.load_credit()
    assert credit.model is not None
    people = credit.people[(credit.people.job == "professional") & (credit.people.education == "secondary school")]
    return credit, credit.schema().update(rules=[RULE]), people[credit.model(people) < 0.5].head(1)


def test_oracle_with_a_rule_that_cannot_be_repaired(odd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "MOST_SKIPPED", 0)
    credit, schema, person = odd
    found = lw.oracle(credit.model, schema, person, priced(np.inf))
    assert (found.status, found.bound, found.queries) == ("none_exists", np.inf, 1)


def test_oracle_with_a_rule_whose_repair_has_a_cost(odd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "MOST_SKIPPED", 40)
    credit, schema, person = odd
    short = lw.oracle(credit.model, schema, person, priced(0.9), max_queries=10)
    assert (short.status, short.queries) == ("bounded", 10)
    assert 0.9 < short.bound < 1.0
    found = lw.oracle(credit.model, schema, person, priced(0.9))
    assert found.status == "exact"
    assert found.state is not None
    assert found.state["education"] in ("bachelor", "master or higher")
    # the same, but for the rule, starting from where it is mended
    others = []
    for school in ("bachelor", "master or higher"):
        there = lw.oracle(credit.model, credit.schema(), person.assign(education=school), priced(np.inf))
        others.append(there.cost)
    np.testing.assert_allclose(found.cost, 0.9 + min(others))


def test_certificates_and_simulations_keep_their_query_limit_under_rules(
    odd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oracle, "MOST_SKIPPED", 200)
    credit, schema, person = odd
    recourse = lw.Recourse(credit.model, schema, n_options=3, n_costs=20).fit(credit.train)
    table = recourse.certify(recourse.recommend(person), max_queries=500).certificates
    assert 0 < table["bound"].iloc[0] <= table["objective"].iloc[0]
    assert 0 < table["queries"].iloc[0] <= 500
    truth = lw.simulate_people(person, schema, credit.train, random_state=1)
    least = lw.evaluation.oracle_people(credit.model, truth, max_queries=500)
    assert least["queries"].iloc[0] <= 500
    assert least["bound"].iloc[0] > 0
