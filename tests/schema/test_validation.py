"""Every fault of a table, named with its column, row, value and what is allowed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastways.errors import DataError, SchemaError
from leastways.schema import Schema
from tests.support.schema_strategies import ODD_TEXTS_MAY_BE_ALIKE, frames

pytestmark = ODD_TEXTS_MAY_BE_ALIKE

TRAIN = pd.DataFrame({"age": [18, 60], "debt": [0.0, 9.5], "job": ["cook", "nurse"], "y": [0, 1]})
SCHEMA = Schema.infer(TRAIN, target="y")
GOOD = pd.DataFrame({"age": [20, 30], "debt": [1.0, 2.0], "job": ["cook", "nurse"]}, index=["ann", "bob"])


class Other:
    """A table of another package."""

    def to_pandas(self) -> pd.DataFrame:
        return GOOD


@given(frames())
def test_the_inferred_table_fits_its_schema(frame: pd.DataFrame) -> None:
    schema = Schema.infer(frame)
    schema.validate(frame)
    assert len(schema.problems(frame)) == 0


def test_columns_may_come_in_any_order_with_the_target() -> None:
    SCHEMA.validate(GOOD[["job", "debt", "age"]].assign(y=0))


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("age", None, "nan is missing; allowed: a whole number (usually 18 to 60)"),
        (
            "age",
            2**60,
            "1152921504606846976 is beyond what can be worked with; allowed: -9007199254740991 to",
        ),
        ("age", 20.5, "20.5 is not a whole number; allowed: a whole number (usually 18 to 60)"),
        ("age", "20", "'20' is not a number"),
        ("age", True, "True is not a number"),
        ("debt", np.inf, "inf is not finite; allowed: a number (usually "),
        ("debt", -np.inf, "-inf is not finite; allowed: a number"),
        ("debt", np.nan, "nan is missing"),
        ("debt", "much", "'much' is not a number"),
        ("job", "cok", "'cok' is not a known category; allowed: one of 'cook', 'nurse'. Did you mean 'cook'?"),
        ("job", 3, "3 is not a known category"),
        ("job", ["cook"], "['cook'] is not a known category; allowed: one of 'cook', 'nurse'"),
        ("job", ("cook", ["nurse"]), "('cook', ['nurse']) is not a known category"),
        ("job", {"cook": 1}, "{'cook': 1} is not a known category"),
        ("job", None, "None is missing; allowed: one of 'cook', 'nurse'"),
        ("job", pd.NA, "<NA> is missing"),
    ],
)
def test_a_bad_value_is_named_with_row_column_and_what_is_allowed(column: str, value: Any, message: str) -> None:
    frame = GOOD.copy()
    frame[column] = pd.Series([value, frame[column].iloc[1]], index=frame.index, dtype=object)
    if value is None and column != "job":
        frame[column] = frame[column].astype(float)
    with pytest.raises(DataError) as caught:
        SCHEMA.validate(frame)
    assert f"row 'ann', column {column!r}: {message}" in str(caught.value)
    assert caught.value.problems is not None
    assert caught.value.problems[["row", "column"]].to_numpy().tolist() == [["ann", column]]


@pytest.mark.parametrize(
    ("value", "meant"), [("male", "Male"), ("FEMALE", "Female"), (" Male", "Male"), ("Femle", "Female")]
)
def test_hint_prefers_the_category_that_differs_only_by_case_or_blanks(value: str, meant: str) -> None:
    """By edit distance 'male' is nearer to 'Female'."""
    schema = Schema.infer(pd.DataFrame({"sex": ["Female", "Male"]}))
    problem = schema.problems(pd.DataFrame({"sex": [value]}))["problem"].iloc[0]
    assert problem.endswith(f" Did you mean {meant!r}?")


def test_numbers_beyond_the_grid_fit() -> None:
    SCHEMA.validate(GOOD.assign(age=[5, 130], debt=[-40.0, 1e9]))


@pytest.mark.parametrize(
    ("valid_range", "value", "message"),
    [
        ([0, 120], 140, "140 is outside the valid range; allowed: a whole number from 0 to 120"),
        ([0, 120], -1, "-1 is outside the valid range; allowed: a whole number from 0 to 120"),
        ([None, 120], 121, "121 is outside the valid range; allowed: a whole number up to 120"),
        ([0, None], -1, "-1 is outside the valid range; allowed: a whole number from 0 on"),
    ],
)
def test_a_number_outside_the_valid_range_is_a_fault(valid_range: Any, value: int, message: str) -> None:
    schema = SCHEMA.update(age={"valid_range": valid_range})
    schema.validate(GOOD.assign(age=[1, 119]))
    with pytest.raises(DataError) as caught:
        schema.validate(GOOD.assign(age=[20, value]))
    assert f"row 'bob', column 'age': {message}" in str(caught.value)


def test_numbers_beyond_the_dtype_are_faults() -> None:
    schema = Schema.infer(TRAIN.astype({"age": "int8", "debt": "float16"}), target="y")
    faults = schema.problems(GOOD.assign(age=[127, 128], debt=[65504.0, 1e5]))
    assert faults["problem"].tolist() == [
        "is beyond what can be worked with; allowed: -128 to 127",
        "is beyond what can be worked with; allowed: -65504 to 65504",
    ]


def test_valid_range_and_column_range_have_messages_of_their_own() -> None:
    schema = Schema.infer(TRAIN.astype({"age": "uint8"}), target="y").update(age={"valid_range": [0, 1000]})
    assert schema.problems(GOOD.assign(age=[300, 1001]))["problem"].tolist() == [
        "is beyond what can be worked with; allowed: 0 to 255",
        "is outside the valid range; allowed: a whole number from 0 to 1000",
    ]


def test_integers_beyond_exact_floats_are_faults() -> None:
    """They would be rounded, or overflow."""
    ages = pd.Series([2**53 + 1, 10**400], index=GOOD.index, dtype=object)
    assert SCHEMA.problems(GOOD.assign(age=ages))["row"].tolist() == ["ann", "bob"]
    assert len(SCHEMA.problems(GOOD.assign(age=[2**53 - 1, 1 - 2**53]))) == 0


@pytest.mark.parametrize(
    ("valid_range", "message"),
    [
        ([20, None], "valid_range [20, None] leaves out a part of the grid, which goes from 18 to 60"),
        ([None, 50], "leaves out a part of the grid"),
        ([90, 0], "valid_range runs from 90 down to 0"),
        ([0], "must be [least, largest], null where there is none, not [0]"),
        ("0 to 9", "must be [least, largest]"),
        ([0, "9"], "must be numbers, null where there is none"),
        ([0, 10**400], "must be numbers"),
    ],
)
def test_an_impossible_valid_range_is_refused(valid_range: Any, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        SCHEMA.update(age={"valid_range": valid_range})
    assert message in str(caught.value)
    with pytest.raises(SchemaError, match="valid_range only fits numbers, and this is category"):
        SCHEMA.update(job={"valid_range": [0, 9]})


@pytest.mark.parametrize(
    "column", [pd.Categorical(["cook", "clown"]), pd.array(["cook", "clown"], dtype="string"), ["cook", "clown"]]
)
def test_unseen_categories_are_found_in_every_dtype(column: Any) -> None:
    assert SCHEMA.problems(GOOD.assign(job=column))["row"].tolist() == ["bob"]


@pytest.mark.parametrize("dtype", ["Int64", "float64", "float32", "object", "category"])
def test_numbers_may_come_in_any_dtype(dtype: str) -> None:
    SCHEMA.validate(GOOD.astype({"age": dtype}))


@pytest.mark.parametrize("dtype", ["float32", "Float32", "float16"])
def test_messages_show_grid_ends_in_the_precision_of_the_column(dtype: str) -> None:
    """0.1 in single precision is 0.10000000149011612."""
    schema = Schema.infer(pd.DataFrame({"rate": pd.Series([0.1, 0.3, 78.75], dtype=dtype)}))
    assert "rate: real, any, a number from 0.1 to 78.75" in str(schema)
    problem = schema.problems(pd.DataFrame({"rate": ["x"]}))["problem"].iloc[0]
    assert problem == "is not a number; allowed: a number (usually 0.1 to 78.75)"


@pytest.mark.parametrize(
    ("frame", "messages"),
    [
        (GOOD.drop(columns="age"), ["missing columns: 'age'", "The schema has: 'age', 'debt', 'job'"]),
        (GOOD.assign(shoe=1), ["unknown columns: 'shoe'", "Drop what the model does not use"]),
        (GOOD.rename(columns={"age": "agee"}), ["missing columns: 'age'", "'agee'", "Did you mean 'age'"]),
        (pd.concat([GOOD, GOOD[["age"]]], axis=1), ["columns occur twice: 'age'"]),
        (GOOD.iloc[:0], ["no rows"]),
        (GOOD.set_axis(["ann", "ann"]), ["must be unique; twice or more: 'ann'"]),
        ([1], ["expected a pandas DataFrame, not list", "pd.DataFrame(rows, columns=[...])"]),
        (GOOD.to_numpy(), ["not numpy.ndarray", "pd.DataFrame(rows, columns=[...])"]),
        (GOOD["age"], ["expected a pandas DataFrame, not Series", "people.loc[[label]]"]),
        (GOOD.iloc[0].to_dict(), ["not dict", "pd.DataFrame([values])"]),
        (Other(), ["not tests.Other", "to_pandas()"]),
        (None, ["expected a pandas DataFrame, not NoneType."]),
    ],
)
def test_faults_of_the_whole_table_raise(frame: Any, messages: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        SCHEMA.validate(frame)
    assert all(message in str(caught.value) for message in messages)


def test_all_faults_are_listed_and_the_first_few_shown() -> None:
    frame = pd.DataFrame({"age": [20.5] * 9, "debt": [np.inf] * 9, "job": "cook"}, index=range(100, 109))
    problems = SCHEMA.problems(frame)
    assert problems["row"].tolist() == sorted([*range(100, 109)] * 2)
    assert problems["column"].tolist() == ["age", "debt"] * 9
    with pytest.raises(DataError, match=r"row 100, column 'age'(.|\n)*and 13 more \(see error.problems\)"):
        SCHEMA.validate(frame)


@given(st.lists(st.sampled_from([0, 18, 60, 61, 20.5, np.nan]), min_size=1, max_size=20))
def test_problems_are_exactly_the_rows_that_do_not_fit(ages: list[float]) -> None:
    frame = pd.DataFrame({"age": ages, "debt": 1.0, "job": "cook"})
    wrong = [i for i, age in enumerate(ages) if age not in (0, 18, 60, 61)]
    assert SCHEMA.problems(frame)["row"].tolist() == wrong
    beyond = [i for i, age in enumerate(ages) if age not in (18, 60)]
    assert SCHEMA.update(age={"valid_range": [18, 60]}).problems(frame)["row"].tolist() == beyond
