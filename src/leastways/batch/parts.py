"""Parts: fixed stretches of the input, each read, solved in chunks of any size, put together, and written as one.

Where a part begins and ends depends on the input and one setting alone. So do the units within it, which are what a
worker searches for in one call. How many units go into a chunk, who solves it and when, shows nowhere in the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._messages import listed
from leastways.batch.sources import Block, People
from leastways.batch.tables import PERSON, PLACE, ROW, Solved, arrow, options_of, unusable_person
from leastways.batch.worker import joined
from leastways.costs import Preferences
from leastways.errors import PreferenceError
from leastways.schema import Schema
from leastways.schema.feature import EXACT


@dataclass
class Part:
    """A stretch of people, while it is being worked on."""

    number: int
    first: int
    labels: Any  # [n] an arrow array
    frame: pd.DataFrame  # those to solve; once everybody has what was found for their kind, one of each
    source: NDArray[np.int64]  # [n] the row of `frame` that stands for each person, -1 where theirs cannot be read
    trouble: Mapping[int, str]  # place -> why the row cannot be read
    told_each: Mapping[int, Preferences]  # by row of `frame`
    solved: dict[int, Solved] = field(default_factory=dict)  # by first row of `frame`
    begun: int = 0  # rows of `frame` that have been given out

    def __len__(self) -> int:
        return len(self.source)

    @property
    def left(self) -> int:
        """Rows that are not solved yet."""
        return len(self.frame) - sum(len(solved.people) for solved in self.solved.values())

    def queries(self) -> NDArray[np.int64]:
        """Return the rows that the model was asked about for each row of `frame`, once all are solved."""
        asked = [self.solved[first].people["queries"].to_numpy() for first in sorted(self.solved)]
        return np.concatenate([np.zeros(0, np.int64), *asked])


def parts_of(
    source: People,
    size: int,
    done: Sequence[int],
    preferences: Preferences | Mapping[Any, Preferences] | None,
) -> Iterator[Part]:
    """Read the parts that are not done, in order, holding one at a time."""
    each = None if preferences is None or isinstance(preferences, Preferences) else preferences
    total = -(-source.rows // size)
    wanted = sorted(set(range(total)) - set(done))
    skip = [(number * size, min((number + 1) * size, source.rows)) for number in sorted(done)]
    held: list[Block] = []
    blocks = source.blocks(_merged(skip))
    for number in wanted:
        first, end = number * size, min((number + 1) * size, source.rows)
        while not held or held[-1].first + held[-1].rows < end:
            held.append(next(blocks))
        pieces = [piece for block in held for piece in _cut(block, first, end)]
        held = [block for block in held if block.first + block.rows > end]
        yield _part(number, first, pieces, source.label_type, each)


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join stretches that touch."""
    out: list[tuple[int, int]] = []
    for a, b in spans:
        if out and out[-1][1] == a:
            out[-1] = (out[-1][0], b)
        else:
            out.append((a, b))
    return out


def _cut(block: Block, first: int, end: int) -> Iterator[Block]:
    a, b = max(first, block.first), min(end, block.first + block.rows)
    if a >= b:
        return
    inside = slice(a - block.first, b - block.first)
    frame = None if block.frame is None else block.frame.iloc[inside]
    yield Block(a, b - a, frame, block.labels.slice(inside.start, b - a), block.trouble)


def _part(
    number: int,
    first: int,
    pieces: Sequence[Block],
    label_type: Any,
    each: Mapping[Any, Preferences] | None,
) -> Part:
    pa = arrow()
    labels = pa.concat_arrays([_flat(piece.labels).cast(label_type) for piece in pieces])
    readable = [piece.frame for piece in pieces if piece.frame is not None]
    frame = pd.concat(_of_kept_values(readable), ignore_index=True) if readable else pd.DataFrame()
    here = np.concatenate([np.full(piece.rows, piece.frame is not None) for piece in pieces])
    source = np.where(here, np.cumsum(here) - 1, -1).astype(np.int64)
    trouble = {
        place: piece.trouble
        for piece in pieces
        if piece.frame is None
        for place in range(piece.first - first, piece.first - first + piece.rows)
    }
    return Part(number, first, labels, frame, source, trouble, told_to(labels, source, each))


def _of_kept_values(frames: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    """Return frames that can be joined and keep all values: beside a gap, whole numbers would become floats.

    What a value is must not depend on whom it is read with, and no float holds the digits of a large number.
    """
    lossy = [name for name in frames[0] if _would_lose([frame[name] for frame in frames])]
    return [frame.astype(dict.fromkeys(lossy, object)) if lossy else frame for frame in frames]


def _would_lose(columns: Sequence[pd.Series[Any]]) -> bool:
    if len({column.dtype for column in columns}) == 1:
        return False
    whole = [column for column in columns if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iu"]
    return any(bool((np.abs(column.to_numpy().astype(np.float64)) >= EXACT).any()) for column in whole)


def _flat(labels: Any) -> Any:
    return labels.combine_chunks() if hasattr(labels, "combine_chunks") else labels


def told_to(labels: Any, source: NDArray[np.int64], each: Mapping[Any, Preferences] | None) -> dict[int, Preferences]:
    """Return what people said by their row of the frame."""
    if not each:
        return {}
    known = zip(labels.to_pylist(), source.tolist(), strict=True)
    return {row: each[label] for label, row in known if row >= 0 and label in each}


def check_labels(source: People, each: Mapping[Any, Preferences]) -> None:
    """Raise, before any search, where preferences are of people who are not there; reads the labels of all.

    Only the preferences' own labels are kept in memory, and nothing is read once all of them were met.
    """
    awaited = dict.fromkeys(each)
    example = None
    for block in source.blocks() if awaited else ():
        labels = block.labels.cast(source.label_type).to_pylist()
        example = labels[0] if example is None else example
        for label in labels:
            awaited.pop(label, None)
        if not awaited:
            return
    if awaited:
        raise PreferenceError(
            f"preferences name people who are not in the table: {listed(list(awaited))}. Labels are of the type "
            f"{source.label_type} there, such as {example!r}."
        )


def assembled(part: Part, schema: Schema) -> dict[str, Any]:
    """Put what the workers found into the two tables of a part: everybody once, in the order of the input."""
    pa = arrow()
    found = [part.solved[first] for first in sorted(part.solved)]
    reasons = list(dict.fromkeys(part.trouble.values()))
    found += [unusable_person(schema, reason) for reason in reasons]  # after the others: rows that cannot be read
    people, options = joined([(solved.people, solved.options) for solved in found])
    places = part.source.copy()
    for place, reason in part.trouble.items():
        places[place] = len(part.frame) + reasons.index(reason)
    rows = part.first + np.arange(len(part), dtype=np.int64)
    heads = [(ROW, pa.array(rows)), (PERSON, part.labels)]
    person, taken = options_of(options, places)
    whose = [(ROW, pa.array(rows[person])), (PERSON, part.labels.take(pa.array(person)))]
    return {
        "people": _headed(people.take(pa.array(places)), heads),
        "options": _headed(taken.drop_columns([PLACE]), whose),
    }


def _headed(table: Any, heads: Sequence[tuple[str, Any]]) -> Any:
    """Put columns before the others, and lay the table out in one piece: its bytes must not tell how it was made."""
    for name, column in reversed(heads):
        table = table.add_column(0, name, column)
    return table.combine_chunks()
