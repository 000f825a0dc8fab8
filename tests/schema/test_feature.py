"""Settings of a feature, and the errors for wrong ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastways.errors import SchemaError
from leastways.schema import AtMost, Feature, Schema
from leastways.schema.feature import number_grid

TABLE = pd.DataFrame(
    {
        "age": [20, 30],
        "debt": [0.5, 9.5],
        "big": [0, 5000],
        "small": np.array([1, 9], dtype=np.uint8),
        "job": ["cook", "nurse"],
        "level": pd.Categorical(["low", "high"], ["low", "high"], ordered=True),
        "hours-week": [10, 12],
    }
)
SCHEMA = Schema.infer(TABLE)


@pytest.mark.parametrize(
    ("name", "settings", "attribute", "expected"),
    [
        ("age", {"direction": "up"}, "direction", "up"),
        ("age", {"kind": "category"}, "kind", "category"),
        ("age", {"min": 18}, "values", tuple(range(18, 31))),
        ("age", {"min": 18, "max": 20}, "values", (18, 19, 20)),
        ("age", {"step": 5}, "values", (20, 25, 30)),
        ("age", {"step": 4}, "values", (20, 24, 28, 30)),  # the largest is always a point
        ("age", {"step": 7}, "values", (20, 21, 28, 30)),  # so is the smallest, and between them multiples of the step
        ("age", {"step": 7, "min": 20}, "values", (20, 27, 30)),  # from a smallest that is given in its steps
        ("age", {"step": 70}, "values", (20, 30)),
        ("age", {"grid": [30, 20, 22]}, "values", (20, 22, 30)),
        ("age", {"label": "years of age"}, "wording", "years of age"),
        ("debt", {"unit": "€"}, "unit", "€"),
        ("debt", {"min": 0, "max": 1, "step": 0.1}, "values", tuple(k / 10 for k in range(11))),
        ("debt", {"max": 20}, "values", (0.5, 9.5, 20)),
        ("big", {"max": 9000}, "values", (0, 5000, 9000)),  # a quantile grid keeps its points
        ("job", {"order": ["nurse", "cook"]}, "values", ("nurse", "cook")),
        ("job", {"order": ["nurse", "cook", "chef"]}, "kind", "ordinal"),
        ("job", {"order": ["cook", "nurse"], "direction": "up"}, "direction", "up"),
        ("job", {"values": ["cook", "nurse", "chef"]}, "values", ("cook", "nurse", "chef")),
        ("level", {"kind": "category"}, "kind", "category"),
        ("hours-week", {"direction": "down"}, "direction", "down"),
    ],
)
def test_each_setting_changes_its_attribute(name: str, settings: dict[str, Any], attribute: str, expected: Any) -> None:
    updated = SCHEMA.update({name: settings})
    assert getattr(updated.by_name[name], attribute) == expected
    others = [f for f in SCHEMA.features if f.name != name]
    assert [f for f in updated.features if f.name != name] == others


def test_update_leaves_the_old_schema_alone_and_takes_names_as_arguments() -> None:
    updated = SCHEMA.update({"age": {"direction": "up"}}, job={"direction": "fixed"}, rules=[AtMost(2)])
    assert SCHEMA.by_name["age"].direction == "any"
    assert [updated.by_name[n].direction for n in ("age", "job")] == ["up", "fixed"]
    assert updated.rules == (AtMost(2),)
    assert updated.update(age={"direction": "any"}).rules == (AtMost(2),)
    assert updated.update(rules=[]).rules == ()


def test_kind_and_direction_change_in_one_update() -> None:
    up = SCHEMA.update(level={"direction": "up"})
    assert up.update(level={"kind": "category", "direction": "any"}).by_name["level"].kind == "category"


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("agee", {"direction": "up"}, "no feature 'agee'; the schema has 'age', .* Did you mean 'age'"),
        ("age", {"directoin": "up"}, "'age': unknown setting 'directoin'; allowed: .* Did you mean 'direction'"),
        ("age", {"direction": "upp"}, "direction 'upp' is not one of any, up, down, fixed. Did you mean 'up'"),
        ("age", {"kind": "int"}, "kind 'int' is not one of integer, real, ordinal, category"),
        ("age", "up", "'age': expected a mapping such as"),
        ("job", {"direction": "up"}, "'job' has no order.*order"),
        ("job", {"order": ["cook"]}, "order leaves out 'nurse', which the data hold"),
        ("job", {"order": ["cook", "nurse", "cook"]}, "lists a value twice: 'cook', 'nurse', 'cook'"),
        ("job", {"order": "cook"}, "order must be a list of values, not 'cook'"),
        ("job", {"order": 5}, "order must be a list of values, not 5"),
        ("job", {"values": [["cook"], "nurse"]}, r"holds \['cook'\]"),
        ("job", {"order": ["cook", "nurse"], "kind": "integer"}, "a listed order makes it ordinal, not 'integer'"),
        ("job", {"min": 3}, "'job' is category: min only fits numbers"),
        ("job", {"grid": ["cook", "nurse"]}, "'job' is category: grid only fits numbers"),
        ("job", {"kind": "integer"}, "its grid holds 'cook', 'nurse'"),
        ("level", {"order": ["low", "mid", "high"]}, "category of 'low', 'high', which cannot hold 'mid'"),
        ("level", {"values": []}, "leaves out 'low', 'high'"),
        ("age", {"min": 40}, "min 40 and max 30 must be numbers, min first"),
        ("age", {"max": np.inf}, "max inf must be numbers"),
        ("age", {"max": "forty"}, "max 'forty' must be numbers"),
        ("age", {"step": 0}, "step must be a whole number above 0, not 0"),
        ("age", {"step": 0.5}, "step must be a whole number above 0, not 0.5"),
        ("age", {"min": 18.5}, "min 18.5 and max 30 must be whole numbers"),
        ("age", {"step": 2, "grid": [20, 30]}, "give only one of grid, step"),
        ("age", {"grid": []}, "'age' has no values"),
        ("age", {"grid": ["a", 20]}, "is integer, but its grid holds 'a'"),
        ("age", {"grid": [20, 30.5]}, "is integer, but its grid holds"),
        ("age", {"values": [30, 20]}, "the grid must rise"),
        ("age", {"max": 10**8}, "makes more than 20,000 points; give a larger step"),
        ("age", {"kind": "real", "step": 0.5}, "'age': its column is int64, which cannot hold 20.5"),
        ("small", {"max": 300}, "'small': its column is uint8, which cannot hold 256"),
        ("debt", {"kind": "integer"}, "is integer, but its grid holds 0.5, 9.5"),
        ("debt", {"step": 1e-9}, "makes more than 20,000 points"),
    ],
)
def test_wrong_settings_raise_with_the_nearest_name(name: str, settings: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        SCHEMA.update({name: settings})


@pytest.mark.parametrize(
    ("dtype", "kind", "values", "message"),
    [
        ("flaot64", "real", (1.0,), "no dtype 'flaot64'"),
        ("str", "integer", (1, 2), "its column is str, so it cannot be integer"),
        ("bool", "integer", (0, 1), "its column is bool, so it cannot be integer"),
        ("category", "integer", (0, 1), "its column is category, so it cannot be integer"),
        ("int64", "category", ("a", "1"), "its column is int64, which cannot hold 'a', '1'"),
        ("bool", "category", ("a",), "its column is bool, which cannot hold 'a'"),
        ("float16", "real", (1.0, 1e6), "its column is float16, which cannot hold 1000000.0"),
        ("float32", "real", (1.0, 1.0 + 1e-12), "too coarse"),
    ],
)
def test_a_column_must_be_able_to_hold_its_grid(dtype: str, kind: Any, values: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Feature("x", kind, values, dtype=dtype)


def test_feature_names_must_be_unique_and_present() -> None:
    with pytest.raises(SchemaError, match="at least one feature"):
        Schema(())
    with pytest.raises(SchemaError, match="must be unique: 'age', 'age'"):
        Schema((SCHEMA.features[0], SCHEMA.features[0]))
    with pytest.raises(SchemaError, match="no feature 'agee'"):
        SCHEMA.position("agee")
    assert SCHEMA.position("job") == 4


@given(st.integers(-50, 50), st.integers(0, 300), st.integers(1, 7), st.sampled_from([1, 0.1, 0.25, 1e-6, 1e6]))
def test_a_stepped_grid_has_both_ends_and_even_steps(low: int, span: int, step: int, scale: float) -> None:
    kind = "integer" if scale == 1 else "real"
    grid = number_grid("x", kind, low * scale, (low + span) * scale, step * scale)
    assert grid[0] == pytest.approx(low * scale)
    assert grid[-1] == pytest.approx((low + span) * scale)
    assert len(grid) == -(-span // step) + 1
    np.testing.assert_allclose(np.diff(grid)[:-1], step * scale, rtol=1e-6)
    assert (np.diff(grid) > 0).all()


def test_excluded_values_are_not_offered() -> None:
    schema = SCHEMA.update(age={"excluded": [20, 30]})
    assert schema.by_name["age"].excluded == (20, 30)
    assert schema.by_name["age"].offered.sum() == len(schema.by_name["age"].values) - 2
    assert schema.update(age={"excluded": []}).by_name["age"].excluded == ()
    assert Schema.from_yaml(schema.to_yaml()) == schema
    with pytest.raises(SchemaError, match="excluded names 99, which is no value of it"):
        SCHEMA.update(age={"excluded": [99]})
    with pytest.raises(SchemaError, match="excluded must be a list of values, not 'abc'"):
        SCHEMA.update(age={"excluded": "abc"})


def test_a_step_without_min_gives_its_multiples() -> None:
    schema = Schema.infer(pd.DataFrame({"dti": [0.004, 0.137, 0.3]})).update(dti={"step": 0.01})
    assert schema.features[0].values == (0.004, *(k / 100 for k in range(1, 31)))
    below = Schema.infer(pd.DataFrame({"x": [-7, 3]})).update(x={"step": 5})
    assert below.features[0].values == (-7, -5, 0, 3)
    assert Schema.from_yaml(schema.to_yaml()) == schema


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5),
    st.sampled_from([0.01, 0.1, 0.25, 3, 1000]),
    st.sampled_from(["float64", "float32"]),
)
def test_a_step_keeps_the_ends(values: list[float], step: float, dtype: str) -> None:
    """All points between the ends are multiples of the step."""
    frame = pd.DataFrame({"x": pd.Series(values, dtype=dtype)})
    if np.ptp(frame["x"]) / step > 10_000:
        return
    schema = Schema.infer(frame)
    try:
        stepped = schema.update(x={"step": step})
    except SchemaError as error:
        assert "too coarse" in str(error)  # noqa: PT017
        return
    stepped.validate(frame)
    grid = stepped.features[0].array
    assert (grid[0], grid[-1]) == (schema.features[0].array[0], schema.features[0].array[-1])
    times = grid[1:-1] / step
    assert (np.abs(times - np.round(times)) < 1e-6 * np.maximum(1, np.abs(times))).all()
