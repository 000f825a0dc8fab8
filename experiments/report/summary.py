"""Measures of cells, and intervals: over seeds where there are several, else over people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from experiments.config import Cell
from experiments.published import MEASURES
from experiments.store import Store

_BY_PERSON = {"Div": "diversity", "Prox": "proximity", "Spars": "sparsity", "Val": "validity"}


def measures(rows: pd.DataFrame) -> dict[str, Any]:
    """Return a cell's measures in percent (PAC as it is), and the standard error of each over people."""
    costs = rows["min_cost"].to_numpy(dtype=float)
    by_person = {"FS@1": 100.0 * (costs < 1.0), "Cov": 100.0 * np.isfinite(costs), "PAC": costs[np.isfinite(costs)]}
    for name, column in _BY_PERSON.items():
        if column in rows:
            by_person[name] = 100.0 * rows[column].dropna().to_numpy(dtype=float)
    means = {name: float(values.mean()) if len(values) else None for name, values in by_person.items()}
    errors = {
        name: float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None
        for name, values in by_person.items()
    }
    return {"people": len(rows), "means": means, "errors": errors}


def collect_cells(cells: Iterable[Cell], store: Store) -> list[dict[str, Any]]:
    """Return the measures of the cells that were made, with their settings and what they took."""
    out = []
    for cell in cells:
        if store.has(cell):
            entry = store.entry(cell)
            took = {
                "seconds_per_person": entry["seconds"] / max(entry["people"], 1),
                "queries_per_person": entry["queries"] / max(entry["people"], 1),
            }
            out.append({"settings": dict(entry["settings"]), **took, **measures(store.rows(cell))})
    return out


def mean_of(found: Sequence[Mapping[str, Any]], measure: str) -> tuple[float, float] | None:
    """Return the mean of a measure over seeds and half its 95 % interval; None if no cell has it."""
    values = [c["means"][measure] for c in found if c["means"].get(measure) is not None]
    if not values:
        return None
    if len(values) > 1:
        spread = float(np.std(values, ddof=1)) / math.sqrt(len(values))
        return float(np.mean(values)), float(student.ppf(0.975, len(values) - 1)) * spread
    error = next((c["errors"].get(measure) for c in found if c["means"].get(measure) is not None), None)
    return values[0], 1.96 * error if error is not None else math.nan


def grouped(found: Sequence[Mapping[str, Any]], *names: str) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    """Sort cells by some settings, in the order they come."""
    out: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for cell in found:
        out.setdefault(tuple(cell["settings"][name] for name in names), []).append(cell)
    return out


def shown(value: tuple[float, float] | None, measure: str) -> str:
    """Show a mean with its interval."""
    if value is None:
        return "-"
    digits = 2 if measure == "PAC" else 1
    mean, half = value
    return f"{mean:.{digits}f}" + ("" if math.isnan(half) else f" ± {half:.{digits}f}")


__all__ = ["MEASURES", "collect_cells", "grouped", "mean_of", "measures", "shown"]
