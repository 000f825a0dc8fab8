"""Data frames as JSON that comes back exactly: dtypes, categories, index, infinities and missing values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from leastways.errors import DataError, plain

_LABELS = (int, str, float, bool)


def frame_to_json(frame: pd.DataFrame) -> dict[str, Any]:
    """Return a frame as plain lists with what is needed to restore it."""
    return {
        "index": _column_to_json(frame.index.to_series(), "the index"),
        "index_name": plain(frame.index.name),
        "columns": [[name, _column_to_json(frame[name], f"column {name!r}")] for name in frame.columns],
    }


def frame_from_json(data: dict[str, Any]) -> pd.DataFrame:
    """Restore a frame."""
    index = pd.Index(_column_from_json(data["index"]), name=data["index_name"])
    columns = {name: _column_from_json(column) for name, column in data["columns"]}
    return pd.DataFrame(columns, index=index)


def _column_to_json(column: pd.Series[Any], what: str) -> dict[str, Any]:
    dtype = column.dtype
    out: dict[str, Any] = {"dtype": str(dtype), "values": [_to_json(v, what) for v in column.tolist()]}
    if isinstance(dtype, pd.CategoricalDtype):
        out["dtype"] = "category"
        out["categories"] = [_to_json(c, what) for c in dtype.categories.tolist()]
        out["ordered"] = bool(dtype.ordered)
    return out


def _to_json(value: Any, what: str) -> Any:
    value = plain(value)
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float) and math.isinf(value):
        return {"float": "inf" if value > 0 else "-inf"}
    if isinstance(value, _LABELS):
        return value
    raise DataError(f"{what} holds {value!r} ({type(value).__name__}), which JSON cannot keep; use text or numbers.")


def _from_json(value: Any) -> Any:
    return float(value["float"]) if isinstance(value, dict) else value


def _column_from_json(column: dict[str, Any]) -> Any:
    values = [_from_json(v) for v in column["values"]]
    if column["dtype"] == "category":
        dtype = pd.CategoricalDtype([_from_json(c) for c in column["categories"]], column["ordered"])
        return pd.Categorical(values, dtype=dtype)
    if column["dtype"] == "object":
        held = np.empty(len(values), dtype=object)
        held[:] = [np.nan if v is None else v for v in values]
        return held
    return pd.Series(values, dtype=column["dtype"]).array
