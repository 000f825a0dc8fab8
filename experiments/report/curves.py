"""Experiments that are told as drawings: curves over a setting, the grid of alphas, the bins of shift."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from experiments.config import Experiment
from experiments.report import plots
from experiments.report.layout import Figure, Table
from experiments.report.summary import collect_cells, grouped, mean_of, shown
from experiments.store import Store

_AXES = {"budget": "rows asked a person (budget)", "n_options": "options a person", "n_costs": "cost functions sampled"}


def collect(experiment: Experiment, store: Store) -> dict[str, Any]:
    """Collect the measures of every cell."""
    return {"cells": collect_cells(experiment.cells, store)}


def curve(settings: Mapping[str, Any], data: Mapping[str, Any]) -> list[Figure | Table]:
    """Draw FS@1 over a setting, a line a method, with the standard deviation over seeds; and the same as a table."""
    axis = settings["axis"]
    lines: dict[str, list[tuple[float, float, float]]] = {}
    rows: dict[str, dict[float, str]] = {}
    for (method, x), cells in grouped(data["cells"], "method", axis).items():
        values = [c["means"]["FS@1"] for c in cells]
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
        lines.setdefault(method, []).append((x, float(np.mean(values)), spread))
        rows.setdefault(method, {})[x] = f"{np.mean(values):.1f}" + (f" ± {spread:.1f}" if len(values) > 1 else "")
    if not lines:
        return []
    xs = sorted({x for found in rows.values() for x in found})
    title = f"People satisfied against {_AXES[axis]}"
    table = Table(
        title,
        ("method", *(f"{x:g}" for x in xs)),
        [[method, *(found.get(x, "") for x in xs)] for method, found in rows.items()],
        "Mean ± standard deviation over seeds; no ± where there is one seed.",
    )
    return [plots.curves(settings["id"], title, lines, _AXES[axis], logarithmic=True), table]


def alpha(settings: Mapping[str, Any], data: Mapping[str, Any]) -> list[Figure | Table]:
    """Draw FS@1 over the alpha of the sampled functions and that of the hidden ones."""
    out: list[Figure | Table] = []
    for (method,), cells in grouped(data["cells"], "method").items():
        found = grouped(cells, "person_alpha", "search_alpha")
        ticks = sorted({a for pair in found for a in pair})
        grid = [[float((mean_of(found.get((y, x), []), "FS@1") or (np.nan, 0))[0]) for x in ticks] for y in ticks]
        axes = ("alpha of the sampled functions", "alpha of the hidden functions")
        title = f"People satisfied by {method}, by mixing weights"
        out.append(plots.heat_map(f"{settings['id']}-{method}", title, grid, ticks, axes))
        flat = [value for line in grid for value in line]
        gaps = [max(line) - min(line) for line in grid]
        rows = [[method, f"{min(flat):.1f}", f"{max(flat):.1f}", f"{max(gaps):.1f}"]]
        heads = ("method", "least FS@1", "most FS@1", "most lost by a wrong alpha (within a row)")
        out.append(Table(f"What a wrong alpha costs {method}", heads, rows))
    return out


def collect_shift(experiment: Experiment, store: Store) -> dict[str, Any]:
    """Collect, per method, sample size and distance, how many were judged and how many satisfied."""
    bins: list[dict[str, Any]] = []
    made = [cell for cell in experiment.cells if store.has(cell)]
    for method, n_costs in dict.fromkeys((cell.method, cell.n_costs) for cell in made):
        mine = [store.rows(c) for c in made if (c.method, c.n_costs) == (method, n_costs)]
        rows = pd.concat(mine, ignore_index=True)
        for distance, part in rows.groupby("distance"):
            satisfied = (part["min_cost"] < 1.0).groupby(part["person"]).agg(["sum", "count"])
            bins.append(
                {
                    "method": method,
                    "n_costs": n_costs,
                    "distance": float(str(distance)),
                    "judged": len(part),
                    "satisfied": int((part["min_cost"] < 1.0).sum()),
                    "half": _half(satisfied["sum"].to_numpy(float), satisfied["count"].to_numpy(float)),
                }
            )
    return {"bins": bins}


def _half(satisfied: Any, judged: Any) -> float:
    """Return half a 95 % interval of a share in percent, people being independent and their functions not."""
    if len(judged) < 2:
        return float("nan")
    share = satisfied.sum() / judged.sum()
    off = satisfied - share * judged
    return float(196 * np.sqrt(len(off) / (len(off) - 1) * (off**2).sum()) / judged.sum())


def shift(settings: Mapping[str, Any], data: Mapping[str, Any]) -> list[Figure | Table]:
    """Draw FS@1 over the distance to the nearest sampled subset."""
    groups: dict[str, dict[str, tuple[float, float]]] = {}
    rows = []
    for b in sorted(data["bins"], key=lambda b: float(b["distance"])):
        if b["judged"] < 20:
            continue
        share, half = 100 * b["satisfied"] / b["judged"], b["half"] if b["half"] is not None else float("nan")
        name = f"{b['method']}, M {b['n_costs']}"
        groups.setdefault(name, {})[f"{b['distance']:.2f}"] = (share, half)
        rows.append([name, f"{b['distance']:.2f}", str(b["judged"]), shown((share, half), "FS@1")])
    if not groups:
        return []
    title = "People satisfied against the distance to the nearest sampled subset of features"
    table = Table(
        title, ("method", "distance", "judged", "FS@1"), sorted(rows), "Bins with fewer than 20 are left out."
    )
    return [plots.bars(settings["id"], title, groups, "distance (Euclidean, of 0/1 vectors)"), table]
