"""Beliefs: samples and weights made once per person, looked at, stored, reweighted and passed on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

import leastways as lw
from leastways.errors import DataError, PreferenceError
from leastways.search import Problem, run_search
from tests.support.small_worlds import evaluator_of, make_problem, make_world, seeds

CREDIT = lw.datasets.load_credit(n=400)


@pytest.fixture(scope="module")
def recourse() -> lw.Recourse:
    return lw.Recourse(CREDIT.model, CREDIT.schema(), n_options=3, n_costs=60, budget=60).fit(CREDIT.train)


@pytest.fixture(scope="module")
def refused() -> pd.DataFrame:
    assert CREDIT.model is not None
    return CREDIT.people[CREDIT.model(CREDIT.people) < 0.5].head(4)


def same(one: lw.RecoursePlans, other: lw.RecoursePlans) -> bool:
    return one.options.equals(other.options) and one.summary.equals(other.summary)


def test_belief_gives_the_same_plans_as_freshly_drawn_samples(recourse: lw.Recourse, refused: pd.DataFrame) -> None:
    stated = {refused.index[1]: lw.Preferences(locked=["savings"], alpha=0.3)}
    belief = recourse.belief(refused, stated)
    assert same(recourse.recommend(refused, belief=belief), recourse.recommend(refused, stated))
    backwards = recourse.recommend(refused[::-1], belief=belief)
    assert same(backwards, recourse.recommend(refused[::-1], stated))


def test_a_certificate_takes_the_belief_of_its_plans(recourse: lw.Recourse, refused: pd.DataFrame) -> None:
    belief = recourse.belief(refused)
    weights = np.random.default_rng(0).gamma(0.3, size=belief.weights.shape)
    plans = recourse.recommend(refused, belief=belief.reweighted(weights))
    certified = recourse.certify(plans, max_queries=200, belief=belief.reweighted(weights)).certificates
    assert certified is not None
    assert (certified["bound"] <= certified["objective"] + 1e-9).all()
    with pytest.raises(lw.SettingError, match="do not come out as in the plans"):
        recourse.certify(plans, max_queries=200)


def test_stored_belief_round_trips(recourse: lw.Recourse, refused: pd.DataFrame, tmp_path: Path) -> None:
    stated = lw.Preferences(editable=["savings", "job"], ranges={"savings": (0, 5000)})
    belief = recourse.belief(refused, stated)
    belief.save(tmp_path / "belief.npz")
    again = lw.Belief.load(tmp_path / "belief.npz", recourse.schema)
    for name in ("keys", "scores", "alpha", "weights"):
        np.testing.assert_array_equal(getattr(again, name), getattr(belief, name))
    assert same(recourse.recommend(refused, belief=again), recourse.recommend(refused, stated))


def test_belief_can_be_shown_as_tables(recourse: lw.Recourse, refused: pd.DataFrame) -> None:
    belief = recourse.belief(refused)
    table = belief.to_frame()
    assert len(table) == len(refused) * 60
    np.testing.assert_allclose(table.groupby(level=0)["weight"].sum(), 1.0)
    open_to = table[list(belief.features)].notna().to_numpy().reshape(len(refused), 60, -1)
    np.testing.assert_array_equal(open_to, belief.editable)


@settings(max_examples=15)
@given(seeds)
def test_equal_weights_and_repeated_samples_give_the_same_figures(seed: int) -> None:
    """A sample of weight 0 has no effect; a doubled weight equals a repeated sample."""
    world = make_world(seed % 100, n=20)
    people = world.refused().head(3)
    if people.empty:
        return
    problem, encoded = make_problem(world, people, n_samples=24, seed=seed)
    weights = np.repeat(np.array([2.0, 0.0]) / 24, 12)[None].repeat(len(people), axis=0)
    tables = problem.samples.tables
    half = tables._replace(objective=tables.objective._replace(weights=weights))
    changed = Problem(**(vars(problem) | {"samples": type(problem.samples)(half, problem.samples.offered)}))
    alone, _ = make_problem(world, people, n_samples=12, seed=seed)
    for method in (lw.Guided(), lw.COLS(), lw.LocalSearch()):
        found = run_search(method, changed, evaluator_of(world, encoded))
        for p in range(len(people)):
            options = found.chosen.codes[p, : found.chosen.n[p]]
            every = changed.costs(p, options) if len(options) else np.full((1, 24), changed.uncovered)
            first = alone.costs(p, options) if len(options) else np.full((1, 12), alone.uncovered)
            weighted = (weights[p] * every.min(axis=0)).sum()
            np.testing.assert_allclose(weighted, first.min(axis=0).mean(), rtol=1e-12)


def test_options_follow_the_weights(recourse: lw.Recourse, refused: pd.DataFrame) -> None:
    """All weight on samples that can change the savings: an option that does comes up, if any can."""
    belief = recourse.belief(refused)
    f = belief.features.index("savings")
    only = belief.editable[:, :, f] & (belief.editable.sum(axis=2) == 1)
    keep = only.any(axis=1)
    assert keep.any()
    people = refused[keep]
    plans = recourse.recommend(people, belief=belief.take(np.flatnonzero(keep)).reweighted(only[keep]))
    changes = plans.changes
    assert set(changes["feature"]) == {"savings"}
    assert (plans.summary["covered"].dropna() > 0.99).any()


def bad(belief: lw.Belief) -> list[tuple[Any, str]]:
    return [
        (lambda: belief.reweighted(np.ones((1, 1))), "shape"),
        (lambda: belief.reweighted(np.zeros_like(belief.weights)), "not all 0"),
        (lambda: belief.reweighted(-belief.weights), "0 or more"),
        (lambda: belief.of(pd.Index(["nobody here"])), "no samples for 'nobody here'"),
    ]


def test_wrong_beliefs_are_named(recourse: lw.Recourse, refused: pd.DataFrame) -> None:
    belief = recourse.belief(refused)
    for call, message in bad(belief):
        with pytest.raises(DataError, match=message):
            call()
    with pytest.raises(PreferenceError, match="preferences or a belief, not both"):
        recourse.recommend(refused, lw.Preferences(), belief=belief)
    with pytest.raises(PreferenceError, match="another row"):
        recourse.recommend(refused.assign(age=refused["age"] + 1), belief=belief)
    with pytest.raises(PreferenceError, match="60 samples"):
        lw.Recourse(CREDIT.model, recourse.schema, n_costs=10, n_options=3).fit(CREDIT.train).recommend(
            refused, belief=belief
        )
