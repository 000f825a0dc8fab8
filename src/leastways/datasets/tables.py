"""Tables from files: CSV and Parquet, people's labels, and nothing that changes a value on the way.

A CSV file holds only text. What a text means is decided here, by the schema where there is one (`columns`). An empty
field is a missing value, and nothing else is: a category called "NA" stays one.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from leastways._extras import require
from leastways._messages import listed, nearest
from leastways.datasets.columns import guessed_column, labels_column, typed_column
from leastways.errors import DataError
from leastways.schema import Schema
from leastways.schema.validation import check_columns

CSV, PARQUET = (".csv",), (".parquet", ".pq")


def read_table(path: Path, schema: Schema | None = None, index: str | None = None) -> pd.DataFrame:
    """Read a table, its columns as the schema has them; `index` names the column with people's labels.

    Without `index`, labels are those that pandas wrote (Parquet; or a first CSV column without a name), else row
    numbers from 0.
    """
    suffix = path.suffix.lower()
    if suffix not in (*CSV, *PARQUET):
        raise DataError(f"cannot tell how to read {str(path)!r}: it must be a .csv or .parquet file.")
    if not path.is_file():
        beside = [p.name for p in path.parent.glob(f"*{path.suffix}")] if path.parent.is_dir() else []
        raise DataError(f"there is no file {str(path)!r}.{nearest(path.name, beside)}")
    frame = _from_csv(path, schema, index) if suffix in CSV else _from_parquet(path, index)
    if frame.empty:
        raise DataError(f"{str(path)!r} has no rows.")
    return frame


def read_people(path: Path, schema: Schema, index: str | None = None) -> pd.DataFrame:
    """Read people, whose columns must be the schema's: one that is not may be a slip. The error names the file."""
    frame = read_table(path, schema, index)
    try:
        check_columns(frame, schema.features, schema.target)
    except DataError as error:
        labels = index is None and any(name not in schema.by_name for name in frame.columns)
        hint = " If a column labels people, name it: --index." if labels else ""
        raise DataError(f"{str(path)!r}: {error}{hint}") from error
    return frame


def read_training(path: Path, schema: Schema) -> pd.DataFrame:
    """Read the table that costs are fitted on: the schema's columns and its target, whatever else the file has.

    Nobody's row is at stake here, so a number must be a number.
    """
    frame = read_table(path, schema)
    known = [name for name in frame.columns if name in schema.by_name or name == schema.target]
    missing = [name for name in schema.names if name not in frame.columns]
    if missing:
        hint = nearest(missing[0], [name for name in frame.columns if name not in known])
        raise DataError(
            f"{str(path)!r}: missing columns: {listed(missing)}.{hint} The schema has: {listed(schema.names, 40)}."
        )
    frame = frame[known]
    for feature in schema.features:
        column = frame[feature.name]
        if not feature.numeric or pd.api.types.is_numeric_dtype(column.dtype):
            continue
        for label, value in column.items():
            if isinstance(value, str):
                raise DataError(
                    f"{str(path)!r}, row {label!r}, column {feature.name!r}: {value!r} is not a number, but the "
                    f"schema says that this column is {feature.kind}."
                )
    return frame


def _from_csv(path: Path, schema: Schema | None, index: str | None) -> pd.DataFrame:
    header, rows = _csv_rows(path)
    index = csv_index(path, header, index)
    features = {} if schema is None else schema.by_name
    columns: dict[str, Any] = {}
    labels: pd.Index[Any] | None = None
    for place, name in enumerate(header):
        texts = [row[place] for row in rows]
        if name == index:
            labels = labels_column(texts, name or None, str(path))
        elif name in features:
            columns[name] = typed_column(texts, features[name])
        else:
            columns[name] = guessed_column(texts)
    frame = pd.DataFrame(columns, index=pd.RangeIndex(len(rows)))
    return frame if labels is None else frame.set_axis(labels, axis=0)


def csv_index(path: Path, header: Sequence[str], index: str | None) -> str | None:
    """Return the column with people's labels: the one named, or a first one without a name; None if there is none."""
    if index is None:
        return "" if header[0] == "" else None  # how pandas writes an index
    check_index(path, header, index)
    return index


def check_index(path: Path, columns: Iterable[str], index: str) -> None:
    """Raise where a file lacks the column that people's labels are said to be in."""
    if index not in columns:
        raise DataError(f"{str(path)!r} has no column {index!r} for --index.{nearest(index, columns)}")


def _csv_rows(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows, every row as long as the header."""
    lines = csv_lines(path)
    return next(lines), list(lines)


def csv_lines(path: Path) -> Iterator[list[str]]:
    """Yield the header and then the rows, every row as long as the header, one by one."""
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
    """Say what may be wrong with a row of more or fewer fields than the header.

    A short row is not filled up: nobody knows which fields it lacks. Old Excels leave out the commas of last columns
    that are empty over sixteen rows, so the message says how such a row is written.
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
