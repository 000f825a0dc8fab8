"""The counter counts exactly, refuses unusable answers with their rows, and loses only the groups that fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastways.errors import ModelError, SettingError
from leastways.models import QueryCounter
from tests.support.job_table import people

FRAME = people(6)


class Answers:
    """A model given by its function, without an adapter between it and the counter."""

    def __init__(self, function: Callable[[pd.DataFrame], Any]) -> None:
        self.function = function
        self.sent: list[int] = []

    def probability(self, frame: pd.DataFrame) -> Any:
        self.sent.append(len(frame))
        return self.function(frame)


def meter_of(function: Callable[[pd.DataFrame], Any]) -> QueryCounter:
    return QueryCounter(Answers(function))


@given(st.lists(st.integers(0, 6), max_size=8))
def test_rows_and_calls_are_counted_exactly(sizes: list[int]) -> None:
    counter = meter_of(lambda frame: np.full(len(frame), 0.5))
    for size in sizes:
        assert counter.evaluate(FRAME.iloc[:size]).shape == (size,)
    assert counter.rows == sum(sizes)
    assert counter.calls == sum(size > 0 for size in sizes)
    assert counter.failed_rows == 0


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["ok", "raise", "nan", "high", "short"])), max_size=12))
def test_only_failing_groups_are_lost(rows: list[tuple[int, str]]) -> None:
    """For any mix of good and bad rows, outputs, failures and counts depend on the rows alone."""
    frame = pd.DataFrame({"group": [g for g, _ in rows], "way": [w for _, w in rows]}, dtype=object)
    counter = meter_of(_as_its_column_tells)
    values, failures = counter.evaluate_by_group(frame, np.array([g for g, _ in rows], dtype=np.int64))

    failing = {g for g, way in rows if way != "ok"}
    assert set(failures) == failing
    expected = [np.nan if g in failing else g / 10 for g, _ in rows]
    np.testing.assert_array_equal(values, expected)
    assert isinstance(counter.model, Answers)
    assert counter.rows + counter.failed_rows == sum(counter.model.sent)
    assert counter.calls == len(counter.model.sent)
    whole = {way for _, way in rows} & {"raise", "short"}
    groups = {g for g, _ in rows}
    assert counter.calls == (0 if not rows else 1 + len(groups) if whole and len(groups) > 1 else 1)
    unanswered = {g for g, way in rows if way in ("raise", "short")}
    assert counter.rows == sum(g not in unanswered for g, _ in rows)
    for g, error in failures.items():
        assert error.rows is not None
        assert set(error.rows["group"]) == {g}


def _as_its_column_tells(frame: pd.DataFrame) -> Any:
    ways = set(frame["way"])
    if "raise" in ways:
        raise ValueError("told to")
    values = frame["group"].to_numpy(dtype=np.float64) / 10
    values[(frame["way"] == "nan").to_numpy()] = np.nan
    values[(frame["way"] == "high").to_numpy()] = 1.5
    return values[:-1] if "short" in ways else values


def test_an_exception_is_wrapped_with_its_rows() -> None:
    def broken(frame: pd.DataFrame) -> Any:
        raise KeyError("income")

    counter = meter_of(broken)
    with pytest.raises(ModelError) as caught:
        counter.evaluate(FRAME)
    message = str(caught.value)
    assert "KeyError: 'income'" in message
    assert "6 row(s)" in message
    assert "row 1000 (age=" in message
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.rows is not None
    pd.testing.assert_frame_equal(caught.value.rows, FRAME)
    assert (counter.rows, counter.calls, counter.failed_rows) == (0, 1, 6)


def test_bad_answers_are_counted_among_a_groups_own_rows() -> None:
    """A person's error does not depend on who else is in the batch."""
    counter = meter_of(lambda frame: np.where(frame.index == 1003, 0.5, np.nan))
    _, failures = counter.evaluate_by_group(FRAME, np.array([0, 0, 1, 1, 1, 2]), named=True)
    said = {number: str(error) for number, error in failures.items()}
    assert said[0].endswith("; 2 of 2 rows have such answers.")
    assert said[1].endswith("; 2 of 3 rows have such answers.")
    assert said[2].endswith("; 1 of 1 rows have such answers.")
    assert "for row 1002 (" in said[1]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_passes_through(stop: type[BaseException]) -> None:
    def stopped(frame: pd.DataFrame) -> Any:
        raise stop

    counter = meter_of(stopped)
    with pytest.raises(stop):
        counter.evaluate_by_group(FRAME, np.arange(6))
    assert counter.rows == 0


