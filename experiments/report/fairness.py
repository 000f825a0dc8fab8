"""Groups: measures within each, and ratios between them with bootstrap intervals over people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments import published
from experiments.config import Experiment
from experiments.methods import PAPER_ROW
from experiments.report.layout import Table
from experiments.report.summary import Found, configurations, grouped, name_of, place_name, varying
from experiments.store import Store

LETTERS = {"Male": "M", "Female": "F", "White": "W", "Non-White": "NW"}  # what the paper calls its groups
_ON_TOP = ("Male", "White")  # of the paper's ratios
_COLUMN = "group_"  # a cell's rows hold the protected attributes of their data set under such names
_DRAWS = 1000
_LEAST = 10  # people in the smaller group, for an interval: a bootstrap of fewer tells of those few


def collect(experiment: Experiment, store: Store) -> dict[str, Any]:
    """Collect the shares of each group and the ratios between them, all seeds of a configuration together."""
    made = [{"settings": asdict(cell), "rows": store.rows(cell)} for cell in experiment.cells if store.has(cell)]
    out = []
    for (data, model), found in grouped(made, "data", "model").items():
        orders = {group: _ordered(found, group) for group in _groups(found, experiment.settings.get("groups"))}
        for _, cells in configurations(found):
            rows = pd.concat([cell["rows"] for cell in cells])
            same = {"data": data, "model": model, "method": cells[0]["settings"]["method"]}
            for group, names in orders.items():
                for pair in [[names[0], other] for other in names[1:]] or [names]:
                    what = {**same, "group": group, "settings": cells[0]["settings"], "seeds": len(cells)}
                    out.append({**what, **_compared(rows, _COLUMN + group, pair)})
    return {"groups": out}


def _groups(found: Found, wanted: Sequence[str] | None) -> list[str]:
    """Return the protected attributes of a data set, or those of them that a config names."""
    columns = dict.fromkeys(c for cell in found for c in cell["rows"].columns if c.startswith(_COLUMN))
    known = [column.removeprefix(_COLUMN) for column in columns]
    unknown = [name for name in wanted or () if name not in known]
    if unknown or not known:
        data, asked = found[0]["settings"]["data"], f"no {unknown[0]!r} among the" if unknown else "no"
        raise SystemExit(f"{data} has {asked} protected attributes to compare by; known: {', '.join(known) or 'none'}.")
    return list(wanted or known)


def _ordered(found: Found, group: str) -> list[str]:
    """Return the values of an attribute: what the paper has on top of its ratios first, then the larger groups."""
    people = pd.concat([cell["rows"][["person", _COLUMN + group]] for cell in found]).drop_duplicates()
    sizes = people[_COLUMN + group].value_counts(sort=False)
    names = [str(name) for name in dict.fromkeys(people[_COLUMN + group])]
    return sorted(names, key=lambda name: (name not in _ON_TOP, -int(sizes[name])))


def _compared(rows: pd.DataFrame, column: str, pair: Sequence[str]) -> dict[str, Any]:
    """Return n, FS@1 and Cov of both groups, and the ratios with their intervals; no ratio where there is one group."""
    costs = rows["min_cost"]
    by_person = pd.DataFrame(
        {"person": rows["person"], "group": rows[column], "FS@1": costs < 1.0, "Cov": np.isfinite(costs)}
    )
    per = by_person.groupby(["person", "group"]).mean().reset_index()
    members = [per[per["group"] == value] for value in pair]
    out: dict[str, Any] = {
        "members": [
            {
                "name": value,
                "people": len(m),
                **{k: 100 * float(m[k].mean()) if len(m) else None for k in ("FS@1", "Cov")},
            }
            for value, m in zip(pair, members, strict=True)
        ]
    }
    for measure in ("FS@1", "Cov"):
        shares = [m[measure].to_numpy(float) for m in members]
        out[f"DIR {measure}"] = _ratio(shares[0], shares[1] if len(shares) > 1 else np.empty(0))
    return out


def _ratio(top: NDArray[np.float64], below: NDArray[np.float64]) -> dict[str, float | None]:
    """Return the ratio of mean shares and its bootstrap 95 % interval, as an audit has it; None where undefined."""
    if not len(top) or not len(below) or below.mean() == 0:
        return {"ratio": None, "low": None, "high": None}
    draw = np.random.default_rng(0)
    low, high = np.percentile(_drawn_means(top, draw) / _drawn_means(below, draw), [2.5, 97.5])
    return {"ratio": float(top.mean() / below.mean()), "low": float(low), "high": float(high)}


def _drawn_means(shares: NDArray[np.float64], draw: np.random.Generator) -> NDArray[np.float64]:
    """Return the mean share of people weighed by lot, with half a person at 0 and half a one at 1 beside them.

    Where all have the same share, people drawn anew would have it too, and an interval would claim to be certain.
    """
    people = np.append(np.ones(len(shares)), [0.5, 0.5])
    weights = draw.standard_gamma(people, (_DRAWS, len(people)))
    return np.asarray(weights @ np.append(shares, [0.0, 1.0]) / weights.sum(axis=1), dtype=np.float64)


def show(settings: Mapping[str, Any], data: Mapping[str, Any]) -> list[Table]:
    """Show a table for each data set, model and pair of groups."""
    tables: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for found in data["groups"]:
        names = (member["name"] for member in found["members"])
        tables.setdefault((found["data"], found["model"], found["group"], *names), []).append(found)
    return [_table(found) for found in tables.values()]


def papers_rows(found: Mapping[str, Any]) -> pd.DataFrame:
    """Return the paper's rows for a method and a pair of groups, by its letter for each; empty where it has none."""
    paper = published.table("fairness")
    mine = (paper["group"] == found["group"]) & (paper["method"] == PAPER_ROW.get(found["method"]))
    theirs: pd.DataFrame = paper[mine].set_index("member")
    letters = [LETTERS.get(member["name"]) for member in found["members"]]
    same = published.same_settings("fairness", found["settings"]) and list(theirs.index.intersection(letters)) != []
    return theirs if same else theirs.iloc[:0]


