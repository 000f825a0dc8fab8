"""Ties at one half: scikit-learn's `predict` gives them to the class that comes first, so no option may rest on one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import leastways as lw
from leastways.models import as_model

CREDIT = lw.datasets.load_credit(n=600)
NUMBERS = CREDIT.train.drop(columns=CREDIT.target).select_dtypes("number").columns.tolist()
TRAIN = CREDIT.train[NUMBERS]
SCHEMA = lw.Schema.infer(TRAIN)
LEARNED, PEOPLE = TRAIN.iloc[:200], TRAIN.iloc[200:300]
EVEN = [
    RandomForestClassifier(10, random_state=0),
    BaggingClassifier(n_estimators=10, random_state=0),
    KNeighborsClassifier(10),
]


def fitted(final: Any) -> Any:
    return make_pipeline(StandardScaler(), clone(final)).fit(LEARNED, CREDIT.y.loc[LEARNED.index])


@pytest.mark.parametrize("final", EVEN, ids=lambda final: type(final).__name__)
@pytest.mark.parametrize("method", ["guided", "cols", "face-knn"])
def test_every_option_is_accepted_by_predict(final: Any, method: str) -> None:
    model = fitted(final)
    ties = (model.predict_proba(PEOPLE)[:, 1] == 0.5).sum()
    assert ties > 0  # else this shows nothing
    plans = lw.Recourse(model, SCHEMA, method=method, n_options=4, budget=100, n_costs=60).fit(TRAIN).recommend(PEOPLE)
    assert len(plans.options) > 50
    assert (model.predict(plans.options[NUMBERS]) == 1).all()
    accepted = (plans.summary["status"] == "already_positive").to_numpy()
    np.testing.assert_array_equal(accepted, model.predict(PEOPLE) == 1)


def test_tie_goes_to_the_first_class() -> None:
    model = fitted(EVEN[0])
    plans = lw.Recourse(model, SCHEMA, target=0, n_options=2, budget=60, n_costs=40).fit(TRAIN).recommend(PEOPLE)
    accepted = (plans.summary["status"] == "already_positive").to_numpy()
    np.testing.assert_array_equal(accepted, model.predict(PEOPLE) == 0)


@pytest.mark.parametrize("ours", [0, 1])
def test_rounding_does_not_hide_a_tie(ours: int) -> None:
    """Sums of tenths: 0.5 against 0.5000000000000001 is a tie that one of them wins."""
    up = np.nextafter(0.5, 1)

    class Rounded:
        classes_ = (0, 1)

        def predict_proba(self, frame: pd.DataFrame) -> Any:
            return np.array([[0.5, up], [up, 0.5], [0.5, 0.5], [up, up]])

        def predict(self, frame: pd.DataFrame) -> Any:
            return self.predict_proba(frame).argmax(axis=1)

    said = as_model(Rounded(), ours).probability(PEOPLE.head(4).copy()) >= 0.5
    np.testing.assert_array_equal(said, Rounded().predict(PEOPLE.head(4)) == ours)


@pytest.mark.parametrize("ours", [0, 1])
@pytest.mark.parametrize(
    "final",
    [
        GradientBoostingClassifier(n_estimators=1, max_depth=1, init="zero", learning_rate=1.0),
        *(
            FixedThresholdClassifier(
                DecisionTreeClassifier(max_depth=1), threshold=0.5, pos_label=label, response_method="predict_proba"
            )
            for label in (None, 0, 1)
        ),
        DecisionTreeClassifier(max_depth=1),
    ],
    ids=lambda final: type(final).__name__,
)
def test_tie_break_equals_that_of_predict(final: Any, ours: int) -> None:
    frame = pd.DataFrame({"a": [0, 0, 1, 1, 1, 1], "b": [0, 1, 0, 1, 0, 1]})
    model = final.fit(frame, [0, 1, 0, 1, 0, 1])  # nothing can be told from a, and of b it learns all or nothing
    tied = clone(final).fit(frame[["a"]], [0, 1, 0, 1, 0, 1])
    for one, rows in ((model, frame), (tied, frame[["a"]])):
        said = as_model(one, ours).probability(rows.copy()) >= 0.5
        np.testing.assert_array_equal(said, one.predict(rows) == ours)
    assert (tied.predict_proba(frame[["a"]]) == 0.5).all()


def test_tie_is_accepted_where_predict_does_not_decide() -> None:
    model = fitted(EVEN[0])
    half = model.predict_proba(PEOPLE)[:, 1] == 0.5
    for asked in (as_model(model, 1, threshold=0.4), as_model(lambda frame: model.predict_proba(frame)[:, 1], 1)):
        assert (asked.probability(PEOPLE[half].copy()) == 0.5).all()


def test_tie_among_several_classes_goes_to_the_earlier_class() -> None:
    class Three:
        classes_ = ("a", "b", "c")

        def predict_proba(self, frame: pd.DataFrame) -> Any:
            return np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.3, 0.5, 0.2]])

        def predict(self, frame: pd.DataFrame) -> Any:
            return np.array(self.classes_)[self.predict_proba(frame).argmax(axis=1)]

    rows = PEOPLE.head(3)
    for target in Three.classes_:
        said = as_model(Three(), target).probability(rows.copy()) >= 0.5
        np.testing.assert_array_equal(said, Three().predict(rows) == target)
