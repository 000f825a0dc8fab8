"""Cut the input into parts, and put the results of workers together into the two tables of each part.

A part begins and ends where the number of people per part says, whatever the workers. The types of columns depend on
the schema alone: a type inferred from the rows of a chunk would change with the chunk, and the file's bytes too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._messages import listed
from leastways.batch.sources import Block, People, arrow
from leastways.costs import Preferences
from leastways.errors import PreferenceError, SchemaError
from leastways.models import with_offered_values
from leastways.plans import CUT_SHORT, FIGURES, NOT_SEARCHED, STATUSES, SUMMARY, RecoursePlans
from leastways.report import Totals
from leastways.schema import EXACT, Feature, Schema, category_codes, not_numbers

if TYPE_CHECKING:
    import pyarrow as pa


ROW, PERSON = "row", "person"
POSITION = ROW  # column of the options with the person's position, until `row` and `person` are known
_WHOLE = ("n_options", "queries", "option")
_TEXT = ("status", "reason")


@dataclass(frozen=True)
class ChunkResult:
    """The result of a chunk: tables of its people, in their order and without labels."""

    people: Any  # a row each: the summary of the plan, then the features as they are
    options: Any  # a row each: position of the person among these people, option, features after it, figures
    answered: int  # people with a usable row for whom the model never failed
    failed: int  # people on whom the model failed, at once or during the search
    seconds: float  # in the worker
    search_seconds: float  # of them within `Recourse.recommend`


def check_names(schema: Schema) -> None:
    """Raise where a feature has the name of a column that is written beside the features."""
    if ROW in schema.names:
        raise SchemaError(
            f"a feature is called {ROW!r}, which is where the position of a person is written; rename it."
        )


def summary_schema(schema: Schema) -> pa.Schema:
    """Return the column types of the people's table, without `row` and `person`."""
    pa = arrow()
    own = [pa.field(name, _type_of(pa, name)) for name in SUMMARY]
    return pa.schema(own + [pa.field(f.name, feature_type(f)) for f in schema.features])


def options_schema(schema: Schema) -> pa.Schema:
    """Return the column types of the options' table, with a person's position in place of `row` and `person`."""
    pa = arrow()
    heads = [pa.field(POSITION, pa.int64()), pa.field("option", pa.int64())]
    features = [pa.field(f.name, feature_type(f)) for f in schema.features]
    return pa.schema(heads + features + [pa.field(name, pa.float64()) for name in FIGURES])


def feature_type(feature: Feature) -> Any:
    """Return the Arrow type of a feature's column."""
    pa = arrow()
    if feature.numeric:
        if feature.number_dtype is not None:
            return pa.from_numpy_dtype(feature.number_dtype)
        return pa.int64() if feature.whole else pa.float64()
    types = {type(value) for value in feature.values}
    if types == {bool}:
        return pa.bool_()
    if types == {int}:
        return pa.int64()
    return pa.float64() if types <= {int, float} else pa.string()


def grid_rows(schema: Schema, n: int) -> pd.DataFrame:
    """Return `n` made-up people with values drawn from the schema's grids, always the same."""
    draw = np.random.default_rng(0)
    codes = np.stack([draw.integers(0, len(f.values), n) for f in schema.features], axis=1)
    return schema.decode(with_offered_values(schema, codes.astype(np.int32)))  # a model may refuse others


def people_table(plans: RecoursePlans) -> pa.Table:
    """Return the people of some plans: summary and features, null where the schema does not know a value."""
    pa = arrow()
    form = summary_schema(plans.schema)
    columns = [_plain_array(plans.summary[name], form.field(name).type) for name in SUMMARY]
    columns += [_values_as_given(feature, plans.people[feature.name]) for feature in plans.schema.features]
    return pa.table(columns, schema=form)


