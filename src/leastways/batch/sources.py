"""Read people from a Parquet or CSV file, or a folder of such files, in blocks of rows.

`survey` checks all files before any work begins. A row group or a row of a Parquet file that turns out to be damaged
later makes its own people unreadable and no others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from leastways._extras import require
from leastways._fingerprint import file_fingerprint
from leastways._messages import nearest
from leastways.errors import DataError
from leastways.io import CSV, PARQUET, check_index, csv_index, csv_lines, typed_column, with_nan
from leastways.schema import Feature, Schema, check_columns

BATCH = 4096  # rows that are in memory as read, at most
PASSED_OVER = (".", "_")  # first characters of the names of files that are skipped


def arrow() -> Any:
    """Return pyarrow; raise an error that says how to install it, if it is missing."""
    return require("pyarrow", "parquet", "Working through files of many people")


@dataclass(frozen=True)
class InputFile:
    """A file as it was when the input was surveyed."""

    name: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Block:
    """Consecutive rows: their features and labels, or the reason why they cannot be read."""

    first: int  # position of its first row among all people
    rows: int
    frame: pd.DataFrame | None  # features as they are in the file; None where the rows cannot be read
    labels: Any  # an arrow array
    error: str = ""


class Reader(Protocol):
    """Reads one file."""

    @property
    def rows(self) -> int:
        """People in it."""
        ...

    @property
    def columns(self) -> Sequence[str]:
        """Its columns, without the labels."""
        ...

    @property
    def label_name(self) -> str | None:
        """The name of its labels."""
        ...

    @property
    def label_type(self) -> Any:
        """The arrow type of its labels."""
        ...

    def blocks(self, first: int, skip: Sequence[tuple[int, int]]) -> Iterator[Block]:
        """Yield the rows, the first of which is person `first`; blocks that lie within `skip` are left out."""
        ...


class People(Protocol):
    """People in a fixed order, which can be read again."""

    @property
    def label_type(self) -> Any:
        """The arrow type of their labels."""
        ...

    @property
    def rows(self) -> int:
        """The number of people."""
        ...

    def blocks(self, skip: Sequence[tuple[int, int]] = ()) -> Iterator[Block]:
        """Yield all rows in their order; of those in `skip` (from, to) some may be left out."""
        ...


@dataclass(frozen=True)
class Source:
    """All people of the input: the files, checked to fit together, and their readers."""

    files: tuple[InputFile, ...]
    readers: tuple[Reader, ...]
    paths: tuple[Path, ...]
    stamps: tuple[tuple[int, int], ...]  # size and time of change of each file when it was surveyed
    index: str | None  # name of the labels
    label_type: Any

    @property
    def rows(self) -> int:
        """All people."""
        return sum(file.rows for file in self.files)

    def manifest(self) -> dict[str, Any]:
        """Return the description of the input for a manifest."""
        return {"rows": self.rows, "index": self.index, "files": [asdict(file) for file in self.files]}

    def blocks(self, skip: Sequence[tuple[int, int]] = ()) -> Iterator[Block]:
        """Yield all rows in their order; of those in `skip` (from, to) some may be left out."""
        first = 0
        for reader, path, stamp in zip(self.readers, self.paths, self.stamps, strict=True):
            if not is_covered(first, first + reader.rows, skip):
                _check_stamp(path, stamp)
                for block in reader.blocks(first, skip):
                    _check_stamp(path, stamp)
                    yield block
                _check_stamp(path, stamp)  # it may have ended early
            first += reader.rows


def survey(path: Path, schema: Schema, index: str | None) -> Source:
    """Check all files of the input, and raise for one that is truncated, no table, or does not fit the others."""
    paths = _paths(path)
    stamps = tuple(_stamp(file) for file in paths)
    readers = [_reader(file, schema, index, alone=len(paths) == 1) for file in paths]
    for file, reader in zip(paths, readers, strict=True):
        _check_alike(paths[0], readers[0], file, reader)
    if not sum(reader.rows for reader in readers):
        raise DataError(f"{str(path)!r} has no rows.")
    files = [
        InputFile(file.name, reader.rows, file.stat().st_size, file_fingerprint(file))
        for file, reader in zip(paths, readers, strict=True)
    ]
    for file, stamp in zip(paths, stamps, strict=True):
        _check_stamp(file, stamp)
    label_type = _common_label_type(readers)
    return Source(tuple(files), tuple(readers), tuple(paths), stamps, readers[0].label_name, label_type)


def _paths(path: Path) -> list[Path]:
    if path.is_file():
        if path.suffix.lower() not in (*CSV, *PARQUET):
            raise DataError(f"cannot tell how to read {str(path)!r}: it must be a .csv or .parquet file, or a folder.")
        return [path]
    if not path.is_dir():
        beside = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        raise DataError(f"there is no file or folder {str(path)!r}.{nearest(path.name, beside)}")
    shown = [p for p in sorted(path.iterdir()) if not p.name.startswith(PASSED_OVER)]
    below = next((p.name for p in shown if p.is_dir()), None)
    if below is not None:  # people in it must not be skipped silently
        raise DataError(f"the folder {str(path)!r} holds another folder, {below!r}; people are read from files alone.")
    inside = [p for p in shown if p.is_file()]
    for endings in (PARQUET, CSV):
        files = [p for p in inside if p.suffix.lower() in endings]
        if files:
            others = [p.name for p in inside if p not in files]
            if others:
                raise DataError(f"the folder {str(path)!r} holds other files beside {files[0].name!r}: {others[0]!r}.")
            return files
    raise DataError(f"the folder {str(path)!r} holds no .parquet or .csv file.")


def _reader(path: Path, schema: Schema, index: str | None, alone: bool) -> Reader:
    if path.suffix.lower() in CSV:
        return CsvFile.surveyed(path, schema, index)

    return ParquetFile.surveyed(path, schema, index, alone)


def check_features(path: Path, columns: Sequence[str], schema: Schema) -> None:
    """Raise if a file lacks a column of the schema, or has one that the schema does not know."""
    try:
        check_columns(pd.DataFrame(columns=list(columns), index=[0]), schema.features, schema.target)
    except DataError as error:
        raise DataError(f"{str(path)!r}: {error}") from error


def wanted(columns: Sequence[str], features: Sequence[Feature]) -> list[str]:
    """Return the columns to read, in the schema's order."""
    return [feature.name for feature in features if feature.name in columns]


