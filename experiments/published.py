"""The paper's own figures, kept as data with the table they come from."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

FOLDER = Path(__file__).parent / "paper"
MEASURES = ("FS@1", "PAC", "Cov", "Div", "Prox", "Spars", "Val")
# How the paper searched; where a table of its own says otherwise, that is below.
_SETTINGS: dict[str, Any] = {
    "budget": 5000,
    "n_options": 10,
    "n_costs": 1000,
    "rows": None,
    "search_alpha": None,
    "person_alpha": None,
    "design": "plain",
}
_OTHERWISE: dict[str, dict[str, Any]] = {
    "ablation": {"budget": 3000},
    "timing": {"n_costs": 100},
    "study": {"design": "study"},
}
_ON_ADULT = ("fairness", "study", "timing")  # tables that do not name their data: Adult, and its published network


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


def same_settings(name: str, settings: Mapping[str, Any]) -> bool:
    """Whether a cell was made as a table of the paper was: only then may it stand beside its figures.

    How many people and seeds there are need not be the same: every table says so itself.
    """
    where = name not in _ON_ADULT or (settings["data"], settings["model"]) == ("adult_binary", "own")
    wanted = {**_SETTINGS, **_OTHERWISE.get(name, {})}
    return where and all(settings[k] == v for k, v in wanted.items())


def beside(name: str | None, settings: Mapping[str, Any], method: str | None) -> dict[str, float]:
    """Return the paper's measures to show beside a cell, empty where it has none that were made in the same way."""
    return figures(name, settings["data"], method) if name and same_settings(name, settings) else {}


def table_for(settings: Mapping[str, Any], data: str, model: str) -> str | None:
    """Return which of the paper's tables an experiment's results on some data and model belong beside."""
    tables = settings.get("paper", {})
    found: str | None = tables.get(f"{data}/{model}", tables.get(model))
    return found
