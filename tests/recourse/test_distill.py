"""`fit(X, distill=...)`: what it asks, what it keeps, and that plans with it keep every promise."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from leastways import COLS, Recourse, RecoursePlans, Schema
from leastways.errors import DataError, ModelError, SettingError
from tests.support.bank_people import SCHEMA, TRAIN, broken, chance, recourse, refused

PEOPLE = refused(8)


def distilled(model: Any = chance, queries: int = 400, **settings: Any) -> Recourse:
    quick = {"n_options": 3, "budget": 20, "n_costs": 40} | settings
    return Recourse(model, SCHEMA, **quick).fit(TRAIN, distill=queries)


SHARED = distilled()


@pytest.mark.parametrize("queries", [100, 333])
def test_distillation_queries_are_counted_apart(queries: int) -> None:
    rows = 0

    def model(frame: pd.DataFrame) -> NDArray[np.float64]:
        nonlocal rows
        rows += len(frame)
        return chance(frame)

    rec = distilled(model, queries)
    spent = rows
    assert 0 < spent <= queries
    plans = rec.recommend(PEOPLE)
    assert plans.settings["distill_rows"] == spent
    assert (plans.summary["queries"] <= 20).all()
    assert plans.summary["queries"].sum() == plans.settings["model_rows"] == rows - spent
    assert RecoursePlans.from_json(plans.to_json()) == plans


def test_options_are_accepted_and_permitted() -> None:
    plans = SHARED.recommend(PEOPLE)
    assert (plans.summary["status"] == "found").all()
    assert (chance(plans.options) >= 0.5).all()
    for option in plans.options.to_dict("records"):
        assert broken(SCHEMA, PEOPLE.loc[option["person"]].to_dict(), {n: option[n] for n in SCHEMA.names}) == []


def objective(plans: RecoursePlans) -> float:
    """The mean of what samples count, 1.5 where nothing serves them."""
    summary = plans.summary
    return float((summary["covered"] * summary["emc"].fillna(0) + 1.5 * (1 - summary["covered"])).mean())


def test_distillation_lowers_costs_at_a_small_budget() -> None:
    people = refused(60)
    assert objective(SHARED.recommend(people)) < objective(recourse(budget=20).recommend(people))


@settings(max_examples=15)
@given(order=st.permutations(range(8)), cut=st.integers(1, 7))
def test_plans_do_not_depend_on_the_other_people(order: list[int], cut: int) -> None:
    whole = SHARED.recommend(PEOPLE)
    shuffled = PEOPLE.iloc[order]
    for part in (shuffled.iloc[:cut], shuffled.iloc[cut:]):
        for plan in SHARED.recommend(part):
            assert plan == whole[plan.person]


@pytest.mark.parametrize("queries", [300, 900])
def test_plans_do_not_depend_on_the_order_of_the_training_table(queries: int) -> None:
    """A table read from a database comes in any order."""
    settings: dict[str, Any] = {"n_options": 3, "budget": 20, "n_costs": 40}
    ordered, shuffled = (
        Recourse(chance, SCHEMA, **settings).fit(table, distill=queries).recommend(PEOPLE)
        for table in (TRAIN, TRAIN.sample(frac=1.0, random_state=3).astype({"age": "float64", "job": "category"}))
    )
    assert ordered == shuffled


def test_refit_without_distillation_discards_the_surrogate() -> None:
    rec = distilled()
    rec.fit(TRAIN)
    assert rec.distilled_ is None
    plans = rec.recommend(PEOPLE)
    assert "distill_rows" not in plans.settings
    assert plans == recourse(budget=20).recommend(PEOPLE)
    assert not plans.options.equals(SHARED.recommend(PEOPLE).options), "or the test shows nothing"


def test_fitting_again_the_same_way_gives_the_same_plans() -> None:
    assert distilled().recommend(PEOPLE) == SHARED.recommend(PEOPLE)


def test_pickling_keeps_the_surrogate() -> None:
    back = pickle.loads(pickle.dumps(SHARED))
    assert back.recommend(PEOPLE) == SHARED.recommend(PEOPLE)


@pytest.mark.parametrize("method", ["cols", "pcols", "ls", "random", COLS(gain="paper")])
def test_other_methods_ignore_distillation(method: Any) -> None:
    with pytest.raises(SettingError, match=r'distill is for method="guided"; .* makes no use of it'):
        distilled(method=method)


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        (1, "distill=1 is too few queries to learn a model from; give 100 or more"),
        (99, "distill=99 is too few"),
        (-1, "distill must be a whole number of 0 or more, not -1"),
        (2.5, "distill must be a whole number of 0 or more, not 2.5"),
        (True, "distill must be a whole number of 0 or more, not True"),
    ],
)
def test_invalid_numbers_of_queries_are_refused(queries: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        distilled(queries=queries)


@pytest.mark.parametrize("fault", ["raise", "nan"])
def test_model_failure_during_distillation(fault: str) -> None:
    def model(frame: pd.DataFrame) -> NDArray[np.float64]:
        if fault == "raise":
            raise RuntimeError("disk on fire")
        return np.where(frame["age"] > 40, np.nan, chance(frame))

    with pytest.raises(ModelError, match="disk on fire" if fault == "raise" else "nan as a probability"):
        distilled(model)


def test_a_failed_fit_leaves_nothing_of_the_last_one() -> None:
    rec = distilled()
    with pytest.raises(SettingError):
        rec.fit(TRAIN, distill=5)
    assert rec.distilled_ is None


def test_no_row_within_the_schema() -> None:
    bad = TRAIN.assign(age=TRAIN["age"] + 500)
    with pytest.raises(DataError, match="distill: no row of the table is within the schema"):
        Recourse(chance, SCHEMA).fit(bad, distill=200)


def test_a_model_that_was_replaced_is_learned_anew() -> None:
    rec = distilled()
    rec.model = lambda frame: 1.0 - chance(frame)
    with pytest.raises(SettingError, match="model was changed after fit, and the surrogate of fit"):
        rec.recommend(PEOPLE)
    rec = distilled()
    rec.threshold = 0.6
    with pytest.raises(SettingError, match="threshold was changed after fit"):
        rec.recommend(PEOPLE)
    rec = distilled()
    rec.random_state = 7
    with pytest.raises(SettingError, match="random_state was changed after fit"):
        rec.recommend(PEOPLE)
    rec.method = "cols"  # which makes no use of it
    assert "distill_rows" not in rec.recommend(PEOPLE.head(1)).settings


def test_no_state_is_evaluated_twice_and_few_states_suffice() -> None:
    asked: list[pd.DataFrame] = []

    def model(frame: pd.DataFrame) -> Any:
        asked.append(frame.copy())
        return (frame["a"] + frame["b"] > 1).to_numpy(float)

    frame = pd.DataFrame({"a": [0, 1, 0, 1] * 50, "b": [0, 0, 1, 1] * 50})
    schema = Schema.infer(frame)
    rec = Recourse(model, schema, n_options=1, budget=10, n_costs=10).fit(frame, distill=500)
    assert rec.distilled_ is not None
    assert rec.distilled_.queries == sum(map(len, asked)) == 4


def test_distillation_works_with_nothing_to_change() -> None:
    fixed = SCHEMA.update({name: {"direction": "fixed"} for name in SCHEMA.names})
    rec = Recourse(chance, fixed, n_options=2, budget=20, n_costs=20).fit(TRAIN, distill=100)
    assert rec.recommend(PEOPLE.head(2)).summary["status"].tolist() == ["none_exists"] * 2
