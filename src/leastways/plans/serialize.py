"""Data frames as JSON that comes back exactly: dtypes, categories, index, infinities and missing values.

And the documents that hold them, each with its format and version.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from leastways._messages import plain
from leastways.errors import DataError
from leastways.io import json_of
from leastways.plans.plan import NearestMiss, RecourseOption, RecoursePlan
from leastways.schema import dtype_name

_LABELS = (int, str, float, bool)


def frame_to_json(frame: pd.DataFrame) -> dict[str, Any]:
    """Return a frame as plain lists with what is needed to restore it."""
    return {
        "index": _column_to_json(pd.Series(frame.index, dtype=frame.index.dtype), "the index"),
        "index_name": plain(frame.index.name),
        "columns": [[name, _column_to_json(frame[name], f"column {name!r}")] for name in frame.columns],
    }


def frame_from_json(data: dict[str, Any]) -> pd.DataFrame:
    """Restore a frame."""
    index = _as_index(_column_from_json(data["index"])).rename(data["index_name"])
    columns = {name: pd.Series(_column_from_json(column), index=index) for name, column in data["columns"]}
    return pd.DataFrame(columns, index=index)


def document_to_json(content: dict[str, Any], path: str | Path | None) -> str:
    """Return a document as JSON text, which is also written to a file if a path is given."""
    text = json.dumps(content, allow_nan=False, ensure_ascii=False)
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def document_from_json(source: str | Path, form: str, version: int, what: str) -> tuple[dict[str, Any], str]:
    """Read a document of a format and version from a file, or from JSON text; returns it, and how errors name it."""
    is_text = isinstance(source, str) and source.lstrip().startswith("{")
    where = "the text" if is_text else repr(str(source))
    if not is_text and not Path(source).is_file():
        raise DataError(f"there is no file {where}.")
    try:
        data = json_of(str(source) if is_text else Path(source).read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{where} does not hold {what}: it is not JSON ({error}).") from error
    if not isinstance(data, dict) or data.get("format") != form:
        raise DataError(f"{where} does not hold {what}.")
    if data.get("version") != version:
        raise DataError(f"{where} has version {data.get('version')!r}; this release reads {version}.")
    return data, where


def _column_to_json(column: pd.Series[Any], what: str) -> dict[str, Any]:
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        inner = _column_to_json(pd.Series(dtype.categories, dtype=dtype.categories.dtype), what)
        return {"dtype": "category", "values": column.cat.codes.tolist(), "categories": inner, "ordered": dtype.ordered}
    text = dtype_name(dtype)
    return {"dtype": text, "values": [_to_json(v, what, text == "object") for v in column.tolist()]}


def _to_json(value: Any, what: str, anything: bool) -> Any:
    """Write one value of a column that may hold `anything`, or only its dtype's."""
    value = plain(value)
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)} if anything or math.isinf(value) else None
    if isinstance(value, _LABELS):
        return value
    if isinstance(value, pd.Timestamp):
        return {"time": value.isoformat()}
    if anything and what != "the index":
        return str(value)  # kept as its text: one odd cell of a bad row must not lose a run
    raise DataError(f"{what} holds {value!r} ({type(value).__name__}), which JSON cannot keep; use text or numbers.")


def _from_json(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return float(value["float"]) if "float" in value else pd.Timestamp(value["time"])


def _column_from_json(column: dict[str, Any]) -> Any:
    if column["dtype"] == "category":
        inner = _as_index(_column_from_json(column["categories"]))
        return pd.Categorical.from_codes(column["values"], dtype=pd.CategoricalDtype(inner, column["ordered"]))
    values = [_from_json(v) for v in column["values"]]
    if column["dtype"] == "object":
        return pd.Index(values, dtype=object)
    return pd.Series(values, dtype=column["dtype"]).array


def _as_index(values: Any) -> pd.Index[Any]:
    index: pd.Index[Any] = values if isinstance(values, pd.Index) else pd.Index(values)
    return index


def plan_as_dict(plan: RecoursePlan) -> dict[str, Any]:
    """Return a plan as JSON can hold it: None for what is missing or undefined."""
    miss = plan.nearest_miss
    return {
        "person": plan.person,
        "status": plan.status,
        "reason": plan.reason,
        "probability": _finite(plan.probability),
        "covered": _finite(plan.covered),
        "satisfied": _finite(plan.satisfied),
        "emc": _finite(plan.emc),
        "queries": plan.queries,
        "certificate": None if plan.certificate is None else asdict(plan.certificate),
        "state": {name: _finite(value) for name, value in plan.state.items()},
        "options": [
            {
                "option": option.number,
                "changes": _changes(option),
                "probability": _finite(option.probability),
                "expected_cost": _finite(option.expected_cost),
                "best_for": _finite(option.best_for),
            }
            for option in plan.options
        ],
        "nearest_miss": None if miss is None else {"changes": _changes(miss), "probability": _finite(miss.probability)},
        "text": plan.to_text(),
    }


def _changes(state: RecourseOption | NearestMiss) -> list[dict[str, Any]]:
    return [
        {"feature": c.feature, "from": _finite(c.before), "to": _finite(c.after), "text": c.text} for c in state.changes
    ]


def _finite(value: Any) -> Any:
    """Return None for NaN, infinity and pandas' missing values, which JSON does not know."""
    if value is None or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value
