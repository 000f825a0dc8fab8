"""Experiments that are told as drawings: curves over a setting, the grid of alphas, the bins of shift."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.config import Experiment
from experiments.report import plots
from experiments.report.layout import Figure, Table
from experiments.report.summary import (
    Found,
    collect_cells,
    configurations,
    grouped,
    mean_of,
    name_of,
    place_name,
    varying,
)
from experiments.store import Store

_AXES = {"budget": "rows asked a person (budget)", "n_options": "options a person", "n_costs": "cost functions sampled"}
_LEAST_JUDGED = 20  # of a bin that is shown


def collect(experiment: Experiment, store: Store) -> dict[str, Any]:
    """Collect the measures of every cell."""
    return {"cells": collect_cells(experiment.cells, store)}


def curve(settings: Mapping[str, Any], data: Mapping[str, Any]) -> list[Figure | Table]:
    """Draw FS@1 over a setting, a figure for each data set and model; and the same as tables."""
    places = grouped(data["cells"], "data", "model")
    return [
        part
        for place, found in places.items()
        for part in _curve(_figure_name(settings["id"], place, places), place_name(*place), found, settings["axis"])
    ]


def _curve(name: str, where: str, found: Found, axis: str) -> list[Figure | Table]:
    """Draw a line a configuration, with the standard deviation over seeds."""
    lines: dict[str, list[tuple[float, float, float]]] = {}
    rows: dict[str, dict[float, str]] = {}
    for line, mine in configurations(found, axis):
        for (x,), cells in grouped(mine, axis).items():
            values = [c["means"]["FS@1"] for c in cells]
            spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
            lines.setdefault(line, []).append((x, float(np.mean(values)), spread))
            rows.setdefault(line, {})[x] = f"{np.mean(values):.1f}" + (f" ± {spread:.1f}" if len(values) > 1 else "")
    xs = sorted({x for told in rows.values() for x in told})
    title = f"{where}: people satisfied against {_AXES.get(axis, axis)}"
    table = Table(
        title,
        ("method", *(f"{x:g}" for x in xs)),
        [[line, *(told.get(x, "") for x in xs)] for line, told in rows.items()],
        "Mean ± standard deviation over seeds; no ± where there is one seed.",
    )
    return [plots.curves(name, title, lines, _AXES.get(axis, axis), logarithmic=True), table]


def _figure_name(first: str, place: tuple[Any, ...], places: Mapping[tuple[Any, ...], Any], *more: str) -> str:
    """Return a name for a figure's files; it tells of data and model where there are several."""
    parts = [first, *(map(str, place) if len(places) > 1 else ()), *more]
    return "-".join(re.sub(r"[^A-Za-z0-9._]+", "-", part) for part in parts)


def alpha(settings: Mapping[str, Any], data: Mapping[str, Any]) -> list[Figure | Table]:
    """Draw FS@1 over the alpha of the sampled functions and that of the hidden ones, a grid a configuration."""
    places = grouped(data["cells"], "data", "model")
    out: list[Figure | Table] = []
    for place, found in places.items():
        for method, cells in configurations(found, "person_alpha", "search_alpha"):
            name = _figure_name(settings["id"], place, places, method)
            out += _alpha(name, place_name(*place), method, cells)
    return out


def _alpha(name: str, where: str, method: str, cells: Found) -> list[Figure | Table]:
    found = grouped(cells, "person_alpha", "search_alpha")
    ticks = sorted({a for pair in found for a in pair})
    grid = [[float((mean_of(found.get((y, x), []), "FS@1") or (np.nan, 0))[0]) for x in ticks] for y in ticks]
    axes = ("alpha of the sampled functions", "alpha of the hidden functions")
    title = f"{where}: people satisfied by {method}, by mixing weights"
    flat = [value for line in grid for value in line]
    gaps = [max(line) - min(line) for line in grid]
    rows = [[method, f"{min(flat):.1f}", f"{max(flat):.1f}", f"{max(gaps):.1f}"]]
    heads = ("method", "least FS@1", "most FS@1", "most lost by a wrong alpha (within a row)")
    table = Table(f"{where}: what a wrong alpha costs {method}", heads, rows)
    return [plots.heat_map(name, title, grid, ticks, axes), table]


def collect_shift(experiment: Experiment, store: Store) -> dict[str, Any]:
    """Collect, per configuration and distance, how many were judged and how many satisfied."""
    bins: list[dict[str, Any]] = []
    made = [{"settings": asdict(cell), "cell": cell} for cell in experiment.cells if store.has(cell)]
    for _, cells in configurations(made):
        rows = pd.concat([store.rows(c["cell"]) for c in cells], ignore_index=True)
        for distance, part in rows.groupby("distance"):
            satisfied = (part["min_cost"] < 1.0).groupby(part["person"]).agg(["sum", "count"])
            low, high = share_interval(satisfied["sum"].to_numpy(float), satisfied["count"].to_numpy(float))
            bins.append(
                {
                    "settings": cells[0]["settings"],
                    "distance": float(str(distance)),
                    "judged": len(part),
                    "satisfied": int((part["min_cost"] < 1.0).sum()),
                    "low": low,
                    "high": high,
                }
            )
    return {"bins": bins}


def share_interval(satisfied: NDArray[np.float64], judged: NDArray[np.float64]) -> tuple[float, float]:
    """Return a 95 % interval of a share in percent, by person how often satisfied and judged; NaN for one person.

    People are independent and their functions are not: the variance between people says how many independent answers
    there are, and Wilson's interval for so many stays within 0 and 100.
    """
    people = len(judged)
    if people < 2:
        return float("nan"), float("nan")
    share = satisfied.sum() / judged.sum()
    variance = people / (people - 1) * ((satisfied - share * judged) ** 2).sum() / judged.sum() ** 2
    n = share * (1 - share) / variance if variance > 0 else float(people)
    z = 1.96
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return float(100 * max(middle - half, 0.0)), float(100 * min(middle + half, 1.0))


def shift(settings: Mapping[str, Any], data: Mapping[str, Any]) -> list[Figure | Table]:
    """Draw FS@1 over the distance to the nearest sampled subset, a figure for each data set and model."""
    enough = [b for b in data["bins"] if b["judged"] >= _LEAST_JUDGED]
    places = grouped(enough, "data", "model")
    return [
        part
        for place, found in places.items()
        for part in _shift(_figure_name(settings["id"], place, places), place_name(*place), found)
    ]


def _shift(name: str, where: str, found: Found) -> list[Figure | Table]:
    told = varying(found)
    groups: dict[str, dict[str, tuple[float, float, float]]] = {}
    rows = []
    for b in sorted(found, key=lambda b: float(b["distance"])):
        share = 100 * b["satisfied"] / b["judged"]
        known = b["low"] is not None
        line, distance = name_of(b["settings"], told), f"{b['distance']:.2f}"
        groups.setdefault(line, {})[distance] = (share, *((b["low"], b["high"]) if known else (share, share)))
        interval = f" ({b['low']:.1f} to {b['high']:.1f})" if known else ""
        rows.append([line, distance, str(b["judged"]), f"{share:.1f}{interval}"])
    title = f"{where}: people satisfied against the distance to the nearest sampled subset of features"
    note = f"95 % interval over people. Bins with fewer than {_LEAST_JUDGED} are left out."
    table = Table(title, ("method", "distance", "judged", "FS@1"), sorted(rows), note)
    return [plots.bars(name, title, groups, "distance (Euclidean, of 0/1 vectors)"), table]
