"""Group people with equal values and preferences, so that each group is searched for once."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._fingerprint import value_print
from leastways._messages import plain
from leastways.batch.manifest import RunFolder
from leastways.batch.parts import PERSON, PLACE, ROW, Part, Solved, options_of, told_to
from leastways.batch.sources import Block, Source, arrow
from leastways.costs import Preferences
from leastways.schema.feature import EXACT

_KEYS = "0123456789abcdef", "fedcba9876543210"  # two hashes of 64 bits: by chance no two kinds are alike in both
_HELD = 8  # parts of kinds in memory while everybody gets theirs


class DuplicateGroups:
    """All kinds among some people, numbered as they first appear: a source of people to solve, one of each kind.

    It keeps a few hundred bytes a kind in memory; the people themselves are read again whenever they are needed.
    """

    def __init__(self, source: Source, each: Mapping[Any, Preferences] | None) -> None:
        self._source, self._each = source, each
        self._numbers: dict[tuple[int, int], int] = {}
        first = array("q")
        for block in source.blocks():
            if block.frame is not None:
                for row, key in enumerate(self._keys(block.frame, self._told(block)), start=block.first):
                    if self._numbers.setdefault(key, len(first)) == len(first):
                        first.append(row)
        self._first = np.array(first)  # the row in which each kind appears first, so rising
        self.label_type = source.label_type

    @property
    def rows(self) -> int:
        """How many kinds there are."""
        return len(self._first)

    def blocks(self, skip: Sequence[tuple[int, int]] = ()) -> Iterator[Block]:
        """Yield the first of each kind, in order."""
        for block in self._source.blocks():
            begin, end = np.searchsorted(self._first, [block.first, block.first + block.rows])
            if block.frame is not None and end > begin:
                mine = self._first[begin:end] - block.first
                yield Block(int(begin), len(mine), block.frame.iloc[mine], block.labels.take(arrow().array(mine)))

    def numbers_of(self, part: Part) -> NDArray[np.int64]:
        """Return the kind of each row of a part's frame."""
        keys = self._keys(part.frame, part.told_each)
        return np.fromiter((self._numbers[key] for key in keys), np.int64, len(part.frame))

    def new_in(self, part: Part, kinds: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say which of a part's kinds appear in none before it."""
        return self._first[kinds] >= part.first

    def _told(self, block: Block) -> dict[int, Preferences]:
        return told_to(block.labels.cast(self._source.label_type), np.arange(block.rows), self._each)

    @staticmethod
    def _keys(frame: pd.DataFrame, told: Mapping[int, Preferences]) -> Iterator[tuple[int, int]]:
        """Return what tells kinds apart, for each row of a frame."""
        said = {id(p): value_print(p) for p in told.values()}
        prints = [said[id(told[row])] if row in told else "" for row in range(len(frame))]
        columns = [*(frame[name] for name in frame), pd.Series(prints, dtype=object)]
        hashes = ({place: _hashes(column, key) for place, column in enumerate(columns)} for key in _KEYS)
        one, two = (pd.util.hash_pandas_object(pd.DataFrame(each), index=False).tolist() for each in hashes)
        return zip(one, two, strict=True)


def _hashes(column: pd.Series[Any], key: str) -> NDArray[np.uint64]:
    """Return a hash of each value, whatever else is in the column: the same value has the same in all.

    Rows are read in blocks and in parts of other sizes, and one odd value changes the type of all that is read with it.
    A number that a float holds exactly is hashed as that float.
    """
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        real = column.to_numpy().astype(np.float64)
        if column.dtype.kind == "f" or (np.abs(real) < EXACT).all():
            return _hashes_of_numbers(real, key)
    values = [plain(value) for value in column.tolist()]
    texts = np.empty(len(values), object)
    texts[:] = [f"{type(value).__name__}:{value!r}" for value in values]
    out = pd.util.hash_array(texts, hash_key=key)
    exact = np.array([_is_exact(value) for value in values], np.bool_)
    out[exact] = _hashes_of_numbers(np.array([v for v, e in zip(values, exact, strict=True) if e], np.float64), key)
    return out


def _hashes_of_numbers(real: NDArray[np.float64], key: str) -> NDArray[np.uint64]:
    """Return a hash of each number; pandas takes the key for texts alone."""
    salt = pd.util.hash_array(np.array([key], object), hash_key=key)
    return pd.util.hash_array(real + 0.0) ^ salt  # no minus zero: it is the same number with other bits


def _is_exact(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < EXACT)


class GroupResults:
    """What was found for each kind, read from the folder of their run."""

    def __init__(self, folder: RunFolder, size: int) -> None:
        self._size = size
        self._load = lru_cache(maxsize=_HELD)(lambda number: self._read(folder, number))

    def give(self, part: Part, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give everybody in a part what was found for their kind; returns the kinds."""
        kinds, first, place = np.unique(numbers, return_index=True, return_inverse=True)
        people, options = [], []
        for number in np.unique(kinds // self._size):
            mine = kinds[kinds // self._size == number] - number * self._size
            table, offered = self._load(int(number))
            people.append(table.take(arrow().array(mine)))
            person, taken = options_of(offered, mine)
            places = arrow().array(sum(len(t) for t in people[:-1]) + person)
            options.append(taken.set_column(0, offered.schema.field(0), places))
        pa = arrow()
        part.frame = part.frame.iloc[first]
        part.source = np.where(part.source < 0, -1, place[part.source]).astype(np.int64)
        part.solved = {0: Solved(pa.concat_tables(people), pa.concat_tables(options), 0, 0, 0.0, 0.0)}
        return kinds

    def _read(self, folder: RunFolder, number: int) -> tuple[Any, Any]:
        import pyarrow.parquet as pq

        files = folder.done[number].files
        people, options = (pq.read_table(folder.path / files[name]["name"]) for name in ("people", "options"))
        places = arrow().array(options[ROW].to_numpy() - number * self._size)
        options = options.drop_columns([ROW, PERSON]).add_column(0, PLACE, places)
        return people.drop_columns([ROW, PERSON]), options
