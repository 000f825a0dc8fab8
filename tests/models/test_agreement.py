"""Models whose `predict` refuses what their probability accepts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from leastways.models import AllOf, as_model
from leastways.models.decision import comparable, disagreement
from tests.models.people import NUMBERS, people, pipeline, score, yes

FRAME = people()
YES = yes(FRAME)


class Cut(LogisticRegression):  # type: ignore[misc]
    """A classifier of one's own, with a cut-off of its own."""

    cut = 0.8

    def predict(self, X: Any) -> Any:
        return self.classes_[(self.predict_proba(X)[:, 1] >= self.cut).astype(int)]


class Low(Cut):
    cut = 0.2


class LookAlike:
    """No scikit-learn class, and no `classes_`: the target is a column's number."""

    def __init__(self, labels: tuple[Any, Any], cut: float = 0.8) -> None:
        self.labels, self.cut = labels, cut

    def predict_proba(self, frame: pd.DataFrame) -> Any:
        chance = 1 / (1 + np.exp(-score(frame)))
        return np.column_stack([1 - chance, chance])

    def predict(self, frame: pd.DataFrame) -> Any:
        return np.array(self.labels)[(self.predict_proba(frame)[:, 1] >= self.cut).astype(int)]


def told(model: Any, target: object = 1, threshold: float = 0.5) -> str:
    return disagreement(as_model(model, target, threshold=threshold), threshold, FRAME)


def test_a_cutoff_of_ones_own_is_told() -> None:
    model = pipeline(Cut()).fit(FRAME, YES)
    chance = model.predict_proba(FRAME)[:, 1]
    refused, accepted = ((chance > 0.5) & (chance < 0.8)).sum(), (chance > 0.5).sum()
    assert f"disagree on {refused} of the {accepted} rows whose probability of 1" in told(model)
    assert "predict_proba(frame)[:, 1]" in told(model)
    assert "Pipeline" in told(AllOf([lambda frame: YES, model]))
    assert told(AllOf([lambda frame: YES, model], thresholds=[0.5, 0.8])) == ""


def test_what_is_no_harm_or_was_chosen_is_not_told() -> None:
    strict, low = pipeline(Cut()).fit(FRAME, YES), pipeline(Low()).fit(FRAME, YES)
    assert told(strict, threshold=0.8) == told(strict, threshold=0.6) == ""
    assert told(strict, 0) == ""  # `predict` says 0 more often than the probability
    assert told(low) == ""
    assert "probability of 0 is 0.5 or more" in told(low, 0)


def test_several_classes_and_ties_are_not_told() -> None:
    grades = np.select([score(FRAME) < -1, score(FRAME) < 1], ["poor", "fair"], "good")
    for final in (LogisticRegression(), RandomForestClassifier(4, max_depth=2, random_state=0)):
        for target in ("poor", "fair", "good"):
            assert told(pipeline(final).fit(FRAME, grades), target) == ""
    trees = pipeline(RandomForestClassifier(2, max_depth=2, bootstrap=True, random_state=0)).fit(FRAME, YES)
    half = LookAlike((0, 1))
    half.predict_proba = lambda frame: np.full((len(frame), 2), 0.5)  # type: ignore[method-assign]
    assert told(trees) == told(half) == ""


@pytest.mark.parametrize(
    ("labels", "telling"), [((0, 1), True), ((False, True), True), ((1, 2), False), (("a", "b"), False)]
)
def test_look_alikes_without_classes(labels: tuple[Any, Any], telling: bool) -> None:
    assert bool(told(LookAlike(labels))) == telling
    assert told(LookAlike(labels, cut=0.5)) == ""


def test_only_estimators_are_asked() -> None:
    asked: list[int] = []

    def black_box(frame: pd.DataFrame) -> Any:
        asked.append(len(frame))
        return np.ones(len(frame))

    class Answering:
        def probability(self, frame: pd.DataFrame) -> Any:
            return black_box(frame)

        predict = probability

    for model in (black_box, Answering(), AllOf([black_box, Answering()])):
        assert comparable(as_model(model, 1), 0.5) == []
        assert told(model) == ""
    assert asked == []


def test_a_predict_that_fails_is_not_told() -> None:
    class Broken(LogisticRegression):  # type: ignore[misc]
        def predict(self, X: Any) -> Any:
            raise RuntimeError("not today")

    assert told(Broken().fit(FRAME[NUMBERS], YES)) == ""
