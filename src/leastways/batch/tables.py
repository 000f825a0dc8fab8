"""The tables that a run writes: one row per person, one per option, in types that never depend on the rows.

A type that was guessed from the rows of a chunk would change with the chunk, and the bytes of a file with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._extras import require
from leastways.errors import SchemaError
from leastways.models.columns import to_offered
from leastways.plans import FIGURES, SUMMARY, RecoursePlans
from leastways.schema import Feature, Schema
from leastways.schema.encoding import category_codes
from leastways.schema.validation import not_numbers

if TYPE_CHECKING:
    import pyarrow as pa

ROW, PERSON = "row", "person"
PLACE = ROW  # while tables are put together: of a person among those at hand. No feature can have this name
_WHOLE = ("n_options", "queries", "option")
_TEXT = ("status", "reason")


@dataclass(frozen=True)
class Solved:
    """What a worker hands back: tables of people in the order they came in, without who they are."""

    people: Any  # a row each: the summary of a plan, then the features as they are
    options: Any  # place of the person among these people, option, features as they would be, figures
    good: int  # people whom the model answered for throughout; rows that could not be used are none of them
    failed: int  # people on whom the model failed, at once or during the search
    seconds: float  # in the worker
    searching: float  # of them within `Recourse.recommend`


def arrow() -> Any:
    """Return pyarrow, or say how to get it."""
    return require("pyarrow", "parquet", "Working through files of many people")


def check_names(schema: Schema) -> None:
    """Raise where a feature has the name of a column that is written beside the features."""
    if ROW in schema.names:
        raise SchemaError(f"a feature is called {ROW!r}, which is where the place of a person is written; rename it.")


def summary_schema(schema: Schema) -> pa.Schema:
    """Return the types of the table of people, less `row` and `person`."""
    pa = arrow()
    own = [pa.field(name, _type_of(pa, name)) for name in SUMMARY]
    return pa.schema(own + [pa.field(f.name, feature_type(f)) for f in schema.features])


def options_schema(schema: Schema) -> pa.Schema:
    """Return the types of the table of options, with the place of a person where `row` and `person` will be."""
    pa = arrow()
    heads = [pa.field(PLACE, pa.int64()), pa.field("option", pa.int64())]
    features = [pa.field(f.name, feature_type(f)) for f in schema.features]
    return pa.schema(heads + features + [pa.field(name, pa.float64()) for name in FIGURES])


def feature_type(feature: Feature) -> Any:
    """Return the type in which a feature is written."""
    pa = arrow()
    if feature.numeric:
        if feature.number_dtype is not None:
            return pa.from_numpy_dtype(feature.number_dtype)
        return pa.int64() if feature.whole else pa.float64()
    kinds = {type(value) for value in feature.values}
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        return pa.int64()
    return pa.float64() if kinds <= {int, float} else pa.string()


def grid_rows(schema: Schema, n: int) -> pd.DataFrame:
    """Return people who do not exist: rows of values drawn from the grids, always the same."""
    draw = np.random.default_rng(0)
    codes = np.stack([draw.integers(0, len(f.values), n) for f in schema.features], axis=1)
    return schema.decode(to_offered(schema, codes.astype(np.int32)))  # a model may refuse values that nobody is led to


def people_table(plans: RecoursePlans) -> pa.Table:
    """Return the people of some plans: what came of them, and their features as far as the schema knows the values."""
    pa = arrow()
    form = summary_schema(plans.schema)
    columns = [_plain_array(plans.summary[name], form.field(name).type) for name in SUMMARY]
    columns += [_as_they_are(feature, plans.people[feature.name]) for feature in plans.schema.features]
    return pa.table(columns, schema=form)


def options_table(plans: RecoursePlans) -> pa.Table:
    """Return the options of some plans, a person named by their place among the people."""
    pa = arrow()
    form = options_schema(plans.schema)
    places = plans.people.index.get_indexer(pd.Index(plans.options["person"])).astype(np.int64)
    columns = [pa.array(places), pa.array(plans.options["option"].to_numpy(np.int64))]
    columns += [_option_column(feature, plans.options[feature.name]) for feature in plans.schema.features]
    columns += [pa.array(plans.options[name].to_numpy(np.float64)) for name in FIGURES]
    return pa.table(columns, schema=form)


def options_of(options: Any, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], Any]:
    """Return the options of people by their places, in that order: whose each is, counted from 0, and the rows."""
    whose = options[PLACE].to_numpy()
    begin, end = np.searchsorted(whose, places), np.searchsorted(whose, places, side="right")
    count = end - begin
    person = np.repeat(np.arange(len(places)), count)
    within = np.arange(len(person)) - np.repeat(np.cumsum(count) - count, count)
    return person, options.take(arrow().array(begin[person] + within))


def unusable_person(schema: Schema, reason: str, frame: pd.DataFrame | None = None) -> Solved:
    """Return somebody for whom nothing could be found, and why; `frame` is their row, where it can be read."""
    pa = arrow()
    known = {"status": "invalid_input", "n_options": 0, "queries": 0, "reason": reason}
    form = summary_schema(schema)
    columns = [pa.array([known.get(name, np.nan)], form.field(name).type) for name in SUMMARY]
    for feature in schema.features:
        kind = feature_type(feature)
        columns.append(pa.nulls(1, kind) if frame is None else _as_they_are(feature, frame[feature.name]))
    return Solved(pa.table(columns, schema=form), options_schema(schema).empty_table(), 0, 0, 0.0, 0.0)


def _type_of(pa: Any, name: str) -> Any:
    return pa.int64() if name in _WHOLE else pa.string() if name in _TEXT else pa.float64()


def _plain_array(column: pd.Series[Any], kind: Any) -> Any:
    pa = arrow()
    if pa.types.is_string(kind):
        return pa.array(column.tolist(), kind)
    return pa.array(column.to_numpy(), kind)  # NaN stays NaN


def _as_they_are(feature: Feature, column: pd.Series[Any]) -> Any:
    """Return values, null where one is missing; also where the column cannot hold it, and then the reason names it."""
    pa = arrow()
    kind = feature_type(feature)
    if not feature.numeric:
        return _categories(feature, category_codes(feature, column), kind)
    x = np.full(len(column), np.nan)
    usable = ~(column.isna().to_numpy() | not_numbers(column))
    x[usable] = column.to_numpy(dtype=object)[usable].astype(np.float64)
    kept = ~np.isnan(x)
    if pa.types.is_integer(kind):
        ends = np.iinfo(kind.to_pandas_dtype())
        kept &= (x == np.round(x)) & (x >= ends.min) & (x < float(ends.max))
    if kept.all():
        return pa.array(x).cast(kind, safe=False)
    return pa.array(np.where(kept, x, 0.0), mask=~kept).cast(kind, safe=False)


def _option_column(feature: Feature, column: pd.Series[Any]) -> Any:
    pa = arrow()
    kind = feature_type(feature)
    if not feature.numeric or feature.missing:
        return _as_they_are(feature, column)
    return pa.array(column.to_numpy(dtype=np.float64)).cast(kind, safe=False)


def _categories(feature: Feature, codes: NDArray[np.int32], kind: Any) -> Any:
    pa = arrow()
    values = [str(v) if pa.types.is_string(kind) else v for v in feature.values]
    return pa.array(values, kind).take(pa.array(codes, mask=codes < 0))
