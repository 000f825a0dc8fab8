"""The methods people would compare with, on the paper's people, beside the paper's own table."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from time import perf_counter
from typing import Any, NamedTuple

import leastways as lw
from benchmarks.engine.sizes import Size
from benchmarks.engine.store import Rows
from benchmarks.engine.tables import Table, mean_and_half, verdict
from benchmarks.engine.task import Result, Task
from benchmarks.paper import LOADERS, METHODS, PAPER, PAPER_SECONDS, first, judged, timed
from leastways.datasets import Dataset

DATA = tuple(LOADERS)
# "A tenth of the paper's" is what FACE and AR must stay under.
MOST_SECONDS = {"face-knn": 0.7, "face-eps": 0.6, "ar": 1.1}


class Line(NamedTuple):
    """A method as it is run, and the row of the paper's table it belongs to."""

    method: str
    paper: str | None
    slow: bool = False  # seconds a person: fewer people, one seed


LINES = (
    Line("face-eps", "face-eps"),
    Line("face-knn", "face-knn"),
    Line("ar", "ar"),
    Line("random-paper", "random"),
    Line("random", "random"),
    Line("ls", None),
    Line("cols-paper", "cols"),
    Line("cols", "cols"),
    Line("guided", None),
    Line("dice", "dice", slow=True),
    Line("dice-genetic", None, slow=True),
    Line("dice-random", None, slow=True),
    Line("dice-kdtree", None, slow=True),
)


def tasks(size: Size, seeds: int) -> Iterator[Task]:
    """One row per data set, method and seed, at the paper's budget, options and samples."""
    for name in DATA:
        for line in LINES:
            for seed in range(1 if line.slow else min(seeds, size.baseline_seeds)):
                people = size.baseline_slow_people if line.slow else size.people
                settings = {
                    **{"data": name, "method": line.method, "people": people, "seed": seed, "truth_seed": seed + 1000},
                    **{"budget": size.cols_budget, "n_options": 10, "n_costs": size.n_costs},
                }
                yield Task(
                    f"{name}/{line.method}/{seed}",
                    settings,
                    lambda name=name, line=line, seed=seed, people=people: _run(name, line, seed, people, size),  # type: ignore[misc]
                )


@cache
def _data(name: str) -> Dataset:
    return LOADERS[name]()


def _run(name: str, line: Line, seed: int, people: int | None, size: Size) -> Result:
    data, crowd = _data(name), first(_data(name), people)
    network: Any = data.model
    model = network.torch_model() if line.method == "dice" else network  # the same network, with gradients
    method = METHODS.get(line.method, line.method)
    rec = lw.Recourse(model, data.schema(), method, 10, size.cols_budget, size.n_costs, random_state=seed)
    began = perf_counter()
    rec.fit(data.frame)
    fit_seconds = perf_counter() - began
    rec.recommend(crowd.head(2))  # compile and load before the clock runs
    plans, seconds, cpu = timed(rec, crowd)
    truth = lw.simulate_people(crowd, data.schema(), data.frame, random_state=seed + 1000)
    return {
        **judged(plans, truth),
        "people": len(crowd),
        "fit_seconds": fit_seconds,
        "seconds_per_person": seconds / len(crowd),
        "cpu_seconds_per_person": cpu / len(crowd),
        "queries_mean": float(plans.summary["queries"].mean()),
        "queries_most": int(plans.summary["queries"].max()),
    }


def tables(rows: Rows) -> list[Table]:
    """Show each method's measures beside the paper's, and whether the order by FS@1 is the paper's."""
    return [_measures(rows), _order(rows)]


def _runs(rows: Rows, data: str, method: str) -> list[Result]:
    return [r["result"] for k, r in rows.items() if k.startswith(f"{data}/{method}/") and r["status"] == "ok"]


def _measures(rows: Rows) -> Table:
    lines = []
    for data in DATA:
        for line in LINES:
            runs = _runs(rows, data, line.method)
            if not runs:
                continue
            paper = PAPER[data].get(line.paper or "", {})
            seconds = sum(r["cpu_seconds_per_person"] for r in runs) / len(runs)
            most = MOST_SECONDS.get(line.method)
            cells = [
                _beside([r[m] for r in runs], paper.get(m), 3 if m == "PAC" else 2)
                for m in ("FS@1", "Cov", "PAC", "Div", "Prox", "Spars", "Val")
            ]
            took = f"{seconds:.4f}" if seconds < 0.1 else f"{seconds:.2f}"
            if line.paper in PAPER_SECONDS:
                took += f" ({PAPER_SECONDS[line.paper]:g})"
            who = f"{runs[0]['people']:.0f} x {len(runs)}"
            asked = (
                f"{sum(r['queries_mean'] for r in runs) / len(runs):.0f} ({max(r['queries_most'] for r in runs):.0f})"
            )
            lines.append(
                [data, line.method, who, *cells, asked, took, verdict(None if most is None else seconds <= most)]
            )
    heads = ("data", "method", "people x seeds", "FS@1", "Cov", "PAC", "Div", "Prox", "Spars", "Val", "queries")
    note = "In brackets the paper's figure. Processor seconds a person, without fit; verdict: a tenth of the paper's."
    return Table("Published methods beside the paper's table", (*heads, "s a person", "verdict"), lines, note)


def _beside(values: list[float], paper: float | None, digits: int) -> str:
    ours = mean_and_half(values, digits)
    return ours if paper is None else f"{ours} ({paper:g})"


def _order(rows: Rows) -> Table:
    """The paper's order is DICE < Random ~ FACE < AR < COLS."""
    lines = []
    for data in DATA:
        means = {
            line.method: sum(r["FS@1"] for r in runs) / len(runs)
            for line in LINES
            if (runs := _runs(rows, data, line.method))
        }
        ours = " < ".join(f"{m} {v:.1f}" for m, v in sorted(means.items(), key=lambda pair: pair[1]))
        theirs = " < ".join(
            f"{m} {p['FS@1']:.1f}" for m, p in sorted(PAPER[data].items(), key=lambda pair: pair[1]["FS@1"])
        )
        lines.append([data, ours, theirs])
    return Table("Methods in order of FS@1", ("data", "here", "paper"), lines)
