"""Plans as JSON.

- Files (`RecoursePlans.to_json`): documents with a format and a version; data frames are restored exactly, with dtypes,
  categories, index, infinities and missing values.
- The service's database and replay (`plan_to_json`): one plan as one line, restored exactly.
- Readers of JSON, by the CLI and HTTP (`plan_as_dict`): one plan with its changes and sentences; not read back.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from leastways._values import plain
from leastways.errors import DataError
from leastways.io import canonical_json, json_of
from leastways.plans.plan import Certificate, NearestMiss, RecourseOption, RecoursePlan
from leastways.plans.wording import Change
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
    if not _is_finite(value):
        is_kept = isinstance(value, float) and (anything or math.isinf(value))
        return {"float": _exact(value)} if is_kept else None
    if value is None:
        return None
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


_FIGURES = ("probability", "covered", "emc", "satisfied")
_STORED = ("status", "reason", *_FIGURES, "queries", "options", "certificate", "nearest_miss")


@dataclass(frozen=True)
class _Form:
    """How one form of a plan writes its parts."""

    number_key: str  # of an option's number
    figure: Callable[[Any], Any]
    state: Callable[[RecourseOption | NearestMiss], dict[str, Any]]  # changes and probability

    def record(self, plan: RecoursePlan) -> dict[str, Any]:
        """Return everything about a plan except the person's label and state."""
        miss, certificate = plan.nearest_miss, plan.certificate
        return {
            "status": plan.status,
            "reason": plan.reason,
            "queries": plan.queries,
            "certificate": None if certificate is None else asdict(certificate),
            "options": [self._option(option) for option in plan.options],
            "nearest_miss": None if miss is None else self.state(miss),
        } | {name: self.figure(getattr(plan, name)) for name in _FIGURES}

    def _option(self, option: RecourseOption) -> dict[str, Any]:
        costs = {name: self.figure(getattr(option, name)) for name in ("expected_cost", "best_for")}
        return {self.number_key: option.number} | self.state(option) | costs


def plan_as_dict(plan: RecoursePlan) -> dict[str, Any]:
    """Return a plan for readers of JSON (CLI and HTTP): None for what is missing or undefined, and the plan in words.

    Parameters
    ----------
    plan
        One person's plan.

    Returns
    -------
    dict
        Person, status, reason, figures, present state, options with their changes, nearest miss, certificate, text.
    """
    record = _READABLE.record(plan)
    head = ("status", "reason", "probability", "covered", "satisfied", "emc", "queries", "certificate")
    return {
        "person": plan.person,
        **{name: record[name] for name in head},
        "state": {name: _or_none(value) for name, value in plan.state.items()},
        "options": record["options"],
        "nearest_miss": record["nearest_miss"],
        "text": plan.to_text(),
    }


def plan_to_json(plan: RecoursePlan) -> str:
    """Return a plan as one line of canonical JSON; two plans are equal if and only if their lines are.

    The person's label and present state are not part of it: the service keeps them in other columns. Replay compares
    these lines.

    Parameters
    ----------
    plan
        One person's plan.

    Returns
    -------
    str
        JSON that `plan_from_json` reads; features in the schema's order, in which they are also shown.
    """
    record = _EXACT.record(plan)
    return canonical_json({name: record[name] for name in _STORED}, sort=False)


def plan_from_json(text: str, person: Any, state: Mapping[str, Any]) -> RecoursePlan:
    """Read a plan that `plan_to_json` wrote.

    Parameters
    ----------
    text
        The line.
    person
        The person's label.
    state
        The person's present value of every feature.

    Returns
    -------
    RecoursePlan
        A plan equal to the one that was written.
    """
    data = json.loads(text)
    certificate, miss = data["certificate"], data["nearest_miss"]
    return RecoursePlan(
        person=person,
        status=data["status"],
        reason=data["reason"],
        state=dict(state),
        options=tuple(_to_option(option) for option in data["options"]),
        queries=data["queries"],
        certificate=None if certificate is None else Certificate(**certificate),
        nearest_miss=None if miss is None else NearestMiss(**_to_state(miss)),
        **{name: float(data[name]) for name in _FIGURES},
    )


def _readable_state(state: RecourseOption | NearestMiss) -> dict[str, Any]:
    changes = [
        {"feature": c.feature, "from": _or_none(c.before), "to": _or_none(c.after), "text": c.text}
        for c in state.changes
    ]
    return {"changes": changes, "probability": _or_none(state.probability)}


def _exact_state(state: RecourseOption | NearestMiss) -> dict[str, Any]:
    return {
        "values": dict(state.values),
        "changes": [[c.feature, c.before, c.after, c.text] for c in state.changes],
        "probability": _exact(state.probability),
    }


def _to_state(data: Mapping[str, Any]) -> dict[str, Any]:
    changes = tuple(Change(*change) for change in data["changes"])
    return {"values": data["values"], "changes": changes, "probability": float(data["probability"])}


def _to_option(data: Mapping[str, Any]) -> RecourseOption:
    expected_cost, best_for = float(data["expected_cost"]), float(data["best_for"])
    return RecourseOption(data["number"], **_to_state(data), expected_cost=expected_cost, best_for=best_for)


def _is_finite(value: Any) -> bool:
    """Whether JSON has a form for a value: it has none for NaN, infinity and pandas' missing values."""
    return value is not pd.NA and value is not pd.NaT and not (isinstance(value, float) and not math.isfinite(value))


def _or_none(value: Any) -> Any:
    return value if _is_finite(value) else None


def _exact(value: float) -> float | str:
    return value if _is_finite(value) else str(value)  # "nan", "inf" or "-inf", which `float` reads


_READABLE = _Form("option", _or_none, _readable_state)
_EXACT = _Form("number", _exact, _exact_state)
