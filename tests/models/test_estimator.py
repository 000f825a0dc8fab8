"""scikit-learn, xgboost and lightgbm estimators on raw frames."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.svm import SVC

from leastways.errors import SettingError
from leastways.models import QueryCounter, as_model
from tests.support.job_table import NUMBERS, people, pipeline, score, yes

FRAME = people()


def test_pipeline_gives_the_targets_column() -> None:
    fitted = pipeline().fit(FRAME, yes(FRAME))
    expected = fitted.predict_proba(FRAME)
    np.testing.assert_array_equal(as_model(fitted, 1).probability(FRAME), expected[:, 1])
    np.testing.assert_array_equal(as_model(fitted, 0).probability(FRAME), expected[:, 0])
    assert as_model(fitted, 1).probability(FRAME).dtype == np.float64


def test_multiclass_with_text_labels() -> None:
    labels = np.select([score(FRAME) < -1, score(FRAME) < 1], ["no", "maybe"], "yes")
    fitted = pipeline(RandomForestClassifier(20, random_state=0)).fit(FRAME, labels)
    for column, label in enumerate(["maybe", "no", "yes"]):
        answer = as_model(fitted, label).probability(FRAME)
        np.testing.assert_array_equal(answer, fitted.predict_proba(FRAME)[:, column])


@pytest.mark.parametrize("target", [1, True, np.int64(1), np.True_, 1.0])
@pytest.mark.parametrize("kind", [np.int64, np.bool_, np.float64, np.int8])
def test_one_and_true_are_the_same_class(target: object, kind: type) -> None:
    fitted = pipeline().fit(FRAME, yes(FRAME).astype(kind))
    np.testing.assert_array_equal(as_model(fitted, target).probability(FRAME), fitted.predict_proba(FRAME)[:, 1])


@pytest.mark.parametrize(
    ("labels", "target", "hint"),
    [
        (["0", "1"], 1, "Did you mean '1'?"),
        ([0, 1], "1", "Did you mean 1?"),
        (["bad", "good"], "Good", "Did you mean 'good'?"),
        (["bad", "good"], "goood", "Did you mean 'good'?"),
        ([False, True], "true", "Did you mean True?"),
        ([0, 1], 2, "classes are 0, 1."),
    ],
)
def test_unknown_target_is_refused(labels: list[Any], target: object, hint: str) -> None:
    fitted = pipeline().fit(FRAME, np.array(labels)[yes(FRAME)])
    with pytest.raises(SettingError) as caught:
        as_model(fitted, target)
    assert hint in str(caught.value)
    assert repr(target) in str(caught.value)
    assert "LogisticRegression" in str(caught.value) or "Pipeline" in str(caught.value)


def test_without_predict_proba_labels_are_compared() -> None:
    fitted = pipeline(RidgeClassifier()).fit(FRAME, np.array(["no", "yes"])[yes(FRAME)])
    answer = as_model(fitted, "yes").probability(FRAME)
    np.testing.assert_array_equal(answer, (fitted.predict(FRAME) == "yes").astype(float))
    assert set(answer) == {0.0, 1.0}
    with pytest.raises(SettingError, match="'no', 'yes'"):
        as_model(fitted, 1)


def test_svc_attribute_probability_is_not_the_method() -> None:
    """SVC has a parameter called `probability`: it must not pass for a Model."""
    fitted = SVC().fit(FRAME[NUMBERS], yes(FRAME))
    answer = QueryCounter(as_model(fitted, 1)).evaluate(FRAME[NUMBERS])
    np.testing.assert_array_equal(answer, fitted.predict(FRAME[NUMBERS]))


def test_columns_go_in_the_order_of_training() -> None:
    fitted = LogisticRegression().fit(FRAME[NUMBERS], yes(FRAME))
    expected = fitted.predict_proba(FRAME[NUMBERS])[:, 1]
    np.testing.assert_array_equal(as_model(fitted, 1).probability(FRAME[NUMBERS[::-1]]), expected)
    np.testing.assert_array_equal(as_model(fitted, 1).probability(FRAME), expected)


def test_a_model_fitted_on_an_array_is_given_frames_without_a_warning() -> None:
    fitted = LogisticRegression().fit(FRAME[NUMBERS].to_numpy(), yes(FRAME))
    expected = fitted.predict_proba(FRAME[NUMBERS].to_numpy())[:, 1]
    np.testing.assert_array_equal(as_model(fitted, 1).probability(FRAME[NUMBERS]), expected)


def test_grid_search_over_a_pipeline_is_supported() -> None:
    fitted = GridSearchCV(pipeline(), {"logisticregression__C": [0.1, 1.0]}, cv=2).fit(FRAME, yes(FRAME))
    np.testing.assert_array_equal(as_model(fitted, 1).probability(FRAME), fitted.predict_proba(FRAME)[:, 1])


@pytest.mark.parametrize("estimator", [pipeline(), LogisticRegression(), SVC(), RidgeClassifier()])
def test_unfitted_estimator_is_refused(estimator: Any) -> None:
    with pytest.raises(SettingError, match="not fitted"):
        as_model(estimator, 1)


def test_class_instead_of_an_instance_is_refused() -> None:
    with pytest.raises(SettingError, match="class LogisticRegression, not an instance"):
        as_model(LogisticRegression, 1)


def test_a_regressor_is_refused() -> None:
    with pytest.raises(SettingError, match="regressor"):
        as_model(LinearRegression().fit(FRAME[NUMBERS], yes(FRAME)), 1)


def test_several_outputs_are_refused() -> None:
    both = np.column_stack([yes(FRAME), 1 - yes(FRAME)])
    fitted = MultiOutputClassifier(LogisticRegression()).fit(FRAME[NUMBERS], both)
    with pytest.raises(SettingError, match="several outputs"):
        as_model(fitted, 1)


def test_error_for_a_one_class_model_names_the_class() -> None:
    fitted = DummyClassifier().fit(FRAME, np.zeros(len(FRAME), dtype=int))
    with pytest.raises(SettingError, match=r"classes are 0\."):
        as_model(fitted, 1)


class ScoresOnly:
    """A look-alike whose `predict` gives scores, as boosters and neural networks have."""

    def predict(self, frame: pd.DataFrame) -> Any:
        return np.full(len(frame), 0.7)


def test_scores_are_not_taken_for_labels() -> None:
    with pytest.raises(SettingError, match=r"such as 0\.7, not labels"):
        as_model(ScoresOnly(), 1).probability(FRAME)


def test_adapters_can_be_pickled() -> None:
    model = as_model(pipeline().fit(FRAME, yes(FRAME)), 1)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.probability(FRAME), model.probability(FRAME))


def categorical() -> pd.DataFrame:
    return FRAME.astype({"job title": "category"}).rename(columns={"job title": "job", "hours-week": "hours"})


def test_xgboost_with_categories() -> None:
    xgboost = pytest.importorskip("xgboost")
    frame = categorical()
    classifier = xgboost.XGBClassifier(n_estimators=5, enable_categorical=True, n_jobs=1)
    with pytest.raises(SettingError, match="not fitted"):
        as_model(classifier, 1)
    classifier.fit(frame, yes(FRAME))
    answer = QueryCounter(as_model(classifier, 1)).evaluate(frame.iloc[:7])
    np.testing.assert_allclose(answer, classifier.predict_proba(frame.iloc[:7])[:, 1])
    with pytest.raises(SettingError, match=r"Did you mean 1\?"):
        as_model(classifier, "1")


def test_lightgbm_with_categories_and_text_labels() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    frame = categorical()
    classifier = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1)
    with pytest.raises(SettingError, match="not fitted"):
        as_model(classifier, 1)
    classifier.fit(frame, np.array(["no", "yes"])[yes(FRAME)])
    answer = QueryCounter(as_model(classifier, "yes")).evaluate(frame.iloc[:7])
    np.testing.assert_allclose(answer, classifier.predict_proba(frame.iloc[:7])[:, 1])


def test_xgboost_booster_is_refused_with_advice() -> None:
    xgboost = pytest.importorskip("xgboost")
    booster = xgboost.XGBClassifier(n_estimators=5, n_jobs=1).fit(FRAME[NUMBERS], yes(FRAME)).get_booster()
    with pytest.raises(SettingError, match=r"lambda frame: booster.predict\(xgboost.DMatrix\(frame\)\)"):
        as_model(booster, 1)
    answer = as_model(lambda frame: booster.predict(xgboost.DMatrix(frame)), 1).probability(FRAME[NUMBERS])
    assert ((answer > 0) & (answer < 1)).all()


def test_lightgbm_booster_is_refused_with_advice() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    frame = categorical()
    booster = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1).fit(frame, yes(FRAME)).booster_
    with pytest.raises(SettingError, match="not labels"):
        as_model(booster, 1).probability(frame)
    answer = as_model(lambda rows: booster.predict(rows), 1).probability(frame)
    assert ((answer > 0) & (answer < 1)).all()
