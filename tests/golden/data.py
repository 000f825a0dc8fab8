"""The table, the applicants and the features of the stored cases: small, and read from files in `inputs`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

INPUTS = Path(__file__).parent / "inputs"
TEXT = ("education", "job", "region")

# The words here are those of these files alone; `package.schema` turns them into the package's.
FEATURES: dict[str, dict[str, Any]] = {
    "age": {"kind": "integer", "values": tuple(range(18, 71)), "direction": "up", "range": (18, 120), "unit": "years"},
    "income": {"kind": "integer", "values": tuple(range(10, 92, 2)), "direction": "any", "label": "monthly income"},
    "hours": {"kind": "integer", "values": tuple(range(0, 61, 5)), "direction": "any", "range": (0, 168)},
    "rate": {"kind": "real", "values": tuple(k / 8 for k in range(8, 41)), "direction": "down", "unit": "percent"},
    "savings": {"kind": "real", "values": tuple(500.0 * k for k in range(25)), "direction": "up", "missing": True},
    "education": {"kind": "ordinal", "values": ("none", "school", "college", "master"), "direction": "up"},
    "job": {"kind": "category", "values": ("manual", "office", "own firm", "unknown"), "excluded": ("unknown",)},
    "region": {"kind": "category", "values": ("north", "south"), "direction": "fixed"},
}
INTEGERS = tuple(name for name, entry in FEATURES.items() if entry["kind"] == "integer")


def features(changes: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the features with some of their entries replaced."""
    return {name: {**entry, **changes.get(name, {})} for name, entry in FEATURES.items()}


@cache
def _table(name: str) -> pd.DataFrame:
    frame = pd.read_csv(INPUTS / f"{name}.csv", index_col=0, dtype=dict.fromkeys(TEXT, object))
    for column in FEATURES:
        kind = object if column in TEXT else np.int64 if column in INTEGERS else np.float64
        frame[column] = frame[column].astype(kind)
    frame.index = pd.Index(frame.index.to_numpy(dtype=object), dtype=object)
    return frame[list(FEATURES)]


def train() -> pd.DataFrame:
    """Return the rows whose percentiles the costs use: without missing values."""
    return _table("train").reset_index(drop=True)


def applicants(labels: str) -> pd.DataFrame:
    """Return some of the applicants, by their labels with blanks between them."""
    return _table("applicants").loc[labels.split()]
