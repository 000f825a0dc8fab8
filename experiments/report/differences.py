"""Every figure that is more than 3 points off the paper's, with a cause that an experiment showed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from experiments import published
from experiments.methods import PAPER_ROW
from experiments.report.layout import Section, Table
from experiments.report.summary import grouped, mean_of
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
        tables, rows = _tables(found["settings"])
        for (data, model, method), cells in grouped(found.get("cells", []), "data", "model", "method").items():
            if model in tables:
                theirs = published.figures(tables[model], data, rows.get(method))
                for measure, paper in theirs.items():
                    ours = mean_of(cells, measure)
                    most = POINTS / 100 if measure == "PAC" else POINTS
                    if ours is not None and abs(ours[0] - paper) > most:
                        yield Gap(name, data, model, method, measure, ours[0], paper)


def _tables(settings: Mapping[str, Any]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return which of the paper's tables belongs to each model, and how its rows are named."""
    if settings["view"] == "ablation":
        return {"own": "ablation"}, ABLATION_ROW
    return settings.get("paper", {}), PAPER_ROW


def cause_of(gap: Gap) -> str:
    """Return the first cause in the list whose conditions a gap meets."""
    for entry in yaml.safe_load(CAUSES.read_text(encoding="utf-8")):
        if all(str(getattr(gap, name)) in [str(v) for v in _listed(value)] for name, value in entry["where"].items()):
            return str(entry["cause"])
    return UNKNOWN


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def differences(numbers: Mapping[str, Any]) -> Section:
    """Show them, each with its cause."""
    rows = []
    for gap in gaps(numbers):
        digits = 2 if gap.measure == "PAC" else 1
        figures = [f"{v:.{digits}f}" for v in (gap.ours, gap.paper)] + [f"{gap.ours - gap.paper:+.{digits}f}"]
        rows.append([gap.experiment, gap.data, gap.model, gap.method, gap.measure, *figures, cause_of(gap)])
    columns = ("experiment", "data", "model", "method", "measure", "ours", "paper", "difference", "cause")
    table = Table("Figures more than 3 points apart (PAC: more than 0.03)", columns, rows)
    return Section("differences", "What differs from the paper, and why", "all of its tables", [table])
