"""Errors in DICE: they are given as the reason of the person concerned, and do not affect others."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastways import Recourse, Schema
from leastways.baselines import Dice
from leastways.baselines.dice_threads import PersonRun
from leastways.search import run_search
from tests.support.dice_methods import METHODS, ready, torch_model
from tests.support.small_worlds import evaluator_of, make_problem, make_world

torch: Any = pytest.importorskip("torch")
pytest.importorskip("dice_ml")

ASKING = ("random", "genetic", "kdtree")
WORLD = make_world(5, n=40, rules=False)
PEOPLE = WORLD.refused().head(6)


def recourse(method: Any, model: Any) -> Recourse:
    return Recourse(model, WORLD.schema, Dice(method), n_options=3, budget=120, n_costs=20).fit(WORLD.frame)


class Moody(torch.nn.Module):  # type: ignore[misc]
    """Counts rows and, once `bad`, fails on rows of a first column beyond a bound."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner, self.bad, self.failures, self.rows = inner, False, 0, 0

    def forward(self, x: Any) -> Any:
        self.rows += len(x)
        if self.bad and (x[:, 0] > 0.9).any():
            self.failures += 1
            raise ValueError("no such row")
        return self.inner(x)


@pytest.mark.parametrize("method", ASKING)
def test_model_errors_affect_only_the_people_concerned(method: str) -> None:
    top = PEOPLE["income"].nlargest(2).index
    failures = []

    def moody(frame: Any) -> Any:
        if (frame["income"].isin(PEOPLE.loc[top, "income"]) & (frame["job"] == "b")).any():
            failures.append(len(frame))
            raise ValueError("no")
        return WORLD.probability(frame)

    plans = recourse(method, moody).recommend(PEOPLE)
    assert failures
    assert "found" in set(plans.summary["status"])


def test_model_error_in_a_descent_affects_only_its_person() -> None:
    model = torch_model(WORLD, Moody)
    searcher = ready("gradient", WORLD, model)
    problem, encoded = make_problem(WORLD, PEOPLE, n_options=3, budget=120)
    calm = run_search(searcher, problem, evaluator_of(WORLD, encoded))
    model.module.bad, model.module.rows = True, 0
    result = run_search(searcher, problem, evaluator_of(WORLD, encoded))
    assert model.module.failures
    lost = [p for p, text in result.reasons.items() if "the model raised ValueError: no such row" in text]
    assert 0 < len(lost) == model.module.failures < len(PEOPLE)
    assert result.gradient_rows.sum() == model.module.rows  # those of the failing calls as well
    others = np.setdiff1d(np.arange(len(PEOPLE)), lost)
    assert (result.chosen.codes[others] == calm.chosen.codes[others]).all()
    assert all(p.requires_grad for p in model.module.parameters())


@pytest.mark.parametrize("method", ASKING)
def test_dice_ml_error_is_given_as_the_persons_reason(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is raised for the second person after some state was accepted, which stays an option."""
    work = PersonRun._probability
    asked: list[int] = []

    def broken(self: Any, table: Any, ask: Any) -> Any:
        answer = work(self, table, ask)
        if (self.person.start == problem.samples.tables.space.start[1]).all():
            asked.append(len(table))
            if len(self.answers.accepted):
                raise KeyError("lost")
        return answer

    monkeypatch.setattr(PersonRun, "_probability", broken)
    problem, encoded = make_problem(WORLD, PEOPLE, n_options=3, budget=120)
    result = run_search(ready(method, WORLD), problem, evaluator_of(WORLD, encoded))
    assert asked
    assert result.reasons[1] == f"DICE ({method}) ended early, as dice-ml raised KeyError: 'lost'"
    assert result.chosen.n[1] > 0
    assert (result.chosen.n > 0).sum() > 1


@pytest.mark.parametrize("n_options", [1, 5])
def test_genetic_search_with_a_single_permitted_state_ends(n_options: int) -> None:
    frame = pd.DataFrame({"a": np.arange(40.0), "b": ["x", "y"] * 20})
    schema = Schema.infer(frame).update(a={"direction": "fixed"})
    rec = Recourse(lambda rows: (rows["b"] == "y").to_numpy() * 1.0, schema, "dice-genetic", n_options=n_options)
    plans = rec.fit(frame).recommend(frame.iloc[[0, 2]])
    assert (plans.summary["status"] == "found").all()
    assert (plans.options["b"] == "y").all()
    assert (plans.summary["reason"] == "").all()


@pytest.mark.parametrize("method", ASKING)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_large_numbers_get_options(method: Any) -> None:
    draw = np.random.default_rng(0)
    frame = pd.DataFrame({"income": draw.gamma(3, 10000, 200).round(), "savings": draw.gamma(2, 20000, 200).round()})

    def model(rows: Any) -> Any:
        return 1 / (1 + np.exp(-(rows["income"].to_numpy() - 40000) / 4000))

    rec = Recourse(model, Schema.infer(frame), Dice(method), n_options=3, budget=300, n_costs=5).fit(frame)
    plans = rec.recommend(frame[frame["income"] < 38000].head(6))
    assert (plans.summary["status"] == "found").all()
    assert (plans.summary["reason"] == "").all()


def test_nearest_accepted_states_replace_an_empty_set(monkeypatch: pytest.MonkeyPatch) -> None:
    work = PersonRun._work

    def nothing(self: Any, ask: Any) -> Any:
        return work(self, ask)[:0]

    monkeypatch.setattr(PersonRun, "_work", nothing)
    problem, encoded = make_problem(WORLD, PEOPLE, n_options=3, budget=400)
    result = run_search(ready("kdtree", WORLD), problem, evaluator_of(WORLD, encoded))
    assert (result.chosen.n > 0).any()
    assert all((p in result.reasons) == (result.chosen.n[p] == 0) for p in range(len(PEOPLE)))


@pytest.mark.parametrize("method", METHODS)
def test_results_are_the_same_in_two_threads(method: str) -> None:
    model = torch_model(WORLD)
    model.module.eval()
    rec = recourse(method, model)
    alone = rec.recommend(PEOPLE).options
    before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    with ThreadPoolExecutor(2) as pool:
        both = [plans.options for plans in pool.map(rec.recommend, [PEOPLE] * 4)]
    assert all(options.equals(alone) for options in both)
    assert before == (random.getstate(), np.random.get_state()[1].tolist())  # type: ignore[index]  # noqa: NPY002
    assert all(p.requires_grad for p in model.module.parameters())
