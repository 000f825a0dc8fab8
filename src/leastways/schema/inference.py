"""Infer features from a table: kinds, grids and dtypes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd

from leastways._messages import listed
from leastways._values import plain
from leastways.errors import SchemaError
from leastways.schema.feature import EXACT, MAX_INTEGERS, Feature

MAX_QUANTILES = 100
_MAX_CATEGORIES = 200
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?( ?(Z|[+-]\d\d(:?\d\d)?))?)?")


def infer_features(frame: pd.DataFrame, columns: list[str]) -> tuple[Feature, ...]:
    """Return a feature for each of these columns; warn of columns that look as if something else was meant.

    Raises
    ------
    SchemaError
        If columns cannot be features; its message has a line for each of them.
    """
    features, faults = [], []
    for name in columns:
        try:
            features.append(infer_feature(name, frame[name]))
        except SchemaError as error:
            faults.append(error)
    if len(faults) == 1:
        raise faults[0]
    if faults:
        raise SchemaError("\n".join(map(str, faults)))
    for text in warnings_of(features):
        warnings.warn(text, UserWarning, stacklevel=3)
    return tuple(features)


def infer_feature(name: str, column: pd.Series[Any]) -> Feature:
    """Return the feature that a column's dtype and values suggest."""
    known = column.dropna()
    if known.empty:
        raise SchemaError(f"column {name!r} has no values.")
    gaps = len(known) < len(column)
    feature = _of_known(name, known, gaps)
    return replace(feature, missing=True) if gaps else feature


def _of_known(name: str, known: pd.Series[Any], gaps: bool) -> Feature:
    dtype = known.dtype
    decimal = isinstance(dtype, pd.ArrowDtype) and isinstance(known.iloc[0], Decimal)  # a number, as pandas sees it
    if pd.api.types.is_bool_dtype(dtype) or not pd.api.types.is_numeric_dtype(dtype) or decimal:
        return _category(name, known)
    if pd.api.types.is_complex_dtype(dtype):
        raise SchemaError(f"column {name!r} holds complex numbers; split it into two columns.")
    x = known.to_numpy(dtype=np.float64)
    if not np.isfinite(x).all():
        raise SchemaError(f"column {name!r} holds infinite values; drop those rows or cap them.")
    # pandas keeps whole numbers as floats where some are missing
    integral = pd.api.types.is_integer_dtype(dtype) or (gaps and bool(((x == np.round(x)) & (np.abs(x) < EXACT)).all()))
    if integral and np.abs(x).max() >= EXACT:
        raise SchemaError(f"column {name!r} holds integers beyond 2**53; it looks like an identifier. Drop it.")
    if integral and x.max() - x.min() < MAX_INTEGERS:
        values: tuple[Any, ...] = tuple(range(int(x.min()), int(x.max()) + 1))
    else:
        points = _quantile_points(x)
        values = tuple(int(p) if integral else float(p) for p in points)
    return Feature(name, "integer" if integral else "real", values, dtype=str(dtype))


