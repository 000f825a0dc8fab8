"""Read tables from CSV and Parquet files: people's labels, typed columns, and no value changed on the way.

A CSV file holds only text. What a text means is decided by the column's declared type (`ColumnType`, as the features of
a schema are) or, where there is none, by a careful guess. An empty field is a missing value, and nothing else is: a
category called "NA" stays one.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from leastways._extras import require
from leastways._messages import listed, nearest
from leastways.errors import DataError

CSV, PARQUET = (".csv",), (".parquet", ".pq")
# Missing where numbers are expected. Among texts only an empty field is missing: these may be categories.
_NO_NUMBER = {"", "na", "n/a", "#n/a", "nan", "null", "none", "<na>"}
_LEADING_ZERO = re.compile(r"[+-]?0\d")  # 01234: a code made of digits, which a number would cut short
_TRUTH = ({"True", "False"}, {"true", "false"}, {"TRUE", "FALSE"})


class ColumnType(Protocol):
    """The attributes of a column that reading needs; a schema's `Feature` has them."""

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers."""
        ...

    @property
    def values(self) -> Sequence[Any]:
        """The values it may have, where it is a category."""
        ...

    @property
    def dtype(self) -> str:
        """The name of its pandas dtype."""
        ...

    @property
    def column_dtype(self) -> Any:
        """Its pandas dtype."""
        ...

    @property
    def categories(self) -> Sequence[Any]:
        """The categories, where the dtype is "category"."""
        ...

    @property
    def categories_ordered(self) -> bool:
        """Whether these categories have an order."""
        ...

    @property
    def missing(self) -> bool:
        """Whether a value may be missing."""
        ...


def read_table(path: Path, types: Mapping[str, ColumnType] | None = None, index: str | None = None) -> pd.DataFrame:
    """Read a whole table from a .csv or .parquet file.

    Parameters
    ----------
    path
        The file.
    types
        Types of columns by name (`schema.by_name`), for CSV; the types of other columns are inferred.
    index
        The column with people's labels. Without it, labels are those that pandas wrote (Parquet; or a first CSV column
        without a name), else row numbers from 0.

    """
    suffix = path.suffix.lower()
    if suffix not in (*CSV, *PARQUET):
        raise DataError(f"cannot tell how to read {str(path)!r}: it must be a .csv or .parquet file.")
    if not path.is_file():
        beside = [p.name for p in path.parent.glob(f"*{path.suffix}")] if path.parent.is_dir() else []
        raise DataError(f"there is no file {str(path)!r}.{nearest(path.name, beside)}")
    frame = _from_csv(path, types or {}, index) if suffix in CSV else _from_parquet(path, index)
    if frame.empty:
        raise DataError(f"{str(path)!r} has no rows.")
    return frame


def _from_csv(path: Path, types: Mapping[str, ColumnType], index: str | None) -> pd.DataFrame:
    lines = csv_lines(path)
    header, rows = next(lines), list(lines)
    index = csv_index(path, header, index)
    columns: dict[str, Any] = {}
    labels: pd.Index[Any] | None = None
    for position, name in enumerate(header):
        texts = [row[position] for row in rows]
        if name == index:
            labels = labels_column(texts, name or None, str(path))
        elif name in types:
            columns[name] = typed_column(texts, types[name])
        else:
            columns[name] = inferred_column(texts)
    frame = pd.DataFrame(columns, index=pd.RangeIndex(len(rows)))
    return frame if labels is None else frame.set_axis(labels, axis=0)


def csv_index(path: Path, header: Sequence[str], index: str | None) -> str | None:
    """Return the name of the column with people's labels: `index`, or a first column without a name, else None."""
    if index is None:
        return "" if header[0] == "" else None  # how pandas writes an index
    check_index(path, header, index)
    return index


def check_index(path: Path, columns: Iterable[str], index: str) -> None:
    """Raise where a file lacks the column `index`, which is to hold people's labels."""
    if index not in columns:
        raise DataError(f"{str(path)!r} has no column {index!r} for --index.{nearest(index, columns)}")


def csv_lines(path: Path) -> Iterator[list[str]]:
    """Yield the header and then the rows of a CSV file; every row is as long as the header."""
    read = 0  # lines
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            lines = csv.reader(stream, strict=True)
            header = next(lines, [])
            _check_header(header, path)
            yield header
            read = lines.line_num
            for row in lines:
                if len(row) == len(header):
                    yield row
                elif "".join(row).strip() or len(row) > 1:  # a blank line is no row
                    raise _other_length(path, lines.line_num, row, header)
                read = lines.line_num
    except UnicodeDecodeError as error:
        raise DataError(f"{str(path)!r} is not UTF-8 text ({error.reason}); save it as CSV in UTF-8.") from error
    except csv.Error as error:
        hint = " A quote that is opened there is not closed." if "unexpected end" in str(error) else ""
        raise DataError(f"{str(path)!r}, line {read + 1}: {error}.{hint}") from error
    except OSError as error:
        raise DataError(f"cannot read {str(path)!r}: {error}") from error


