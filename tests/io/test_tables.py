"""Tables from files, and what the texts of a CSV column mean."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastways.errors import DataError
from leastways.io.tables import inferred_column, labels_column, read_table, typed_column
from leastways.schema import Feature, Schema


def category(*values: Any, dtype: str = "str", **more: Any) -> Feature:
    return Feature("f", "category", values, dtype=dtype, **more)


@pytest.mark.parametrize(
    ("feature", "texts", "values", "dtype"),
    [
        (category("0", "1", "2"), ["0", "2"], ["0", "2"], "str"),
        (category(0, 1, 2, dtype="int64"), ["0", "2", "1.0"], [0, 2, 1], "int64"),
        (category(1.0, 2.5, dtype="float64"), ["1", "2.5"], [1.0, 2.5], "float64"),
        (category(False, True, dtype="bool"), ["True", "false"], [True, False], "bool"),
        (category("NA", "b"), ["NA", "b"], ["NA", "b"], "str"),
        (category("NA", "b"), ["NA", ""], ["NA", None], "object"),
        (category("", "b"), ["", "b"], ["", "b"], "str"),
        (category("a", "b"), [" a", "b "], ["a", "b"], "str"),
        (category("a", " a"), [" a", "a"], [" a", "a"], "str"),
        (category("a", "b"), ["a", "c"], ["a", "c"], "object"),
        (category("a", "b", dtype="category", categories=("b", "a")), ["a", "b"], ["a", "b"], "category"),
        (Feature("f", "integer", (0, 1, 2), dtype="int8"), ["1", "2"], [1, 2], "int8"),
        (Feature("f", "integer", (0, 1, 2), dtype="int8"), ["1", "300"], [1, 300], "int64"),
        (Feature("f", "integer", (0, 1, 2), dtype="int64"), ["1", "1.5"], [1, 1.5], "float64"),
        (Feature("f", "integer", (0, 1, 2), dtype="int64"), ["1.0", "2.0"], [1, 2], "int64"),
        (Feature("f", "integer", (0, 1, 2), dtype="int64"), ["1", "x"], [1, "x"], "object"),
        (Feature("f", "real", (0.1, 2.0), dtype="float32"), ["0.1"], [np.float32(0.1)], "float32"),
        (Feature("f", "real", (0.1, 2.0), dtype="float64"), ["1e0", " 2 "], [1.0, 2.0], "float64"),
    ],
)
def test_a_column_is_typed_by_its_feature(feature: Feature, texts: list[str], values: list[Any], dtype: str) -> None:
    column = typed_column(texts, feature)
    wanted = "object" if dtype == "str" and pd.__version__ < "3" else dtype
    assert str(column.dtype) == wanted
    assert column.tolist() == values


@pytest.mark.parametrize("text", ["", " ", "NA", "nan", "NaN", "null", "N/A", "None"])
def test_texts_for_missing_numbers_become_nan(text: str) -> None:
    column = typed_column(["1", text], Feature("f", "integer", (0, 1, 2), dtype="int64"))
    assert column.dtype == np.float64
    assert math.isnan(column[1])


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1", "2"], [1, 2]),
        (["1", "2.5"], [1.0, 2.5]),
        (["01", "2"], ["01", "2"]),
        (["0", "0.5"], [0.0, 0.5]),
        (["1_0", "2"], ["1_0", "2"]),
        (["True", "False"], [True, False]),
        (["True", "other"], ["True", "other"]),
        (["NA", "b"], ["NA", "b"]),
    ],
)
def test_types_are_inferred_without_a_schema(texts: list[str], values: list[Any]) -> None:
    column = inferred_column(texts)
    assert column.tolist() == values
    assert [type(v) for v in column.tolist()] == [type(v) for v in values]


def test_inferred_columns_keep_missing_values() -> None:
    assert inferred_column(["1", "", "NA"]).isna().tolist() == [False, True, True]
    assert inferred_column(["a", "", "NA"]).isna().tolist() == [False, True, False]
    assert inferred_column(["True", ""]).isna().tolist() == [False, True]


def test_labels_are_whole_numbers_or_text() -> None:
    assert labels_column(["7", "12"], "id", "f").tolist() == [7, 12]
    assert labels_column(["007", "12"], "id", "f").tolist() == ["007", "12"]
    assert labels_column(["a", "12"], "id", "f").tolist() == ["a", "12"]
    with pytest.raises(DataError, match=r"missing in row\(s\) 1"):
        labels_column(["a", ""], "id", "f.csv")


def test_an_unnamed_first_column_is_the_index(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2]}, index=["x", "y"])
    frame.to_csv(tmp_path / "t.csv")
    frame.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        pd.testing.assert_frame_equal(read_table(tmp_path / name), frame)


def test_a_parquet_index_labels_people(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2], "name": [5, 6]}, index=pd.Index([8, 9], name="other"))
    frame.to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").index.tolist() == [8, 9]
    assert read_table(tmp_path / "t.parquet", index="other").index.tolist() == [8, 9]
    assert read_table(tmp_path / "t.parquet", index="name").index.tolist() == [5, 6]
    with pytest.raises(DataError, match=r"no column 'nmae' for --index\. Did you mean 'name'"):
        read_table(tmp_path / "t.parquet", index="nmae")


@pytest.mark.parametrize("end", ["", "\r\n", "\r\n\r\n\r\n", "\r\n  \r\n\t\r\n"])
def test_quotes_blank_lines_empty_fields_and_a_byte_order_mark(tmp_path: Path, end: str) -> None:
    (tmp_path / "t.csv").write_bytes(f'\ufeffa,b\r\n1,"x, y"\r\n\r\n2,{end}'.encode())
    frame = read_table(tmp_path / "t.csv")
    assert frame["a"].tolist() == [1, 2]
    assert frame["b"].tolist()[0] == "x, y"
    assert frame["b"].isna().tolist() == [False, True]


def test_a_field_of_blanks_is_a_row_where_there_is_one_column(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('a\nx\n \n""\n\n')
    assert read_table(tmp_path / "t.csv")["a"].isna().tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"a,b\n", "has no rows"),
        (b"a,b\n1,2,3\n", "line 2: 3 fields, but the header names 2"),
        (b"a,b,c\n1,2,3\n4,5\n", "line 3: 2 fields, but the header names 3. The file may have been cut off there"),
        (b"a,b,c\n1,2,3\n\n4", "line 4: 1 field, but the header names 3. .*Empty fields need their commas"),
        (b"a,b,c\n,\n1,2,3\n", "line 2: 2 fields, but the header names 3"),
        (b"a,a\n1,2\n", "names columns twice: 'a'"),
        (b"a;b\n1;2\n", "separated by ';'"),
        (b"a,b\n\xff\xfe,1\n", "not UTF-8"),
        (b'a,b\n0,1\n"1,2\n3,4\n', "line 3: unexpected end of data. A quote that is opened there is not closed."),
        (b'a,b\n0,1\n"1"x,2\n', "line 3: ',' expected after"),
    ],
)
def test_malformed_csv_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_table(tmp_path / "t.csv")


def test_malformed_parquet_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1 or not")
    with pytest.raises(DataError, match="as Parquet"):
        read_table(tmp_path / "t.parquet")


words = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=6).filter(
    lambda text: text == text.strip() and text
)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.integers(-(10**9), 10**9),
            st.floats(-1e12, 1e12, allow_nan=False),
            words,
            st.booleans(),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_csv_files_round_trip(rows: list[tuple[int, float, str, bool]]) -> None:
    """For all tables that fit their schema: write as CSV, read by the schema, and it is the same table."""
    frame = pd.DataFrame(rows, columns=["count", "amount", "word", "flag"])
    schema = Schema.infer(frame)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.csv"
        frame.to_csv(file, index=False)
        pd.testing.assert_frame_equal(read_table(file, schema.by_name), frame)
        schema.validate(read_table(file, schema.by_name))
