"""The pages: one Markdown file with its figures, one HTML file that stands alone, the numbers, and the manifest."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.config import Cell, Experiment
from experiments.methods import NOT_OWN
from experiments.report import curves, fairness, tables, votes
from experiments.report.differences import differences
from experiments.report.layout import Figure, Section, Table
from experiments.report.style import CSS
from experiments.store import Store

Collector = Callable[[Experiment, Store], dict[str, Any]]
Shower = Callable[[Mapping[str, Any], Mapping[str, Any]], Sequence[Table | Figure]]
VIEWS: dict[str, tuple[Collector, Shower]] = {
    "measures": (tables.collect, tables.measures),
    "ablation": (tables.collect, tables.ablation),
    "sets": (tables.collect, tables.sets),
    "timing": (tables.collect, tables.timing),
    "examples": (tables.collect_examples, tables.examples),
    "study": (votes.collect, votes.show),
    "curve": (curves.collect, curves.curve),
    "alpha": (curves.collect, curves.alpha),
    "shift": (curves.collect_shift, curves.shift),
    "fairness": (fairness.collect, fairness.show),
}


def render(experiments: Sequence[Experiment], size: str, results: Path, out: Path) -> Path:
    """Collect the numbers of some experiments and draw the pages; return the HTML page."""
    out.mkdir(parents=True, exist_ok=True)
    numbers, manifest = collect(experiments, Store(size, results))
    text = json.dumps(numbers, indent=1)
    (out / "numbers.json").write_text(text + "\n", encoding="utf-8")
    manifest["numbers_sha256"] = hashlib.sha256((text + "\n").encode()).hexdigest()
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return draw(out)


def collect(experiments: Sequence[Experiment], store: Store) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return every number the pages need, and how the results they come from were made."""
    numbers = {}
    cells = {}
    searches = {}  # what one search found may be judged in several cells; it is counted once
    for e in experiments:
        made = [cell for cell in e.cells if store.has(cell)]
        head = {"id": e.id, "question": e.question, "where": e.where, "settings": {**e.settings, "id": e.id}}
        data = VIEWS[e.settings["view"]][0](e, store)
        also = {"fairness": fairness.collect(e, store)} if e.settings.get("groups") else {}
        numbers[e.id] = _plain({**head, "size": e.size, "made": len(made), "wanted": len(e.cells), **data, **also})
        cells.update(
            {cell.key: {k: v for k, v in store.entry(cell).items() if k not in ("examples", "study")} for cell in made}
        )
        searches.update({cell.search: store.entry(cell) for cell in made})
    total = sum(entry["seconds"] + entry.get("fit_seconds", 0.0) for entry in searches.values())
    queries = sum(entry["queries"] for entry in searches.values())
    runs = store.manifest.get("runs", [])
    return numbers, {"format": 1, "cells": cells, "runs": runs, "cpu_seconds": round(total, 1), "queries": queries}


def _plain(value: Any) -> Any:
    """Make numbers that JSON can hold: NaN as null, floats to nine digits."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float):
        return None if math.isnan(value) else float(f"{value:.9g}")
    return value


def draw(folder: Path) -> Path:
    """Draw the pages from the numbers that lie in a folder."""
    numbers = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    sections = [_section(found) for found in numbers.values()]
    for section in sections:
        for part in section.parts:
            if isinstance(part, Figure):
                part.write(folder / "figures")
    made = _made(manifest)
    apart = differences(numbers)
    (folder / "README.md").write_text(_markdown(sections, made), encoding="utf-8")
    (folder / "differences.md").write_text(apart.markdown(), encoding="utf-8")
    page = folder / "report.html"
    page.write_text(_html([*sections, apart], made), encoding="utf-8")
    return page


def _section(found: Mapping[str, Any]) -> Section:
    parts: list[Table | Figure | str] = list(VIEWS[found["settings"]["view"]][1](found["settings"], found))
    if "fairness" in found:
        parts += fairness.show(found["settings"], found["fairness"])
    if found["made"] < found["wanted"]:
        parts.insert(0, f"{found['made']} of {found['wanted']} cells were made; what is missing is not shown.")
    return Section(found["id"], found["question"], found["where"], parts)


def _made(manifest: Mapping[str, Any]) -> str:
    entries = list(manifest["cells"].values())
    if not entries:
        return "Nothing was made yet."
    commits = sorted({e["made"]["commit"] for e in entries})
    made = entries[-1]["made"]
    packages = ", ".join(f"{name} {number}" for name, number in made["packages"].items())
    return (
        f"{len(entries)} cells, {manifest['queries']:,} rows asked, {manifest['cpu_seconds'] / 60:.0f} core-minutes: "
        f"{_whose_minutes(entries)}{_by_the_clock(manifest['runs'])}; leastways {made['leastways']} at "
        f"{', '.join(commits)}; {made['machine']}, Python {made['python']}, {packages}."
    )


def _whose_minutes(entries: Sequence[Mapping[str, Any]]) -> str:
    """Say what our own methods took (`run --own`), and what the rest."""
    searches = {Cell(**entry["settings"]).search: entry for entry in entries}  # each counted once, as in the sum
    took = {cell: entry["seconds"] + entry.get("fit_seconds", 0.0) for cell, entry in searches.items()}
    own = sum(seconds for cell, seconds in took.items() if cell.method not in NOT_OWN)
    rest = sum(took.values()) - own
    return f"{own / 60:.0f} for our own methods, {rest / 60:.0f} for those they are compared with"


def _by_the_clock(runs: Sequence[Mapping[str, Any]]) -> str:
    """Say how long each run took: it may have been made in several."""
    told = [
        f"{r['cells']} in {_counted(round(r['seconds'] / 60), 'minute')} with {_counted(r['workers'], 'process', 'es')}"
        for r in runs
        if r["cells"] or r["seconds"] >= 60  # killed before anything was made
    ]
    return f" (by the clock: {', '.join(told)})" if told else ""


def _counted(n: int, what: str, several: str = "s") -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}{several}"


_INTRO = (
    "Every table and figure of the paper beside ours, on the same people and networks, each person judged by a hidden "
    "cost function that no method sees. guided is what leastways does by default; cols, pcols, ls and random are the "
    "paper's methods with exact gains and proposals that respect what a person may change, and with -paper behind them "
    "as the paper has them; -whole also has the paper's sets. ar, face and dice are published methods. The oracle "
    "knows the hidden function: nobody can do better. B: rows a person that may be asked about; N: options a person; "
    "M: cost functions sampled. FS@1: share of people with an option that costs them less than 1; Cov: with one they "
    "can take at all; PAC: its mean cost."
)


def _markdown(sections: Sequence[Section], made: str) -> str:
    contents = "\n".join(f"- {s.id}: {s.question}" for s in sections)
    head = f"# The paper's results, and ours\n\n{_INTRO} Made by `make reproduce`.\n\n{made}\n\n{contents}\n"
    links = "\nThe same as [one HTML page](report.html); [what differs by more than 3 points](differences.md).\n"
    return "\n".join([head + links, *(s.markdown() for s in sections)])


def _html(sections: Sequence[Section], made: str) -> str:
    contents = "".join(f"<li><a href='#{s.id}'>{s.question}</a></li>" for s in sections)
    body = "".join(s.html() for s in sections)
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>The paper's results, and ours</title><style>{CSS}</style></head><body><main>"
        f"<h1>The paper's results, and ours</h1><p>{_INTRO}</p><p class=note>{made}</p><ol>{contents}</ol>{body}"
        "</main></body></html>\n"
    )
