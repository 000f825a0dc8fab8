"""Every figure that is more than 3 points off the paper's, with a cause that an experiment showed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from experiments import published
from experiments.methods import PAPER_ROW, WHOLE_OF
from experiments.report.fairness import LETTERS, papers_rows
from experiments.report.layout import Section, Table
from experiments.report.summary import configurations, mean_of
from experiments.report.tables import ABLATION_ROW

POINTS = 3.0
CAUSES = Path(__file__).parent.parent / "causes.yaml"
UNKNOWN = "cause not found yet"


class Gap(NamedTuple):
    """A figure of ours and the paper's, too far apart."""

    experiment: str
    data: str
    model: str
    method: str
    measure: str
    ours: float
    paper: float


def gaps(numbers: Mapping[str, Any]) -> Iterator[Gap]:
    """Find them: measures in percent that differ by more than 3 points, and PAC by more than 0.03."""
    for name, found in numbers.items():
        settings = found["settings"]
        if settings["view"] == "sets":  # made to explain differences, not to be explained
            continue
        ablation = settings["view"] == "ablation"
        rows = ABLATION_ROW if ablation else PAPER_ROW
        for _, cells in configurations(found.get("cells", [])):
            made = cells[0]["settings"]
            data, model, method = (str(made[k]) for k in ("data", "model", "method"))
            table = "ablation" if ablation else published.table_for(settings, data, model)
            theirs = published.beside(table, made, rows.get(method))
            for measure, paper in theirs.items():
                ours = mean_of(cells, measure)
                most = POINTS / 100 if measure == "PAC" else POINTS
                if ours is not None and abs(ours[0] - paper) > most:
                    yield Gap(name, data, model, method, measure, ours[0], paper)
        yield from _between_groups(name, found.get("groups", []))


def _between_groups(name: str, groups: Sequence[Mapping[str, Any]]) -> Iterator[Gap]:
    """The same for the shares of each group of people."""
    for found in groups:
        theirs = papers_rows(found)
        for member in found["members"]:
            letter = LETTERS.get(member["name"], "")
            for measure in ("FS@1", "Cov") if letter in theirs.index else ():
                ours, paper = member[measure], float(theirs[measure][letter])
                if ours is not None and abs(ours - paper) > POINTS:
                    told = f"{measure} {member['name']}"
                    yield Gap(name, found["data"], found["model"], found["method"], told, ours, paper)


def with_whole_sets(gap: Gap, numbers: Mapping[str, Any]) -> float | None:
    """Return the figure that the same search has with sets as the paper has them, if that was made."""
    wanted = {"data": gap.data, "model": gap.model, "method": WHOLE_OF.get(gap.method)}
    table = "ablation" if gap.experiment == "ablation" else "main"
    cells = [
        c
        for c in numbers.get("sets", {}).get("cells", [])
        if published.same_settings(table, c["settings"]) and all(c["settings"][k] == v for k, v in wanted.items())
    ]
    found = mean_of(cells, gap.measure)
    return None if found is None else found[0]


def cause_of(gap: Gap) -> str:
    """Return the name of the first cause one of whose conditions a gap meets."""
    for entry in _causes():
        for where in entry["where"]:
            if all(str(getattr(gap, name)) in [str(v) for v in _listed(value)] for name, value in where.items()):
                return str(entry["name"])
    return UNKNOWN


def _causes() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(CAUSES.read_text(encoding="utf-8"))
    return found


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def differences(numbers: Mapping[str, Any]) -> Section:
    """Show them, each with its cause."""
    rows = []
    for gap in gaps(numbers):
        digits = 2 if gap.measure == "PAC" else 1
        whole = with_whole_sets(gap, numbers)
        figures = [f"{v:.{digits}f}" for v in (gap.ours, gap.paper)] + [f"{gap.ours - gap.paper:+.{digits}f}"]
        figures.append("" if whole is None else f"{whole:.{digits}f}")
        rows.append([gap.experiment, gap.data, gap.model, gap.method, gap.measure, *figures, cause_of(gap)])
    columns = ("experiment", "data", "model", "method", "measure", "ours", "paper", "difference", "whole sets", "cause")
    note = (
        "Whole sets: what the same search has when its sets are as the paper's, always full and of whatever the model "
        "accepts, permitted or not (experiment sets; 100 or 200 people, one seed)."
    )
    table = Table("Figures more than 3 points apart (PAC: more than 0.03)", columns, rows, note)
    causes = [f"{entry['name']}: {' '.join(str(entry['because']).split())}" for entry in _causes()]
    where = "all of its tables"
    return Section("differences", "What differs from the paper, and why", where, [*causes, table])
