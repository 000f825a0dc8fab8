"""People of whom something is not known: it stays unknown, and all else can be changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastways as lw
from leastways import IfThen, Linked, Preferences
from leastways.errors import SchemaError
from leastways.evaluation import evaluate_people
from leastways.schema import Feature, Schema
from tests.support.mixed_table import Whole
from tests.support.tables_with_gaps import PEOPLE, SCHEMA, TRAIN, Y, pipeline, recourse, trees

METHODS = ["guided", "cols", "pcols", "ls", "random", "ar", "face-knn", "face-eps"]
DICE = ["dice-random", "dice-genetic", "dice-kdtree"]


def check_options(plans: lw.RecoursePlans, model: Any) -> None:
    """Options are accepted, keep every gap and make none."""
    options = plans.options
    assert len(options)
    states = options[list(SCHEMA.names)]
    assert (Whole(model).probability(states) >= 0.5).all()
    before = plans.people.loc[options["person"]].isna().to_numpy()
    np.testing.assert_array_equal(states.isna().to_numpy(), before)
    assert before.any(axis=1).any()
    assert not plans.changes[["from", "to"]].isna().any(axis=None)


@pytest.mark.parametrize("method", [*METHODS, *DICE])
def test_missing_values_stay_missing_with_every_method(method: str) -> None:
    if method.startswith("dice"):
        pytest.importorskip("dice_ml")
    if method == "ar":
        pytest.importorskip("highspy")
    model = pipeline()
    plans = recourse(model, method=method).recommend(PEOPLE)
    check_options(plans, model)
    assert "invalid_input" not in set(plans.summary["status"])
    assert lw.RecoursePlans.from_json(plans.to_json()) == plans


@pytest.mark.parametrize("settings", [{}, {"method": "cols"}, {"objective": "satisfaction"}], ids=str)
@pytest.mark.parametrize("indicator", [False, True])
def test_encoder_table_gives_the_same_plans_as_frames(indicator: bool, settings: dict[str, Any]) -> None:
    model = pipeline(indicator)
    fast = recourse(model, **settings).recommend(PEOPLE)
    slow = recourse(Whole(model), **settings).recommend(PEOPLE)
    assert fast.settings["model_path"] == "tabulated"
    pd.testing.assert_frame_equal(fast.options, slow.options, check_exact=True)
    pd.testing.assert_frame_equal(fast.summary, slow.summary, check_exact=True)


def test_trees_that_support_missing_values() -> None:
    """The encoder table has no missing values; it still serves the people without any."""
    model = trees()
    plans = recourse(model).recommend(PEOPLE)
    check_options(plans, model)
    whole = PEOPLE.dropna()
    gaps = PEOPLE[["age", "income"]].isna().any(axis=1).sum()  # the columns that it reads
    told = f"tabulated, but plain for {gaps} people: the encoder returns values that are missing or too large"
    assert plans.settings["model_path"] == told
    assert recourse(model).recommend(whole).settings["model_path"] == "tabulated"
    for label in whole.index:
        assert recourse(model).recommend(whole)[label].options == plans[label].options


def test_model_without_support_for_missing_values_fails_on_that_person_alone() -> None:
    def picky(frame: pd.DataFrame) -> Any:
        if frame["income"].isna().any():
            raise ValueError("Input contains NaN")
        return (frame["income"] > 2000).astype(float)

    plans = recourse(picky).recommend(PEOPLE)
    gone = PEOPLE["income"].isna()
    assert (plans.summary["status"][gone] == "invalid_input").all()
    assert plans.summary["reason"][gone].str.contains("Input contains NaN").all()
    assert set(plans.summary["status"][~gone]) == {"found", "already_positive"}


def test_cost_samples_never_change_missing_features() -> None:
    editable = recourse(pipeline()).belief(PEOPLE).editable
    gone: Any = PEOPLE.isna().to_numpy()
    assert gone[:, 1:].any(axis=1).sum() > 10
    ever: Any = editable.any(axis=1)
    assert not ever[gone].any()
    assert ever[:, 1:][~gone[:, 1:]].all()


def test_preferences_about_a_missing_feature_are_valid() -> None:
    """One set of preferences may be for people with and without a value."""
    model = pipeline()
    told = Preferences(
        scores={"income": 0.5, "debt": 0.3, "job": 0.2},
        ranges={"income": (0, 6000), "job": ["nurse"]},
        costs={"debt": {0: 0.1, 5: 0.1}},
    )
    plans = recourse(model).recommend(PEOPLE, told)
    check_options(plans, model)
    assert set(plans.changes["feature"]) <= {"income", "debt", "job"}
    assert plans.changes.loc[plans.changes["feature"] == "debt", "to"].isin([0, 5]).all()
    refused = PEOPLE[PEOPLE["job"].isna() & (model.predict(PEOPLE) == 0)]
    only = recourse(model).recommend(refused, Preferences(editable=["job"]))
    assert (only.summary["status"] == "none_exists").all()


def test_rules_treat_missing_values_as_meeting_no_condition() -> None:
    """A missing value meets no condition; a change that requires it to change is not permitted."""
    model = pipeline()
    rules: list[Any] = [
        IfThen({"job": ["clerk", "cook"]}, {"income": (None, 2000)}),
        Linked("income", "debt", -1, by=3000),
    ]
    plans = recourse(model, SCHEMA.update(rules=rules)).recommend(PEOPLE)
    check_options(plans, model)
    now = PEOPLE.loc[plans.options["person"]].reset_index(drop=True)
    then = plans.options
    raised = then["income"] > now["income"]
    assert raised.any()
    assert not (raised & now["debt"].isna()).any()
    bound = then["job"].isin(["clerk", "cook"]) & (then["income"].isna() | (then["income"] > 2000))
    assert not bound.any()
    free = now["job"].isna() & (then["income"] > 2000)
    assert free.any()


def test_missing_values_work_with_distillation_warm_start_and_certificates() -> None:
    model = pipeline()
    rec = recourse(model, budget=40)
    rec.fit(TRAIN, distill=300)
    plans = rec.recommend(PEOPLE)
    check_options(plans, model)
    again = rec.recommend(PEOPLE, warm_start=plans)
    assert (again.summary["emc"].dropna() <= plans.summary["emc"].dropna() + 1e-12).all()
    certified = rec.certify(plans, people=plans.summary.index[plans.summary["status"] == "found"][:5])
    figures = certified.certificates
    assert (figures["bound"] <= figures["objective"] + 1e-9).all()


def test_oracle_equals_full_enumeration() -> None:
    """The least cost of a person with gaps, by all states of a small grid."""
    model = pipeline()
    schema = SCHEMA.update(income={"grid": [500, 2000, 4000, 6500]}, debt={"grid": [0, 10, 20, 30]})
    person = PEOPLE[PEOPLE["housing"].isna() & PEOPLE["income"].notna() & PEOPLE["debt"].notna()]
    person = person[model.predict(person) == 0].iloc[[0]]

    def cost(feature: str, before: Any, after: Any) -> float:
        return 1.0 if isinstance(after, str) else abs(after - before) / 1000 + 0.1

    found = lw.oracle(model, schema, person, cost)
    states = [
        (sum(0.0 if v == person[n].iloc[0] else cost(n, person[n].iloc[0], v) for n, v in state.items()), state)
        for income in [*schema.by_name["income"].values, person["income"].iloc[0]]
        for debt in [*(d for d in schema.by_name["debt"].values if d < person["debt"].iloc[0]), person["debt"].iloc[0]]
        for job in (["clerk", "cook", "nurse"] if person["job"].notna().iloc[0] else [])
        for state in [{"income": income, "debt": debt, "job": job}]
    ]
    assert states
    frame = pd.concat([person] * len(states)).assign(
        **{n: [s[n] for _, s in states] for n in ("income", "debt", "job")}
    )
    accepted = model.predict(frame.astype(TRAIN.dtypes.to_dict())) == 1
    assert found.cost == pytest.approx(min(c for (c, _), ok in zip(states, accepted, strict=True) if ok))
    assert found.state is not None
    assert found.state["housing"] is None
    by_mapping = lw.oracle(model, schema, {n: None if pd.isna(v) else v for n, v in person.iloc[0].items()}, cost)
    assert by_mapping.cost == found.cost


def test_measures_count_missing_values_as_unchanged() -> None:
    plans = recourse(pipeline()).recommend(PEOPLE)
    truth = lw.simulate_people(PEOPLE, SCHEMA, TRAIN, random_state=3)
    per_person = evaluate_people(plans, truth)
    found = plans.summary.index[plans.summary["n_options"] > 0]
    assert plans.people.loc[found].isna().any(axis=1).any()
    assert not per_person.loc[found, ["proximity", "sparsity"]].isna().any(axis=None)
    changed = plans.changes.groupby("person").size().reindex(found) / plans.summary["n_options"].loc[found]
    np.testing.assert_allclose(1 - per_person.loc[found, "sparsity"], changed / len(SCHEMA.names))
    other = lw.simulate_people(PEOPLE.assign(job=PEOPLE["job"].fillna("cook")), SCHEMA, TRAIN, random_state=3)
    with pytest.raises(lw.DataError, match="is in another state: 'job' is 'cook' there, None here"):
        lw.evaluate(plans, other)


def test_missing_values_are_none_in_plans_and_absent_from_text() -> None:
    plans = recourse(pipeline()).recommend(PEOPLE)
    label = plans.people.index[plans.people["job"].isna() & (plans.summary["status"] == "found")][0]
    plan = plans[label]
    assert plan.state["job"] is None
    assert plan.options[0].values["job"] is None
    assert "nan" not in plan.to_text().lower()
    assert "None" not in plan.to_text()
    assert plan == lw.RecoursePlans.from_json(plans.to_json())[label]


@pytest.mark.parametrize(("dtype", "values"), [("int64", (1, 2)), ("bool", (False, True)), ("uint8", (0, 3))], ids=str)
def test_column_that_cannot_hold_missing_values_is_refused(dtype: str, values: tuple[Any, ...]) -> None:
    kind: Any = "category" if dtype == "bool" else "integer"
    with pytest.raises(SchemaError, match=f"'x': its column is {dtype}, which cannot hold a missing value"):
        Schema((Feature("x", kind, values, dtype=dtype, missing=True),))


def test_unsupported_missing_values_are_named() -> None:
    """A model tells None and NaN apart, so one is not taken for the other."""
    column = pd.Series(["a", "b", np.nan, None], dtype=object)
    schema = Schema.infer(pd.DataFrame({"x": column}))
    (problem,) = schema.problems(pd.DataFrame({"x": column}))["problem"]
    assert problem == "is missing in another way than NaN; write it as NaN, or fill it"


def test_schema_states_where_values_may_be_missing() -> None:
    assert [f.name for f in SCHEMA.features if f.missing] == list(SCHEMA.names)
    assert SCHEMA.by_name["age"].kind == SCHEMA.by_name["debt"].kind == "integer"  # though pandas has floats
    assert SCHEMA.by_name["income"].kind == "real"
    assert Schema.from_yaml(SCHEMA.to_yaml()) == SCHEMA
    strict = SCHEMA.update(income={"missing": False})
    gone = PEOPLE["income"].isna().to_numpy()
    np.testing.assert_array_equal(np.unique(strict.problems(PEOPLE).attrs["positions"]), np.flatnonzero(gone))
    with pytest.raises(SchemaError, match="missing must be true or false, not 'yes'"):
        SCHEMA.update(income={"missing": "yes"})
    assert SCHEMA.by_name["income"].allowed_text().endswith(", or missing")


def test_models_of_these_tests_are_accurate() -> None:
    """The tests above need models that depend on the features."""
    assert pipeline().score(TRAIN, Y) > 0.85
    assert trees().score(TRAIN, Y) > 0.8