def _table(found: Sequence[Mapping[str, Any]]) -> Table:
    first = found[0]
    names = [member["name"] for member in first["members"]]
    told = varying(found, "people")
    lines, second_lines = [], False
    for g in found:
        theirs = papers_rows(g)
        second_lines = second_lines or len(theirs) > 0
        sizes = [member["people"] for member in g["members"]]
        line = [name_of(g["settings"], told), f"{' + '.join(map(str, sizes))} x {g['seeds']}"]
        for member in g["members"]:
            letter = LETTERS.get(member["name"], "")
            for measure in ("FS@1", "Cov"):
                ours = "-" if member[measure] is None else f"{member[measure]:.1f}"
                line.append(ours + (f"\n{float(theirs[measure][letter]):.1f}" if letter in theirs.index else ""))
        for measure, column in (("FS@1", "DIR-FS"), ("Cov", "DIR-Cov")):
            line.append(_shown(g[f"DIR {measure}"], min(sizes), theirs[column].iloc[0] if len(theirs) else None))
        lines.append(line)
    heads = [f"{measure} {name}" for name in names for measure in ("FS@1", "Cov")]
    title = f"{place_name(first['data'], first['model'])}, by {first['group']}: {' and '.join(names)}"
    note = (
        f"DIR: {' over '.join(names)}, 95 % bootstrap interval over people; "
        f"(-): no interval, as one of the groups has fewer than {_LEAST} people."
    )
    if len(names) == 1:
        note = "Everybody is in one group: there is nothing to compare with."
    columns = ("method", "people x seeds", *heads, "DIR-FS", "DIR-Cov")
    return Table(title, columns, lines, note + (" Second line: the paper's figure." if second_lines else ""))


def _shown(found: Mapping[str, float | None], smaller: int, paper: Any) -> str:
    text = "-" if found["ratio"] is None else f"{found['ratio']:.3f}"
    if found["ratio"] is not None and smaller < _LEAST:
        text += " (-)"
    elif found["low"] is not None:
        text += f" ({found['low']:.2f} to {found['high']:.2f})"
    return text + ("" if paper is None else f"\n{'-' if pd.isna(paper) else f'{paper:.3f}'}")
