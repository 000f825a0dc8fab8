"""CSV files of people, read line by line; what the texts mean is decided by the schema, as everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from leastways.batch.sources import BATCH, Block, check_features, is_covered, wanted
from leastways.batch.tables import arrow
from leastways.datasets.columns import typed_column
from leastways.datasets.tables import csv_index, csv_lines
from leastways.schema import Schema


@dataclass(frozen=True)
class CsvFile:
    """A file that was read from top to bottom once: it is UTF-8, every line has its fields, the columns fit."""

    path: Path
    schema: Schema
    rows: int
    columns: Sequence[str]  # less the labels
    label: int | None  # which field holds them
    label_name: str | None
    label_type: Any

    @classmethod
    def looked_over(cls, path: Path, schema: Schema, index: str | None) -> CsvFile:
        """Read a file once without keeping it."""
        lines = csv_lines(path)
        header = next(lines)
        index = csv_index(path, header, index)
        label = None if index is None else header.index(index)
        columns = [name for place, name in enumerate(header) if place != label and (place or name)]
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
            place = header.index(name)
            columns[name] = typed_column([line[place] for line in lines], self.schema.by_name[name])
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
    """Whether a label is a whole number, written as one: 007 is not."""
    try:
        return not text or (str(int(text)) == text and -(2**63) <= int(text) < 2**63)
    except ValueError:
        return False
