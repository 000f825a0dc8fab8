"""Fingerprints: what has to be the same for a run to be continued, and what differs where it is not."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version as installed
from typing import Any

import numpy as np

from leastways._fingerprint import value_print
from leastways.batch.tables import grid_rows
from leastways.costs import Preferences
from leastways.models import QueryMeter, as_model
from leastways.recourse import Recourse
from leastways.recourse.settings import settings_of

_LIBRARIES = ("leastways", "numpy", "pandas", "scikit-learn", "scipy", "numba", "pyarrow")
_PROBES = 64  # rows that a model is known by
_SAME = 1e-6  # the last bits of an answer depend on the machine


def config_of(
    recourse: Recourse,
    preferences: Preferences | Mapping[Any, Preferences] | None,
    model_file: str | None,
    people_per_part: int,
    dedup: bool,
) -> dict[str, Any]:
    """Return all that the results depend on beside the people, as JSON can hold it."""
    settings = settings_of(recourse)
    return {
        "settings": {name: settings[name] for name in sorted(settings)},
        "schema": value_print(recourse.schema.to_yaml()),
        "training": value_print([recourse._training, recourse.cost_model_.percentiles.data, recourse.distilled_]),
        "model": {"file": model_file, "answers": _answers(recourse)},
        "preferences": None if preferences is None else value_print(preferences),
        "people_per_part": people_per_part,
        "dedup": dedup,
        "made_with": made_with(),
    }


def made_with() -> dict[str, str]:
    """Return the versions of what the last bits of a result may depend on."""
    return {"python": platform.python_version()} | {name: installed(name) for name in _LIBRARIES}


def _answers(recourse: Recourse) -> list[float | None]:
    """Return what the model says of some rows made of the schema's grids: None where it fails.

    A model is any object, and no bytes of it can be relied on to be the same in the next process. Its answers can.
    """
    meter = QueryMeter(as_model(recourse.model, recourse.target, threshold=recourse.threshold))
    values, _ = meter.judge_by_group(grid_rows(recourse.schema, _PROBES), np.arange(_PROBES))
    return [None if np.isnan(v) else round(float(v), 9) for v in values]


_WORDS = {
    "schema": "the schema differs",
    "training": "the training table, or what was learned from it, differs",
    "preferences": "the preferences differ",
}


def differences(before: Mapping[str, Any], now: Mapping[str, Any], inside: str = "") -> list[str]:
    """Say what differs between two configurations, a line each."""
    found = []
    for name in dict.fromkeys([*before, *now]):
        one, other = before.get(name), now.get(name)
        where = f"{inside}{name}"
        if one == other:
            continue
        if where == "model.answers":
            found += _other_answers(one or [], other or [])
        elif isinstance(one, Mapping) and isinstance(other, Mapping):
            found += differences(one, other, f"{where}.")
        elif where == "model.file":
            found.append(f"the model's file differs (sha256 {str(other)[:12]}, was {str(one)[:12]})")
        else:
            found.append(_WORDS.get(where, f"{where} is {other!r}, was {one!r}"))
    return found


def _other_answers(before: list[float | None], now: list[float | None]) -> list[str]:
    if len(before) != len(now):
        return ["the model differs"]
    for one, other in zip(before, now, strict=True):
        same = one is other if one is None or other is None else abs(one - other) <= _SAME
        if not same:
            return [f"the model answers {other!r} where it answered {one!r}"]
    return []
