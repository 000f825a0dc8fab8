"""Cut-offs of a classifier's own, and `predict` that rejects what the probability accepts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import model_selection as selection
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV

from leastways.errors import SettingError
from leastways.models import AllOf, as_model
from leastways.models.decision import comparable, cutoff_of, cutoff_warning, disagreement
from tests.support.job_table import NUMBERS, people, pipeline, score, yes

FRAME = people()
YES = yes(FRAME)
WORDS = np.array(["no", "yes"])[YES]


def fixed(threshold: Any = 0.7, labels: Any = YES, **settings: Any) -> Any:
    return selection.FixedThresholdClassifier(pipeline(), threshold=threshold, **settings).fit(FRAME, labels)


def within(classifier: Any) -> list[Any]:
    """The same cut-off alone, at the end of a Pipeline, in a search, and both."""
    inside = pipeline(classifier(LogisticRegression()))
    search = GridSearchCV(inside, {f"{inside.steps[-1][0]}__estimator__C": [1.0]}, cv=2)
    return [classifier(pipeline()), inside, search, GridSearchCV(classifier(pipeline()), {}, cv=2)]


@pytest.mark.parametrize("place", range(4))
def test_a_threshold_below_the_models_own_is_refused(place: int) -> None:
    model = within(lambda inner: selection.FixedThresholdClassifier(inner, threshold=0.7))[place].fit(FRAME, YES)
    for threshold in (0.5, 0.6, 0.699):
        with pytest.raises(SettingError, match=r"predicts 1 from a probability of 0\.7 on.*Pass threshold=0\.7 "):
            as_model(model, 1, threshold=threshold)
    chance = as_model(model, 1, threshold=0.7).probability(FRAME)
    np.testing.assert_array_equal(chance >= 0.7, model.predict(FRAME) == 1)
    assert (chance >= 0.5).sum() > (chance >= 0.7).sum()
    as_model(model, 1, threshold=0.8)  # stricter than the model, on purpose


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("target", ["no", "yes"])
@pytest.mark.parametrize("positive", ["no", "yes"])
def test_tuned_cutoff_applies_to_its_own_class(place: int, target: str, positive: str) -> None:
    """With the cut-off that is named, the probability decides as `predict` does."""
    scoring = make_scorer(f1_score, pos_label=positive)

    def tuned(inner: Any) -> Any:
        return selection.TunedThresholdClassifierCV(inner, scoring=scoring, thresholds=[0.2, 0.37, 0.4], cv=2)

    model = within(tuned)[place].fit(FRAME, WORDS)
    at = cutoff_of(model, target)
    assert at is not None
    assert (at < 0.5) == (target == positive)
    if at > 0.5:
        with pytest.raises(SettingError, match=f"Pass threshold={at!r} "):
            as_model(model, target)
    chance = as_model(model, target, threshold=at).probability(FRAME)
    np.testing.assert_array_equal(chance >= at, model.predict(FRAME) == target)


def test_the_other_class_of_a_fixed_cutoff() -> None:
    model = fixed(0.3)
    with pytest.raises(SettingError, match=r"predicts 0 from a probability of 0\.7 on"):
        as_model(model, 0)
    chance = as_model(model, 0, threshold=0.7).probability(FRAME)
    np.testing.assert_array_equal(chance >= 0.7, model.predict(FRAME) == 0)
    swapped = fixed(0.3, WORDS, pos_label="no")
    with pytest.raises(SettingError, match=r"predicts 'yes' from a probability of 0\.7 on"):
        as_model(swapped, "yes")
    as_model(swapped, "no")


def test_cutoff_outside_0_and_1() -> None:
    model = fixed(0.0, response_method="decision_function")
    with pytest.raises(SettingError, match=r"goes by its decision_function.*lambda frame: model\.predict\(frame\)"):
        as_model(model, 1, threshold=0.9)
    labels = as_model(lambda frame: model.predict(frame), 1).probability(FRAME)
    np.testing.assert_array_equal(labels, model.predict(FRAME))
    with pytest.raises(SettingError, match=r"needs a probability of 1\.5"):
        as_model(fixed(1.5), 1, threshold=1.0)


def test_labels_decide_where_there_are_no_probabilities() -> None:
    model = selection.FixedThresholdClassifier(pipeline(RidgeClassifier()), threshold=0.4).fit(FRAME, YES)
    assert cutoff_of(model, 1) is None
    np.testing.assert_array_equal(as_model(model, 1).probability(FRAME), model.predict(FRAME))


def test_a_cutoff_of_one_half_is_accepted() -> None:
    as_model(fixed("auto"), 1)
    as_model(fixed("auto"), 0)
    assert cutoff_of(pipeline().fit(FRAME, YES), 1) is None


def test_members_of_all_of_keep_their_own_cutoffs() -> None:
    plain, strict = pipeline().fit(FRAME, YES), fixed(0.7)
    with pytest.raises(SettingError, match="thresholds="):
        as_model(AllOf([plain, strict]), 1)
    both = as_model(AllOf([plain, strict], thresholds=[0.5, 0.7]), 1)
    np.testing.assert_array_equal(both.probability(FRAME) >= 0.5, strict.predict(FRAME) == 1)


def test_a_cutoff_below_the_threshold_is_a_warning() -> None:
    model = fixed(0.3)
    assert "Pass threshold=0.3." in cutoff_warning(as_model(model, 1), 0.5)
    for threshold in (0.3, 0.6):  # as the model does, and stricter on purpose
        assert cutoff_warning(as_model(model, 1, threshold=threshold), threshold) == ""
    assert "0.3" in cutoff_warning(as_model(AllOf([lambda frame: YES, model]), 1), 0.5)


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


def report(model: Any, target: object = 1, threshold: float = 0.5) -> str:
    return disagreement(as_model(model, target, threshold=threshold), threshold, FRAME)


def test_disagreement_of_predict_and_probability_is_reported() -> None:
    model = pipeline(Cut()).fit(FRAME, YES)
    chance = model.predict_proba(FRAME)[:, 1]
    refused, accepted = ((chance > 0.5) & (chance < 0.8)).sum(), (chance > 0.5).sum()
    assert f"disagree on {refused} of the {accepted} rows whose probability of 1" in report(model)
    assert "predict_proba(frame)[:, 1]" in report(model)
    assert "Pipeline" in report(AllOf([lambda frame: YES, model]))
    assert report(AllOf([lambda frame: YES, model], thresholds=[0.5, 0.8])) == ""


def test_disagreement_at_a_chosen_threshold_or_without_effect_is_not_reported() -> None:
    strict, low = pipeline(Cut()).fit(FRAME, YES), pipeline(Low()).fit(FRAME, YES)
    assert report(strict, threshold=0.8) == report(strict, threshold=0.6) == ""
    assert report(strict, 0) == ""  # `predict` says 0 more often than the probability
    assert report(low) == ""
    assert "probability of 0 is 0.5 or more" in report(low, 0)


def test_several_classes_and_ties_are_not_reported() -> None:
    grades = np.select([score(FRAME) < -1, score(FRAME) < 1], ["poor", "fair"], "good")
    for final in (LogisticRegression(), RandomForestClassifier(4, max_depth=2, random_state=0)):
        for target in ("poor", "fair", "good"):
            assert report(pipeline(final).fit(FRAME, grades), target) == ""
    trees = pipeline(RandomForestClassifier(2, max_depth=2, bootstrap=True, random_state=0)).fit(FRAME, YES)
    half = LookAlike((0, 1))
    half.predict_proba = lambda frame: np.full((len(frame), 2), 0.5)  # type: ignore[method-assign]
    assert report(trees) == report(half) == ""


@pytest.mark.parametrize(
    ("labels", "telling"), [((0, 1), True), ((False, True), True), ((1, 2), False), (("a", "b"), False)]
)
def test_estimators_without_classes_are_compared_by_column(labels: tuple[Any, Any], telling: bool) -> None:
    assert bool(report(LookAlike(labels))) == telling
    assert report(LookAlike(labels, cut=0.5)) == ""


def test_only_estimators_are_compared() -> None:
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
        assert report(model) == ""
    assert asked == []


def test_a_predict_that_fails_is_not_reported() -> None:
    class Broken(LogisticRegression):  # type: ignore[misc]
        def predict(self, X: Any) -> Any:
            raise RuntimeError("not today")

    assert report(Broken().fit(FRAME[NUMBERS], YES)) == ""
