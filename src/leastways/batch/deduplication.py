"""Group people with equal values and preferences, so that each duplicate group is searched for once.

One person of each group is solved first, in a run folder inside the run's own; then every person gets the results of
their group.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._fingerprint import value_fingerprint
from leastways._values import plain
from leastways.batch.manifest import RunFolder
from leastways.batch.parts import PERSON, POSITION, ROW, ChunkResult, Part, options_of, preferences_by_row
from leastways.batch.sources import Block, Source, arrow
from leastways.costs import Preferences
from leastways.schema import EXACT

_KEYS = "0123456789abcdef", "fedcba9876543210"  # of two 64-bit hashes: two groups do not collide in both by chance
_HELD = 8  # parts of groups in memory while people get the results of their groups


class DuplicateGroups:
    """The duplicate groups among some people, numbered by first appearance: a source with one person of each.

    It keeps a few hundred bytes a group in memory; the people themselves are read again whenever they are needed.
    """

    def __init__(self, source: Source, each: Mapping[Any, Preferences] | None) -> None:
        self._source, self._each = source, each
        self._numbers: dict[tuple[int, int], int] = {}
        first = array("q")
        for block in source.blocks():
            if block.frame is not None:
                for row, key in enumerate(self._keys(block.frame, self._preferences(block)), start=block.first):
                    if self._numbers.setdefault(key, len(first)) == len(first):
                        first.append(row)
        self._first = np.array(first)  # the row in which each group appears first, so rising
        self.label_type = source.label_type

    @property
    def rows(self) -> int:
        """The number of groups."""
        return len(self._first)

    def blocks(self, skip: Sequence[tuple[int, int]] = ()) -> Iterator[Block]:
        """Yield the first person of each group, in order."""
        for block in self._source.blocks():
            begin, end = np.searchsorted(self._first, [block.first, block.first + block.rows])
            if block.frame is not None and end > begin:
                own = self._first[begin:end] - block.first
                yield Block(int(begin), len(own), block.frame.iloc[own], block.labels.take(arrow().array(own)))

    def groups_of(self, part: Part) -> NDArray[np.int64]:
        """Return the group of each row of a part's frame."""
        keys = self._keys(part.frame, part.preferences)
        return np.fromiter((self._numbers[key] for key in keys), np.int64, len(part.frame))

    def new_in(self, part: Part, groups: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of a part's groups appear in no earlier part."""
        return self._first[groups] >= part.first

    def _preferences(self, block: Block) -> dict[int, Preferences]:
        return preferences_by_row(block.labels.cast(self._source.label_type), np.arange(block.rows), self._each)

    @staticmethod
    def _keys(frame: pd.DataFrame, preferences: Mapping[int, Preferences]) -> Iterator[tuple[int, int]]:
        """Yield the key of each row's group: two hashes of its values and preferences."""
        known = {id(p): value_fingerprint(p) for p in preferences.values()}
        texts = [known[id(preferences[row])] if row in preferences else "" for row in range(len(frame))]
        columns = [*(frame[name] for name in frame), pd.Series(texts, dtype=object)]
        hashes = ({i: _hashes(column, key) for i, column in enumerate(columns)} for key in _KEYS)
        one, two = (pd.util.hash_pandas_object(pd.DataFrame(each), index=False).tolist() for each in hashes)
        return zip(one, two, strict=True)


def _hashes(column: pd.Series[Any], key: str) -> NDArray[np.uint64]:
    """Return a hash of each value that does not depend on the other values of the column.

    Rows are read in blocks and in parts of other sizes, and a single value changes the dtype of all that are read with
    it. So a number that a float holds exactly is hashed as that float, and any other value as its type and text.
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
    """Return a hash of each number; the key is mixed in here, because pandas uses it for texts alone."""
    salt = pd.util.hash_array(np.array([key], object), hash_key=key)
    return pd.util.hash_array(real + 0.0) ^ salt  # minus zero becomes zero, which has other bits


def _is_exact(value: Any) -> bool:
    """Return whether a value is a number that a float represents exactly."""
    return isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < EXACT)


class GroupResults:
    """The results of all duplicate groups, read from their run folder part by part."""

    def __init__(self, folder: RunFolder, size: int) -> None:
        self._size = size
        self._load = lru_cache(maxsize=_HELD)(lambda number: self._read(folder, number))

    def copy_into(self, part: Part, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give each person of a part the results of their group [n]; returns the part's groups, each once."""
        own_groups, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
        people, options = [], []
        for number in np.unique(own_groups // self._size):
            own = own_groups[own_groups // self._size == number] - number * self._size
            group_people, group_options = self._load(int(number))
            people.append(group_people.take(arrow().array(own)))
            person, taken = options_of(group_options, own)
            positions = arrow().array(sum(len(t) for t in people[:-1]) + person)
            options.append(taken.set_column(0, group_options.schema.field(0), positions))
        pa = arrow()
        part.frame = part.frame.iloc[first]
        part.source = np.where(part.source < 0, -1, inverse[part.source]).astype(np.int64)
        part.results = {0: ChunkResult(pa.concat_tables(people), pa.concat_tables(options), 0, 0, 0.0, 0.0)}
        return own_groups

    def _read(self, folder: RunFolder, number: int) -> tuple[Any, Any]:
        """Return the tables of a part of the groups, with positions within the part."""
        import pyarrow.parquet as pq

        files = folder.done[number].files
        people, options = (pq.read_table(folder.path / files[name]["name"]) for name in ("people", "options"))
        positions = arrow().array(options[ROW].to_numpy() - number * self._size)
        options = options.drop_columns([ROW, PERSON]).add_column(0, POSITION, positions)
        return people.drop_columns([ROW, PERSON]), options
