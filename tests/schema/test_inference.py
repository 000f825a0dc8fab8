"""Kinds, grids and dtypes that `Schema.infer` reads off a training table, its errors and warnings."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastways.errors import DataError, SchemaError
from leastways.schema import Feature, Schema


def infer(values: Any, dtype: Any = None) -> Feature:
    return Schema.infer(pd.DataFrame({"x": pd.Series(values, dtype=dtype)})).features[0]


@pytest.mark.parametrize(
    ("values", "dtype", "kind", "grid"),
    [
        ([3, 1, 5], "int64", "integer", (1, 2, 3, 4, 5)),
        ([3, 1, 5], "uint8", "integer", (1, 2, 3, 4, 5)),
        ([3, None, 5], "Int64", "integer", (3, 4, 5)),
        ([2.0, 1.0, 5.0], "float64", "real", (1.0, 2.0, 5.0)),  # floats stay real, whole or not
        ([2.5, np.nan, 1.0], "float64", "real", (1.0, 2.5)),
        ([0.5, 1.5], "Float32", "real", (0.5, 1.5)),
        ([True, False], "bool", "category", (False, True)),
        ([True, None], "boolean", "category", (True,)),
        (["b", "a", None, "b"], "str", "category", ("a", "b")),
        (["b", "a"], "object", "category", ("a", "b")),
        (["b", 2, None], "object", "category", (2, "b")),
        ([7, 7], "int64", "integer", (7,)),
        (["a"], "str", "category", ("a",)),
    ],
)
def test_kinds_and_grids(values: Any, dtype: str, kind: str, grid: tuple[Any, ...]) -> None:
    feature = infer(values, dtype)
    assert (feature.kind, feature.values, feature.direction) == (kind, grid, "any")
    assert feature.column_dtype == pd.Series(values, dtype=dtype).dtype


@pytest.mark.parametrize("ordered", [True, False])
def test_category_dtype_keeps_its_order_and_its_unused_categories(ordered: bool) -> None:
    feature = infer(pd.Categorical(["hs", "none"], ["none", "hs", "ba"], ordered=ordered))
    assert feature.kind == ("ordinal" if ordered else "category")
    assert feature.values == ("none", "hs", "ba")
    assert feature.categories_ordered is ordered
    assert feature.excluded == ("ba",)
    assert Schema.from_yaml(Schema((feature,)).to_yaml()).features == (feature,)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=400))
def test_a_real_grid_has_at_most_100_observed_points_and_both_ends(values: list[float]) -> None:
    grid = infer(values, "float64").values
    assert len(grid) <= 100
    assert set(grid) <= set(values)
    assert grid[0] == min(values)
    assert grid[-1] == max(values)
    if len(set(values)) <= 100:
        assert set(grid) == set(values)


def test_a_quantile_grid_is_even_in_rank() -> None:
    values = np.random.default_rng(0).lognormal(0, 2, 5000)
    ranks = np.searchsorted(np.sort(values), infer(values).values)
    np.testing.assert_allclose(np.diff(ranks), 5000 / 99, atol=1.5)


@given(st.integers(0, 2000), st.integers(-5000, 5000))
def test_up_to_1000_integers_are_listed_and_more_become_quantiles(span: int, low: int) -> None:
    feature = infer([low, low + span, low + span // 2])
    assert feature.kind == "integer"
    assert (feature.values[0], feature.values[-1]) == (low, low + span)
    if span < 1000:
        assert feature.values == tuple(range(low, low + span + 1))
        assert feature.gapless
    else:
        assert len(feature.values) <= 100
        assert not feature.gapless


def test_ordered_bins_keep_their_order() -> None:
    bins = pd.Series(pd.cut([1.0, 2.0, 9.0, 10.0], 3), name="x")
    with pytest.raises(SchemaError, match=r"Turn the column into text: \.cat\.rename_categories\(str\)\."):
        Schema.infer(bins.to_frame())
    (feature,) = Schema.infer(bins.cat.rename_categories(str).to_frame()).features
    assert feature.kind == "ordinal"
    assert feature.values == tuple(map(str, bins.cat.categories))


def test_target_and_order_of_columns() -> None:
    schema = Schema.infer(pd.DataFrame({"b": [1], "y": [0], "a": ["x"]}), target="y")
    assert schema.names == ("b", "a")
    assert schema.target == "y"
    assert schema.offsets.tolist() == [0, 2, 3]  # a number's last slot is for people beyond its grid
    assert schema.draws.tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("frame", "target", "message"),
    [
        (pd.DataFrame({"x": [1]}), "aproved", "no target column 'aproved'"),
        (pd.DataFrame({"approved": [1], "x": [1]}), "aproved", "Did you mean 'approved'"),
        (pd.DataFrame({"x": [np.nan]}), None, "column 'x' has no values"),
        (pd.DataFrame({"x": [1.0, np.inf]}), None, "column 'x' holds infinite values"),
        (pd.DataFrame({"x": [2**60]}), None, r"column 'x' holds integers beyond 2\*\*53"),
        (pd.DataFrame({"x": [1j]}), None, "column 'x' holds complex numbers"),
        (pd.DataFrame({"x": [[1]]}), None, r"column 'x' holds \[1\] \(list\)"),
        (pd.DataFrame({"x": pd.cut([1.0, 2.0], 2)}), None, "column 'x' holds Interval"),
        (pd.DataFrame({"x": pd.to_datetime(["2020-01-01"])}), None, "column 'x' holds dates"),
        (pd.DataFrame({"x": ["2020-01-01", "2021-12-31", None]}), None, "column 'x' holds dates"),
        (pd.DataFrame({"x": ["2020-01-01T10:20:30.5Z", "2020-01-01 10:20"]}), None, "column 'x' holds dates"),
        (pd.DataFrame({"x": [date(2020, 1, 1)]}), None, "column 'x' holds dates"),
        (pd.DataFrame({"x": [date(2020, 1, 1), "unknown"]}), None, "column 'x' holds dates"),
        (pd.DataFrame({"x": pd.period_range("2020-01", periods=2, freq="M")}), None, "column 'x' holds dates"),
        (pd.DataFrame({"x": pd.Categorical(pd.to_datetime(["2020-01-01"]))}), None, "column 'x' holds dates"),
        (pd.DataFrame({"x": [Decimal("1.50")]}), None, r"holds Decimal\('1.50'\) .* into numbers: .astype\(float\)"),
        (pd.DataFrame({"x": [str(i) for i in range(201)]}), None, "column 'x' has 201 different values"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), None, "columns occur twice: 'x'"),
        (pd.DataFrame([[1, 2]]), None, "column names must be text; got 0, 1"),
        (pd.DataFrame({"y": [1]}), "y", "at least one feature"),
    ],
)
def test_columns_that_cannot_be_features_are_named(frame: pd.DataFrame, target: str | None, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema.infer(frame, target=target)


@pytest.mark.parametrize("frame", [pd.DataFrame(), pd.DataFrame({"x": []})])
def test_empty_tables_are_refused(frame: Any) -> None:
    with pytest.raises(DataError, match="at least one row"):
        Schema.infer(frame)


def test_other_types_than_tables_are_refused() -> None:
    with pytest.raises(DataError, match="expected a pandas DataFrame, not list"):
        Schema.infer([1])  # type: ignore[arg-type]


def test_numpy_scalars_in_an_object_column_become_plain_values() -> None:
    feature = infer(np.array([np.int64(2), np.str_("a")], dtype=object), object)
    assert [type(v) for v in feature.values] == [int, str]


def test_all_faults_are_named_at_once() -> None:
    frame = pd.DataFrame({"day": ["2020-01-01", "2020-01-02"], "n": [1, 2], "far": [np.inf, 1.0], "none": [None] * 2})
    with pytest.raises(SchemaError) as caught:
        Schema.infer(frame)
    assert str(caught.value).splitlines() == [
        "column 'day' holds dates; turn it into a number (days, years) or drop it.",
        "column 'far' holds infinite values; drop those rows or cap them.",
        "column 'none' has no values.",
    ]


def test_texts_that_are_not_all_dates_are_categories() -> None:
    assert infer(["2020-01-01", "never"]).values == ("2020-01-01", "never")
    assert infer(["2020-01", "1-2-3"]).kind == "category"
    assert infer(["2020-01-01", "2020-01-01"]).values == ("2020-01-01",)  # one label alone, which nobody can change


def test_arrow_decimals_are_refused_with_advice() -> None:
    pa = pytest.importorskip("pyarrow")
    message = r"Turn the column into numbers: \.astype\(float\)"
    with pytest.raises(SchemaError, match=r"column 'x' holds Decimal\('1.50'\) \(Decimal\).*" + message):
        infer([Decimal("1.50"), None], pd.ArrowDtype(pa.decimal128(10, 2)))
    with pytest.raises(SchemaError, match=message):
        Feature("x", "real", (1.0,), dtype="decimal128(10, 2)[pyarrow]")


def test_arrow_text_keeps_its_dtype() -> None:
    """pandas has two kinds of text that print alike."""
    pa = pytest.importorskip("pyarrow")
    kinds: list[Any] = [pd.ArrowDtype(pa.string()), pd.StringDtype("pyarrow"), pd.ArrowDtype(pa.large_string()), "str"]
    for dtype in kinds:
        frame = pd.DataFrame({"x": pd.Series(["b", "a"], dtype=dtype)})
        schema = Schema.from_yaml(Schema.infer(frame).to_yaml())
        pd.testing.assert_frame_equal(schema.decode(schema.encode(frame)), frame)
        grouped = frame.assign(x=pd.Categorical(frame["x"], pd.Index(frame["x"].array)))
        schema = Schema.from_yaml(Schema.infer(grouped).to_yaml())
        pd.testing.assert_frame_equal(schema.decode(schema.encode(grouped)), grouped)


def test_arrow_dictionaries_are_refused_with_advice() -> None:
    pa = pytest.importorskip("pyarrow")
    column = pd.Series(["b", "a"], dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))
    with pytest.raises(SchemaError, match=r"column 'x' is an Arrow dictionary; .*\.astype\('category'\)"):
        Schema.infer(pd.DataFrame({"x": column}))
    assert Schema.infer(pd.DataFrame({"x": column.astype("category")})).features[0].kind == "category"


@pytest.mark.parametrize("values", [[3, 1, 2], [1, 2.0, 3], [1.5, None, 2.5], [1, pd.NA, 3]])
def test_numbers_in_object_columns_are_refused(values: list[Any]) -> None:
    """Databases return them so; as categories they would have no order."""
    column = pd.Series(values, dtype=object)
    with pytest.raises(SchemaError, match=r"column 'x' holds numbers, but as objects.*to_numeric.*'category'"):
        Schema.infer(pd.DataFrame({"x": column}))
    assert Schema.infer(pd.DataFrame({"x": pd.to_numeric(column)})).features[0].numeric
    assert Schema.infer(pd.DataFrame({"x": column.astype("category")})).features[0].kind == "category"
    assert Schema.infer(pd.DataFrame({"x": pd.Series([1, "a"], dtype=object)})).features[0].kind == "category"


@pytest.mark.parametrize(
    "texts",
    [
        ["35%", "40 %", "7.5%"],
        ["€30,900", "€ 4,100", "-€5"],
        ["1.200,50", "12,00"],
        ["1 200", "31\u00a0000"],
        ["0.5", ".25", "unknown", "n/a"],
        ["12 EUR", "1'300 CHF"],
    ],
)
def test_numbers_written_as_text_cause_a_warning(texts: list[str]) -> None:
    with pytest.warns(
        UserWarning, match=r"column 'x' looks like numbers written as text, such as .*Convert it"
    ) as told:
        feature = infer(texts, "str")
    assert feature.kind == "category"
    assert [warning.filename.endswith("test_inference.py") for warning in told] == [True]


@pytest.mark.parametrize(
    "texts",
    [
        *(["0", "1", "-1"], ["007", "010"], ["01.5", "2.5"], ["18-25", "26-40"], ["1.2.3", "1.3.0"], ["A1", "B2"]),
        *(
            ["5%"],
            ["12%", "a few"],
            ["3 rooms", "4 rooms"],
            ["€", "$"],
            ["12:30", "14:00"],
            ["Bern", "Bonn"],
            ["", "x"],
        ),
    ],
)
def test_other_texts_cause_no_number_warning(texts: list[str]) -> None:
    assert set(infer(texts, "str").values) == set(texts)


def test_a_pandas_categorical_of_numbers_causes_no_warning() -> None:
    assert infer(["35%", "40%"], "category").values == ("35%", "40%")


@pytest.mark.parametrize("form", ["€{},000", "{}", "{}%"])
def test_many_numbers_written_as_text_are_refused(form: str) -> None:
    texts = [form.format(n) for n in range(1, 300)]
    with pytest.raises(
        SchemaError, match=r"has 299 different values; it looks like numbers .* '€?100(%|,000)?'"
    ) as raised:
        infer([form.format(n) for n in range(1, 300)], "str")
    assert "free text" not in str(raised.value)
    with pytest.raises(SchemaError, match="identifier or free text"):
        infer([*texts, "Berlin"], "str")


@pytest.mark.parametrize("dtype", ["str", "category"])
def test_texts_that_differ_only_by_case_or_blanks_cause_a_warning(dtype: str) -> None:
    texts = ["Berlin", "berlin", "Bonn", "master of  arts", "Master of arts ", "BERLIN"]
    with pytest.warns(UserWarning, match="differ only by case") as told:
        assert len(infer(texts, dtype).values) == 6
    (said,) = (str(warning.message) for warning in told)
    assert said.startswith("column 'x' holds texts that differ only by case or blanks")
    assert "'BERLIN', 'Berlin', 'berlin'; 'Master of arts ', 'master of  arts'. An option" in said
    assert "Bonn" not in said


def test_the_warning_shows_only_some_groups() -> None:
    with pytest.warns(UserWarning, match=r"'C', 'c'; 'D', 'd'; and 2 more\. "):
        infer([*"abcdef", *"ABCDEF"], "str")


def test_excluded_categories_cause_no_warning() -> None:
    assert infer(pd.Categorical(["a", "b"], ["a", "A", "b"])).excluded == ("A",)
