"""The people: a Parquet or CSV file, or a folder of them, looked over before any work and then read piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from leastways._fingerprint import file_print
from leastways._messages import nearest
from leastways.batch.tables import arrow
from leastways.datasets.tables import CSV, PARQUET
from leastways.errors import DataError
from leastways.schema import Feature, Schema
from leastways.schema.validation import check_columns

BATCH = 4096  # rows that are in memory as read, at most
PASSED_OVER = (".", "_")  # how names begin that are none of the people's files


@dataclass(frozen=True)
class InputFile:
    """A file as it was when it was looked over."""

    name: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Block:
    """Some rows in their order: the features and the labels, or why they cannot be read."""

    first: int  # place of its first row among all people
    rows: int
    frame: pd.DataFrame | None  # features as they are in the file; None where the rows cannot be read
    labels: Any  # an arrow array
    trouble: str = ""


class Reader(Protocol):
    """What can be read out of one file."""

    @property
    def rows(self) -> int:
        """People in it."""
        ...

    @property
    def columns(self) -> Sequence[str]:
        """Its columns, less the labels."""
        ...

    @property
    def label_name(self) -> str | None:
        """What its labels are called."""
        ...

    @property
    def label_type(self) -> Any:
        """The arrow type of its labels."""
        ...

    def blocks(self, first: int, skip: Sequence[tuple[int, int]]) -> Iterator[Block]:
        """Yield the rows, the first of which is person `first`; whole pieces within `skip` are left out."""
        ...


class People(Protocol):
    """People in some order, of whom any stretch can be read again."""

    @property
    def label_type(self) -> Any:
        """The arrow type of their labels."""
        ...

    @property
    def rows(self) -> int:
        """How many they are."""
        ...

    def blocks(self, skip: Sequence[tuple[int, int]] = ()) -> Iterator[Block]:
        """Yield all rows in their order; of those in `skip` (from, to) some may be left out."""
        ...


@dataclass(frozen=True)
class Source:
    """All people, in files that fit together."""

    files: tuple[InputFile, ...]
    readers: tuple[Reader, ...]
    paths: tuple[Path, ...]
    stamps: tuple[tuple[int, int], ...]  # size and time of change of each file when it was looked over
    index: str | None  # what the labels are called
    label_type: Any

    @property
    def rows(self) -> int:
        """All people."""
        return sum(file.rows for file in self.files)

    def manifest(self) -> dict[str, Any]:
        """Return what a manifest says of the input."""
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
    """Look over the input, and refuse by name what is truncated, of another shape than the rest, or no table at all."""
    paths = _paths(path)
    stamps = tuple(_stamp(file) for file in paths)
    readers = [_reader(file, schema, index, alone=len(paths) == 1) for file in paths]
    for file, reader in zip(paths, readers, strict=True):
        _check_alike(paths[0], readers[0], file, reader)
    if not sum(reader.rows for reader in readers):
        raise DataError(f"{str(path)!r} has no rows.")
    files = [
        InputFile(file.name, reader.rows, file.stat().st_size, file_print(file))
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
    if below is not None:  # to pass over people in silence would be to lose them
        raise DataError(f"the folder {str(path)!r} holds another folder, {below!r}; people are read from files alone.")
    inside = [p for p in shown if p.is_file()]
    for kind in (PARQUET, CSV):
        files = [p for p in inside if p.suffix.lower() in kind]
        if files:
            others = [p.name for p in inside if p not in files]
            if others:
                raise DataError(f"the folder {str(path)!r} holds other files beside {files[0].name!r}: {others[0]!r}.")
            return files
    raise DataError(f"the folder {str(path)!r} holds no .parquet or .csv file.")


def _reader(path: Path, schema: Schema, index: str | None, alone: bool) -> Reader:
    if path.suffix.lower() in CSV:
        from leastways.batch.csv_files import CsvFile

        return CsvFile.looked_over(path, schema, index)
    from leastways.batch.parquet_files import ParquetFile

    return ParquetFile.looked_over(path, schema, index, alone)


def check_features(path: Path, columns: Sequence[str], schema: Schema) -> None:
    """Raise where a file lacks a column of the schema, or has one that no model reads."""
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
    """Return the type of all labels: whole numbers in one CSV file and text in another are text."""
    types = {str(reader.label_type): reader.label_type for reader in readers}
    return next(iter(types.values())) if len(types) == 1 else arrow().string()


def is_covered(first: int, end: int, skip: Sequence[tuple[int, int]]) -> bool:
    """Say whether nobody among these rows is wanted."""
    return any(a <= first and end <= b for a, b in skip)


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def _check_stamp(path: Path, stamp: tuple[int, int]) -> None:
    if not path.is_file() or _stamp(path) != stamp:
        raise DataError(f"{str(path)!r} was changed while it was being read; start again with a file that stays.")