def _check_alike(first: Path, one: Reader, path: Path, other: Reader) -> None:
    if sorted(one.columns) != sorted(other.columns):
        differ = sorted(set(one.columns) ^ set(other.columns))
        raise DataError(f"{path.name!r} has not the columns of {first.name!r}: {differ[0]!r} is in one of them only.")
    mine, theirs = getattr(one, "types", {}), getattr(other, "types", {})
    if mine.keys() != theirs.keys():  # the columns are the same, so it is the labels
        differ = sorted(mine.keys() ^ theirs.keys())[0]
        raise DataError(
            f"people are labelled by {differ!r}, an index that pandas wrote, in only one of {first.name!r} and "
            f"{path.name!r}; write all files with it or without, or name a column with --index."
        )
    for name in mine:
        if mine[name] != theirs[name]:
            raise DataError(
                f"column {name!r} is {theirs[name]} in {path.name!r}, but {mine[name]} in {first.name!r}; "
                "all files of a folder must have the same schema."
            )


def _common_label_type(readers: Sequence[Reader]) -> Any:
    """Return the common type of all labels: whole numbers in one CSV file and text in another become text."""
    types = {str(reader.label_type): reader.label_type for reader in readers}
    return next(iter(types.values())) if len(types) == 1 else arrow().string()


def is_covered(first: int, end: int, skip: Sequence[tuple[int, int]]) -> bool:
    """Return whether all rows from `first` to `end` can be skipped."""
    return any(a <= first and end <= b for a, b in skip)


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def _check_stamp(path: Path, stamp: tuple[int, int]) -> None:
    if not path.is_file() or _stamp(path) != stamp:
        raise DataError(f"{str(path)!r} was changed while it was being read; start again once it no longer changes.")


@dataclass(frozen=True)
class CsvFile:
    """A CSV file that was checked: it is UTF-8, every line has all fields, and the columns fit the schema."""

    path: Path
    schema: Schema
    rows: int
    columns: Sequence[str]  # without the labels
    label: int | None  # the field with the labels
    label_name: str | None
    label_type: Any

    @classmethod
    def surveyed(cls, path: Path, schema: Schema, index: str | None) -> CsvFile:
        """Read a file once, line by line, to check it."""
        lines = csv_lines(path)
        header = next(lines)
        index = csv_index(path, header, index)
        label = None if index is None else header.index(index)
        columns = [name for position, name in enumerate(header) if position != label and (position or name)]
        check_features(path, columns, schema)
        rows, whole = 0, True
        for line in lines:
            rows += 1
            whole = whole and (label is None or _is_whole(line[label]))
        pa = arrow()
        return cls(path, schema, rows, columns, label, index or None, pa.int64() if whole else pa.string())

    def blocks(self, first: int, skip: Sequence[tuple[int, int]]) -> Iterator[Block]:
        """Yield the rows, a few thousand at a time."""
        lines = csv_lines(self.path)
        header = next(lines)
        held: list[list[str]] = []
        for line in lines:
            held.append(line)
            if len(held) == BATCH:
                yield from self._block(header, first, held, skip)
                first, held = first + len(held), []
        if held:
            yield from self._block(header, first, held, skip)

    def _block(
        self, header: list[str], first: int, lines: list[list[str]], skip: Sequence[tuple[int, int]]
    ) -> Iterator[Block]:
        if is_covered(first, first + len(lines), skip):
            return
        columns = {}
        for name in wanted(self.columns, self.schema.features):
            position = header.index(name)
            columns[name] = typed_column([line[position] for line in lines], self.schema.by_name[name])
        frame = pd.DataFrame(columns, index=pd.RangeIndex(len(lines)))
        yield Block(first, len(lines), frame, self._labels(first, lines))

    def _labels(self, first: int, lines: list[list[str]]) -> Any:
        pa = arrow()
        if self.label is None:
            return pa.array(range(first, first + len(lines)), pa.int64())
        texts = [line[self.label] for line in lines]
        if pa.types.is_integer(self.label_type):
            return pa.array([int(text) if text else None for text in texts], self.label_type)
        return pa.array([text or None for text in texts], self.label_type)


