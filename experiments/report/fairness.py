"""Groups: measures within each, and ratios between them with bootstrap intervals over people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments import published
from experiments.config import Experiment
from experiments.methods import PAPER_ROW
from experiments.report.layout import Table
from experiments.store import Store

# The group on top of the ratio, then the one below it, each with the letter the paper uses.
PAIRS: dict[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "sex": (("Male", "M"), ("Female", "F")),
    "race": (("White", "W"), ("Non-White", "NW")),
    "Gender": (("Male", "M"), ("Female", "F")),
}
_DRAWS = 1000


def collect(experiment: Experiment, store: Store) -> dict[str, Any]:
    """Collect the shares of each group and the ratios between them, all seeds of a method together."""
    out = []
    made = [cell for cell in experiment.cells if store.has(cell)]
    for data, model, method in dict.fromkeys((c.data, c.model, c.method) for c in made):
        rows = pd.concat([store.rows(c) for c in made if (c.data, c.model, c.method) == (data, model, method)])
        for column in (c for c in rows.columns if c.startswith("group_")):
            group = column.removeprefix("group_")
            if group in PAIRS:
                found = _compared(rows, column, PAIRS[group])
                out.append({"data": data, "model": model, "method": method, "group": group, **found})
    return {"groups": out}


def _compared(rows: pd.DataFrame, column: str, pair: tuple[tuple[str, str], tuple[str, str]]) -> dict[str, Any]:
    """Return n, FS@1 and Cov of both groups, and the ratios with their intervals."""
    costs = rows["min_cost"]
    by_person = pd.DataFrame(
        {"person": rows["person"], "group": rows[column], "FS@1": costs < 1.0, "Cov": np.isfinite(costs)}
    )
    per = by_person.groupby(["person", "group"]).mean().reset_index()
    members = [per[per["group"] == value] for value, _ in pair]
    out: dict[str, Any] = {
        "members": [
            {
                "name": value,
                "people": len(m),
                **{k: 100 * float(m[k].mean()) if len(m) else None for k in ("FS@1", "Cov")},
            }
            for (value, _), m in zip(pair, members, strict=True)
        ]
    }
    for measure in ("FS@1", "Cov"):
        out[f"DIR {measure}"] = _ratio(*(m[measure].to_numpy(float) for m in members))
    return out


def _ratio(top: NDArray[np.float64], below: NDArray[np.float64]) -> dict[str, float | None]:
    """Return the ratio of means and a bootstrap 95 % interval; None where it is undefined."""
    if not len(top) or not len(below) or below.mean() == 0:
        return {"ratio": None, "low": None, "high": None}
    draw = np.random.default_rng(0)
    tops = top[draw.integers(0, len(top), (_DRAWS, len(top)))].mean(axis=1)
    belows = below[draw.integers(0, len(below), (_DRAWS, len(below)))].mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = tops / belows
    low, high = np.percentile(ratios[np.isfinite(ratios)], [2.5, 97.5]) if np.isfinite(ratios).any() else (None, None)
    return {
        "ratio": float(top.mean() / below.mean()),
        "low": None if low is None else float(low),
        "high": None if high is None else float(high),
    }


def show(settings: Mapping[str, Any], data: Mapping[str, Any]) -> list[Table]:
    """Show a table for each data set, model and pair of groups."""
    keys = dict.fromkeys((g["data"], g["model"], g["group"]) for g in data["groups"])
    return [_table(*key, [g for g in data["groups"] if (g["data"], g["model"], g["group"]) == key]) for key in keys]


def papers_rows(found: Mapping[str, Any]) -> pd.DataFrame:
    """Return the paper's rows for a method and a pair of groups, by its letter for each; empty where it has none."""
    paper = published.table("fairness")
    mine = (paper["group"] == found["group"]) & (paper["method"] == PAPER_ROW.get(found["method"]))
    theirs: pd.DataFrame = paper[mine]
    same = found["data"] == "adult_binary" and found["model"] == "own"
    return theirs.set_index("member") if same else theirs.iloc[:0]


def _table(data: str, model: str, group: str, found: list[Mapping[str, Any]]) -> Table:
    top, below = PAIRS[group]
    lines = []
    for g in found:
        theirs = papers_rows(g)
        line = [g["method"]]
        for member, (_, letter) in zip(g["members"], (top, below), strict=True):
            for measure in ("FS@1", "Cov"):
                ours = "-" if member[measure] is None else f"{member[measure]:.1f}"
                line.append(ours + (f"\n{float(theirs[measure][letter]):.1f}" if letter in theirs.index else ""))
        for measure, column in (("FS@1", "DIR-FS"), ("Cov", "DIR-Cov")):
            line.append(_shown(g[f"DIR {measure}"], theirs[column].iloc[0] if len(theirs) else None))
        lines.append(line)
    n = found[0]["members"]
    heads = [f"{measure} {name}" for (name, _), _ in ((top, 0), (below, 0)) for measure in ("FS@1", "Cov")]
    title = f"{data}, by {group}: {n[0]['people']} {top[0]}, {n[1]['people']} {below[0]}"
    note = f"DIR: {top[0]} over {below[0]}, 95 % bootstrap interval over people. Second line: the paper's figure."
    return Table(title, ("method", *heads, "DIR-FS", "DIR-Cov"), lines, note)


def _shown(found: Mapping[str, float | None], paper: Any) -> str:
    text = "-" if found["ratio"] is None else f"{found['ratio']:.3f}"
    if found["low"] is not None:
        text += f" ({found['low']:.2f} to {found['high']:.2f})"
    return text + ("" if paper is None else f"\n{'-' if pd.isna(paper) else f'{paper:.3f}'}")
