"""The tables of a plan agree with each other, and one person's plan reads as a person would want it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastways.plans import STATUSES, change_text, value_text
from leastways.schema import Feature
from tests.plans.made import FAILED, OPTIONS, PEOPLE, SCHEMA, SUMMARY, plans

NAN = float("nan")


def test_changes_list_exactly_what_differs_from_the_present() -> None:
    expected = [
        ("ann", 1, "monthly_hours", 20, 30),
        ("ann", 2, "job", "cook", "née"),
        ("ann", 2, "owner", True, False),
        ("cy", 1, "debt", 9.0, 1.25),
    ]
    table = plans().changes
    assert list(table.columns) == ["person", "option", "feature", "from", "to"]
    assert list(table.itertuples(index=False, name=None)) == expected


def test_plan_agrees_with_the_tables() -> None:
    plan = plans()["ann"]
    assert (plan.person, plan.status, plan.reason, plan.queries) == ("ann", "found", "", 40)
    assert (plan.covered, plan.emc, plan.satisfied, plan.probability) == (0.875, 0.25, 0.875, 0.25)
    assert plan.state == {"monthly_hours": 20, "debt": 0.5, "job": "cook", "owner": True}
    assert [type(v) for v in plan.state.values()] == [int, float, str, bool]
    first, second = plan.options
    assert (first.number, first.probability, first.expected_cost, first.best_for) == (1, 0.75, 0.25, 0.75)
    assert second.values == {"monthly_hours": 20, "debt": 0.5, "job": "née", "owner": False}
    assert [(c.feature, c.before, c.after) for c in second.changes] == [("job", "cook", "née"), ("owner", True, False)]


def test_plans_with_the_same_missing_values_are_equal() -> None:
    for one, other in zip(plans(), plans(), strict=True):
        assert one == other
        assert one != dataclasses.replace(other, queries=7)
    assert len(plans()["ann"].options) == 2
    first, second = plans()["ann"].options
    for another in ((first,), (second, first), (first, dataclasses.replace(second, expected_cost=NAN))):
        assert plans()["ann"] != dataclasses.replace(plans()["ann"], options=another)
    gone, again, there = (dataclasses.replace(plans()["ann"], state={"debt": x}) for x in (NAN, float("nan"), 0.0))
    assert gone == again != there
    assert plans()["ann"] != "ann"


def test_plans_in_order_of_people() -> None:
    made = plans()
    assert [plan.person for plan in made] == PEOPLE.index.tolist()
    assert [len(plan.options) for plan in made] == SUMMARY["n_options"].tolist()
    assert len(made) == 4
    assert "ann" in made
    assert "eve" not in made
    assert repr(made) == "RecoursePlans(4 people: 1 found, 1 already_positive, 1 partial, 1 invalid_input)"


def test_a_plan_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        plans()["ann"].status = "partial"  # type: ignore[misc]


def test_an_unknown_person_is_named_with_the_nearest() -> None:
    with pytest.raises(KeyError, match=r"no person 'anne'; known: 'ann', 'bob', 'cy', 'dée'.*Did you mean 'ann'"):
        plans()["anne"]


@pytest.mark.parametrize("labels", [[7, 3, 5, 1], [1.5, 2.5, 0.5, 3.5], [True, False, "x", 2]])
def test_labels_may_be_of_any_type(labels: list[object]) -> None:
    index: pd.Index[Any] = pd.Index(labels)
    options = OPTIONS.assign(person=pd.Series([labels[0], labels[0], labels[2]], dtype=index.dtype))
    made = plans(people=PEOPLE.set_axis(index), summary=SUMMARY.set_axis(index), options=options)
    assert [len(made[label].options) for label in labels] == [2, 0, 1, 0]
    assert made.changes["person"].tolist() == [labels[0]] * 3 + [labels[2]]


def test_the_same_number_in_a_shorter_float_is_no_change() -> None:
    """People may come in doubles where the model was trained on singles."""
    people = PEOPLE.assign(debt=[0.1, 1.25, 9.0, 3.0])
    options = OPTIONS.assign(debt=np.array([0.1, 0.1, 1.25], dtype=np.float32))
    made = plans(people=people, options=options)
    assert "debt" not in made.changes[made.changes["person"] == "ann"]["feature"].tolist()
    assert [c.feature for o in made["ann"].options for c in o.changes] == ["monthly_hours", "job", "owner"]


def test_one_flat_table_for_files() -> None:
    table = plans().to_table()
    assert table["person"].tolist() == ["ann", "ann", "bob", "cy", "dée"]
    assert table["status"].tolist() == ["found", "found", "already_positive", "partial", "invalid_input"]
    assert table["option"].tolist() == [1, 2, pd.NA, 1, pd.NA]
    assert str(table["monthly_hours"].dtype) == "Int64"  # a person without options does not make floats of integers
    assert list(table.columns) == ["person", "status", "reason", *OPTIONS.columns[1:]]


def test_text_of_a_plan_states_every_option() -> None:
    text = plans()["ann"].to_text()
    assert text.splitlines() == [
        "Person ann: at least one option was found (chance of a yes now: 25%).",
        "",
        "Option 1: cheapest under 75% of the simulated preferences, expected cost 0.25",
        "  - raise working hours from 20 h to 30 h",
        "  then the chance of a yes is 75%",
        "",
        "Option 2: possible under none of the simulated preferences",
        "  - change job from cook to née",
        "  - change owner from yes to no",
        "  then the chance of a yes is 50%",
        "",
        "At least one option is possible under 88% of the simulated preferences, and costs less than 1 under 88%.",
    ]
    assert str(plans()["ann"]) == text


def test_text_without_options_gives_the_reason() -> None:
    assert plans()["bob"].to_text() == f"Person bob: {STATUSES['already_positive']} (chance of a yes now: 90%)."
    assert plans()["dée"].to_text().endswith("\n  column 'debt': bad")
    assert "the model failed" in plans()["cy"].to_text()


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (2350, "€", "2,350 €"),
        (2350.0, "", "2350"),
        (12345, "", "12,345"),
        (1234.567, "", "1,234.57"),
        (0.123456, "", "0.1235"),
        (-3, "h", "-3 h"),
        (True, "", "yes"),
        ("a b", "", "a b"),
        (np.float32(0.5), "%", "0.5 %"),
    ],
)
def test_values_are_written_with_labels_and_units(value: object, unit: str, text: str) -> None:
    feature = Feature("x", "real", (0.0, 1.0), dtype="float64", unit=unit)
    assert value_text(feature, value) == text


@pytest.mark.parametrize("dtype", ["float32", "float16", "Float32"])
def test_digits_beyond_float32_precision_are_not_shown(dtype: str) -> None:
    feature = Feature("a", "real", (0.1, 0.3), dtype=dtype)
    before, after = feature.array.tolist()
    assert after != 0.3
    assert change_text(feature, before, after) == "raise a from 0.1 to 0.3"


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6) | st.none())
def test_a_change_never_reads_as_no_change(before: float, after: float | None) -> None:
    after = float(np.nextafter(before, 2e6)) if after is None else after
    feature = Feature("x", "real", (-1e6, 1e6), dtype="float64")
    text = change_text(feature, before, after)
    if before != after:
        old, new = text.removeprefix("raise x from ").removeprefix("lower x from ").split(" to ")
        assert old != new
        assert text.startswith("raise") == (after > before)


def test_sentence_names_the_exact_value() -> None:
    """The model accepts from 234.54 on; 234.5 would be refused."""
    feature = Feature("score", "real", (100.0, 234.54, 500.0), dtype="float64")
    assert change_text(feature, 100.0, 234.54) == "raise score from 100 to 234.54"
    assert change_text(feature, 100.0, 0.1 + 0.2) == "lower score from 100 to 0.3"
    money = Feature("loan", "integer", (5000, 20_000), dtype="int64")
    assert change_text(money, 18_900, 6400) == "lower loan from 18,900 to 6,400"
    assert change_text(money, 1998, 2004) == "raise loan from 1998 to 2004"
    income = Feature("income", "real", (500.0, 9000.0), dtype="float64")
    assert change_text(income, 3512.3, 4822.0) == "raise income from 3,512.3 to 4,822"
    assert change_text(income, 4822.0, 3512.3) == "lower income from 4,822 to 3,512.3"
    assert change_text(income, 2000.0, 4822.0) == "raise income from 2000 to 4822"


def test_plans_are_equal_if_their_contents_are() -> None:
    assert plans() == plans()
    assert plans() != plans(settings={"n_options": 5})
    assert plans() != plans(summary=SUMMARY.assign(queries=0))
    assert plans() != plans(options=OPTIONS.iloc[:2])
    assert plans() != plans(failed_rows=FAILED.iloc[:0])
    assert plans() != plans(people=PEOPLE.assign(owner=True))
    assert plans() != plans(schema=SCHEMA.update(debt={"direction": "up"}))
    assert plans() != "plans"
