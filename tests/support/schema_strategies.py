"""Hypothesis strategies for tables, schemas and rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from leastways.schema import AtMost, Feature, Forbidden, IfThen, Linked, Schema

ODD_TEXT = ["yes", "no", "1", "1.5", "null", "~", "", " a", "a: b", "- x", "#", "é漢", "true", "2020-01-01", "[", "'\""]
# Of texts that differ only by case or blanks, which frames may hold, `Schema.infer` warns.
ODD_TEXTS_MAY_BE_ALIKE = pytest.mark.filterwarnings(
    "ignore:column .* (holds texts that differ only|looks like numbers):UserWarning"
)
texts = st.sampled_from(ODD_TEXT) | st.text(st.characters(codec="utf-8"), max_size=8)
_floats = st.floats(-1e6, 1e6, allow_nan=False)
_INTEGERS = {"int8": 100, "uint8": 200, "int32": 10**6, "int64": 10**9, "Int64": 2000, "UInt16": 60_000}
_FLOATS = ("float64", "float32", "Float64", "Float32")


@st.composite
def columns(draw: st.DrawFn, n: int) -> pd.Series[Any]:
    """A column of any dtype a table of people may have."""
    sort = draw(st.sampled_from(["integer", "float", "bool", "text", "object", "category"]))
    if sort == "integer":
        dtype = draw(st.sampled_from(sorted(_INTEGERS)))
        low = 0 if dtype.lower().startswith("u") else -_INTEGERS[dtype]
        return _series(_some(draw, st.integers(low, _INTEGERS[dtype]), n), dtype)
    if sort == "float":
        return _series(_some(draw, _floats, n), draw(st.sampled_from(_FLOATS)))
    if sort == "bool":
        return _series(_some(draw, st.booleans(), n), draw(st.sampled_from(["bool", "boolean"])))
    if sort == "text":
        return _series(_some(draw, texts, n), draw(st.sampled_from(["str", "string", "object"])))
    if sort == "object":
        return _series(_some(draw, texts | st.integers(2, 9) | st.floats(0.1, 0.9), n), "object")
    kinds: list[st.SearchStrategy[Any]] = [texts, st.integers(-5, 300), _floats]
    values = draw(st.lists(draw(st.sampled_from(kinds)), min_size=1, max_size=6, unique=True))
    inner: pd.Index[Any] = pd.Index(values, dtype=object if draw(st.booleans()) else None)
    codes = _some(draw, st.integers(0, len(values) - 1), n)
    return pd.Series(pd.Categorical.from_codes(codes, inner, ordered=draw(st.booleans())))


def _series(values: Any, dtype: Any) -> pd.Series[Any]:
    series: pd.Series[Any] = pd.Series(values, dtype=dtype)
    return series


def _some(draw: st.DrawFn, values: st.SearchStrategy[Any], n: int) -> list[Any]:
    return draw(st.lists(values, min_size=n, max_size=n))


@st.composite
def indexes(draw: st.DrawFn, n: int) -> pd.Index[Any]:
    """Labels of any kind, unique, in any order."""
    numbers = draw(st.lists(st.integers(-(10**6), 10**6), min_size=n, max_size=n, unique=True))
    sort = draw(st.sampled_from(["range", "integer", "text", "time", "pair", "category"]))
    made: dict[str, pd.Index[Any]] = {
        "range": pd.RangeIndex(5, 5 + n),
        "integer": pd.Index(numbers, name="id"),
        "text": pd.Index([f"p{i}" for i in numbers]),
        "time": pd.to_datetime(numbers, unit="D", origin="2020-01-01"),
        "pair": pd.MultiIndex.from_arrays([numbers, ["a"] * n], names=["one", None]),
        "category": pd.CategoricalIndex([str(i) for i in numbers]),
    }
    return made[sort]


def _not_bare_numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers alone in a column of objects are refused: say that they are names."""
    known = column.dropna()
    numbers = column.dtype.kind == "O" and all(isinstance(v, int | float) and not isinstance(v, bool) for v in known)
    return column.astype("category") if numbers else column


@st.composite
def frames(draw: st.DrawFn, max_rows: int = 6) -> pd.DataFrame:
    """A mixed table of one to six columns, with gaps where a column can hold them."""
    n = draw(st.integers(1, max_rows))
    names = draw(st.lists(texts, min_size=1, max_size=6, unique=True))
    made = {name: _not_bare_numbers(draw(with_gaps(draw(columns(n))))) for name in names}
    return pd.DataFrame(made).set_axis(draw(indexes(n)), axis=0)


