"""Parquet files of people, read by row groups; one that turns out to be damaged costs its own people and no others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leastways.batch.sources import BATCH, Block, check_features, is_covered, wanted
from leastways.batch.tables import arrow
from leastways.datasets.columns import with_nan
from leastways.datasets.tables import check_index
from leastways.errors import DataError
from leastways.schema import Schema


@dataclass(frozen=True)
class ParquetFile:
    """A file whose account of itself, at its end, is whole and fits the schema."""

    path: Path
    schema: Schema
    metadata: Any  # what pandas noted of the columns, less their index
    groups: tuple[int, ...]  # rows of each row group
    columns: Sequence[str]  # less the labels
    types: Mapping[str, str]
    label: str | None  # the column that holds them
    label_type: Any
    counted: tuple[int, int] | None  # labels that are numbers from .. by .., as pandas notes them

    @property
    def rows(self) -> int:
        """People in this file."""
        return sum(self.groups)

    @property
    def label_name(self) -> str | None:
        """What the labels are called; a name that pandas made up is none."""
        return None if self.label is None or _made_up(self.label) else self.label

    @classmethod
    def looked_over(cls, path: Path, schema: Schema, index: str | None, alone: bool) -> ParquetFile:
        """Read a file's account of itself; `alone` says that its labels need not fit to those of other files."""
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
        columns = [name for name in names.names if name != label and not _made_up(name)]
        check_features(path, columns, schema)
        types = {field.name: str(_plain_type(field.type)) for field in names if field.name in (label, *schema.names)}
        _check_types(path, names, schema)
        label_type = pa.int64() if label is None else _plain_type(names.field(label).type)
        if pa.types.is_nested(label_type):
            raise DataError(f"{str(path)!r}: the labels in column {label!r} are {label_type}; text or numbers can be.")
        kept = counted if alone else None
        return cls(path, schema, _noted(names), groups, columns, types, label, label_type, kept)

    def blocks(self, first: int, skip: Sequence[tuple[int, int]]) -> Iterator[Block]:
        """Yield the rows; those of a row group that cannot be read come as one block that says so."""
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
                place = start + read
                if not is_covered(place, place + len(batch), skip):
                    yield from self._decoded(batch, names, place, inside + read)
                read += len(batch)
        except (OSError, pa.ArrowException) as error:
            trouble = f"this row cannot be read: row group {number} of {self.path.name!r} is damaged ({_short(error)})"
            labels = self._rescued_labels(number, read, rows - read, start + read, inside + read)
            yield Block(start + read, rows - read, None, labels, trouble)

    def _decoded(self, batch: Any, names: Sequence[str], place: int, inside: int) -> Iterator[Block]:
        """Yield a batch as it is in memory; rows whose texts are not UTF-8 are found by halving, and come alone."""
        pa = arrow()
        try:
            batch.validate(full=True)  # a label would not be looked at before somebody reads the results
            table = pa.Table.from_batches([batch.select(names)])
            frame = table.replace_schema_metadata(self.metadata).to_pandas()
            for feature in self.schema.features:
                if feature.name in frame:
                    frame[feature.name] = with_nan(frame[feature.name], feature)
            yield Block(place, len(batch), frame, self._labels(batch, place, inside))
        except (ValueError, pa.ArrowException) as error:
            half = len(batch) // 2
            if half:
                yield from self._decoded(batch.slice(0, half), names, place, inside)
                yield from self._decoded(batch.slice(half), names, place + half, inside + half)
            else:
                trouble = f"this row of {self.path.name!r} cannot be read: {_short(error)}"
                yield Block(place, 1, None, self._usable_label(batch, place, inside), trouble)

    def _usable_label(self, row: Any, place: int, inside: int) -> Any:
        """Return the label of a row that cannot be read; none where it is the label that cannot be."""
        pa = arrow()
        try:
            label = self._labels(row, place, inside)
            label.validate(full=True)
            return label
        except (ValueError, pa.ArrowException):
            return pa.nulls(1, self.label_type)

    def _batches(self, number: int, columns: Sequence[str]) -> Iterator[Any]:
        with _opened(self.path) as file:
            batches = file.iter_batches(BATCH, row_groups=[number], columns=list(columns), use_threads=False)
            yield from (batch for batch in batches if len(batch))

    def _labels(self, batch: Any, place: int, inside: int) -> Any:
        pa = arrow()
        if self.label is not None:
            column = batch.column(self.label)
            return column.cast(self.label_type) if column.type != self.label_type else column
        numbers = np.arange(len(batch), dtype=np.int64)
        if self.counted is None:
            return pa.array(place + numbers)
        begin, step = self.counted
        return pa.array(begin + step * (inside + numbers))

    def _rescued_labels(self, number: int, read: int, rows: int, place: int, inside: int) -> Any:
        """Return the labels of rows that cannot be read, where at least these can; else none."""
        pa = arrow()
        if self.label is None:
            return self._labels(pa.record_batch([pa.nulls(rows)], ["none"]), place, inside)
        try:
            held = pa.Table.from_batches(list(self._batches(number, [self.label])))
            return held.column(0).cast(self.label_type).combine_chunks().slice(read, rows)
        except (OSError, pa.ArrowException):
            return pa.nulls(rows, self.label_type)


def _opened(path: Path) -> Any:
    """Open a file so that pages are read when their turn comes, and checked where the writer left checksums.

    A scan of a pyarrow dataset would hold a whole row group, which may be the whole file.
    """
    import pyarrow.parquet as pq

    return pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False, page_checksum_verification=True)


def _made_up(name: str) -> bool:
    """Whether pandas gave this name to an index that has none; where people are labelled otherwise it is no feature."""
    return name.startswith("__index_level_")


def _noted(names: Any) -> dict[bytes, bytes] | None:
    """Return what pandas noted of its columns' types; labels are dealt with apart."""
    noted = (names.metadata or {}).get(b"pandas")
    return None if noted is None else {b"pandas": json.dumps(json.loads(noted) | {"index_columns": []}).encode()}


def _labels_of(path: Path, names: Any, index: str | None) -> tuple[str | None, tuple[int, int] | None]:
    """Return the column with the labels, or that they are counted from .. by .., or that there are none."""
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
    """Raise where a column can hold nothing that its feature is: that is no fault of single people."""
    pa = arrow()
    for feature in schema.features:
        kind = _plain_type(names.field(feature.name).type)
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        other = pa.types.is_nested(kind) or pa.types.is_temporal(kind) or pa.types.is_binary(kind)
        fits = number or pa.types.is_null(kind) if feature.numeric else not (other or pa.types.is_large_binary(kind))
        if not fits:
            raise DataError(
                f"{str(path)!r}: column {feature.name!r} holds {kind}, but the schema says that it is {feature.kind}."
            )


def _plain_type(kind: Any) -> Any:
    """Return the type of the values, however they are laid out."""
    pa = arrow()
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.string() if pa.types.is_large_string(inner) or pa.types.is_string_view(inner) else inner


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
