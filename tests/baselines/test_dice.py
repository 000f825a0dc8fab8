"""DICE keeps the contract of searchers; its options are sound and every row is counted, on arbitrary worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastways import Recourse
from leastways.baselines import Dice
from leastways.search import run_search
from leastways.testing import SEARCHER_CHECKS
from tests.support.dice_methods import METHODS, ready, torch_model
from tests.support.small_worlds import check_options, evaluator_of, make_problem, make_world, seeds

torch: Any = pytest.importorskip("torch")
pytest.importorskip("dice_ml")


class Spy(torch.nn.Module):  # type: ignore[misc]
    """Counts the rows of every forward pass."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner, self.rows = inner, 0

    def forward(self, x: Any) -> Any:
        self.rows += len(x)
        return self.inner(x)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=6, deadline=None)
@given(seed=seeds, budget=st.integers(1, 90), n_options=st.integers(1, 5))
def test_options_are_sound_and_every_row_is_counted(method: str, seed: int, budget: int, n_options: int) -> None:
    world = make_world(seed % 1000, n=20, directions=("any", "up", "down"))
    people = world.refused().head(5)
    if people.empty:
        return
    problem, encoded = make_problem(world, people, n_options=n_options, budget=budget, seed=seed)
    model = torch_model(world, Spy)
    searcher = ready(method, world, model)
    model.module.rows = 0
    asked = np.zeros(len(people), np.int64)
    evaluate = evaluator_of(world, encoded)

    def counting(questions: Any) -> Any:
        asked.__iadd__(np.bincount(questions.people, minlength=len(asked)))
        return evaluate(questions)

    result = run_search(searcher, problem, counting)
    assert model.module.rows == result.gradient_rows.sum()
    assert (result.queries == asked + result.gradient_rows).all()
    assert (result.queries <= budget).all()
    check_options(world, problem, result.chosen)
    assert set(result.reasons) == set(np.flatnonzero(result.chosen.n == 0).tolist())


@pytest.mark.parametrize("method", METHODS)
def test_most_people_get_options(method: Any) -> None:
    world = make_world(5, n=40, rules=False)
    people = world.refused().head(16)
    rec = Recourse(torch_model(world), world.schema, Dice(method), n_options=4, budget=300, n_costs=20)
    plans = rec.fit(world.frame).recommend(people)
    assert (plans.summary["status"] == "found").mean() > 0.7
    assert (plans.summary["n_options"] <= 4).all()
    counted = plans.settings["model_rows"] + plans.settings.get("model_gradient_rows", 0)
    assert plans.summary["queries"].sum() == counted
    assert (plans.summary["queries"] <= 300).all()


@pytest.mark.parametrize("method", METHODS)
def test_plan_is_independent_of_batch_and_order(method: Any) -> None:
    world = make_world(5, n=40)
    people = world.refused().head(6)
    rec = Recourse(torch_model(world), world.schema, Dice(method), n_options=3, budget=120, n_costs=20)
    rec.fit(world.frame)
    whole, turned = rec.recommend(people), rec.recommend(people.iloc[::-1])
    for label in people.index:
        assert repr(turned[label]) == repr(whole[label])
    assert repr(rec.recommend(people.iloc[[2]])[people.index[2]]) == repr(whole[people.index[2]])


def test_both_starts_of_the_descent_work() -> None:
    world = make_world(5, n=40, rules=False)
    problem, encoded = make_problem(world, world.refused().head(6), n_options=4, budget=400)
    begun = {
        begin: run_search(ready("gradient", world, begin=begin), problem, evaluator_of(world, encoded)).chosen
        for begin in ("near", "random")
    }
    assert all(chosen.n.all() for chosen in begun.values())
    assert not np.array_equal(begun["near"].codes, begun["random"].codes)


@pytest.mark.parametrize("threshold", [0.2, 0.8, 1.0])
@pytest.mark.parametrize("method", METHODS)
def test_options_are_accepted_at_any_threshold(method: Any, threshold: float) -> None:
    world = make_world(5, n=40, rules=False)
    rec = Recourse(
        torch_model(world), world.schema, Dice(method), n_options=3, budget=150, n_costs=20, threshold=threshold
    )
    plans = rec.fit(world.frame).recommend(world.refused().head(6))
    assert (plans.options["probability"] >= threshold - 1e-6).all()
    assert len(plans.options) or threshold == 1.0


@pytest.mark.parametrize("check", SEARCHER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("method", ["gradient", "random", "genetic", "kdtree"])
def test_dice_keeps_the_contract(method: Any, check: Any) -> None:
    check(Dice(method), 3, method == "gradient")
