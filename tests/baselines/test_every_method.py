"""What holds for every method there is, ours and published ones: budgets, clocks, and plans of one kind."""

from __future__ import annotations

import pickle
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leastways as lw
from leastways.report import write_report
from tests.support.dice_methods import torch_model
from tests.support.small_worlds import World, make_world

for extra in ("dice_ml", "torch", "highspy"):
    pytest.importorskip(extra)

METHODS = ("guided", "cols", "pcols", "ls", "random", "ar", "face-knn", "face-eps")
DICE = ("dice", "dice-random", "dice-genetic", "dice-kdtree")


def recourse(world: World, method: str, **settings: Any) -> lw.Recourse:
    """A search on the world's model, as a torch module: every method can work with that."""
    return lw.Recourse(torch_model(world), world.schema, method, n_costs=20, **settings)


def test_error_for_unknown_method_lists_all() -> None:
    with pytest.raises(lw.SettingError, match=r"no method 'dise'.*Did you mean 'dice'") as error:
        lw.Recourse(None, make_world(0).schema, "dise").fit(make_world(0).frame)
    for method in (*METHODS, *DICE):
        assert repr(method) in str(error.value)


@pytest.mark.parametrize("method", [*METHODS, *DICE])
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 50), budget=st.integers(3, 70), n_options=st.integers(1, 3))
def test_no_budget_is_exceeded(method: str, seed: int, budget: int, n_options: int) -> None:
    world = make_world(seed, n=25)
    people = world.refused().head(4)
    if people.empty:
        return
    plans = recourse(world, method, budget=budget, n_options=n_options).fit(world.frame).recommend(people)
    assert (plans.summary["queries"] <= budget).all()
    assert plans.summary["queries"].sum() == plans.settings["model_rows"] + plans.settings.get("model_gradient_rows", 0)
    assert (plans.summary["n_options"] <= n_options).all()
    assert (plans.options["probability"] >= 0.5 - 1e-6).all()


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(5, n=40)


@pytest.mark.parametrize("method", [*METHODS, *DICE])
def test_plans_have_the_same_form_for_every_method(world: World, method: str, tmp_path: Any) -> None:
    """Metrics, text, JSON, the HTML report and pickling work on them unchanged."""
    rec = recourse(world, method, budget=150, n_options=3).fit(world.frame)
    people = world.refused().head(5)
    plans = pickle.loads(pickle.dumps(rec)).recommend(people)
    truth = lw.simulate_people(people, world.schema, world.frame, random_state=7)
    row = lw.evaluate(plans, truth).iloc[0]
    assert row["people"] == 5
    assert 0 <= row["FS@1"] <= row["Cov"] <= 100
    again = lw.RecoursePlans.from_json(plans.to_json())
    assert again.summary.equals(plans.summary)
    write_report(plans, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 1000
    assert str(plans[people.index[0]])


@pytest.mark.parametrize("method", [*METHODS, *DICE])
def test_time_limit_holds_for_every_method(world: World, method: str) -> None:
    rec = recourse(world, method, budget=3000, n_options=3).fit(world.frame)
    people = world.refused().head(5)
    rec.recommend(people.head(1))  # loaded and compiled
    rec.time_limit = 0.0
    began = time.monotonic()
    summary = rec.recommend(people).summary
    assert time.monotonic() - began < 30  # generous: the point is that it ends
    assert set(summary["status"]) <= {"found", "partial", "none_found", "none_exists"}
    assert (summary.loc[summary["status"] == "none_found", "reason"] != "").all()


def test_gradient_method_requires_a_model_with_gradients(world: World) -> None:
    rec = lw.Recourse(world, world.schema, "dice", n_costs=20)
    with pytest.raises(lw.SettingError, match="dice-genetic"):
        rec.fit(world.frame)
    with pytest.raises(lw.SettingError, match=r"linear=.local"):
        lw.Recourse(world, world.schema, lw.ActionableRecourse(linear="exact"), n_costs=20).fit(world.frame)
