"""The paper's own figures, kept as data with the table they come from."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

FOLDER = Path(__file__).parent / "paper"
MEASURES = ("FS@1", "PAC", "Cov", "Div", "Prox", "Spars", "Val")


@cache
def table(name: str) -> pd.DataFrame:
    """Return one of the paper's tables; a dash there is missing here."""
    return pd.read_csv(FOLDER / f"{name}.csv", na_values=["-"])


def figures(name: str, data: str, method: str | None) -> dict[str, float]:
    """Return the measures of one row, empty where the paper has none."""
    rows = table(name)
    mine = rows[(rows["data"] == data) & (rows["method"] == method)]
    if mine.empty:
        return {}
    row = mine.iloc[0]
    return {m: float(row[m]) for m in MEASURES if m in row.index and pd.notna(row[m])}


def table_for(settings: Mapping[str, Any], data: str, model: str) -> str | None:
    """Return which of the paper's tables an experiment's results on some data and model belong beside."""
    tables = settings.get("paper", {})
    found: str | None = tables.get(f"{data}/{model}", tables.get(model))
    return found
