"""Experiments that are told as tables: measures beside the paper's, the ablation, seconds a person, examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments import published
from experiments.config import Experiment
from experiments.methods import ORACLE, PAPER_ROW, WHOLE_OF
from experiments.report.layout import Table
from experiments.report.summary import MEASURES, collect_cells, grouped, mean_of, shown
from experiments.store import Store

Found = Sequence[Mapping[str, Any]]
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
        _measures(f"{name}, {_model(model)}", found, published.table_for(settings, name, model), _by(found))
        for (name, model), found in grouped(data["cells"], "data", "model").items()
    ]


def ablation(settings: Mapping[str, Any], data: Mapping[str, Any]) -> list[Table]:
    """Show searches and objectives, then guided search with one part off."""
    parts = [c for c in data["cells"] if c["settings"]["method"].startswith("guided")]
    rest = [c for c in data["cells"] if c not in parts]
    return [
        _measures("Search and objective", rest, "ablation", ("method", "budget"), ABLATION_ROW),
        _measures("Guided search, a part at a time", parts, None, ("method", "budget"), oracle=rest),
    ]


def sets(settings: Mapping[str, Any], data: Mapping[str, Any]) -> list[Table]:
    """Show the paper's searches with its sets (-whole) beside its figures, and ours beside both."""
    out = []
    for (name, model, budget), found in grouped(data["cells"], "data", "model", "budget").items():
        ablated = any(c["settings"]["method"].startswith("ls-") for c in found)
        rows = ABLATION_ROW if ablated else PAPER_ROW
        both = rows | {WHOLE_OF[m]: row for m, row in rows.items() if m in WHOLE_OF}
        both |= {m + part: row for part in ("-released", "-two", "-released-two") for m, row in both.items()}
        paper = "ablation" if ablated else published.table_for(settings, name, model)
        out.append(_measures(f"{name}, {_model(model)}, B {budget}", found, paper, ("method",), both))
    return out


def _by(found: Found) -> tuple[str, ...]:
    """Name the budget where a method has several."""
    several = any(len({c["settings"]["budget"] for c in mine}) > 1 for mine in grouped(found, "method").values())
    return ("method", "budget") if several else ("method",)


def _model(name: str) -> str:
    return "the network published with the data" if name == "own" else f"{name} trained here"


def _measures(
    title: str,
    found: Found,
    paper: str | None,
    by: tuple[str, ...],
    rows: Mapping[str, str] = PAPER_ROW,
    oracle: Found | None = None,  # where the oracle's cells are; None: among these
) -> Table:
    lines = []
    yardsticks = grouped(found if oracle is None else oracle, "data", "method")
    best = {n: mean_of(g, "FS@1") for (n, m), g in yardsticks.items() if m == ORACLE}
    for values, cells in grouped(found, *by).items():
        first = cells[0]["settings"]
        theirs = published.figures(paper, first["data"], rows.get(first["method"])) if paper else {}
        named = [_named(n, v) for n, v in zip(by, values, strict=True)]
        line = [ORACLE if first["method"] == ORACLE else " ".join(named), _size(cells)]  # it has no budget
        line += [_beside(mean_of(cells, m), theirs.get(m), m) for m in MEASURES]
        most = best.get(first["data"])
        share = mean_of(cells, "FS@1")
        line.append(f"{100 * share[0] / most[0]:.1f}" if most and share and most[0] else "")
        lines.append(line)
    note = "Second line: the paper's figure, and ours less it. ± half a 95 % interval, over seeds or (one seed) people."
    columns = ("method", "people x seeds", *MEASURES, "% of oracle")
    return Table(title, columns, lines, note if paper else "")


def _named(name: str, value: Any) -> str:
    return str(value) if name == "method" else f"B {value}" if name == "budget" else f"{name} {value}"


def _size(cells: Found) -> str:
    return f"{cells[0]['people']} x {len(cells)}"


def _beside(ours: tuple[float, float] | None, paper: float | None, measure: str) -> str:
    text = shown(ours, measure)
    if paper is None:
        return text
    digits = 2 if measure == "PAC" else 1
    return f"{text}\n{paper:.{digits}f}" + ("" if ours is None else f" ({ours[0] - paper:+.{digits}f})")


def timing(settings: Mapping[str, Any], data: Mapping[str, Any]) -> list[Table]:
    """Show seconds a person beside the paper's."""
    paper = published.table("timing").set_index("method")["seconds"]
    lines = []
    for (method, budget), cells in grouped(data["cells"], "method", "budget").items():
        ours = sum(c["seconds_per_person"] for c in cells) / len(cells)
        theirs = paper.get(PAPER_ROW.get(method, ""))
        queries = f"{sum(c['queries_per_person'] for c in cells) / len(cells):.0f}"
        ratio = "" if theirs is None else f"{theirs / ours:.0f}"
        lines.append(
            [method, str(budget), _size(cells), f"{ours:.4g}", "" if theirs is None else f"{theirs:g}", ratio, queries]
        )
    columns = ("method", "budget", "people x seeds", "seconds a person", "paper", "times faster", "rows asked a person")
    note = "N 10, M 100 on Adult, as the paper's. One process on one core, another beside it; without fitting."
    return [Table("Seconds a person", columns, lines, note)]


def collect_examples(experiment: Experiment, store: Store) -> dict[str, Any]:
    """Collect what was told of each person."""
    return {
        "examples": [
            {"method": cell.method, "people": store.entry(cell)["examples"]}
            for cell in experiment.cells
            if store.has(cell)
        ]
    }


def examples(settings: Mapping[str, Any], data: Mapping[str, Any]) -> list[Table]:
    """Show people as the paper's table of examples does."""
    return [
        _example(method["method"], person)
        for method in data["examples"]
        for person in method["people"][: settings["shown"]]
    ]


def _example(method: str, person: Mapping[str, Any]) -> Table:
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
        f"Person {person['person']}, options by {method}",
        ("feature", "state", "editable", "preference score", "options, the cheapest first"),
        lines,
        note,
    )
