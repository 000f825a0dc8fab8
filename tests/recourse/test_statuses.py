"""Every person gets a status, a reason where there is one, and never costs the others theirs."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from leastways import Preferences, Recourse, RecoursePlans, Schema
from leastways.errors import DataError, ModelError, PreferenceError, SettingError
from leastways.schema import Linked
from tests.support.bank_people import SCHEMA, TRAIN, chance, recourse, refused

PEOPLE = refused()


def statuses(plans: RecoursePlans) -> list[str]:
    return list(plans.summary["status"])


def test_status_is_found_with_options() -> None:
    plans = recourse().recommend(PEOPLE)
    assert statuses(plans) == ["found"] * 6
    assert plans.summary["reason"].tolist() == [""] * 6
    assert (plans.summary["queries"] == 60).all()


@pytest.mark.parametrize("n_costs", [10, 49, 300])
def test_coverage_of_all_cost_samples_is_exactly_one(n_costs: int) -> None:
    """Weights of 1 / 300 add up to 0.9999999999999961; the share must be 1 for a comparison with 1 to hold."""
    plans = recourse(n_costs=n_costs).recommend(PEOPLE, preferences=Preferences(editable=["age", "income"]))
    assert (plans.summary["covered"] == 1.0).all()
    shares = plans.summary[["covered", "satisfied"]].to_numpy().ravel().tolist() + plans.options["best_for"].tolist()
    assert all(share == round(round(share * n_costs) / n_costs, 12) for share in shares)


def test_accepted_person_costs_one_query() -> None:
    plans = recourse(threshold=1e-9).recommend(PEOPLE)
    assert statuses(plans) == ["already_positive"] * 6
    assert (plans.summary["queries"] == 1).all()
    assert len(plans.options) == 0
    assert plans.changes.empty
    assert plans.settings["model_rows"] == 6


def test_none_exists_where_nothing_can_move() -> None:
    fixed = SCHEMA.update({name: {"direction": "fixed"} for name in SCHEMA.names})
    plans = recourse(schema=fixed).recommend(PEOPLE)
    assert statuses(plans) == ["none_exists"] * 6
    assert plans.summary["reason"].str.contains("nothing this person may change").all()
    assert (plans.summary["queries"] == 1).all()


def test_none_exists_for_a_person_at_the_limit_of_their_only_feature() -> None:
    people = PEOPLE.assign(school=["high", *PEOPLE["school"][1:]])
    plans = recourse(threshold=0.9).recommend(people, preferences=Preferences(editable=["school"]))
    stuck = "nothing this person may change has another permitted value"
    assert statuses(plans)[0] == "none_exists"
    assert plans.summary["reason"].iloc[0] == stuck
    others = plans.summary.iloc[1:]
    assert (people["school"].iloc[1:] != "high").all()
    assert (others["reason"] != stuck).all()
    refused_all = others["reason"].str.fullmatch(r"the model refuses all [12] states that this person can reach")
    assert (refused_all == (others["status"] == "none_exists")).all()


@pytest.mark.parametrize("method", ["guided", "cols", "pcols", "ls", "random"])
def test_none_found_within_the_budget(method: str) -> None:
    plans = recourse(lambda frame: np.zeros(len(frame)), method=method).recommend(PEOPLE)
    assert statuses(plans) == ["none_found"] * 6
    assert (plans.summary[["covered", "satisfied"]] == 0).all(axis=None)
    assert (plans.summary["queries"] == 60).all()


def test_budget_of_one_evaluates_only_the_present_state() -> None:
    plans = recourse(budget=1, n_options=1).recommend(PEOPLE)
    assert statuses(plans) == ["none_found"] * 6
    assert plans.settings["model_rows"] == 6


@pytest.mark.parametrize("method", ["guided", "cols", "pcols", "ls", "random"])
def test_rules_that_permit_no_other_state_end_the_search(method: str) -> None:
    """A year of age requires a million more of income: no state is permitted, so none is evaluated."""
    schema = SCHEMA.update(rules=[Linked("age", requires="income", at_least=1e6)])
    plans = recourse(schema=schema, method=method).recommend(PEOPLE, preferences=Preferences(editable=["age"]))
    proven = method == "guided"
    assert statuses(plans) == ["none_exists" if proven else "none_found"] * 6
    assert set(plans.summary["reason"]) == {"every change that this person could make breaks a rule" if proven else ""}
    assert (plans.summary["queries"] == 1).all()


BAD: dict[str, tuple[str, Any, str]] = {
    "outside": ("age", 999, "column 'age': 999 is outside the valid range; allowed: a whole number from 0 to 120"),
    "missing": ("income", np.nan, "column 'income': nan is missing; allowed: a number from 0 on"),
    "unseen": ("job", "nurze", "column 'job': 'nurze' is not a known category.*Did you mean 'nurse'?"),
    "fraction": ("age", 20.5, "column 'age': 20.5 is not a whole number"),
    "text": ("income", "lots", "column 'income': 'lots' is not a number"),
}


@given(st.dictionaries(st.integers(0, 5), st.sampled_from(sorted(BAD)), max_size=5))
@settings(max_examples=30)
def test_bad_rows_never_stop_the_others(bad: dict[int, str]) -> None:
    people = PEOPLE.astype(object)
    for place, what in bad.items():
        people.loc[f"c{place}", BAD[what][0]] = BAD[what][1]
    rec = recourse(budget=20, n_costs=10)
    good, plans = rec.recommend(PEOPLE), rec.recommend(people)
    assert plans.summary.index.equals(PEOPLE.index)
    for place, label in enumerate(PEOPLE.index):
        if place in bad:
            assert plans[label].status == "invalid_input"
            assert re.search(BAD[bad[place]][2], plans[label].reason)
            assert plans[label].queries == 0
        else:
            assert (plans[label].options, plans[label].status) == (good[label].options, good[label].status)


def test_several_faults_of_one_row_are_all_named() -> None:
    people = PEOPLE.assign(age=[999, *PEOPLE["age"][1:]], job=["?", *PEOPLE["job"][1:]])
    reason = recourse().recommend(people)["c0"].reason
    assert "column 'age': 999" in reason
    assert "column 'job': '?'" in reason


def test_table_of_invalid_rows_only_gives_no_options() -> None:
    plans = recourse().recommend(PEOPLE.assign(age=999))
    assert statuses(plans) == ["invalid_input"] * 6
    assert plans.settings["model_rows"] == 0
    assert RecoursePlans.from_json(plans.to_json()) == plans


@pytest.mark.parametrize(
    ("people", "message"),
    [
        (PEOPLE.drop(columns="age"), "missing columns: 'age'"),
        (PEOPLE.assign(shoe=1), "unknown columns: 'shoe'"),
        (PEOPLE.iloc[:0], "no rows"),
        (PEOPLE.set_axis(["x"] * 6, axis=0), "must be unique; twice or more: 'x'"),
        (PEOPLE.set_axis(pd.MultiIndex.from_product([[1, 2], [1, 2, 3]])), "the index names people, but has 2 levels"),
        (PEOPLE.set_axis([1, 2, np.nan, 4, 5, 6], axis=0), "the label of row 2 is missing"),
        (PEOPLE.assign(age="young"), "row 'c0', column 'age': 'young' is not a number"),
        (PEOPLE["age"], "expected a pandas DataFrame"),
    ],
)
def test_faults_of_the_whole_table_raise(people: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        recourse().recommend(people)


def raising(frame: pd.DataFrame) -> NDArray[np.float64]:
    raise RuntimeError("disk on fire")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (raising, "raised RuntimeError: disk on fire"),
        (lambda frame: np.full(len(frame), np.nan), "returned nan as a probability"),
        (lambda frame: np.full(len(frame), 1.5), r"returned 1.5 as a probability, which must lie in \[0, 1\]"),
        (lambda frame: np.zeros(len(frame) + 1), "for each of the 1 rows, not ndarray of float64 with shape"),
        (lambda frame: None, "not NoneType"),
    ],
)
def test_a_model_that_always_fails_raises_with_the_rows(model: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        recourse(model).recommend(PEOPLE)
    assert caught.value.rows is not None
    assert list(caught.value.rows.columns) == list(SCHEMA.names)
    assert "age=" in str(caught.value)


@pytest.mark.parametrize("fault", ["raise", "nan"])
def test_a_model_that_fails_on_one_person_as_they_are(fault: str) -> None:
    sore = PEOPLE["income"].iloc[2]

    def model(frame: pd.DataFrame) -> NDArray[np.float64]:
        hurt = (frame["income"] == sore).to_numpy() & (frame["age"] == PEOPLE["age"].iloc[2]).to_numpy()
        if fault == "raise" and hurt.any():
            raise RuntimeError("no such customer")
        return np.where(hurt, np.nan, chance(frame))

    plans, well = recourse(model).recommend(PEOPLE), recourse().recommend(PEOPLE)
    assert statuses(plans)[2] == "invalid_input"
    assert "the model failed on this row" in plans["c2"].reason
    for label in PEOPLE.index.drop("c2"):
        assert plans[label] == well[label]
    assert plans.failed_rows["person"].tolist() == ["c2"]
    assert plans.summary["queries"].sum() == plans.settings["model_rows"]


def test_reason_states_that_a_larger_budget_would_not_help() -> None:
    fixed = SCHEMA.update({name: {"direction": "fixed"} for name in SCHEMA.names if name != "school"})
    plans = recourse(lambda frame: np.zeros(len(frame)), schema=fixed).recommend(PEOPLE)
    levels = len(SCHEMA.by_name["school"].values)
    for plan in plans:
        others = plan.queries - 1
        assert plan.status in ("none_found", "none_exists")
        assert others < levels
        if plan.status == "none_found":
            assert plan.reason == f"the model refuses all {others} states that this person can reach"
            assert plan.reason in plan.to_text()
    hard = recourse(lambda frame: np.zeros(len(frame)), budget=10).recommend(PEOPLE)
    assert (hard.summary["reason"] == "").all()  # more might help


def only_of_people(fault: str, also: Any = ()) -> Any:
    """A model that knows people as they are, and whoever has one of some further incomes."""

    def model(frame: pd.DataFrame) -> NDArray[np.float64]:
        known = frame["income"].isin([*TRAIN["income"], *also]).to_numpy()
        if fault == "raise" and not known.all():
            raise RuntimeError("no such customer")
        return np.where(known, chance(frame), np.nan)

    return model


ONLY_INCOME = SCHEMA.update(
    {name: {"direction": "fixed"} for name in SCHEMA.names if name != "income"} | {"income": {"grid": [1, 9000, 9001]}}
)
FAULTS = {"raise": "The model raised RuntimeError: no such customer", "nan": "The model returned nan as a probability"}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("method", ["guided", "cols", "random"])
def test_a_model_that_fails_on_all_that_several_people_could_become(fault: str, method: str) -> None:
    with pytest.raises(ModelError, match=FAULTS[fault]) as caught:
        recourse(only_of_people(fault), schema=ONLY_INCOME, method=method).recommend(PEOPLE)
    assert caught.value.rows is not None
    assert caught.value.rows["income"].isin([1, 9000, 9001]).all()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_model_that_fails_on_all_that_one_person_could_become(fault: str) -> None:
    rec = recourse(only_of_people(fault), schema=ONLY_INCOME)
    plan = rec.recommend(PEOPLE.head(1))["c0"]
    assert plan.status == "none_found"
    assert f"the search stopped early because the model failed: {FAULTS[fault]}" in plan.reason
    assert re.search(r"a row with age=\d+, income=(1|9000|9001)\.0", plan.reason)
    assert not re.search(r"row '?\d", plan.reason)  # rows of a search have numbers that nobody knows


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("status", ["already_positive", "found", "none_exists"])
def test_results_are_kept_if_any_person_is_solved(fault: str, status: str) -> None:
    one = (TRAIN[chance(TRAIN) >= 0.9] if status == "already_positive" else PEOPLE).head(1).set_axis(["x"], axis=0)
    wants = 1 if status == "none_exists" else 9000
    said = {label: Preferences(ranges={"income": (9001, 9001)}) for label in PEOPLE.index}
    rec = recourse(only_of_people(fault, also=[1, 9000]), schema=ONLY_INCOME)
    plans = rec.recommend(pd.concat([PEOPLE, one]), said | {"x": Preferences(ranges={"income": (wants, wants)})})
    assert statuses(plans) == ["none_found"] * 6 + [status]
    assert plans.summary["reason"].iloc[:6].str.contains(FAULTS[fault]).all()


def test_rows_that_cannot_be_used_do_not_hide_that_the_model_fails_on_all_others() -> None:
    people = pd.concat([PEOPLE, PEOPLE.head(1).assign(age=999).set_axis(["x"], axis=0)])
    with pytest.raises(ModelError, match="no such customer"):
        recourse(only_of_people("raise"), schema=ONLY_INCOME).recommend(people)


@pytest.mark.parametrize("fault", ["raise", "nan", "shape"])
@pytest.mark.parametrize("method", ["guided", "cols", "pcols", "ls", "random"])
def test_a_model_that_starts_failing_keeps_what_was_found(method: str, fault: str) -> None:
    """From the fourth call on, rows of men fail: they keep their options, women go on."""
    calls = 0

    def model(frame: pd.DataFrame) -> NDArray[np.float64]:
        nonlocal calls
        calls += 1
        hurt = (frame["sex"] == "m").to_numpy() & (calls > 3)
        if fault == "raise" and hurt.any():
            raise RuntimeError("out of memory")
        if fault == "shape" and hurt.any():
            return np.zeros(len(frame) + 1)
        return np.where(hurt, np.nan, chance(frame))

    plans, well = recourse(model, method=method).recommend(PEOPLE), recourse(method=method).recommend(PEOPLE)
    for label, sex in PEOPLE["sex"].items():
        if sex == "f":
            assert plans[label] == well[label]
        else:
            assert plans[label].status in ("partial", "none_found")
            assert "stopped early because the model failed" in plans[label].reason
            assert plans[label].queries < 60
            assert (plans[label].status == "partial") == bool(plans[label].options)
            assert label in plans.failed_rows["person"].tolist()
    assert "partial" in statuses(plans)
    assert plans.summary["queries"].sum() == plans.settings["model_rows"]
    assert RecoursePlans.from_json(plans.to_json()) == plans


def test_invalid_preferences_affect_one_person_alone() -> None:
    said = {"c1": Preferences(editable=["sex"]), "c2": Preferences(editable=["income"])}
    plans = recourse().recommend(PEOPLE, preferences=said)
    assert statuses(plans)[1] == "invalid_input"
    assert plans["c1"].reason.startswith("preferences: editable names 'sex', which is fixed")
    assert {c.feature for o in plans["c2"].options for c in o.changes} <= {"income"}
    assert plans["c0"] == recourse().recommend(PEOPLE)["c0"]


def test_a_shared_cost_table_may_lack_one_persons_value() -> None:
    jobs = ["clerk", "cook"]
    table = pd.DataFrame([[0, 0.5], [0.5, 0]], index=jobs, columns=jobs)
    people = PEOPLE.assign(job=["nurse", "cook", "clerk", "cook", "cook", "cook"])
    plans = recourse().recommend(people, preferences=Preferences(costs={"job": table}))
    assert statuses(plans)[0] == "invalid_input"
    assert "no row for the present value 'nurse'" in plans["c0"].reason
    assert "invalid_input" not in statuses(plans)[1:]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (Preferences(editable=["sex"]), "editable names 'sex', which is fixed"),
        (3, "preferences must be a Preferences object, or a mapping"),
        ({"c9": Preferences()}, "name a person 'c9' who is not in the table"),
        ({"c0": {"editable": ["age"]}}, "the preferences of 'c0' must be a Preferences object"),
        ({np.int64(7): {}}, "the preferences of 7 must be"),
        ({np.int64(7): Preferences()}, "name a person 7 who is not in the table"),
    ],
)
def test_faults_of_the_preferences_as_a_whole_raise(said: Any, message: str) -> None:
    with pytest.raises(PreferenceError, match=message):
        recourse().recommend(PEOPLE, preferences=said)


def test_unknown_target_is_refused() -> None:
    with pytest.raises(SettingError, match="target='yes' can never equal a label"):
        recourse(lambda frame: np.ones(len(frame), dtype=int), target="yes").recommend(PEOPLE)


def test_categories_of_many_values_make_chunks_smaller() -> None:
    """What a person's regression takes grows with the square of them."""
    frame = pd.DataFrame({name: [f"v{i % 200}" for i in range(800)] for name in "abcd"})
    few = frame.apply(lambda column: column.where(column.isin(["v0", "v1"]), "v2"))
    sizes = [Recourse(chance, Schema.infer(f), budget=20, n_costs=50).fit(f).people_together() for f in (few, frame)]
    assert sizes[1] * 8 * 800**2 < 110 * 2**20
    assert sizes[0] > 10 * sizes[1]
    fixed = Schema.infer(frame).update({name: {"direction": "fixed"} for name in "abc"})  # nothing is learned of them
    assert Recourse(chance, fixed, budget=20, n_costs=50).fit(frame).people_together() > 8 * sizes[1]
