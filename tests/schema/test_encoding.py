"""Encoding and decoding are inverse, for grid points, own values and missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from leastways.schema import Feature, Schema
from leastways.schema.encoding import category_codes, encode_relative, grid_points, levels_of, slots_used
from tests.support.schema_strategies import ODD_TEXTS_MAY_BE_ALIKE, frames, people_of

pytestmark = ODD_TEXTS_MAY_BE_ALIKE


@given(frames())
def test_decode_undoes_encode(frame: pd.DataFrame) -> None:
    schema = Schema.infer(frame)
    encoded = schema.encode(frame)
    assert_frame_equal(schema.decode(encoded), frame)
    assert schema.decode(encoded).index.equals(frame.index)
    assert encoded.index.names == frame.index.names


@given(frames(), st.data())
def test_values_off_the_grid_are_not_rounded(frame: pd.DataFrame, data: st.DataObject) -> None:
    """A person's number need not be a point of the training table's grid."""
    schema = Schema.infer(frame)
    people = data.draw(people_of(frame, schema))
    encoded = schema.encode(people)
    assert_frame_equal(schema.decode(encoded), people)
    assert (encoded.codes < slots_used(schema.features, encoded)).all()


@given(frames(), st.data())
def test_every_code_of_a_person_round_trips_through_its_value(frame: pd.DataFrame, data: st.DataObject) -> None:
    """Grid points and own values alike."""
    schema = Schema.infer(frame)
    people = data.draw(people_of(frame, schema))
    encoded = schema.encode(people)
    used = slots_used(schema.features, encoded)
    for f, feature in enumerate(schema.features):
        rows = np.repeat(np.arange(len(people)), used[:, f])
        codes = encoded.codes[rows]
        codes[:, f] = np.concatenate([np.arange(n) for n in used[:, f]])
        options = schema.decode(codes, encoded, rows)
        assert_frame_equal(options.iloc[:0], people.iloc[:0].reset_index(drop=True))  # the same dtypes
        np.testing.assert_array_equal(schema.encode_options(options, encoded, rows), codes)
        for p in range(len(people)):
            offered = options[feature.name][rows == p]
            own = people[feature.name].iloc[[p]]
            if own.hasnans:  # stands behind the grid
                assert offered.iloc[[-1]].isna().all()
                assert offered.tolist()[:-1] == feature.held.tolist()
            elif feature.numeric:
                assert offered.tolist() == sorted({*feature.held.tolist(), *own.tolist()})
            else:
                assert offered.tolist() == list(feature.values)


@given(frames(), st.data())
def test_levels_rise_with_codes(frame: pd.DataFrame, data: st.DataObject) -> None:
    """Own values are inserted in order, so a higher code is a higher number."""
    schema = Schema.infer(frame)
    people = data.draw(people_of(frame, schema))
    encoded = schema.encode(people)
    used = slots_used(schema.features, encoded)
    for f, levels in enumerate(levels_of(schema.features, encoded)):
        for p in range(len(people)):
            mine = levels[p, : used[p, f]]
            if people.iloc[[p], f].hasnans:
                assert encoded.missing[p, f]
                assert np.isnan(mine[-1])
                mine = mine[:-1]
            assert not np.isnan(mine).any()
            assert (np.diff(mine) > 0).all()
            if schema.features[f].numeric and not encoded.missing[p, f]:
                assert mine[encoded.codes[p, f]] == people.iloc[:, f].astype(float).iloc[p]


STEPPED = Feature("x", "real", (0.0, 0.1, 0.2), dtype="float32")


def test_a_value_outside_grid_and_person_has_no_code() -> None:
    schema = Schema.infer(pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": ["a", "b", "b"]}))
    people = schema.encode(pd.DataFrame({"x": [1.5, 2.0], "y": ["a", "b"]}))
    options = pd.DataFrame({"x": [1.5, 1.7, 1.5, 2.0], "y": ["b", "a", "a", "c"]})
    codes = schema.encode_options(options, people, np.array([0, 0, 1, 1]))
    assert codes.tolist() == [[1, 1], [-1, 0], [-1, 0], [1, -1]]


def test_float32_values_match_their_grid_points() -> None:
    """0.1 in a float32 column is not the 0.1 of Python; it is still the same point of the grid."""
    frame = pd.DataFrame({"x": np.array([0.0, 0.1, 0.2], dtype=np.float32)})
    encoded = Schema((STEPPED,)).encode(frame)
    assert encoded.codes[:, 0].tolist() == [0, 1, 2]
    assert (encoded.inserted_at == -1).all()
    doubled = Schema((STEPPED,)).encode(frame.assign(x=[0.0, 0.1, 0.2]))
    np.testing.assert_array_equal(doubled.codes, encoded.codes)
    back = Schema((STEPPED,)).encode_options(frame, encoded, np.arange(3))
    np.testing.assert_array_equal(back, encoded.codes)


@pytest.mark.parametrize(
    ("dtype", "values"),
    [("object", [3, 5]), ("Int64", [3, 5]), ("uint8", [3, 5]), ("int64[pyarrow]", [3, 5]), ("float64", [3.0, 5.0])],
)
def test_own_values_keep_their_type(dtype: str, values: list[Any]) -> None:
    pytest.importorskip("pyarrow")
    schema = Schema((Feature("x", "integer", (1, 10), dtype=dtype),))
    frame = pd.DataFrame({"x": values}).astype({"x": dtype})
    back = schema.decode(schema.encode(frame))
    assert_frame_equal(back, frame)
    assert [type(v) for v in back["x"].tolist()] == [type(v) for v in values]


def test_category_values_match_across_number_types() -> None:
    """A bank that stored yes/no as 0/1 and one that stored booleans mean the same."""
    schema = Schema((Feature("owns", "category", (False, True), dtype="bool"),))
    frame = pd.DataFrame({"owns": [0, 1]})
    assert schema.decode(schema.encode(frame))["owns"].tolist() == [False, True]


def test_decode_without_people_uses_the_grid_alone() -> None:
    schema = Schema.infer(pd.DataFrame({"x": [0.5, 1.5], "y": ["a", "b"]}))
    assert_frame_equal(schema.decode(np.array([[1, 0]])), pd.DataFrame({"x": [1.5], "y": ["a"]}))


@pytest.mark.parametrize("dtype", [object, pd.CategoricalDtype(["q", "x", "y"])])
def test_missing_and_unknown_categories_have_no_code(dtype: Any) -> None:
    feature = Feature("f", "category", ("y", "x"), missing=True, dtype="object")
    column = pd.Series(["x", None, "q", "y"], dtype=dtype)
    assert category_codes(feature, column).tolist() == [1, -1, -1, 0]


def test_an_option_may_miss_a_value_only_where_the_person_does() -> None:
    """The first person has a value on the grid, the second one off the grid, and the third a missing one."""
    feature = Feature("f", "real", (0.0, 1.0, 2.0), missing=True, dtype="float64")
    now = np.array([-1, 1, 3], np.int32), np.array([np.nan, 0.5, np.nan])
    assert encode_relative(feature, pd.Series([np.nan] * 3), *now).tolist() == [-1, -1, 3]
    assert encode_relative(feature, pd.Series([1.0] * 3), *now).tolist() == [1, 2, 1]
    assert encode_relative(feature, pd.Series([0.5] * 3), *now).tolist() == [-1, 1, -1]


def test_grid_points_of_slots_around_own_values() -> None:
    """Of a grid of three: an own value in slot 1, none, one behind the last point, one before the first."""
    at = np.array([[1], [-1], [3], [0]], np.int32)
    assert grid_points(np.arange(4), at, 3).tolist() == [[0, 1, 1, 2], [0, 1, 2, 2], [0, 1, 2, 2], [0, 0, 1, 2]]