def _other_length(path: Path, line: int, row: Sequence[str], header: Sequence[str]) -> DataError:
    """Make the error for a row with more or fewer fields than the header.

    A short row is not filled up, as it is unknown which fields it lacks. Old versions of Excel leave out the commas of
    trailing columns that are empty over sixteen rows, so the message says how such a row is written.
    """
    if len(row) > len(header):
        hint = "Put quotes around a value that holds a comma."
    else:
        hint = "The file may have been cut off there, or a value is lacking. Empty fields need their commas too."
    fields = "1 field" if len(row) == 1 else f"{len(row)} fields"
    return DataError(f"{str(path)!r}, line {line}: {fields}, but the header names {len(header)}. {hint}")


def _check_header(header: Sequence[str], path: Path) -> None:
    if not header:
        raise DataError(f"{str(path)!r} is empty: the first line must name the columns.")
    twice = [name for name, n in Counter(header).items() if n > 1]
    if twice:
        raise DataError(f"{str(path)!r} names columns twice: {listed(twice)}.")
    other = next((sign for sign in (";", "\t", "|") if len(header) == 1 and sign in header[0]), None)
    if other is not None:
        raise DataError(f"{str(path)!r} seems to be separated by {other!r}; leastways reads fields between commas.")


def _from_parquet(path: Path, index: str | None) -> pd.DataFrame:
    require("pyarrow", "parquet", "Reading a Parquet file")
    try:
        frame = pd.read_parquet(path)
    except (OSError, ValueError) as error:  # pyarrow's errors are one or the other
        raise DataError(f"cannot read {str(path)!r} as Parquet: {error}") from error
    if index is None or index == frame.index.name:
        return frame
    check_index(path, frame.columns, index)
    return frame.set_index(index)


def typed_column(texts: Sequence[str], kind: ColumnType) -> pd.Series[Any]:
    """Convert texts to a column of a type. Texts that cannot be converted are kept, to be reported row by row."""
    if kind.numeric:
        return _as_dtype(_numbers(texts), kind.dtype)
    meant = {text: category_of(text, kind) for text in set(texts)}
    column = with_nan(pd.Series([meant[text] for text in texts], dtype=object), kind)
    if not column.isin(list(kind.values)).all():
        return column
    if kind.dtype == "category":
        return column.astype(pd.CategoricalDtype(list(kind.categories), kind.categories_ordered))
    return column.astype(kind.dtype)  # type: ignore[call-overload, no-any-return]


def with_nan(column: pd.Series[Any], kind: ColumnType) -> pd.Series[Any]:
    """Return a column with NaN for missing values, where a model could tell None from NaN."""
    return column.where(column.notna(), math.nan) if kind.missing and may_hold_none(kind, column) else column


def may_hold_none(kind: ColumnType, column: pd.Series[Any]) -> bool:
    """Return whether None in this column would reach the model as None, and not as the NaN that it was trained with."""
    return all(isinstance(d, np.dtype) and d.kind == "O" for d in (column.dtype, kind.column_dtype))


def category_of(text: str, kind: ColumnType) -> Any:
    """Return the category that a text names ('1' is 1 where categories are numbers); else the text."""
    for candidate in (text, text.strip()):
        for value in kind.values:
            if _names(candidate, value):
                return value
    return text if text.strip() else None


def _names(text: str, value: Any) -> bool:
    if isinstance(value, bool):
        return text.lower() == str(value).lower()
    if isinstance(value, int | float):
        return number_of(text) == value
    return text == str(value)


def inferred_column(texts: Sequence[str]) -> pd.Series[Any]:
    """Convert texts of unknown type to numbers, truth values or text, as pandas would, but more carefully."""
    given = [t for t in texts if t.strip().lower() not in _NO_NUMBER]
    if given and not any(_LEADING_ZERO.match(t.strip()) for t in given):
        if set(given) in _TRUTH and len(given) == len(texts):
            return pd.Series([t.lower() == "true" for t in texts], dtype=bool)
        if all(number_of(t) is not None for t in given):
            return _numbers(texts)
    return pd.Series([t if t.strip() else None for t in texts])


def labels_column(texts: Sequence[str], name: str | None, where: str) -> pd.Index[Any]:
    """Return people's labels: whole numbers if all of them are written as such (007 is not), else text."""
    empty = [row for row, text in enumerate(texts) if not text.strip()]
    if empty:
        raise DataError(f"{where}: the label of a person is missing in row(s) {listed(empty)}, counted from 0.")
    try:
        whole = [int(text) for text in texts]
    except ValueError:
        return pd.Index(texts, name=name)
    return pd.Index(whole if [str(n) for n in whole] == list(texts) else texts, name=name)


def number_of(text: str) -> int | float | None:
    """Return the number that a text is, None if it is none."""
    if "_" in text:  # Python's own notation, not a file's
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return None
    return None if math.isnan(value) else value


def _numbers(texts: Sequence[str]) -> pd.Series[Any]:
    """Convert texts to numbers; a text that is no number stays, and makes this a column of objects."""
    values: list[Any] = []
    for text in texts:
        value = number_of(text)
        missing = value is None and text.strip().lower() in _NO_NUMBER
        values.append(math.nan if missing else text if value is None else value)
    return pd.Series(values, dtype=object).infer_objects()


def _as_dtype(column: pd.Series[Any], dtype: str) -> pd.Series[Any]:
    """Return numbers in the dtype of the training table where that keeps every value."""
    if not pd.api.types.is_numeric_dtype(column.dtype):
        return column
    try:
        cast = column.astype(dtype)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return column
    same = pd.api.types.is_float_dtype(cast.dtype) or bool((cast == column).all())
    return cast if same else column
