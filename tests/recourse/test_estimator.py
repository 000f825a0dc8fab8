"""`Recourse` behaves as scikit-learn's estimators do, and checks its settings before it does anything."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from leastways import COLS, CostDistribution, Preferences, Recourse
from leastways.errors import DataError, LeastwaysError, SchemaError, SettingError
from leastways.schema import Feature, Schema
from tests.support.bank_people import SCHEMA, TRAIN, chance, recourse, refused


def test_constructor_does_no_work() -> None:
    """Invalid settings are stored unchanged: `fit` checks them."""
    rec = Recourse("no model", "no schema", budget=-1, method=3)  # type: ignore[arg-type]
    assert rec.get_params(deep=False)["budget"] == -1
    assert not [name for name in vars(rec) if name.endswith("_")]


def test_fit_returns_self_and_learns_names_with_an_underscore() -> None:
    rec = Recourse(chance, SCHEMA)
    assert rec.fit(TRAIN) is rec
    assert rec.n_features_in_ == 5
    assert rec.feature_names_in_.tolist() == list(SCHEMA.names)
    assert rec.fit(TRAIN, y=[1]) is rec


def test_parameters_are_read_and_set() -> None:
    rec = recourse()
    assert rec.get_params(deep=False)["n_options"] == 3
    assert rec.set_params(n_options=2, budget=30) is rec
    plans = rec.recommend(refused())
    assert plans.summary["n_options"].max() == 2
    assert plans.summary["queries"].max() <= 30
    with pytest.raises(ValueError, match="Invalid parameter 'budgett'"):
        rec.set_params(budgett=3)


def test_a_clone_keeps_the_fitted_model_and_is_not_fitted_itself() -> None:
    model = LogisticRegression().fit(TRAIN[["age", "income"]], TRAIN["age"] > 40)
    rec = Recourse(model, SCHEMA, method=COLS(gain="paper"), n_costs=20, budget=40, target=True).fit(TRAIN)
    copy = clone(rec)
    assert copy.model is model
    assert copy.get_params(deep=False) == rec.get_params(deep=False)
    with pytest.raises(NotFittedError):
        copy.recommend(refused())
    assert copy.fit(TRAIN).recommend(refused()) == rec.recommend(refused())


def test_pickling_keeps_settings_and_fit() -> None:
    rec = recourse()
    back = pickle.loads(pickle.dumps(rec))
    assert back.recommend(refused()) == rec.recommend(refused())
    assert "Recourse(" in repr(back)


def test_costs_changed_after_fit_require_a_refit() -> None:
    """Percentiles and the rest are learned for a distribution; plans must not say they were made with another."""
    rec = recourse()
    plans = rec.recommend(refused(2))
    rec.set_params(costs="linear")
    for call in (rec.recommend, rec.belief):
        with pytest.raises(SettingError, match="costs was changed after fit; call fit again"):
            call(refused(2))
    with pytest.raises(SettingError, match="costs was changed after fit; call fit again"):
        rec.certify(plans)
    rec.set_params(costs=CostDistribution())  # the same, said in other words
    assert rec.recommend(refused(2)) == plans


def test_features_with_stated_costs_are_editable_in_every_sample() -> None:
    told = Preferences(costs={"income": {2000.0: 0.2, 6000.0: 0.4}})
    schema = SCHEMA.update(income={"grid": [500, 2000, 6000, 9000]})
    rec = recourse(schema=schema)
    drawn, stated = rec.belief(refused(3)).editable, rec.belief(refused(3), told).editable
    place = schema.position("income")
    assert not drawn[:, :, place].all()
    assert stated[:, :, place].all()
    rest = [f for f in range(len(schema.names)) if f != place]
    np.testing.assert_array_equal(drawn[:, :, rest], stated[:, :, rest])


def test_recommend_before_fit_raises() -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        Recourse(chance, SCHEMA).recommend(refused())


def test_schema_changed_after_fit_requires_a_refit() -> None:
    rec = recourse().set_params(schema=SCHEMA.update(age={"direction": "any"}))
    with pytest.raises(SettingError, match="call fit again"):
        rec.recommend(refused())
    assert len(rec.fit(TRAIN).recommend(refused())) == 6


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budget": 0}, "budget must be a whole number of 1 or more, not 0"),
        ({"budget": -5}, "budget must be a whole number of 1 or more, not -5"),
        ({"budget": 10.5}, "budget must be a whole number of 1 or more, not 10.5"),
        ({"budget": 10**30}, "budget must be at most 1,000,000,000,000, not 1000000000000000000000000000000"),
        ({"budget": True}, "budget must be a whole number of 1 or more, not True"),
        ({"budget": 2, "n_options": 3}, "budget 2 is smaller than n_options 3"),
        ({"n_options": 0}, "n_options must be a whole number of 1 or more, not 0"),
        ({"n_costs": 0}, "n_costs must be a whole number of 1 or more, not 0"),
        ({"method": "colls"}, "no method 'colls'; known: .*'cols'.*Did you mean 'cols'?"),
        ({"method": COLS}, "Give an instance, such as COLS()"),
        ({"method": None}, "method must be a name"),
        ({"threshold": 1.5}, "threshold must be a number above 0 and at most 1, not 1.5"),
        ({"threshold": 0}, "threshold must be a number above 0 and at most 1, not 0"),
        ({"threshold": float("nan")}, "threshold must be a number above 0 and at most 1, not nan"),
        ({"threshold": "half"}, "threshold must be a number above 0 and at most 1, not 'half'"),
        ({"costs": "mixx"}, "costs must be a CostDistribution or one of mix, linear, percentile.*Did you mean 'mix'?"),
        ({"uncovered_cost": -1}, "uncovered_cost must be a number from 0"),
        ({"random_state": None}, "random_state must be an integer of 0 or more, not None"),
        ({"random_state": -1}, "random_state must be an integer of 0 or more, not -1"),
        ({"random_state": 1.0}, "random_state must be an integer of 0 or more, not 1.0"),
        ({"model": "model.onnx"}, "'model.onnx' is not a model. Load a file"),
        ({"model": LogisticRegression()}, "LogisticRegression is not fitted"),
        ({"model": LogisticRegression}, "is the class LogisticRegression, not an instance"),
    ],
)
def test_bad_settings_are_named_when_fitted(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        recourse(**settings)


def test_setting_made_invalid_after_fit_is_refused() -> None:
    with pytest.raises(SettingError, match="budget must be a whole number"):
        recourse().set_params(budget=0).recommend(refused())


def test_invalid_schemas_are_refused() -> None:
    with pytest.raises(SchemaError, match="schema must be a leastways Schema, not dict"):
        Recourse(chance, {}).fit(TRAIN)  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="columns 'option', 'reason' have names that the tables of a plan use"):
        Recourse(chance, Schema((Feature("reason", "category", ("a",)), Feature("option", "category", ("a",))))).fit(
            TRAIN
        )


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ([1], "expected a pandas DataFrame, not list"),
        (TRAIN.iloc[:0], "no rows"),
        (TRAIN.drop(columns="age"), "missing columns: 'age'"),
        (TRAIN.assign(shoe=1), "unknown columns: 'shoe'"),
        (TRAIN.assign(age="old"), "column 'age' of the fitted table holds 'old', which is not a number"),
        (TRAIN.assign(age=np.nan), "column 'age' of the fitted table holds no value"),
        (TRAIN.assign(school="?"), "column 'school' of the fitted table holds none of its values, one of 'none'"),
    ],
)
def test_invalid_training_tables_are_refused(frame: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Recourse(chance, SCHEMA).fit(frame)


def test_training_tables_may_have_gaps_repeated_labels_and_the_target() -> None:
    frame = TRAIN.assign(approved=1, income=TRAIN["income"].where(TRAIN.index > 5)).set_axis([0] * len(TRAIN), axis=0)
    schema = Schema(SCHEMA.features, target="approved")
    assert len(Recourse(chance, schema, budget=20, n_costs=5).fit(frame).recommend(refused())) == 6


def test_settings_may_come_as_numpy_numbers() -> None:
    """As they do from a grid of settings, or from a model's classes."""
    plain = recourse(threshold=0.5, n_options=3, target=1).recommend(refused())
    numpy = recourse(threshold=np.float64(0.5), n_options=np.int64(3), target=np.int64(1)).recommend(refused())
    assert plain == numpy
    assert plain.to_json() == numpy.to_json()


def test_settings_are_recorded() -> None:
    plans = recourse(costs=CostDistribution(alpha=0.5), method=COLS(gain="paper"), random_state=7).recommend(refused())
    assert plans.settings["random_state"] == 7
    assert plans.settings["method"] == "COLS(gain='paper', proposals='actionable')"
    assert "alpha=0.5" in plans.settings["costs"]
    assert plans.settings["model_rows"] == plans.summary["queries"].sum()


def test_errors_are_also_builtins() -> None:
    for error in (SettingError, SchemaError, DataError):
        assert issubclass(error, ValueError)
        assert issubclass(error, LeastwaysError)


def test_progress_rises_to_the_end() -> None:
    seen: list[float] = []
    recourse().recommend(refused(), progress=seen.append)
    assert seen == sorted(seen)
    assert 0 < seen[-1] <= 1
    assert isinstance(recourse().recommend(refused(), progress=True).summary, pd.DataFrame)