def _is_whole(text: str) -> bool:
    """Return whether a label is written as a whole number: 7 is, 007 is not."""
    try:
        return not text or (str(int(text)) == text and -(2**63) <= int(text) < 2**63)
    except ValueError:
        return False


@dataclass(frozen=True)
class ParquetFile:
    """A Parquet file whose metadata could be read and fit the schema."""

    path: Path
    schema: Schema
    metadata: Any  # what pandas noted of the columns, without their index
    groups: tuple[int, ...]  # rows of each row group
    columns: Sequence[str]  # without the labels
    types: Mapping[str, str]
    label: str | None  # the column with the labels
    label_type: Any
    counted: tuple[int, int] | None  # start and step of a range of labels, as pandas notes it

    @property
    def rows(self) -> int:
        """People in this file."""
        return sum(self.groups)

    @property
    def label_name(self) -> str | None:
        """The name of the labels; None for a name that pandas made up."""
        return None if self.label is None or _is_made_up(self.label) else self.label

    @classmethod
    def surveyed(cls, path: Path, schema: Schema, index: str | None, alone: bool) -> ParquetFile:
        """Read a file's metadata; with `alone`, its labels need not match those of other files."""
        pa = arrow()
        try:
            with _opened(path) as file:
                names = file.schema_arrow
                groups = tuple(file.metadata.row_group(n).num_rows for n in range(file.metadata.num_row_groups))
        except (OSError, pa.ArrowException) as error:
            raise DataError(f"cannot read {str(path)!r} as Parquet: {error}") from error
        label, counted = _labels_of(path, names, index)
        if names.names.count(label) > 1:
            raise DataError(f"{str(path)!r} has the column {label!r}, which holds the labels, twice or more.")
        columns = [name for name in names.names if name != label and not _is_made_up(name)]
        check_features(path, columns, schema)
        types = {field.name: str(_plain_type(field.type)) for field in names if field.name in (label, *schema.names)}
        _check_types(path, names, schema)
        label_type = pa.int64() if label is None else _plain_type(names.field(label).type)
        if pa.types.is_nested(label_type):
            raise DataError(f"{str(path)!r}: the labels in column {label!r} are {label_type}; text or numbers can be.")
        kept = counted if alone else None
        return cls(path, schema, _noted(names), groups, columns, types, label, label_type, kept)

    def blocks(self, first: int, skip: Sequence[tuple[int, int]]) -> Iterator[Block]:
        """Yield the rows; rows of a group that cannot be read come as one block with the reason."""
        start = first
        for number, rows in enumerate(self.groups):
            if rows and not is_covered(start, start + rows, skip):
                yield from self._group(number, rows, start, start - first, skip)
            start += rows

    def _group(
        self, number: int, rows: int, start: int, inside: int, skip: Sequence[tuple[int, int]]
    ) -> Iterator[Block]:
        pa = arrow()
        names = wanted(self.columns, self.schema.features)
        read = 0
        try:
            for batch in self._batches(number, [*names, *([] if self.label is None else [self.label])]):
                position = start + read
                if not is_covered(position, position + len(batch), skip):
                    yield from self._decoded(batch, names, position, inside + read)
                read += len(batch)
        except (OSError, pa.ArrowException) as error:
            error_text = (
                f"this row cannot be read: row group {number} of {self.path.name!r} is damaged ({_short(error)})"
            )
            labels = self._rescued_labels(number, read, rows - read, start + read, inside + read)
            yield Block(start + read, rows - read, None, labels, error_text)

    def _decoded(self, batch: Any, names: Sequence[str], position: int, inside: int) -> Iterator[Block]:
        """Yield a batch as a block; rows with texts that are not UTF-8 are found by halving, and yielded alone."""
        pa = arrow()
        try:
            batch.validate(full=True)  # labels too, which are not decoded before the results are read
            table = pa.Table.from_batches([batch.select(names)])
            frame = table.replace_schema_metadata(self.metadata).to_pandas()
            for feature in self.schema.features:
                if feature.name in frame:
                    frame[feature.name] = with_nan(frame[feature.name], feature)
            yield Block(position, len(batch), frame, self._labels(batch, position, inside))
        except (ValueError, pa.ArrowException) as error:
            half = len(batch) // 2
            if half:
                yield from self._decoded(batch.slice(0, half), names, position, inside)
                yield from self._decoded(batch.slice(half), names, position + half, inside + half)
            else:
                error_text = f"this row of {self.path.name!r} cannot be read: {_short(error)}"
                yield Block(position, 1, None, self._usable_label(batch, position, inside), error_text)

    def _usable_label(self, row: Any, position: int, inside: int) -> Any:
        """Return the label of a row that cannot be read, or null if it is the label that cannot be."""
        pa = arrow()
        try:
            label = self._labels(row, position, inside)
            label.validate(full=True)
            return label
        except (ValueError, pa.ArrowException):
            return pa.nulls(1, self.label_type)

    def _batches(self, number: int, columns: Sequence[str]) -> Iterator[Any]:
        with _opened(self.path) as file:
            batches = file.iter_batches(BATCH, row_groups=[number], columns=list(columns), use_threads=False)
            yield from (batch for batch in batches if len(batch))

    def _labels(self, batch: Any, position: int, inside: int) -> Any:
        pa = arrow()
        if self.label is not None:
            column = batch.column(self.label)
            return column.cast(self.label_type) if column.type != self.label_type else column
        numbers = np.arange(len(batch), dtype=np.int64)
        if self.counted is None:
            return pa.array(position + numbers)
        begin, step = self.counted
        return pa.array(begin + step * (inside + numbers))

    def _rescued_labels(self, number: int, read: int, rows: int, position: int, inside: int) -> Any:
        """Return the labels of rows that cannot be read, or nulls if the labels cannot be either."""
        pa = arrow()
        if self.label is None:
            return self._labels(pa.record_batch([pa.nulls(rows)], ["none"]), position, inside)
        try:
            held = pa.Table.from_batches(list(self._batches(number, [self.label])))
            return held.column(0).cast(self.label_type).combine_chunks().slice(read, rows)
        except (OSError, pa.ArrowException):
            return pa.nulls(rows, self.label_type)


