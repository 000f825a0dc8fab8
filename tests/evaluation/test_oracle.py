"""The public oracle: every way to state a cost, every status, one person and many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

import leastways as lw
from leastways.evaluation import oracle_people
from tests.support.small_worlds import make_world, seeds

SCHEMA = lw.Schema(
    (
        lw.Feature("hours", "integer", tuple(range(10, 21)), direction="up", unit="h"),
        lw.Feature("debt", "real", (0.0, 1.5, 3.0), direction="any"),
        lw.Feature("job", "category", ("cook", "nurse"), direction="any"),
        lw.Feature("sex", "category", ("f", "m"), direction="fixed"),
    )
)
ANN = {"hours": 12, "debt": 2.5, "job": "cook", "sex": "f"}


def model(frame: pd.DataFrame) -> NDArray[np.float64]:
    """Says yes from 15 hours on, or to nurses with little debt."""
    nurse = (frame["job"] == "nurse") & (frame["debt"].astype(float) <= 1.5)
    return np.where((frame["hours"].astype(int) >= 15) | nurse, 0.75, 0.25)


def by_hand(feature: str, before: Any, after: Any) -> float:
    if feature == "hours":
        return 0.5 * float(after - before)
    return 0.25 if feature == "job" else float(abs(after - before))


def test_cost_function_of_feature_before_and_after() -> None:
    found = lw.oracle(model, SCHEMA, ANN, by_hand)
    assert (found.status, found.cost, found.bound) == ("exact", 1.25, 1.25)  # 1 off the debt, and nurse
    assert found.state == {"hours": 12, "debt": 1.5, "job": "nurse", "sex": "f"}
    assert [c.text for c in found.changes] == ["lower debt from 2.5 to 1.5", "change job from cook to nurse"]
    assert str(found).startswith("the cheapest accepted state costs 1.25 (")
    assert found.person is None
    assert found.queries > 1
    assert found.calls >= 2


def test_cost_table_for_each_feature() -> None:
    hours = {15: 2.0, 16: 0.5, 11: 0.0}  # 11 is against the direction, whatever it costs
    found = lw.oracle(model, SCHEMA, pd.Series(ANN, name="ann"), {"hours": hours})
    assert (found.status, found.cost, found.person) == ("exact", 0.5, "ann")
    assert found.state is not None
    assert found.state["hours"] == 16
    assert str(found).splitlines()[1] == "  - raise hours from 12 h to 16 h"
    jobs = pd.DataFrame([[0.0, 3.0], [1.0, 0.0]], ["cook", "nurse"], ["cook", "nurse"])
    both = lw.oracle(model, SCHEMA, pd.DataFrame([ANN], index=["ann"]), {"job": jobs, "debt": {0.0: np.inf, 1.5: 4}})
    assert both.cost == 7.0


def test_each_status_occurs() -> None:
    assert lw.oracle(model, SCHEMA, ANN | {"hours": 17}, by_hand).status == "already_positive"
    none = lw.oracle(model, SCHEMA, ANN, {"job": {"nurse": 0.1}})
    assert (none.status, none.cost, none.bound, none.state) == ("none_exists", np.inf, np.inf, None)
    limited = lw.oracle(model, SCHEMA, ANN, by_hand, max_cost=1.0)
    assert limited.status == "bounded"
    assert 1.0 < limited.bound <= 1.25
    assert "no accepted state costs less than" in str(limited)
    short = lw.oracle(model, SCHEMA, ANN, by_hand, max_queries=3)
    assert (short.status, short.queries) == ("bounded", 3)
    assert short.bound <= 1.25
    assert lw.oracle(model, SCHEMA, ANN, by_hand, max_queries=1).queries == 1
    assert lw.oracle(model, SCHEMA.update(rules=[lw.AtMost(1)]), ANN, by_hand).cost == 1.5


@pytest.mark.parametrize(
    ("cost", "says"),
    [
        ({"hours": {25: 1.0}}, "'hours' names 25; allowed"),
        ({"debt": {1.0: 1.0}}, "names 1.0, which is not on its grid"),
        ({"sex": {"m": 1.0}}, "'sex', which is fixed"),
        ({"hour": {11: 1.0}}, "'hour', which is no feature. Did you mean 'hours'"),
        ({"job": {"nurse": -1}}, "'nurse' costs -1; costs are 0 or more"),
        ({"job": {"nurse": float("nan")}}, "'nurse' costs nan"),
        ({"job": 3}, "must be a mapping from value to cost"),
        ({}, "cost must be what simulate_people returns"),
        (7, "cost must be what simulate_people returns"),
        (lambda feature, before, after: None, r"cost\('hours', 12, 13\) returned None"),
        (lambda feature, before, after: -1.0, r"returned -1.0; costs are 0 or more"),
    ],
)
def test_invalid_costs_are_refused(cost: Any, says: str) -> None:
    with pytest.raises(lw.PreferenceError, match=says):
        lw.oracle(model, SCHEMA, ANN, cost)


def test_invalid_people_are_refused() -> None:
    two = pd.DataFrame([ANN, ANN])
    huge = ANN | {"hours": 2**60}
    for person, says in [
        (two, "one row"),
        ([1], "not list"),
        (huge, "'hours': 1152921504606846976 is beyond what can be worked with"),
    ]:
        with pytest.raises(lw.DataError, match=says):
            lw.oracle(model, SCHEMA, person, by_hand)  # type: ignore[arg-type]
    with pytest.raises(lw.SettingError, match="max_queries"):
        lw.oracle(model, SCHEMA, ANN, by_hand, max_queries=0)
    with pytest.raises(lw.SettingError, match="max_cost"):
        lw.oracle(model, SCHEMA, ANN, by_hand, max_cost=-1)
    truth = lw.simulate_people(two.set_axis(["ann", "bob"]), SCHEMA, two)
    with pytest.raises(lw.DataError, match=r"no 'an'; known: 'ann', 'bob'\. Did you mean 'ann'"):
        lw.oracle(model, SCHEMA, two.head(1).set_axis(["an"]), truth)
    with pytest.raises(lw.DataError, match="give them a label"):
        lw.oracle(model, SCHEMA, ANN, truth)
    with pytest.raises(lw.DataError, match="'hours' is 12 there, 13 here"):
        lw.oracle(model, SCHEMA, pd.Series(ANN | {"hours": 13}, name="ann"), truth)


@settings(max_examples=8)
@given(seeds)
def test_oracle_of_many_equals_oracle_of_each(seed: int) -> None:
    world = make_world(seed % 50, n=12)
    truth = lw.simulate_people(world.frame, world.schema, world.frame, random_state=seed)
    table = oracle_people(world.probability, truth, max_cost=0.8)
    assert table.index.equals(world.frame.index)
    some = world.frame.index[:4]
    for label in some:
        one = lw.oracle(world.probability, world.schema, world.frame.loc[[label]], truth, max_cost=0.8)
        row = table.loc[label]
        assert (one.status, one.cost, one.bound, one.queries) == tuple(row)
    fewer = lw.simulate_people(world.frame.loc[some], world.schema, world.frame, random_state=seed)
    pd.testing.assert_frame_equal(oracle_people(world.probability, fewer, max_cost=0.8), table.loc[some])


def test_no_plan_beats_the_oracle() -> None:
    world = make_world(4, n=40)
    truth = lw.simulate_people(world.frame, world.schema, world.frame, random_state=3)
    plans = lw.Recourse(world.probability, world.schema, n_costs=50, budget=300).fit(world.frame).recommend(world.frame)
    least = oracle_people(world.probability, truth)
    measured = lw.evaluation.evaluate_people(plans, truth)
    assert (least.loc[measured.index, "cost"] <= measured["min_cost"] + 1e-9).all()
    assert set(least["status"]) == {"exact", "none_exists", "already_positive"}
    assert (least["cost"][plans.summary["status"] == "already_positive"] == 0).all()


def test_model_failure_leaves_the_proven_bound() -> None:
    people = pd.DataFrame([ANN, ANN | {"sex": "m"}], index=["ann", "bob"])

    def picky(frame: pd.DataFrame) -> NDArray[np.float64]:
        return np.where((frame["sex"] == "m") & (frame["hours"].astype(int) > 13), np.nan, model(frame))

    given = {"ann": lw.Preferences(editable=["hours"]), "bob": lw.Preferences(editable=["hours"])}
    truth = lw.simulate_people(people, SCHEMA, people, preferences=given)
    table = oracle_people(picky, truth, progress=True)
    assert table["status"].tolist() == ["exact", "model_failed"]
    assert table["bound"].iloc[1] <= table["cost"].iloc[0]
    with pytest.raises(lw.ModelError, match="nan"):
        lw.oracle(picky, SCHEMA, people.tail(1), truth)


def test_oracle_of_many_requires_simulated_people() -> None:
    with pytest.raises(lw.SettingError, match="truth must be what simulate_people returns, not DataFrame"):
        oracle_people(model, pd.DataFrame([ANN]))  # type: ignore[arg-type]
