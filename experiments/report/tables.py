"""Experiments that are told as tables: measures beside the paper's, the ablation, seconds a person, examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from experiments import published
from experiments.config import Experiment
from experiments.methods import PAPER_ROW, WHOLE_OF
from experiments.report.layout import Table
from experiments.report.summary import (
    MEASURES,
    Found,
    collect_cells,
    configurations,
    grouped,
    in_common,
    mean_of,
    name_of,
    place_name,
    share_of_oracle,
    shown,
    varying,
)
from experiments.store import Store

ABLATION_ROW = {
    "ls-sparsity-paper": "LS Sparsity",
    "ls-proximity-paper": "LS Proximity",
    "ls-diversity-paper": "LS Diversity",
    "ls-emc-paper": "LS EMC",
    "cols-paper": "COLS EMC",
}


def collect(experiment: Experiment, store: Store) -> dict[str, Any]:
    """Collect the measures of every cell."""
    return {"cells": collect_cells(experiment.cells, store)}


def measures(settings: Mapping[str, Any], data: Mapping[str, Any]) -> list[Table]:
    """Show the measures of each method, a table for each data set and model."""
    return [
        _measures(place_name(name, model), found, published.table_for(settings, name, model))
        for (name, model), found in grouped(data["cells"], "data", "model").items()
    ]


def ablation(settings: Mapping[str, Any], data: Mapping[str, Any]) -> list[Table]:
    """Show searches and objectives, then guided search with one part off."""
    out = []
    for (name, model), found in grouped(data["cells"], "data", "model").items():
        parts = [c for c in found if c["settings"]["method"].startswith("guided")]
        rest = [c for c in found if c not in parts]
        where = place_name(name, model)
        out.append(_measures(f"{where}: search and objective", rest, "ablation", ABLATION_ROW))
        out.append(_measures(f"{where}: guided search, a part at a time", parts, None))
    return out


def sets(settings: Mapping[str, Any], data: Mapping[str, Any]) -> list[Table]:
    """Show the paper's searches with its sets (-whole) beside its figures, and ours beside both."""
    out = []
    for (name, model, budget), found in grouped(data["cells"], "data", "model", "budget").items():
        ablated = any(c["settings"]["method"].startswith("ls-") for c in found)
        rows = ABLATION_ROW if ablated else PAPER_ROW
        both = rows | {WHOLE_OF[m]: row for m, row in rows.items() if m in WHOLE_OF}
        both |= {m + part: row for part in ("-released", "-two", "-released-two") for m, row in both.items()}
        paper = "ablation" if ablated else published.table_for(settings, name, model)
        out.append(_measures(f"{place_name(name, model)}, B {budget}", found, paper, both))
    return out


def _measures(title: str, found: Found, paper: str | None, rows: Mapping[str, str] = PAPER_ROW) -> Table:
    lines = []
    notes = dict.fromkeys([in_common(found)])
    for name, cells in configurations(found, untold=("people",)):
        first = cells[0]["settings"]
        theirs = published.beside(paper, first, rows.get(first["method"]))
        if theirs:
            notes["Second line: the paper's figure, and ours less it."] = None
        best = share_of_oracle(cells)
        line = [name, _size(cells)]
        line += [_beside(mean_of(cells, m), theirs.get(m), m) for m in MEASURES]
        lines.append([*line, "" if best is None else f"{best:.1f}"])
    notes["± half a 95 % interval, over seeds or (one seed) people; none of a share that is the same in all."] = None
    columns = ["method", "people x seeds", *MEASURES]
    if any(line[-1] for line in lines):
        columns.append("% of oracle")
        notes["% of oracle: of the FS@1 that it has on the same people and seeds."] = None
    return Table(title, columns, [line[: len(columns)] for line in lines], " ".join(note for note in notes if note))


def _size(cells: Found) -> str:
    return f"{cells[0]['people']} x {len(cells)}"


def _beside(ours: tuple[float, float] | None, paper: float | None, measure: str) -> str:
    text = shown(ours, measure)
    if paper is None:
        return text
    digits = 2 if measure == "PAC" else 1
    return f"{text}\n{paper:.{digits}f}" + ("" if ours is None else f" ({ours[0] - paper:+.{digits}f})")


def timing(settings: Mapping[str, Any], data: Mapping[str, Any]) -> list[Table]:
    """Show seconds a person, beside the paper's where it was asked in the same way; a table for each data and model."""
    return [
        _timing(f"{place_name(name, model)}: seconds a person", found)
        for (name, model), found in grouped(data["cells"], "data", "model").items()
    ]


def _timing(title: str, found: Found) -> Table:
    paper = published.table("timing").set_index("method")["seconds"]
    lines = []
    same = False
    for name, cells in configurations(found, untold=("budget", "people")):
        first = cells[0]["settings"]
        ours = sum(c["seconds_per_person"] for c in cells) / len(cells)
        row = PAPER_ROW.get(first["method"], "") if published.same_settings("timing", first) else ""
        theirs = paper.get(row)
        same = same or theirs is not None
        beside = ("", "") if theirs is None else (f"{theirs:g}", f"{theirs / ours:.0f}")
        queries = f"{sum(c['queries_per_person'] for c in cells) / len(cells):.0f}"
        lines.append([name, str(first["budget"]), _size(cells), f"{ours:.4g}", *beside, queries])
    columns = ("method", "budget", "people x seeds", "seconds a person", "paper", "times faster", "rows asked a person")
    note = "One process on one core; without fitting."
    return Table(title, columns, lines, f"N 10, M 100 on Adult, as the paper's. {note}" if same else note)


def collect_examples(experiment: Experiment, store: Store) -> dict[str, Any]:
    """Collect what was told of each person."""
    return {
        "examples": [
            {"settings": asdict(cell), "people": store.entry(cell)["examples"]}
            for cell in experiment.cells
            if store.has(cell)
        ]
    }


def examples(settings: Mapping[str, Any], data: Mapping[str, Any]) -> list[Table]:
    """Show people as the paper's table of examples does."""
    found = data["examples"]
    told = [name for name in varying(found) if name not in ("data", "model")]
    return [
        _example(_whose(e["settings"], told, found), person)
        for e in found
        for person in e["people"][: settings["shown"]]
    ]


def _whose(settings: Mapping[str, Any], told: Sequence[str], found: Found) -> tuple[str, str]:
    """Return where a person is, and what made the options."""
    seeds = len({e["settings"]["seed"] for e in found}) > 1
    method = name_of(settings, told) + (f", seed {settings['seed']}" if seeds else "")
    return place_name(settings["data"], settings["model"]), method


def _example(whose: tuple[str, str], person: Mapping[str, Any]) -> Table:
    where, method = whose
    options = [o for o in person["options"] if o["cost"] is not None]
    told = [
        "\n".join(f"{name}: {now} -> {then}" for name, (now, then) in o["changes"].items()) + f"\ncost {o['cost']:.3f}"
        for o in options[:4]
    ]
    lines = []
    for place, (name, value) in enumerate(person["state"].items()):
        score = person["scores"].get(name)
        row = [name, value, "no" if score is None else "yes", "" if score is None else f"{score:.3f}"]
        lines.append([*row, told[place] if place < len(told) else ""])
    unable = len(person["options"]) - len(options)
    note = f"{unable} further options change something this person would not." if unable else ""
    return Table(
        f"{where}: person {person['person']}, options by {method}",
        ("feature", "state", "editable", "preference score", "options, the cheapest first"),
        lines,
        note,
    )