def options_table(plans: RecoursePlans) -> pa.Table:
    """Return the options of some plans, with the position of each person among the people."""
    pa = arrow()
    form = options_schema(plans.schema)
    positions = plans.people.index.get_indexer(pd.Index(plans.options["person"])).astype(np.int64)
    columns = [pa.array(positions), pa.array(plans.options["option"].to_numpy(np.int64))]
    columns += [_option_column(feature, plans.options[feature.name]) for feature in plans.schema.features]
    columns += [pa.array(plans.options[name].to_numpy(np.float64)) for name in FIGURES]
    return pa.table(columns, schema=form)


def options_of(options: Any, positions: NDArray[np.int64]) -> tuple[NDArray[np.int64], Any]:
    """Return the options of the people at given positions, in that order, as (index into `positions`, rows) [m]."""
    whose = options[POSITION].to_numpy()
    begin, end = np.searchsorted(whose, positions), np.searchsorted(whose, positions, side="right")
    count = end - begin
    person = np.repeat(np.arange(len(positions)), count)
    within = np.arange(len(person)) - np.repeat(np.cumsum(count) - count, count)
    return person, options.take(arrow().array(begin[person] + within))


def joined(tables: Sequence[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Concatenate the (people, options) tables of several groups of people."""
    pa = arrow()
    shifted, before = [], 0
    for people, options in tables:
        positions = options[POSITION].to_numpy() + before
        shifted.append(options.set_column(0, options.schema.field(0), pa.array(positions)))
        before += len(people)
    return pa.concat_tables([people for people, _ in tables]), pa.concat_tables(shifted)


def unusable_person(schema: Schema, reason: str, frame: pd.DataFrame | None = None) -> ChunkResult:
    """Return the result for a person with status `invalid_input`; `frame` is their row, where it can be read."""
    pa = arrow()
    known = {"status": "invalid_input", "n_options": 0, "queries": 0, "reason": reason}
    form = summary_schema(schema)
    columns = [pa.array([known.get(name, np.nan)], form.field(name).type) for name in SUMMARY]
    for feature in schema.features:
        type_ = feature_type(feature)
        columns.append(pa.nulls(1, type_) if frame is None else _values_as_given(feature, frame[feature.name]))
    return ChunkResult(pa.table(columns, schema=form), options_schema(schema).empty_table(), 0, 0, 0.0, 0.0)


def _type_of(pa: Any, name: str) -> Any:
    return pa.int64() if name in _WHOLE else pa.string() if name in _TEXT else pa.float64()


def _plain_array(column: pd.Series[Any], type_: Any) -> Any:
    pa = arrow()
    if pa.types.is_string(type_):
        return pa.array(column.tolist(), type_)
    return pa.array(column.to_numpy(), type_)  # NaN stays NaN


def _values_as_given(feature: Feature, column: pd.Series[Any]) -> Any:
    """Return a feature's values, null where one is missing or does not fit the column's type."""
    pa = arrow()
    type_ = feature_type(feature)
    if not feature.numeric:
        return _categories(feature, category_codes(feature, column), type_)
    x = np.full(len(column), np.nan)
    usable = ~(column.isna().to_numpy() | not_numbers(column))
    x[usable] = column.to_numpy(dtype=object)[usable].astype(np.float64)
    kept = ~np.isnan(x)
    if pa.types.is_integer(type_):
        ends = np.iinfo(type_.to_pandas_dtype())
        kept &= (x == np.round(x)) & (x >= ends.min) & (x < float(ends.max))
    if kept.all():
        return pa.array(x).cast(type_, safe=False)
    return pa.array(np.where(kept, x, 0.0), mask=~kept).cast(type_, safe=False)


def _option_column(feature: Feature, column: pd.Series[Any]) -> Any:
    pa = arrow()
    type_ = feature_type(feature)
    if not feature.numeric or feature.missing:
        return _values_as_given(feature, column)
    return pa.array(column.to_numpy(dtype=np.float64)).cast(type_, safe=False)


def _categories(feature: Feature, codes: NDArray[np.int32], type_: Any) -> Any:
    pa = arrow()
    values = [str(v) if pa.types.is_string(type_) else v for v in feature.values]
    return pa.array(values, type_).take(pa.array(codes, mask=codes < 0))


@dataclass
class Part:
    """Consecutive people that are written together, with their results so far."""

    number: int
    first: int
    labels: Any  # [n] an arrow array
    frame: pd.DataFrame  # people to solve; with deduplication, in the end, one of each duplicate group
    source: NDArray[np.int64]  # [n] the row of `frame` with each person's values, -1 where theirs cannot be read
    unreadable: Mapping[int, str]  # position -> why the row cannot be read
    preferences: Mapping[int, Preferences]  # of single people, by row of `frame`
    results: dict[int, ChunkResult] = field(default_factory=dict)  # by first row of `frame`
    submitted: int = 0  # rows of `frame` that have been given to workers

    def __len__(self) -> int:
        return len(self.source)

    @property
    def left(self) -> int:
        """Rows that are not solved yet."""
        return len(self.frame) - sum(len(result.people) for result in self.results.values())

    def queries(self) -> NDArray[np.int64]:
        """Return the number of model queries for each row of `frame`, once all are solved."""
        queries = [self.results[first].people["queries"].to_numpy() for first in sorted(self.results)]
        return np.concatenate([np.zeros(0, np.int64), *queries])


def parts_of(
    source: People,
    size: int,
    done: Sequence[int],
    each: Mapping[Any, Preferences] | None,
) -> Iterator[Part]:
    """Yield the parts that are not done, in order, reading one at a time; `each` are preferences by label."""
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
    """Join intervals that touch."""
    out: list[tuple[int, int]] = []
    for a, b in spans:
        if out and out[-1][1] == a:
            out[-1] = (out[-1][0], b)
        else:
            out.append((a, b))
    return out


def _cut(block: Block, first: int, end: int) -> Iterator[Block]:
    """Yield the rows of a block between `first` and `end`, if there are any."""
    a, b = max(first, block.first), min(end, block.first + block.rows)
    if a >= b:
        return
    inside = slice(a - block.first, b - block.first)
    frame = None if block.frame is None else block.frame.iloc[inside]
    yield Block(a, b - a, frame, block.labels.slice(inside.start, b - a), block.error)


def _part(
    number: int,
    first: int,
    pieces: Sequence[Block],
    label_type: Any,
    each: Mapping[Any, Preferences] | None,
) -> Part:
    """Put together the pieces of blocks that make up a part."""
    pa = arrow()
    labels = pa.concat_arrays([_flat(piece.labels).cast(label_type) for piece in pieces])
    readable = [piece.frame for piece in pieces if piece.frame is not None]
    frame = pd.concat(_lossless(readable), ignore_index=True) if readable else pd.DataFrame()
    here = np.concatenate([np.full(piece.rows, piece.frame is not None) for piece in pieces])
    source = np.where(here, np.cumsum(here) - 1, -1).astype(np.int64)
    unreadable = {
        position: piece.error
        for piece in pieces
        if piece.frame is None
        for position in range(piece.first - first, piece.first - first + piece.rows)
    }
    return Part(number, first, labels, frame, source, unreadable, preferences_by_row(labels, source, each))


def _lossless(frames: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    """Return frames that can be joined without changing a value.

    Beside a gap, whole numbers would become floats, which cannot hold the digits of large ones.
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


def preferences_by_row(
    labels: Any, source: NDArray[np.int64], each: Mapping[Any, Preferences] | None
) -> dict[int, Preferences]:
    """Return the preferences of single people by their row of the frame."""
    if not each:
        return {}
    known = zip(labels.to_pylist(), source.tolist(), strict=True)
    return {row: each[label] for label, row in known if row >= 0 and label in each}


def check_labels(source: People, each: Mapping[Any, Preferences]) -> None:
    """Raise, before any search, for preferences of people who are not in the input; this reads all labels.

    Only the preferences' own labels are kept in memory, and reading stops once all of them were found.
    """
    missing = dict.fromkeys(each)
    example = None
    for block in source.blocks() if missing else ():
        labels = block.labels.cast(source.label_type).to_pylist()
        example = labels[0] if example is None else example
        for label in labels:
            missing.pop(label, None)
        if not missing:
            return
    if missing:
        raise PreferenceError(
            f"preferences name people who are not in the table: {listed(list(missing))}. Labels are of the type "
            f"{source.label_type} there, such as {example!r}."
        )


def assembled(part: Part, schema: Schema) -> dict[str, Any]:
    """Return the two tables of a solved part: every person once, in the order of the input."""
    pa = arrow()
    found = [part.results[first] for first in sorted(part.results)]
    reasons = list(dict.fromkeys(part.unreadable.values()))
    found += [unusable_person(schema, reason) for reason in reasons]  # after the others: rows that cannot be read
    people, options = joined([(result.people, result.options) for result in found])
    positions = part.source.copy()
    for position, reason in part.unreadable.items():
        positions[position] = len(part.frame) + reasons.index(reason)
    rows = part.first + np.arange(len(part), dtype=np.int64)
    heads = [(ROW, pa.array(rows)), (PERSON, part.labels)]
    person, taken = options_of(options, positions)
    whose = [(ROW, pa.array(rows[person])), (PERSON, part.labels.take(pa.array(person)))]
    return {
        "people": _headed(people.take(pa.array(positions)), heads),
        "options": _headed(taken.drop_columns([POSITION]), whose),
    }


def _headed(table: Any, heads: Sequence[tuple[str, Any]]) -> Any:
    """Put columns before the others, and join the table's chunks, on which the bytes of a file would depend."""
    for name, column in reversed(heads):
        table = table.add_column(0, name, column)
    return table.combine_chunks()


_SUMS = (
    *("people", "in_need", "with_options", "options", "covered", "satisfied", "cost", "served"),
    *("queries", "solved", "cut_short"),
)


def sums_of(people: Any, solved: int, queries: int) -> dict[str, Any]:
    """Return the sums over a part's people; `solved` of them were searched for, with `queries` in total."""
    import pyarrow.compute as pc

    status = people["status"].to_numpy(zero_copy_only=False)
    need = ~np.isin(status.astype(str), NOT_SEARCHED)
    n_options, emc = people["n_options"].to_numpy(), people["emc"].to_numpy()
    served = need & ~np.isnan(emc)
    counts = {name: int((status == name).sum()) for name in STATUSES}
    return {
        "people": len(status),
        "in_need": int(need.sum()),
        "with_options": int((n_options > 0).sum()),
        "options": int(n_options[need].sum()),
        "covered": float(people["covered"].to_numpy()[need].sum()),
        "satisfied": float(people["satisfied"].to_numpy()[need].sum()),
        "cost": float(emc[served].sum()),
        "served": int(served.sum()),
        "queries": queries,
        "solved": solved,
        "cut_short": sum(pc.starts_with(people["reason"], cause).to_numpy().sum().item() for cause in CUT_SHORT),
        "statuses": {name: n for name, n in counts.items() if n},
    }


def are_sums(value: Any) -> bool:
    """Return whether a value read from a file has the keys of `sums_of`."""
    return isinstance(value, Mapping) and value.keys() >= {*_SUMS, "statuses"}


def total_sums(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Add up sums in the order of the parts, on which the last bit of a sum depends."""
    total: dict[str, Any] = dict.fromkeys(_SUMS, 0)
    statuses = dict.fromkeys(STATUSES, 0)
    for sums in parts:
        for name in _SUMS:
            total[name] += sums[name]
        for name, n in sums["statuses"].items():
            statuses[name] += n
    return {**total, "statuses": {name: n for name, n in statuses.items() if n}}


def totals_of(sums: Mapping[str, Any]) -> Totals:
    """Return the figures over all people, as every report shows them."""
    need, served = sums["in_need"], sums["served"]
    return Totals(
        people=sums["people"],
        in_need=need,
        with_options=sums["with_options"],
        statuses=dict(sums["statuses"]),
        options=sums["options"] / need if need else float("nan"),
        covered=sums["covered"] / need if need else float("nan"),
        satisfied=sums["satisfied"] / need if need else float("nan"),
        cost=sums["cost"] / served if served else float("nan"),
        queries=sums["queries"],
    )
