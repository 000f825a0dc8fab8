"""Labels that are never the target: a slip is an error, a doubt a warning, one that refuses everybody is neither."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastways.errors import SettingError
from leastways.models import AllOf, as_model
from leastways.models.answers import check_labels_seen
from tests.models.people import people

FRAME = people(4)


def check(target: object, *answers: Any, persons: int = 4) -> None:
    """Ask a model that gives these answers one after the other, and then look at its labels."""
    given = iter(answers)
    model = as_model(lambda frame: next(given), target)
    for _ in answers:
        model.probability(FRAME)
    check_labels_seen(model, persons)


@pytest.mark.parametrize(
    ("target", "answer", "meant"),
    [
        ("accept", ["Accept", "Refuse", "Refuse", "Accept"], "Did you mean 'Accept'"),
        ("accept", ["accept ", "refuse ", "refuse ", "accept "], "Did you mean 'accept '"),
        ("low risk", ["low_risk", "high_risk", "high_risk", "low_risk"], "Did you mean 'low_risk'"),
    ],
)
def test_a_slip_is_an_error(target: object, answer: list[Any], meant: str) -> None:
    with pytest.raises(SettingError, match=meant):
        check(target, answer)
    with pytest.raises(SettingError, match=meant):
        check(target, pd.Categorical(answer), persons=2)


def test_whole_numbers_that_look_like_scores_are_an_error() -> None:
    many = [list(range(first, first + 4)) for first in range(300, 400, 4)]
    with pytest.raises(SettingError, match=r"300, 301, .*\(100 in all\).*lambda frame: score\(frame\) >= 600"):
        check(1, *many)


@pytest.mark.parametrize(
    ("target", "answer", "text"),
    [
        (3, [1, 2, 2, 1], r"target=3 was the label of no row; the model gives 1, 2\. If acceptance has another label"),
        ("yes", ["no"] * 4, r"the model gives 'no'\."),
        ("acept", ["accept", "refuse"] * 2, r"Did you mean 'accept'\?"),
        ("eligible", ["ineligible"] * 4, "the model gives 'ineligible'"),  # may well be right
        ("grade 1", ["grade 2", "grade 3"] * 2, "the model gives 'grade 2', 'grade 3'"),
    ],
)
def test_a_doubt_is_a_warning(target: object, answer: list[Any], text: str) -> None:
    with pytest.warns(RuntimeWarning, match=text):
        check(target, answer)


def test_scores_around_the_target_are_a_doubt() -> None:
    percent = [[first, first + 1, 100, 0] for first in range(2, 60, 2)]
    with pytest.warns(RuntimeWarning, match="These look like scores"):
        check(1, *percent)


@pytest.mark.parametrize(
    ("target", "answers", "persons"),
    [
        (1, [[0, 0, 0, 0]], 4),  # the usual numbers: it refuses everybody
        (1, [[False] * 4], 4),
        (True, [np.array([False] * 4)], 4),
        (1, [[-1, -1, -1, -1]], 4),
        (0, [[1, 1, 1, 1]], 4),
        ("yes", [["no"] * 4], 1),  # one person, who is refused whatever they do
        ("yes", [["no", "maybe"] * 2, ["yes", "no"] * 2, ["maybe"] * 4], 4),
        ("accept", [["Accept"] * 4, ["accept"] * 4], 4),
        (7, [list(range(first, first + 4)) for first in range(0, 80, 4)], 4),
        (1, [[0.2, 0.3, 0.4, 0.1]], 4),  # no labels at all
        (1, [], 4),
        ("yes", [[None] * 4], 4),
    ],
)
def test_what_is_right_is_left_alone(target: object, answers: list[Any], persons: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(target, *answers, persons=persons)


class Labelling:
    """A look-alike that keeps no classes."""

    def predict(self, frame: pd.DataFrame) -> Any:
        return np.where(frame["age"] > 0, "Yes", "No")


def test_members_and_look_alikes() -> None:
    for model in (Labelling(), AllOf([lambda frame: np.ones(len(frame)), Labelling()])):
        adapted = as_model(model, "yes")
        adapted.probability(FRAME)
        with pytest.raises(SettingError, match="Did you mean 'Yes'"):
            check_labels_seen(adapted, 4)


def test_each_adapter_has_its_own_and_pickles() -> None:
    labelling = Labelling()
    first, second = as_model(labelling, "yes"), as_model(labelling, "yes")
    first.probability(FRAME)
    check_labels_seen(second, 4)
    with pytest.raises(SettingError, match="Did you mean 'Yes'"):
        check_labels_seen(pickle.loads(pickle.dumps(first)), 4)
    assert first == second
