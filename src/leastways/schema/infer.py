"""Features from a table: kinds, grids and dtypes as the data show them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from leastways.errors import SchemaError
from leastways.schema.feature import Feature

MAX_QUANTILES = 100
MAX_INTEGERS = 1000  # a longer run of integers gets a quantile grid, as a real number would
_MAX_CATEGORIES = 200


def infer_feature(name: str, column: pd.Series[Any]) -> Feature:
    """Return the feature that a column's dtype and values suggest."""
    known = column.dropna()
    if known.empty:
        raise SchemaError(f"column {name!r} has no values.")
    dtype = column.dtype
    if pd.api.types.is_bool_dtype(dtype) or not pd.api.types.is_numeric_dtype(dtype):
        return _category(name, known)
    x = known.to_numpy(dtype=np.float64)
    if not np.isfinite(x).all():
        raise SchemaError(f"column {name!r} holds infinite values; drop those rows or cap them.")
    integral = bool((x == np.round(x)).all()) and not pd.api.types.is_float_dtype(dtype)
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
        raise SchemaError(f"column {name!r} holds dates; turn it into a number (days, years) or drop it.")
    if isinstance(dtype, pd.CategoricalDtype):
        categories = tuple(dtype.categories.tolist())
        return Feature(
            name,
            "ordinal" if dtype.ordered else "category",
            categories,
            dtype="category",
            categories=categories,
            categories_ordered=bool(dtype.ordered),
        )
    values = list(dict.fromkeys(known.tolist()))
    if len(values) > _MAX_CATEGORIES:
        raise SchemaError(
            f"column {name!r} has {len(values)} different values and no order; it looks like an identifier or free "
            f"text. Drop it, or group it into at most {_MAX_CATEGORIES} categories."
        )
    try:
        values.sort()
    except TypeError:  # mixed types have no common order; the order of appearance will do
        values.sort(key=str)
    return Feature(name, "category", tuple(values), dtype=str(dtype))
