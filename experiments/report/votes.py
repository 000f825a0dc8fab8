"""The human study, held with simulated annotators, beside the paper's answers by humans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from experiments import published
from experiments.config import Experiment
from experiments.report.layout import Table
from experiments.report.summary import Found, configurations, grouped, place_name
from experiments.store import Store


def collect(experiment: Experiment, store: Store) -> dict[str, Any]:
    """Collect what came of each study."""
    made = [cell for cell in experiment.cells if store.has(cell)]
    return {"studies": [{"settings": asdict(cell), **store.entry(cell)["study"]} for cell in made]}


def show(settings: Mapping[str, Any], data: Mapping[str, Any]) -> list[Table]:
    """Show votes and tests, a table for each data set, model and pair of methods."""
    return [
        _table(place_name(*place), name, studies)
        for place, found in grouped(data["studies"], "data", "model").items()
        for name, studies in configurations(found)
    ]


def _table(where: str, name: str, studies: Found) -> Table:
    settings = studies[0]["settings"]
    one, other = settings["method"].split(":")
    same = settings["method"] == "cols-paper:ar" and published.same_settings("study", settings)
    paper = _paper() if same else {}
    chosen = {one: "COLS", other: "Act. Recourse"}
    lines: list[Sequence[str]] = []

    def tell(text: str, values: Sequence[float | None], theirs: str, scale: float = 1.0, digits: int = 1) -> None:
        lines.append([text, *_figures(values, scale, digits), theirs if paper else ""])

    for method, row in chosen.items():
        tell(f"prefer {method}, %", [s["preferred"][method]["share"] for s in studies], paper.get(row, ""), 100.0)
    none = [s["preferred"]["no preference"]["share"] for s in studies]
    tell("no preference, %", none, paper.get("no preference", ""), 100.0)
    for method, row in chosen.items():
        judged = [s["reasonable"][method]["share"] for s in studies]
        tell(f"{method} is reasonable, %", judged, paper.get(f"{row} reasonable", ""), 100.0)
    tell("Fleiss' kappa of preference", [s["preference_kappa"] for s in studies], "0.74", digits=2)
    for text, test, theirs in (
        ("p, preference (sign test)", "preference", "0.0001"),
        ("p, reasonable (McNemar)", "reasonableness", "below 0.0001"),
    ):
        values = [s[test]["p_value"] for s in studies]
        lines.append([text, f"at most {_p(max(values))}", " ".join(map(_p, values)), theirs if paper else ""])
    note = (
        f"{studies[0]['n_items']} people, {studies[0]['per_item']} simulated annotators each, who know the hidden "
        "costs and answer at random one time in ten. The paper's annotators were human, and did not know them."
    )
    title = f"{where}: {name.replace(':', ' against ')}"
    return Table(title, ("", "mean of seeds", "by seed", "paper (humans)"), lines, note)


def _p(value: float) -> str:
    return f"{value:.5f}" if value >= 1e-5 else "<0.00001"


def _paper() -> dict[str, str]:
    rows = published.table("study")
    return {str(a): f"{s:g}" for a, s in zip(rows["answer"], rows["share"], strict=True)}


def _figures(values: Sequence[float | None], scale: float, digits: int) -> tuple[str, str]:
    """Return the mean, and the seeds one by one."""
    known = [scale * v for v in values if v is not None]
    if not known:
        return "-", ""
    return f"{sum(known) / len(known):.{digits}f}", " ".join(f"{v:.{digits}f}" for v in known)