@st.composite
def with_gaps(draw: st.DrawFn, column: pd.Series[Any]) -> pd.Series[Any]:
    """The column with some, but not all, of its values missing."""
    holds_none = isinstance(column.dtype, np.dtype) and column.dtype.kind in "iub"
    if holds_none or draw(st.booleans()):
        return column
    gone = np.array(_some(draw, st.booleans(), len(column)))
    gone[draw(st.integers(0, len(column) - 1))] = False
    out = column.copy()
    out[gone] = np.nan
    return out


@st.composite
def people_of(draw: st.DrawFn, frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """The rows of a table, numbers moved off its grid: between its points, and beyond its ends."""
    people = frame.copy()
    for feature in schema.features:
        if feature.numeric:
            ends = [tuple(feature.array[[0, -1]]), feature.possible]
            near, anywhere = (
                st.integers(int(low), int(high)) if feature.whole else st.floats(low, high) for low, high in ends
            )
            people[feature.name] = feature.to_column(feature.as_held(_some(draw, near | anywhere, len(frame))))
        if feature.missing:
            people[feature.name] = draw(with_gaps(people[feature.name]))
    return people


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """A schema with any mix of kinds, grids, directions, labels and rules."""
    names = draw(st.lists(texts, min_size=2, max_size=5, unique=True))
    features = tuple(draw(_features(name)) for name in names)
    return Schema(features, draw(st.none() | texts), tuple(draw(st.lists(_rules(features), max_size=3))))


@st.composite
def _features(draw: st.DrawFn, name: str) -> Feature:
    kind = draw(st.sampled_from(["integer", "real", "ordinal", "category"]))
    direction: Any = draw(st.sampled_from(["any", "fixed"] if kind == "category" else ["any", "up", "down", "fixed"]))
    words: dict[str, Any] = {
        "label": draw(texts),
        "unit": draw(texts),
        "missing": kind != "integer" and draw(st.booleans()),
    }
    if kind == "integer":
        numbers = draw(st.sets(st.integers(-50, 50) | st.integers(-(2**50), 2**50), min_size=1, max_size=8))
        words["valid_range"] = (
            draw(st.none() | st.just(min(numbers) - 3)),
            draw(st.none() | st.just(max(numbers) + 3)),
        )
        excluded = draw(st.sets(st.sampled_from(sorted(numbers))))
        return Feature(name, "integer", tuple(sorted(numbers)), direction, "int64", excluded=tuple(excluded), **words)
    if kind == "real":
        dtype = draw(st.sampled_from(["float64", "Float64"]))
        return Feature(name, "real", tuple(sorted(draw(st.sets(_floats, min_size=1)))), direction, dtype, **words)
    values = draw(st.lists(texts, min_size=1, max_size=6, unique=True))
    dtype = draw(st.sampled_from(["str", "object", "category"]))
    some = tuple(draw(st.sets(st.sampled_from(values))))
    return Feature(name, kind, tuple(values), direction, dtype, excluded=some, **words)  # type: ignore[arg-type]


def _rules(features: tuple[Feature, ...]) -> st.SearchStrategy[Any]:
    """Rules of each type; those about states concern so few values that they do not contradict each other."""
    wide = [f for f in features if len(f.values) > 4]
    ordered = [f.name for f in features if f.ordered and f.direction == "any"]
    forms: list[st.SearchStrategy[Any]] = [st.integers(1, 4).map(AtMost)]
    if len(wide) > 1:
        first, second = wide[:2]
        forms.append(
            st.tuples(_conditions(first), _conditions(second)).map(lambda c: _pair(Forbidden, first, second, c))
        )
        forms.append(st.tuples(_conditions(first), _conditions(second)).map(lambda c: _if_then(first, second, c)))
    if len(ordered) > 1:
        forms.append(st.floats(0.5, 9).map(lambda x: Linked(ordered[0], ordered[1], at_least=x, by=2)))
    return st.one_of(forms)


def _pair(rule: type[Forbidden], first: Feature, second: Feature, conditions: tuple[Any, Any]) -> Forbidden:
    return rule({first.name: conditions[0], second.name: conditions[1]})


def _if_then(first: Feature, second: Feature, conditions: tuple[Any, Any]) -> IfThen:
    return IfThen({first.name: conditions[0]}, {second.name: conditions[1]})


def _conditions(feature: Feature) -> st.SearchStrategy[Any]:
    values = feature.values
    forms: list[Any] = [values[0], [values[0]], {values[0]}, frozenset(values[:2]), np.array(values[:1])]
    if feature.numeric:
        low, high = values[:2]
        forms += [(low, high), (None, low), {"min": low, "max": high}, {"max": high}, (np.float64(low), high)]
    return st.sampled_from(forms)
