"""Callables: every kind of answer that is documented, and the ones that are refused."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from leastways.errors import ModelError, SettingError
from leastways.models import AllOf, Model, QueryCounter, as_model
from leastways.models.answers import check_labels_seen
from tests.support.job_table import NUMBERS, people

FRAME = people(4)
FLOATS = [0.0, 0.25, 1.0, 0.5]
NAN = float("nan")


def ask(answer: object, target: object = 1) -> Any:
    return as_model(lambda frame: answer, target).probability(FRAME)


@pytest.mark.parametrize(
    "answer",
    [
        FLOATS,
        tuple(FLOATS),
        np.array(FLOATS),
        np.array(FLOATS, dtype=np.float32),
        np.array(FLOATS)[:, None],
        pd.Series(FLOATS, index=[3, 2, 1, 0]),
        pd.Series(FLOATS, dtype="Float64"),
        pd.Series(FLOATS, dtype=object),
        pd.DataFrame({"p": FLOATS}),
        pd.DataFrame({0: [9.0] * 4, 1: FLOATS}),
        np.column_stack([1 - np.array(FLOATS), FLOATS]),
        [[1 - p, p] for p in FLOATS],
    ],
)
def test_probabilities_are_returned_unchanged(answer: object) -> None:
    np.testing.assert_array_equal(ask(answer), FLOATS)


@pytest.mark.parametrize("kind", [pd.Series, pd.DataFrame])
def test_outputs_in_another_order_than_the_rows_are_refused(kind: type[Any]) -> None:
    by_answer = pd.Series(FLOATS, index=FRAME.index).sort_values()
    with pytest.raises(ModelError, match=r"where row 1002 was expected, row 1003 was found\."):
        ask(kind(by_answer))
    np.testing.assert_array_equal(ask(kind(by_answer).loc[FRAME.index]), FLOATS)


@pytest.mark.parametrize(
    "labels",
    [
        pd.CategoricalIndex(FRAME.index),
        pd.Index([str(label) for label in FRAME.index]),
        pd.MultiIndex.from_product([["a"], FRAME.index]),
        pd.Index([1000, 1001, 1003, 1003]),
    ],
)
def test_output_index_unlike_the_rows_is_ignored(labels: pd.Index) -> None:
    np.testing.assert_array_equal(ask(pd.Series(FLOATS, index=labels)), FLOATS)


def test_a_label_that_is_missing_is_a_label_like_others() -> None:
    frame = FRAME.set_axis(pd.Index([7, pd.NA, 9, 8], dtype="Int64"), axis=0)
    by_answer = pd.Series(FLOATS, index=frame.index).sort_values()
    with pytest.raises(ModelError, match="in another order than the rows"):
        as_model(lambda frame: by_answer, 1).probability(frame)
    model = as_model(lambda frame: pd.Series(FLOATS, index=frame.index.astype("Float64") + 1), 1)
    np.testing.assert_array_equal(model.probability(frame), FLOATS)


def test_default_index_is_ignored() -> None:
    shuffled = FRAME.iloc[[2, 0, 3, 1]]
    model = as_model(lambda frame: pd.Series(FLOATS), 1)
    np.testing.assert_array_equal(model.probability(shuffled), FLOATS)


def test_float_zeros_and_ones_are_probabilities_whatever_the_target() -> None:
    np.testing.assert_array_equal(ask(np.array([0.0, 1.0, 1.0, 0.0]), target=0), [0, 1, 1, 0])


@pytest.mark.parametrize(
    ("answer", "target"),
    [
        ([0, 1, 1, 0], 1),
        (np.array([0, 1, 1, 0]), True),
        (np.array([[0], [1], [1], [0]]), 1),
        ([False, True, True, False], 1),
        (["no", "yes", "yes", "no"], "yes"),
        (np.array(["no", "yes", "yes", "no"]), np.str_("yes")),
        (np.array(["no", "yes", "yes", "no"], dtype=object), "yes"),
        (pd.Categorical(["no", "yes", "yes", "no"]), "yes"),
        (pd.Series([0.5, 1.5, 1.5, 0.5], dtype="category"), 1.5),
        (pd.Series([0, 1, 1, 0], dtype="Int64"), 1),
        (pd.Series(["no", "yes", "yes", "no"], index=[7, 7, 7, 7]), "yes"),
        (pd.Index(["no", "yes", "yes", "no"]), "yes"),
        (pd.DataFrame({"label": ["no", "yes", "yes", "no"]}), "yes"),
        ([3, "yes", "yes", None], "yes"),
    ],
)
def test_labels_become_zero_or_one(answer: object, target: object) -> None:
    expected = [0.0, 1.0, 1.0, 0.0]
    got = ask(answer, target)
    np.testing.assert_array_equal(np.nan_to_num(got), expected)
    assert got.dtype == np.float64


@pytest.mark.parametrize(
    ("answer", "target"),
    [
        (["no", None, "yes", "no"], "yes"),
        (pd.Series([0, None, 1, 0], dtype="Int64"), 1),
        (pd.Series([False, None, True, False], dtype="boolean"), 1),
        (pd.Categorical(["no", None, "yes", "no"]), "yes"),
    ],
)
def test_missing_label_is_nan_and_not_a_rejection(answer: object, target: object) -> None:
    np.testing.assert_array_equal(ask(answer, target), [0.0, NAN, 1.0, 0.0])


@pytest.mark.parametrize(
    ("answer", "target", "hint"),
    [
        (["0", "1", "1", "0"], 1, "Did you mean '1'?"),
        ([0, 1, 1, 0], "1", "Did you mean 1?"),
        (pd.Categorical(["no", "yes", "yes", "no"]), True, "'no', 'yes'"),
    ],
)
def test_labels_that_cannot_match_the_target_are_reported(answer: object, target: object, hint: str) -> None:
    with pytest.raises(SettingError) as caught:
        ask(answer, target)
    assert hint in str(caught.value)


@pytest.mark.parametrize("target", ["yes", 2, -1, 0.5])
def test_class_probabilities_need_a_column_number(target: object) -> None:
    with pytest.raises(SettingError, match=r"column number 0\.\.1"):
        ask(np.full((4, 2), 0.5), target)


def test_named_columns_may_be_the_target() -> None:
    answer = pd.DataFrame({"yes": FLOATS, "no": [0.0] * 4})
    np.testing.assert_array_equal(ask(answer, "yes"), FLOATS)
    np.testing.assert_array_equal(ask(answer, 0), FLOATS)  # or a column's number


@pytest.mark.parametrize(
    ("target", "hint"), [("Yes", r" Did you mean 'yes'\?"), ("noo", r" Did you mean 'no'\?"), (2, ""), (0.5, "")]
)
def test_target_without_a_column_is_refused(target: object, hint: str) -> None:
    answer = pd.DataFrame({"no": [0.0] * 4, "yes": FLOATS})
    with pytest.raises(SettingError, match=rf"not a class of the model; its classes are 'no', 'yes'\.{hint}$"):
        ask(answer, target)
    with pytest.raises(ModelError, match="for each of the 4 rows"):
        ask(answer[:3], target)


@pytest.mark.parametrize(
    "answer",
    [
        0.5,
        None,
        "yes",
        FLOATS[:3],
        np.zeros((4, 2, 2)),
        np.zeros((3, 2)),
        np.zeros((4, 0)),
        [[0.1], [0.2, 0.3]],
        {},
    ],
)
def test_a_wrong_shape_is_refused(answer: object) -> None:
    with pytest.raises(ModelError):
        ask(answer)


def test_text_in_class_probabilities_is_refused() -> None:
    with pytest.raises(ModelError, match="numbers"):
        ask(np.array([["a", "b"]] * 4))


class Answering:
    """Something that is a Model already."""

    def probability(self, frame: pd.DataFrame) -> Any:
        return np.full(len(frame), 0.5)


def test_a_model_passes_through() -> None:
    model = Answering()
    assert as_model(model, "whatever") is model
    assert isinstance(model, Model)


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        (42, "Accepted:"),
        (None, "Accepted:"),
        ("model.onnx", "load_model"),
        ([Answering(), Answering()], "AllOf"),
        (StandardScaler().fit(FRAME[NUMBERS]), "does not predict"),
        (Answering, "class Answering, not an instance"),
        (pd, "Accepted:"),
    ],
)
def test_objects_that_are_no_model_are_refused(model: object, hint: str) -> None:
    with pytest.raises(SettingError, match=hint):
        as_model(model, 1)


def test_scores_are_refused_with_advice() -> None:
    def scores(frame: pd.DataFrame) -> Any:
        return np.array([612.0, 580.0, 601.0, 300.0])

    with pytest.raises(ModelError, match=r"612\.0 as a probability.*lambda frame: score\(frame\) >= 600"):
        QueryCounter(as_model(scores, 1)).evaluate(FRAME)
    _, failures = QueryCounter(as_model(scores, 1)).evaluate_by_group(FRAME, np.arange(4))
    assert all("score(frame) >= 600" in str(error) for error in failures.values())
    with pytest.raises(ModelError) as caught:
        QueryCounter(as_model(lambda frame: np.full(4, NAN), 1)).evaluate(FRAME)
    assert "score" not in str(caught.value)
    np.testing.assert_array_equal(as_model(lambda frame: scores(frame) >= 600, 1).probability(FRAME), [1, 0, 1, 0])


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.1, NAN, "half", True])
def test_threshold_outside_its_range_is_refused(threshold: Any) -> None:
    with pytest.raises(SettingError, match="threshold must be a number above 0 and at most 1"):
        as_model(Answering(), 1, threshold=threshold)


def test_float32_rounding_is_not_a_fault() -> None:
    answer = np.array([1.0000005, -0.0000005, 0.5, 1.0], dtype=np.float32)
    got = QueryCounter(as_model(lambda frame: answer, 1)).evaluate(FRAME)
    np.testing.assert_array_equal(got, [1.0, 0.0, 0.5, 1.0])


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
def test_a_misspelled_target_is_an_error(target: object, answer: list[Any], meant: str) -> None:
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
def test_a_doubtful_target_is_a_warning(target: object, answer: list[Any], text: str) -> None:
    with pytest.warns(RuntimeWarning, match=text):
        check(target, answer)


def test_scores_around_the_target_are_a_warning() -> None:
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
def test_usual_labels_are_no_warning(target: object, answers: list[Any], persons: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(target, *answers, persons=persons)


class Labelling:
    """A look-alike that keeps no classes."""

    def predict(self, frame: pd.DataFrame) -> Any:
        return np.where(frame["age"] > 0, "Yes", "No")


def test_labels_of_members_and_estimators_without_classes_are_checked() -> None:
    for model in (Labelling(), AllOf([lambda frame: np.ones(len(frame)), Labelling()])):
        adapted = as_model(model, "yes")
        adapted.probability(FRAME)
        with pytest.raises(SettingError, match="Did you mean 'Yes'"):
            check_labels_seen(adapted, 4)


def test_each_adapter_collects_its_own_labels_and_pickles() -> None:
    labelling = Labelling()
    first, second = as_model(labelling, "yes"), as_model(labelling, "yes")
    first.probability(FRAME)
    check_labels_seen(second, 4)
    with pytest.raises(SettingError, match="Did you mean 'Yes'"):
        check_labels_seen(pickle.loads(pickle.dumps(first)), 4)
    assert first == second
