"""What every method promises, for any table, schema and model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leastways import COLS, PCOLS, LocalSearch, RandomSearch, Recourse
from tests.support.bank_people import broken, step, worlds

METHODS = [
    "guided",
    "cols",
    "pcols",
    "ls",
    "random",
    COLS(gain="paper", proposals="paper"),
    PCOLS(runs=2, proposals="paper"),
    LocalSearch(objective="diversity", proposals="paper"),
    RandomSearch(proposals="paper"),
]
many = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])


class Counting:
    """A model that counts the rows it is asked about."""

    def __init__(self, model: Any) -> None:
        self.model, self.rows = model, 0

    def __call__(self, frame: pd.DataFrame) -> Any:
        self.rows += len(frame)
        return self.model(frame)


@pytest.mark.parametrize("method", METHODS, ids=str)
@given(world=worlds(), budget=st.integers(4, 40), seed=st.integers(0, 99))
@many
def test_options_are_accepted_and_permitted(world: Any, method: Any, budget: int, seed: int) -> None:
    frame, schema, model = world
    counted = Counting(model)
    rec = Recourse(counted, schema, method, n_options=3, budget=budget, n_costs=8, random_state=seed).fit(frame)
    people = frame.head(6).set_axis(list("uvwxyz"), axis=0)
    plans = rec.recommend(people)

    options = plans.options
    if len(options):
        again = model(options[list(schema.names)])
        np.testing.assert_allclose(again, options["probability"], atol=1e-6)
        assert (again >= 0.5).all()
    for option in options.to_dict("records"):
        before = people.loc[option["person"]].to_dict()
        assert broken(schema, before, {n: option[n] for n in schema.names}) == []
        assert any(step(f, before[f.name], option[f.name]) != 0 for f in schema.features)
    assert not options.duplicated(["person", *schema.names]).any()

    summary = plans.summary
    assert (summary["queries"] <= budget).all()
    assert summary["queries"].sum() == counted.rows == plans.settings["model_rows"]
    np.testing.assert_allclose(summary["probability"], model(people), atol=1e-6)
    assert ((summary["status"] == "already_positive") == (model(people) >= 0.5)).all()
    assert (options.groupby("person").size().reindex(people.index, fill_value=0) == summary["n_options"]).all()
    found = summary["n_options"] > 0
    assert (summary["status"][found] == "found").all()
    assert summary["status"][~found].isin(["none_found", "none_exists", "already_positive"]).all()


@pytest.mark.parametrize("method", METHODS[:5])
@given(world=worlds(), order=st.permutations(range(6)), cut=st.integers(1, 5))
@many
def test_plan_does_not_depend_on_the_other_people(world: Any, method: str, order: list[int], cut: int) -> None:
    """Whatever the batch, the order and the others, among them the same person twice."""
    frame, schema, model = world
    rec = Recourse(model, schema, method, n_options=3, budget=25, n_costs=8).fit(frame)
    people = frame.head(6).set_axis(list("uvwxyz"), axis=0)
    whole = rec.recommend(people)
    twin = people.iloc[:1].set_axis(["twin"], axis=0)
    shuffled = pd.concat([people.iloc[order], twin])
    for part in (rec.recommend(shuffled.iloc[:cut]), rec.recommend(shuffled.iloc[cut:])):
        for plan in part:
            alike = whole["u" if plan.person == "twin" else plan.person]
            assert (plan.options, plan.status, plan.queries) == (alike.options, alike.status, alike.queries)
            np.testing.assert_equal((plan.emc, plan.covered), (alike.emc, alike.covered))


@given(world=worlds())
@many
def test_figures_of_a_plan_are_consistent(world: Any) -> None:
    frame, schema, model = world
    plans = Recourse(model, schema, n_options=3, budget=40, n_costs=16).fit(frame).recommend(frame.head(6))
    summary = plans.summary
    best_for = plans.options.groupby("person")["best_for"].sum()
    found = summary[summary["n_options"] > 0]
    np.testing.assert_allclose(best_for.reindex(found.index), found["covered"], atol=1e-9)
    assert (found["satisfied"] <= found["covered"] + 1e-9).all()
    assert (found["emc"][found["covered"] > 0] >= 0).all()
    none = summary[summary["status"].isin(["none_found", "none_exists"])]
    assert (none[["covered", "satisfied"]] == 0).all(axis=None)
    assert none["emc"].isna().all()
    assert summary[summary["status"] == "already_positive"][["covered", "emc", "satisfied"]].isna().all(axis=None)
    assert plans.options.groupby("person")["best_for"].apply(lambda s: s.is_monotonic_decreasing).all()
