"""The human study, held with simulated annotators, beside the paper's answers by humans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments import published
from experiments.config import Experiment
from experiments.report.layout import Table
from experiments.store import Store


def collect(experiment: Experiment, store: Store) -> dict[str, Any]:
    """Collect what came of each study."""
    made = [cell for cell in experiment.cells if store.has(cell)]
    return {"studies": [{"pair": cell.method, "seed": cell.seed, **store.entry(cell)["study"]} for cell in made]}


def show(settings: Mapping[str, Any], data: Mapping[str, Any]) -> list[Table]:
    """Show votes and tests, a table for each pair of methods."""
    pairs = dict.fromkeys(s["pair"] for s in data["studies"])
    return [_table(pair, [s for s in data["studies"] if s["pair"] == pair]) for pair in pairs]


def _table(pair: str, studies: Sequence[Mapping[str, Any]]) -> Table:
    one, other = pair.split(":")
    paper = published.table("study").set_index("answer")["share"] if pair == "cols-paper:ar" else {}
    chosen = {one: "COLS", other: "Act. Recourse", "no preference": "no preference"}
    rows = [
        [f"prefer {m}, %" if m != "no preference" else f"{m}, %", [s["preferred"][m]["share"] for s in studies], row]
        for m, row in chosen.items()
    ] + [
        [f"{m} is reasonable, %", [s["reasonable"][m]["share"] for s in studies], f"{chosen[m]} reasonable"]
        for m in (one, other)
    ]
    lines = [
        [text, *_figures(values, 100.0, 1), f"{paper[row]:g}" if row in paper else ""] for text, values, row in rows
    ]
    kappa = _figures([s["preference_kappa"] for s in studies], 1.0, 2)
    lines.append(["Fleiss' kappa of preference", *kappa, "0.74" if len(paper) else ""])
    for text, key in (("p, preference (sign test)", "preference"), ("p, reasonable (McNemar)", "reasonableness")):
        lines.append([text, *_figures([s[key]["p_value"] for s in studies], 1.0, 5), "0.0001" if len(paper) else ""])
    note = (
        f"{studies[0]['n_items']} people, {studies[0]['per_item']} simulated annotators each, who know the hidden costs "
        "and answer at random one time in ten. The paper's annotators were human, and did not know them."
    )
    return Table(f"{one} against {other}", ("", "mean of seeds", "by seed", "paper (humans)"), lines, note)


def _figures(values: Sequence[float | None], scale: float, digits: int) -> tuple[str, str]:
    """Return the mean, and the seeds one by one."""
    known = [scale * v for v in values if v is not None]
    if not known:
        return "-", ""
    return f"{sum(known) / len(known):.{digits}f}", " ".join(f"{v:.{digits}f}" for v in known)