def _opened(path: Path) -> Any:
    """Open a file so that its pages are read one after the other, and checked if they have checksums.

    A scan of a pyarrow dataset would hold a whole row group, which may be the whole file.
    """
    import pyarrow.parquet as pq

    return pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False, page_checksum_verification=True)


def _is_made_up(name: str) -> bool:
    """Return whether pandas generated this name for an unnamed index; such a column is no feature."""
    return name.startswith("__index_level_")


def _noted(names: Any) -> dict[bytes, bytes] | None:
    """Return pandas' metadata about column types, without the index, which is read separately."""
    noted = (names.metadata or {}).get(b"pandas")
    return None if noted is None else {b"pandas": json.dumps(json.loads(noted) | {"index_columns": []}).encode()}


def _labels_of(path: Path, names: Any, index: str | None) -> tuple[str | None, tuple[int, int] | None]:
    """Return the column with the labels, or None, and the start and step if they are a range."""
    if index is not None:
        check_index(path, names.names, index)
        return index, None
    noted = json.loads((names.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    if len(noted) > 1:
        raise DataError(f"{str(path)!r} has an index of {len(noted)} levels; name one column with --index.")
    if not noted:
        return None, None
    if isinstance(noted[0], str):
        return (noted[0], None) if noted[0] in names.names else (None, None)
    return None, (int(noted[0]["start"]), int(noted[0]["step"]))


def _check_types(path: Path, names: Any, schema: Schema) -> None:
    """Raise if a column's type fits none of its feature's values: this is no fault of single people."""
    pa = arrow()
    for feature in schema.features:
        type_ = _plain_type(names.field(feature.name).type)
        number = pa.types.is_integer(type_) or pa.types.is_floating(type_)
        other = pa.types.is_nested(type_) or pa.types.is_temporal(type_) or pa.types.is_binary(type_)
        fits = number or pa.types.is_null(type_) if feature.numeric else not (other or pa.types.is_large_binary(type_))
        if not fits:
            raise DataError(
                f"{str(path)!r}: column {feature.name!r} holds {type_}, but the schema says that it is {feature.kind}."
            )


def _plain_type(type_: Any) -> Any:
    """Return the type of the values, whatever their encoding."""
    pa = arrow()
    inner = type_.value_type if pa.types.is_dictionary(type_) else type_
    return pa.string() if pa.types.is_large_string(inner) or pa.types.is_string_view(inner) else inner


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
