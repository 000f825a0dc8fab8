"""Plans written as JSON come back equal, and what is no plan is said to be none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from leastways.errors import DataError
from leastways.plans import RecoursePlans, frame_from_json, frame_to_json
from tests.plans.made import OPTIONS, PEOPLE, SUMMARY, plans
from tests.support.schema_strategies import ODD_TEXTS_MAY_BE_ALIKE, frames

pytestmark = ODD_TEXTS_MAY_BE_ALIKE


def test_round_trip_through_a_file(tmp_path: Path) -> None:
    path = tmp_path / "plans.json"
    text = plans().to_json(path)
    assert path.read_text(encoding="utf-8") == text
    for source in (path, str(path), text, "\n " + text):
        back = RecoursePlans.from_json(source)
        assert back == plans()
        for name in ("people", "summary", "options", "failed_rows"):
            assert_frame_equal(getattr(back, name), getattr(plans(), name))
        assert back.schema == plans().schema
        assert back.settings == plans().settings
        assert back.to_json() == text
    assert "née" in text  # readable, not escaped


@given(frames())
def test_any_table_round_trips(frame: pd.DataFrame) -> None:
    if frame.index.nlevels > 1:
        frame = frame.reset_index(drop=True)
    back = frame_from_json(json.loads(json.dumps(frame_to_json(frame), allow_nan=False)))
    assert_frame_equal(back, frame)


@given(
    st.lists(st.floats(width=32) | st.none(), min_size=1), st.sampled_from(["float64", "float32", "Float64", "object"])
)
def test_missing_and_infinite_numbers_round_trip(values: list[float | None], dtype: Any) -> None:
    frame = pd.DataFrame({"x": pd.Series(values, dtype=dtype)})
    back = frame_from_json(json.loads(json.dumps(frame_to_json(frame), allow_nan=False)))
    assert back.equals(frame)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([True, None, False], dtype="boolean"),
        pd.Series(["a", None, "c"], dtype="str"),
        pd.Series(["a", None, "c"], dtype="string[python]"),
        pd.Series(["a", 1, None], dtype=object),
        pd.Series(pd.Categorical(["a", None, "c"], ["c", "a"], ordered=True)),
        pd.Series(pd.Categorical([1, None, 3])),
        pd.Series([pd.Timestamp("2020-01-01"), pd.NaT, pd.Timestamp("2021-05-06 07:08:09.123456")]),
    ],
    ids=lambda c: str(c.dtype),
)
def test_missing_values_of_every_dtype_round_trip(column: pd.Series[Any]) -> None:
    frame = pd.DataFrame({"x": column, "y": [1, 2, 3]}).set_axis(pd.Index([3, 1, 2], name="n"), axis=0)
    assert_frame_equal(frame_from_json(json.loads(json.dumps(frame_to_json(frame)))), frame)


def test_a_bad_row_with_an_odd_value_does_not_lose_the_rest() -> None:
    """A list in a numeric column makes that person invalid; the file is still written."""
    odd = PEOPLE.copy()
    odd["debt"] = pd.Series([0.5, 1.25, 9.0, [1, 2]], index=odd.index, dtype=object)
    back = RecoursePlans.from_json(plans(people=odd).to_json())
    assert back.people["debt"].tolist() == [0.5, 1.25, 9.0, "[1, 2]"]


def test_labels_that_json_cannot_keep_are_named() -> None:
    index = pd.IntervalIndex.from_breaks(range(5))
    made = plans(people=PEOPLE.set_axis(index), summary=SUMMARY.set_axis(index), options=OPTIONS.iloc[:0])
    with pytest.raises(DataError, match=r"the index holds Interval.*use text or numbers"):
        made.to_json()


def without(table: str, column: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(plans().to_json())[table]
    return found | {"columns": [pair for pair in found["columns"] if pair[0] != column]}


def with_first(table: str, column: str, value: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(plans().to_json())[table]
    dict(found["columns"])[column]["values"][0] = value
    return found


def edited(**changes: Any) -> str:
    return json.dumps(json.loads(plans().to_json()) | changes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "the text does not hold leastways plans: it is not JSON"),
        ("{}", "the text does not hold leastways plans"),
        (edited(format="other"), "does not hold leastways plans"),
        (edited(version=2), "has version 2; this release reads 1"),
        (edited(version=None), "has version None"),
        (edited(people={}), "is damaged"),
        (edited(people=None), "is damaged"),
        (edited(schema="version: 1\n"), "is damaged.*features"),
        (edited(summary={"index": 3}), "is damaged"),
        (edited(summary=without("summary", "status")), "is damaged.*summary lacks 'status'"),
        (edited(options=without("options", "best_for")), "is damaged.*options lacks 'best_for'"),
        (edited(summary=with_first("summary", "status", "lost")), "is damaged.*status 'lost'; allowed: 'found'"),
        (edited(options=with_first("options", "person", "nobody")), "is damaged.*not among people: 'nobody'"),
        (edited(people=json.loads(plans().to_json())["options"]), "is damaged.*people has"),
    ],
)
def test_files_without_plans_are_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        RecoursePlans.from_json(text)
    (tmp_path / "p.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"p\.json"):
        RecoursePlans.from_json(tmp_path / "p.json")


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no file '.*nowhere.json'"):
        RecoursePlans.from_json(tmp_path / "nowhere.json")


def test_infinite_costs_are_kept() -> None:
    back = RecoursePlans.from_json(plans().to_json())
    assert np.isposinf(back.options["expected_cost"].iloc[1])
    assert "Infinity" not in plans().to_json()


def test_arrow_text_keeps_its_dtype() -> None:
    pa = pytest.importorskip("pyarrow")
    dtype: Any = pd.ArrowDtype(pa.string())
    frame = pd.DataFrame({"x": ["a", None]}, dtype=dtype, index=pd.Index(["p", "q"], dtype=dtype))
    assert_frame_equal(frame_from_json(json.loads(json.dumps(frame_to_json(frame)))), frame)
