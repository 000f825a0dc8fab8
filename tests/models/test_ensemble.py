"""Several models: a row is accepted exactly where all of them accept it."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from leastways.errors import ModelError, SettingError
from leastways.models import AllOf, QueryCounter, as_model
from leastways.models.base import Split
from leastways.models.encoder_table import FastPath
from leastways.models.ensemble import rescale
from leastways.schema import Schema
from tests.support.job_table import people, pipeline, yes

FRAME = people()
probability = st.floats(0.0, 1.0)
threshold = st.floats(0.0, 1.0, exclude_min=True)


def column(name: int, frame: pd.DataFrame) -> Any:
    """A model that says what its column says."""
    return frame[name].to_numpy()


def columns_as_models(n: int) -> list[object]:
    return [partial(column, name) for name in range(n)]


@st.composite
def cases(draw: st.DrawFn) -> tuple[pd.DataFrame, list[float], float]:
    n = draw(st.integers(1, 4))
    own = draw(st.lists(threshold, min_size=n, max_size=n))
    overall = draw(threshold)
    edges = st.sampled_from([*own, *(float(np.nextafter(t, 0.0)) for t in own), 0.0, 1.0])
    rows = draw(st.lists(st.lists(probability | edges, min_size=n, max_size=n), min_size=1, max_size=6))
    return pd.DataFrame(rows, columns=list(range(n)), dtype=np.float64), own, overall


@given(cases())
def test_accepted_exactly_where_all_accept(case: tuple[pd.DataFrame, list[float], float]) -> None:
    frame, own, overall = case
    model = as_model(AllOf(columns_as_models(len(own)), thresholds=own), 1, threshold=overall)
    counter = QueryCounter(model)
    expected = (frame.to_numpy() >= np.array(own)).all(axis=1)
    np.testing.assert_array_equal(counter.evaluate(frame) >= overall, expected)
    assert counter.rows == len(frame)


@given(cases())
def test_probability_without_thresholds_is_the_lowest(case: tuple[pd.DataFrame, list[float], float]) -> None:
    frame, own, overall = case
    model = as_model(AllOf(columns_as_models(len(own))), 1, threshold=overall)
    np.testing.assert_array_equal(model.probability(frame), frame.min(axis=1))


@given(st.lists(probability, min_size=2, max_size=20), threshold, threshold)
def test_rescaling_keeps_the_order_and_the_ends(values: list[float], own: float, overall: float) -> None:
    ordered = np.array([0.0, *sorted(values), 1.0])
    scaled = rescale(ordered, own, overall)
    assert (np.diff(scaled) >= 0).all()
    assert scaled[0] == 0.0
    assert scaled[-1] == 1.0


def test_members_of_different_kinds_share_the_target() -> None:
    labels = np.array(["no", "yes"])[yes(FRAME)]
    linear = pipeline(LogisticRegression()).fit(FRAME, labels)
    tree = pipeline(DecisionTreeClassifier(max_depth=3, random_state=0)).fit(FRAME, labels)
    old = FRAME["age"].gt(30).to_numpy()
    model = as_model(AllOf([linear, tree, lambda frame: np.where(frame["age"] > 30, "yes", "no")]), "yes")
    both = np.minimum(linear.predict_proba(FRAME)[:, 1], tree.predict_proba(FRAME)[:, 1])
    np.testing.assert_array_equal(model.probability(FRAME), np.where(old, both, 0.0))


def test_ensembles_with_thresholds_can_be_nested() -> None:
    frame = pd.DataFrame([[0.9, 0.9, 0.9], [0.9, 0.25, 0.9], [0.9, 0.9, 0.7], [0.1, 0.9, 0.9]], columns=[0, 1, 2])
    first, second, third = columns_as_models(3)
    model = as_model(AllOf([AllOf([first, second], [0.8, 0.3]), third], [0.4, 0.75]), 1, threshold=0.6)
    np.testing.assert_array_equal(model.probability(frame) >= 0.6, [True, False, False, False])


def test_member_cannot_modify_the_frame_of_the_next() -> None:
    def spoiler(frame: pd.DataFrame) -> Any:
        frame["age"] = 0
        return np.ones(len(frame))

    before = FRAME.copy()
    answer = QueryCounter(as_model(AllOf([spoiler, lambda frame: frame["age"] > 0]), 1)).evaluate(FRAME)
    assert (answer == 1.0).all()
    pd.testing.assert_frame_equal(FRAME, before)


@pytest.mark.parametrize("bad", [1.7, -0.2, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("thresholds", [None, [0.3, 1.0]])
def test_a_members_unusable_answer_is_not_hidden_by_another(bad: float, thresholds: list[float] | None) -> None:
    frame = pd.DataFrame({0: [0.9, bad, 0.9], 1: [0.1, 0.1, 0.9]})
    model = as_model(AllOf(columns_as_models(2), thresholds), 1, threshold=1.0)
    counter = QueryCounter(model)
    with pytest.raises(ModelError) as caught:
        counter.evaluate(frame)
    assert caught.value.rows is not None
    assert list(caught.value.rows.index) == [1]
    assert repr(bad) in str(caught.value)


def test_the_member_that_raised_is_named() -> None:
    def broken(frame: pd.DataFrame) -> Any:
        raise KeyError("income")

    with pytest.raises(ModelError, match=r"Model 2 of 2 in AllOf: The model raised KeyError: 'income'"):
        as_model(AllOf([lambda frame: np.ones(len(frame)), broken]), 1).probability(FRAME)


def test_target_that_a_member_lacks_is_refused() -> None:
    fitted = pipeline().fit(FRAME, yes(FRAME))
    with pytest.raises(SettingError, match="classes are 0, 1"):
        as_model(AllOf([fitted, lambda frame: np.ones(len(frame))]), "yes")


@pytest.mark.parametrize(
    ("models", "thresholds", "hint"),
    [
        ([], None, "at least one model"),
        (max, None, "at least one model"),
        ([max, 3], None, "3 is not a model"),
        ([max], [0.5, 0.5], "2 entries for 1 models"),
        ([max], [0.0], "above 0"),
        ([max], [1.5], "above 0 and at most 1"),
        ([max], ["high"], "number per model"),
        ([max], 0.5, "number per model"),
    ],
)
def test_invalid_settings_are_refused(models: Any, thresholds: Sequence[float] | None, hint: str) -> None:
    with pytest.raises(SettingError, match=hint):
        AllOf(models, thresholds)


def test_ensemble_can_be_pickled() -> None:
    frame = pd.DataFrame({0: [0.9, 0.2], 1: [0.1, 0.9]})
    model = as_model(AllOf(columns_as_models(2), [0.1, 0.4]), 1)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).probability(frame), model.probability(frame))


class Ordered:
    """A model whose encoder gives one memory order, and whose last bits are others in the other one."""

    def __init__(self, order: Any) -> None:
        self.order = order

    def encode(self, frame: pd.DataFrame) -> Any:
        return np.array(frame, dtype=np.float64, order=self.order)

    def decide(self, array: Any) -> Any:
        answer = 1 / (1 + np.exp(-array.mean(axis=1)))
        return answer if array.flags[f"{self.order}_CONTIGUOUS"] else np.nextafter(answer, 0.0)

    def probability(self, frame: pd.DataFrame) -> Any:
        return self.decide(self.encode(frame))

    def split(self) -> Split:
        return Split(self.encode, (self.decide,), (self,))


@pytest.mark.parametrize("orders", ["CF", "FC", "FF", "CC"])
@pytest.mark.parametrize("nested", [False, True])
def test_each_member_gets_rows_in_the_order_of_its_own_encoder(orders: str, nested: bool) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc"))
    schema = Schema.infer(frame)
    members: list[object] = [Ordered(order) for order in orders]
    model = as_model(AllOf([*members, AllOf(members)] if nested else members), 1)
    fast_path = FastPath.find(model, schema)
    assert fast_path.model is not None, fast_path.reason
    people = schema.encode(frame)
    for once_more in (fast_path, FastPath.find(model, schema, fast_path)):
        table = once_more.people(people)
        assert table is not None
        for rows in (1, 2, 60):
            who = np.arange(rows)
            np.testing.assert_array_equal(table.probability(people.codes[:rows], who), model.probability(frame[:rows]))


def test_row_order_of_an_encoder_is_not_inferred_from_one_row() -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc"))
    model: Any = as_model(AllOf([Ordered("F"), Ordered("C")]), 1)
    split = model.split()
    np.testing.assert_array_equal(split.decisions[0](split.encode(frame[:1])), model.probability(frame[:1]))
    np.testing.assert_array_equal(split.decisions[0](split.encode(frame)), model.probability(frame))
