"""People whose numbers lie beyond the ends of the grids: they keep them, or are led onto the grid."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import leastways as lw
from leastways import IfThen, Preferences, Schema
from leastways.evaluation import evaluate_people
from tests.recourse.test_missing import DICE, METHODS
from tests.support.bank_people import SCHEMA as BANK
from tests.support.bank_people import TRAIN, broken, chance, worlds
from tests.support.mixed_table import Whole

SCHEMA = BANK.update(age={"direction": "any"})
MODEL = make_pipeline(
    make_column_transformer((OneHotEncoder(), ["school", "job", "sex"]), (StandardScaler(), ["age", "income"])),
    LogisticRegression(),
).fit(TRAIN, chance(TRAIN) >= 0.5)


def outsiders(n: int = 12) -> pd.DataFrame:
    """Refused people; two of three are younger, older or poorer than anybody in the training table."""
    people: pd.DataFrame = TRAIN[~MODEL.predict(TRAIN)].head(n).set_axis([f"o{i}" for i in range(n)], axis=0)
    rows, ends = np.arange(n), TRAIN[["age", "income"]].agg(["min", "max"])
    age = np.select([rows % 3 == 0, rows % 6 == 1], [ends["age"].iloc[0] - 9, ends["age"].iloc[1] + 5], people["age"])
    income = np.where(rows % 3 == 1, ends["income"].iloc[0] / (2 + rows), people["income"])
    people = people.assign(age=age, income=income)
    assert not MODEL.predict(people).any()
    return people


PEOPLE = outsiders()


def asked(model: Any = MODEL, schema: Schema = SCHEMA, **changed: Any) -> lw.Recourse:
    return lw.Recourse(model, schema, **{"n_options": 3, "budget": 60, "n_costs": 40} | changed, target=True).fit(TRAIN)


@pytest.mark.parametrize("method", [*METHODS, *DICE])
def test_every_method_serves_people_beyond_the_grid(method: str) -> None:
    if method.startswith("dice"):
        pytest.importorskip("dice_ml")
    if method == "ar":
        pytest.importorskip("highspy")
    plans = asked(method=method).recommend(PEOPLE)
    assert (plans.summary["status"] == "found").sum() > 6
    assert "invalid_input" not in set(plans.summary["status"])
    pd.testing.assert_frame_equal(plans.people, PEOPLE, check_exact=True)
    assert MODEL.predict(plans.options[list(SCHEMA.names)]).all()
    for feature, to in plans.changes[["feature", "to"]].itertuples(index=False):
        assert to in SCHEMA.by_name[feature].values
    assert lw.RecoursePlans.from_json(plans.to_json()) == plans


@given(worlds(), st.sampled_from(["guided", "cols"]), st.integers(0, 2**16))
@settings(max_examples=25)
def test_options_are_accepted_and_permitted_beyond_the_grid(world: Any, method: str, seed: int) -> None:
    frame, schema, model = world
    rng = np.random.default_rng(seed)
    people = frame.assign(a=rng.integers(-60, 100, 30), b=rng.integers(-9000, 14000, 30), c=rng.normal(0, 30, 30))
    plans = lw.Recourse(model, schema, method=method, n_options=3, n_costs=20, budget=60).fit(frame).recommend(people)
    assert "invalid_input" not in set(plans.summary["status"])
    for plan in plans:
        for option in plan.options:
            assert broken(schema, dict(plan.state), dict(option.values)) == []
            for name, value in option.values.items():
                own = plan.state[name]
                assert value == own or value in schema.by_name[name].values or (value is None and own is None)


@pytest.mark.parametrize("changed", [{}, {"method": "cols"}, {"objective": "satisfaction"}], ids=str)
def test_encoder_table_gives_the_same_plans_as_frames(changed: dict[str, Any]) -> None:
    fast, slow = asked(**changed).recommend(PEOPLE), asked(Whole(MODEL), **changed).recommend(PEOPLE)
    assert fast.settings["model_path"] == "tabulated"
    pd.testing.assert_frame_equal(fast.options, slow.options, check_exact=True)
    pd.testing.assert_frame_equal(fast.summary, slow.summary, check_exact=True)


def test_people_within_the_grid_keep_their_cost_samples() -> None:
    """The extra slot for people beyond the ends changes no draw of the others."""
    t = asked()
    inside = TRAIN[~MODEL.predict(TRAIN)].head(8)
    together = t.recommend(pd.concat([inside, PEOPLE]))
    alone = t.recommend(inside)
    for label in inside.index:
        assert together[label] == alone[label]
    draws = SCHEMA.draws
    rare = SCHEMA.offsets[SCHEMA.position("age") + 1] - 1
    assert np.delete(draws, rare).tolist() == list(range(len(draws) - 1))
    assert draws[rare] == len(draws) - 1


def test_no_decrease_is_possible_below_the_grid() -> None:
    rec, people = asked(schema=SCHEMA.update(age={"direction": "down"})), PEOPLE.assign(age=1)
    assert "income" in set(rec.recommend(people).changes["feature"])
    assert "age" not in set(rec.recommend(people).changes["feature"])
    assert (rec.recommend(people, Preferences(editable=["age"])).summary["status"] == "none_exists").all()


def test_oracle_equals_full_enumeration() -> None:
    schema = SCHEMA.update(age={"grid": [30, 40, 50]}, income={"grid": [900.0, 1500.0, 2500.0]})
    people: list[dict[str, Any]] = PEOPLE.to_dict(orient="records")  # type: ignore[assignment]
    for person in people:
        ways = [[*schema.by_name[n].values, person[n]] for n in ("age", "income", "school", "job")]
        state = pd.DataFrame(list(product(*ways)), columns=["age", "income", "school", "job"]).assign(sex=person["sex"])
        order = list(schema.by_name["school"].values)
        state = state[state["school"].map(order.index) >= order.index(person["school"])]

        def cost(feature: str, before: Any, after: Any) -> float:
            return 0.7 if isinstance(after, str) else 0.1 + abs(after - before) / {"age": 40, "income": 2000}[feature]

        moved = [[0.0 if v == person[n] else cost(n, person[n], v) for v in state[n]] for n in state.columns]
        accepted = MODEL.predict(state[list(schema.names)])
        found = lw.oracle(MODEL, schema, person, cost, target=True)
        assert found.cost == pytest.approx(np.sum(moved, axis=0)[accepted].min())


def test_people_beyond_the_grid_work_with_distillation_warm_start_and_certificates() -> None:
    rec = asked(budget=40)
    rec.fit(TRAIN, distill=300)
    plans = rec.recommend(PEOPLE)
    again = rec.recommend(PEOPLE, warm_start=plans)
    assert (again.summary["emc"].dropna() <= plans.summary["emc"].dropna() + 1e-12).all()
    figures = rec.certify(plans, people=plans.summary.index[plans.summary["status"] == "found"][:5]).certificates
    assert (figures["bound"] <= figures["objective"] + 1e-9).all()


def test_measures_stay_between_0_and_1() -> None:
    far = PEOPLE.assign(income=1e-9, age=[0, 119] * 6)
    plans = asked().recommend(far)
    per_person = evaluate_people(plans, lw.simulate_people(far, SCHEMA, TRAIN, random_state=3))
    found = per_person.loc[plans.summary["n_options"] > 0, ["proximity", "sparsity"]]
    assert len(found)
    assert ((found >= 0) & (found <= 1)).all(axis=None)


def test_cost_table_may_cover_values_beyond_the_grid() -> None:
    """A table by present and future values may have rows beyond the ends; a future value must be on the grid."""
    ages = SCHEMA.by_name["age"].values
    table = pd.DataFrame(0.25, index=[9, *ages], columns=ages)
    person = PEOPLE.iloc[[0]].assign(age=9)
    told = Preferences(editable=["age", "income"], costs={"age": table})
    plan = asked().recommend(person, told)["o0"]
    assert plan.status == "found"
    at_nine = Preferences(editable=["age", "income"], costs={"age": {9: 0, 40: 0.3}})
    assert asked().recommend(person, at_nine)["o0"].status == "found"
    with pytest.raises(lw.PreferenceError, match=f"names 9; allowed: a whole number from {ages[0]} to {ages[-1]}"):
        asked().recommend(person, Preferences(costs={"age": {9: 0.5}}))


def test_rule_may_name_values_that_only_people_have() -> None:
    """This requires a valid range that includes the value; otherwise a number off the grid is refused."""
    rule = IfThen({"age": 100}, {"school": ["high"]})
    plans = asked(schema=SCHEMA.update(rules=[rule])).recommend(PEOPLE.assign(age=100, income=800.0, school="none"))
    stays = plans.options["age"] == 100
    assert (plans.options["school"][stays] == "high").all()
    free = SCHEMA.update(age={"valid_range": [None, None]})
    with pytest.raises(lw.SchemaError, match="100 is not a value of 'age'"):
        free.update(rules=[rule])


def test_option_is_found_far_beyond_several_grid_ends() -> None:
    """The model is so sure of its no that no single move shows: look anywhere first, then for cheaper ones."""
    credit = lw.datasets.load_credit()
    text = make_column_selector(dtype_exclude="number")
    encoder = make_column_transformer((OneHotEncoder(), text), remainder=StandardScaler())
    model = make_pipeline(encoder, LogisticRegression(max_iter=1000)).fit(credit.X, credit.y)
    people = credit.people[model.predict(credit.people) == 0].head(40)
    far = people.assign(late_payments=55, loan_amount=95000.0, monthly_income=350.0, hours_per_week=8)
    assert model.predict_proba(far)[:, 1].max() < 1e-4
    few: dict[str, Any] = {"n_options": 5, "n_costs": 100}
    found = lw.Recourse(model, credit.schema(), **few).fit(credit.train).recommend(far).summary
    other = lw.Recourse(model, credit.schema(), method="cols", **few).fit(credit.train).recommend(far).summary
    assert (found["status"] == "found").all()
    assert found["covered"].mean() > other["covered"].mean()


@pytest.mark.parametrize("far", [{"age": -3_000_000_000}, {"income": -1e10}, {"income": -1e15}], ids=str)
@pytest.mark.parametrize("method", ["guided", "ar", "face-knn"])
def test_values_extremely_far_beyond_the_grid(method: str, far: dict[str, Any]) -> None:
    """Rounding errors must not hide the other possible changes."""
    if method == "ar":
        pytest.importorskip("highspy")
    free = SCHEMA.update(age={"valid_range": [None, None]}, income={"valid_range": [None, None]})
    plans = asked(schema=free, method=method).recommend(PEOPLE.head(4).assign(**far))
    assert (plans.summary["status"] == "found").all()
    assert set(far) <= set(plans.changes["feature"])