def _quantile_points(x: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return at most MAX_QUANTILES observed values, evenly spaced in rank, both ends included."""
    distinct = np.unique(x)
    if len(distinct) <= MAX_QUANTILES:
        return distinct
    return np.unique(np.quantile(x, np.linspace(0, 1, MAX_QUANTILES), method="closest_observation"))


def _category(name: str, known: pd.Series[Any]) -> Feature:
    dtype = known.dtype
    if pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype):
        raise _dates(name)
    if isinstance(dtype, pd.CategoricalDtype):
        return _from_categories(name, dtype, known)
    if str(dtype).startswith("dictionary<"):
        raise SchemaError(f"column {name!r} is an Arrow dictionary; turn it into categories: .astype('category').")
    if all(isinstance(value, date) for value in known):
        raise _dates(name)
    values = _plain_values(name, known)
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    if pd.api.types.is_object_dtype(dtype) and numbers:
        raise SchemaError(
            f"column {name!r} holds numbers, but as objects, so their order would be lost. Turn it into numbers: "
            "pd.to_numeric(column); or, if they are mere names, into categories: .astype('category')."
        )
    # a single text may be a label that looks like a date, and it cannot change
    if len(values) > 1 and all(isinstance(value, str) and _ISO_DATE.fullmatch(value.strip()) for value in values):
        raise _dates(name)
    if len(values) > _MAX_CATEGORIES and look_like_numbers(values):
        raise SchemaError(
            f"column {name!r} has {len(values)} different values; it {numbers_as_text(values)} Or drop it, if it is an "
            "identifier."
        )
    if len(values) > _MAX_CATEGORIES:
        raise SchemaError(
            f"column {name!r} has {len(values)} different values and no order; it looks like an identifier or free "
            f"text. Drop it, or group it into at most {_MAX_CATEGORIES} categories."
        )
    try:
        values.sort()
    except TypeError:  # mixed types have no common order; the order of appearance will do
        values.sort(key=str)
    return Feature(name, "category", tuple(values), dtype=dtype_name(dtype))


def _dates(name: str) -> SchemaError:
    return SchemaError(f"column {name!r} holds dates; turn it into a number (days, years) or drop it.")


def _from_categories(name: str, dtype: pd.CategoricalDtype, known: pd.Series[Any]) -> Feature:
    """Return a feature of all categories; exclude those that do not occur, which encoders may not know."""
    inner = dtype.categories
    categories = tuple(_plain_values(name, inner.to_series(), ".cat.rename_categories"))  # which keeps the order
    occurs = np.isin(np.arange(len(inner)), known.cat.codes)
    return Feature(
        name,
        "ordinal" if dtype.ordered else "category",
        categories,
        dtype="category",
        categories=categories,
        categories_ordered=bool(dtype.ordered),
        categories_dtype="" if pd.Index(list(categories)).dtype == inner.dtype else dtype_name(inner.dtype),
        excluded=tuple(value for value, found in zip(categories, occurs, strict=True) if not found),
    )


def _plain_values(name: str, known: pd.Series[Any], turn: str = ".astype") -> list[Any]:
    """Return the distinct values as plain Python values; messages suggest the method `turn` for other types."""
    values = [plain(v) for v in known.tolist()]
    for value in values:
        if isinstance(value, date | timedelta | pd.Period):
            raise _dates(name)
        if not isinstance(value, str | int | float):
            as_what = f"numbers: {turn}(float)" if isinstance(value, Number) else f"text: {turn}(str)"
            raise SchemaError(
                f"column {name!r} holds {value!r} ({type(value).__name__}); a category must be a text, a number, or "
                f"true or false. Turn the column into {as_what}."
            )
    return list(dict.fromkeys(values))


_SHOWN = 4  # groups of texts that are alike
_MONEY = r"(?:[$¢£¤¥₩₪₫€₱₴₹₺₽₿]|EUR|USD|GBP|CHF|JPY|CNY|INR)"
_DIGITS = r"(?:[1-9]\d{0,2}(?:[.,'’ \u00a0\u202f]\d{3})+|0|[1-9]\d*)"  # a code such as 007 is no number
_NUMBER = re.compile(rf"[-+−]?\s*{_MONEY}?\s*[-+−]?\s*(?:{_DIGITS}(?:[.,]\d+)?|[.,]\d+)\s*(?:{_MONEY}|[%‰])?")
_PLAIN = re.compile(r"[-+]?\d+")
_UNKNOWN = frozenset(("", "-", "–", "?", "n/a", "na", "nan", "none", "null", "unknown", "missing"))


def warnings_of(features: Iterable[Feature]) -> list[str]:
    """Return a warning for each column whose texts are probably numbers, or spellings of the same category."""
    warned = []
    for feature in features:
        texts = [v for v in feature.values if isinstance(v, str) and v not in feature.excluded]
        if feature.kind != "category" or len(texts) < 2:
            continue
        # numbers in a pandas categorical are meant as names
        if not feature.categories and any(not _PLAIN.fullmatch(text.strip()) for text in _numbers(feature.values)):
            warned.append(f"column {feature.name!r} {numbers_as_text(texts)}")
        if alike := _alike(texts):
            warned.append(_alike_warning(feature.name, alike))
    return warned


def look_like_numbers(values: Sequence[Any]) -> bool:
    """Whether these are texts, and all but words for an unknown value are written numbers."""
    return bool(_numbers(values))


def numbers_as_text(values: Sequence[Any]) -> str:
    """Return the warning for a column of numbers written as text."""
    example = max(_numbers(values), key=lambda text: (not _PLAIN.fullmatch(text.strip()), len(text)))
    return (
        f"looks like numbers written as text, such as {example!r}; as categories they have no order. Convert it: write "
        "digits with a decimal point and no other signs, and leave unknown values empty (in pandas: .str.replace, then "
        "pd.to_numeric)."
    )


def _numbers(values: Sequence[Any]) -> list[str]:
    """Return the texts that are numbers; nothing if some value is neither a number nor unknown."""
    if not all(isinstance(value, str) for value in values):
        return []
    known = [value for value in values if value.strip().casefold() not in _UNKNOWN]
    return known if len(known) > 1 and all(_NUMBER.fullmatch(value.strip()) for value in known) else []


def _alike(texts: Sequence[str]) -> list[list[str]]:
    """Return groups of texts that differ only by case or blanks."""
    groups: dict[str, list[str]] = {}
    for text in texts:
        groups.setdefault(" ".join(text.split()).casefold(), []).append(text)
    return [group for group in groups.values() if len(group) > 1]


def _alike_warning(name: str, groups: Sequence[Sequence[str]]) -> str:
    more = f"; and {len(groups) - _SHOWN} more" if len(groups) > _SHOWN else ""
    shown = "; ".join(listed(group) for group in groups[:_SHOWN])
    return (
        f"column {name!r} holds texts that differ only by case or blanks, which makes them separate categories: {shown}"
        f"{more}. An option could lead from one to the other. Write each in one way before the model is trained, or "
        "list the spare ones under `excluded`."
    )


def dtype_name(dtype: Any) -> str:
    """Return a name that pandas reads back as the same dtype, which for text dtypes is not what it prints."""
    text = str(dtype)
    if isinstance(dtype, pd.StringDtype) and text == "string":
        return f"string[{dtype.storage}]"
    if isinstance(dtype, pd.ArrowDtype) and text == "string[pyarrow]":  # which would be the one above
        return "utf8[pyarrow]"
    return text