def test_a_wrong_setting_is_no_fault_of_a_row() -> None:
    def wrong(frame: pd.DataFrame) -> Any:
        raise SettingError("no such class")

    counter = meter_of(wrong)
    with pytest.raises(SettingError, match="no such class"):
        counter.evaluate_by_group(FRAME, np.arange(6))
    assert (counter.rows, counter.calls, counter.failed_rows) == (0, 1, 6)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (np.zeros(5), r"shape \(5,\)"),
        (np.zeros((6, 2)), r"shape \(6, 2\)"),
        (np.zeros((6, 1)), r"shape \(6, 1\)"),
        (0.5, "float"),
        (None, "NoneType"),
        ([0.1, 0.2], "list of length 2"),
        (["yes"] * 6, "string"),
        (np.array(["0.5"] * 6), "string"),
        (pd.Series(["0.5"] * 6, dtype=object), "string"),
        ([[0.1], [0.2, 0.3]], "differ in length"),
        ([1j] * 6, "complex"),
    ],
)
def test_wrong_shape_or_type_is_an_error(answer: object, hint: str) -> None:
    counter = meter_of(lambda frame: answer)
    with pytest.raises(ModelError, match=hint) as caught:
        counter.evaluate(FRAME)
    assert "row 1000" in str(caught.value)
    assert (counter.rows, counter.failed_rows) == (0, 6)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1e-6, 1.0 + 1e-6, 2.0])
def test_unusable_numbers_name_the_first_row(bad: float) -> None:
    answer = np.array([0.0, 1.0, bad, 0.5, bad, 0.5])
    counter = meter_of(lambda frame: answer)
    with pytest.raises(ModelError) as caught:
        counter.evaluate(FRAME)
    message = str(caught.value)
    assert repr(float(bad)) in message
    assert f"row 1002 (age={FRAME['age'].iloc[2]}" in message
    assert "2 of 6 rows" in message
    assert caught.value.rows is not None
    assert list(caught.value.rows.index) == [1002, 1004]
    assert counter.rows == 6


def test_rounding_is_clipped() -> None:
    answer = np.array([-1e-10, 1 + 1e-10, 0.5, 0.0, 1.0, 1.0])
    np.testing.assert_array_equal(meter_of(lambda frame: answer).evaluate(FRAME), [0, 1, 0.5, 0, 1, 1])


@pytest.mark.parametrize(
    "answer",
    [[0, 1, 0, 1, 0, 1], [False, True] * 3, pd.Series([0.0, 1.0] * 3, dtype="Float64", index=[1] * 6)],
)
def test_outputs_of_any_numeric_type_are_accepted(answer: object) -> None:
    np.testing.assert_array_equal(meter_of(lambda frame: answer).evaluate(FRAME), [0, 1] * 3)


def test_a_missing_value_in_a_nullable_series_is_nan() -> None:
    answer = pd.Series([0.5, None, 0.5, 0.5, 0.5, 0.5], dtype="Float64")
    values, failures = meter_of(lambda frame: answer).evaluate_by_group(FRAME, np.array([0, 0, 0, 1, 1, 1]))
    assert set(failures) == {0}
    np.testing.assert_array_equal(values, [np.nan] * 3 + [0.5] * 3)


def test_all_missing_is_an_error_of_values() -> None:
    with pytest.raises(ModelError, match="returned nan as a probability"):
        meter_of(lambda frame: [None] * len(frame)).evaluate(FRAME)


def test_an_empty_frame_is_not_sent() -> None:
    def never(frame: pd.DataFrame) -> Any:
        raise AssertionError("called")

    counter = meter_of(never)
    assert counter.evaluate(FRAME.iloc[:0]).shape == (0,)
    values, failures = counter.evaluate_by_group(FRAME.iloc[:0], np.array([], dtype=np.int64))
    assert values.shape == (0,)
    assert failures == {}
    assert (counter.rows, counter.calls, counter.failed_rows) == (0, 0, 0)


def test_one_failing_group_is_not_sent_twice() -> None:
    counter = meter_of(lambda frame: 1 / 0)
    values, failures = counter.evaluate_by_group(FRAME, np.full(6, 3))
    assert np.isnan(values).all()
    assert "ZeroDivisionError" in str(failures[3])
    assert counter.calls == 1


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("broken", [lambda frame: 1 / 0, lambda frame: np.full(len(frame), np.nan)])
def test_rows_of_a_group_are_shown_by_their_labels_only_if_these_mean_something(broken: Any, named: bool) -> None:
    _, failures = meter_of(broken).evaluate_by_group(FRAME, np.arange(6), named)
    for place, error in failures.items():
        shown = f"age={FRAME['age'].iloc[place]}, hours-week="
        assert (f"row {1000 + place} ({shown}" if named else f"a row with {shown}") in str(error)
        assert (f"row {1000 + place}" in str(error)) == named


def test_groups_must_match_the_rows() -> None:
    with pytest.raises(ValueError, match=r"shape \(6,\)"):
        meter_of(lambda frame: np.zeros(len(frame))).evaluate_by_group(FRAME, np.arange(5))


def test_the_model_cannot_change_our_frame() -> None:
    def vandal(frame: pd.DataFrame) -> Any:
        frame.loc[:, "age"] = -1
        frame["new"] = 1
        frame.pop("job title")
        frame.index = pd.RangeIndex(len(frame))
        return np.zeros(len(frame))

    before = FRAME.copy(deep=True)
    meter_of(vandal).evaluate(FRAME)
    pd.testing.assert_frame_equal(FRAME, before)


def test_a_wide_row_is_cut() -> None:
    wide = pd.DataFrame(np.zeros((2, 40)), columns=[f"c{i}" for i in range(40)])
    with pytest.raises(ModelError, match=r"\.\.\. \(40 columns\)"):
        meter_of(lambda frame: 1 / 0).evaluate(wide)
