"""Classifiers with a cut-off of their own: a threshold that they would not keep to is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV

from leastways.errors import SettingError
from leastways.models import AllOf, as_model
from leastways.models.decision import cutoff_of, cutoff_warning
from tests.models.people import people, pipeline, yes

selection: Any = pytest.importorskip("sklearn.model_selection")
if not hasattr(selection, "FixedThresholdClassifier"):
    pytest.skip("came with scikit-learn 1.5", allow_module_level=True)

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
def test_a_tuned_cutoff_and_the_class_it_is_about(place: int, target: str, positive: str) -> None:
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


def test_a_cutoff_that_is_no_probability() -> None:
    model = fixed(0.0, response_method="decision_function")
    with pytest.raises(SettingError, match=r"goes by its decision_function.*lambda frame: model\.predict\(frame\)"):
        as_model(model, 1, threshold=0.9)
    labels = as_model(lambda frame: model.predict(frame), 1).probability(FRAME)
    np.testing.assert_array_equal(labels, model.predict(FRAME))
    with pytest.raises(SettingError, match=r"needs a probability of 1\.5"):
        as_model(fixed(1.5), 1, threshold=1.0)


def test_without_probabilities_labels_decide_as_ever() -> None:
    model = selection.FixedThresholdClassifier(pipeline(RidgeClassifier()), threshold=0.4).fit(FRAME, YES)
    assert cutoff_of(model, 1) is None
    np.testing.assert_array_equal(as_model(model, 1).probability(FRAME), model.predict(FRAME))


def test_the_usual_cutoff_and_none() -> None:
    as_model(fixed("auto"), 1)
    as_model(fixed("auto"), 0)
    assert cutoff_of(pipeline().fit(FRAME, YES), 1) is None


def test_members_of_several_models() -> None:
    plain, strict = pipeline().fit(FRAME, YES), fixed(0.7)
    with pytest.raises(SettingError, match="thresholds="):
        as_model(AllOf([plain, strict]), 1)
    both = as_model(AllOf([plain, strict], thresholds=[0.5, 0.7]), 1)
    np.testing.assert_array_equal(both.probability(FRAME) >= 0.5, strict.predict(FRAME) == 1)


def test_a_lower_cutoff_is_worth_a_word() -> None:
    model = fixed(0.3)
    assert "Pass threshold=0.3." in cutoff_warning(as_model(model, 1), 0.5)
    for threshold in (0.3, 0.6):  # as the model does, and stricter on purpose
        assert cutoff_warning(as_model(model, 1, threshold=threshold), threshold) == ""
    assert "0.3" in cutoff_warning(as_model(AllOf([lambda frame: YES, model]), 1), 0.5)
