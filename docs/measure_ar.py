"""Measure Actionable Recourse with several settings on the paper's people and networks.

    LEASTWAYS_DATA=folder python docs/measure_ar.py [--seeds 3] [--people 150] [--only "ar, max"]

Prints the figures of docs/explanation/baseline-ar.md, a row for each seed: B 5000, N 10, M 1000, hidden cost functions
of 1000 more than the seed. "options" and "queries" are means over people.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
from benchmarks.paper import LOADERS, METHODS, first, judged, recourse, timed  # noqa: E402
from experiments.models import pipeline  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402

import leastways as lw  # noqa: E402
from leastways.datasets import Dataset  # noqa: E402

VARIANTS: dict[str, Any] = {
    "ar": lw.ActionableRecourse(),
    "ar, quantile=cdf": lw.ActionableRecourse(quantile="cdf"),
    "ar, enumeration=disjoint": lw.ActionableRecourse(enumeration="disjoint"),
    "ar, max_programs=10": lw.ActionableRecourse(max_programs=10),
    "cols": lw.COLS(),
}
FIGURES = ("FS@1", "PAC", "Cov", "Div", "Prox", "Spars", "Val", "s a person", "options", "queries")


def measure(data: Dataset, name: str, people: int | None, seed: int) -> dict[str, float]:
    """Run one variant on one data set and judge it by hidden functions."""
    crowd = first(data, people)
    plans, seconds, _ = timed(recourse(data, name, seed, n_options=10, budget=5000, n_costs=1000), crowd)
    truth = lw.simulate_people(crowd, data.schema(), data.frame, random_state=seed + 1000)
    means = {"options": plans.summary["n_options"].mean(), "queries": plans.summary["queries"].mean()}
    return {**judged(plans, truth), **means, "s a person": seconds / len(crowd)}


def measure_stand_in(data: Dataset, quantile: Any, people: int | None, seed: int) -> dict[str, float]:
    """Let one logistic regression stand in for the network; of its options, keep those that the network accepts."""
    crowd, schema = first(data, people), data.schema()
    network: Any = data.model
    known = data.train[data.features]
    stand_in = pipeline(LogisticRegression(max_iter=2000)).fit(known, (network(known) >= 0.5).astype(int))
    method = lw.ActionableRecourse(quantile=quantile)
    rec = lw.Recourse(stand_in, schema, method, n_options=10, budget=5000, n_costs=1000, random_state=seed)
    plans, seconds, _ = timed(rec.fit(data.frame), crowd)
    options = plans.options[network(plans.options) >= 0.5].reset_index(drop=True)
    counts = options.groupby("person").size().reindex(plans.summary.index, fill_value=0)
    summary = plans.summary.assign(n_options=counts)
    summary["status"] = np.where(counts > 0, "found", "none_found")  # whom the stand-in accepts gets nothing
    kept = lw.RecoursePlans(schema, plans.people, summary, options, plans.failed_rows, plans.settings)
    truth = lw.simulate_people(crowd, schema, data.frame, random_state=seed + 1000)
    means = {"options": counts.mean(), "queries": summary["queries"].mean()}
    return {**judged(kept, truth), **means, "s a person": seconds / len(crowd)}


def main() -> None:
    """Run every variant on both data sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--people", type=int, help="only the first so many people of each set")
    parser.add_argument("--only", default="", help="only variants whose name begins so")
    args = parser.parse_args()
    METHODS.update(VARIANTS)
    sys.stdout.write(f"| data | method | s | {' | '.join(FIGURES)} |\n|{'---|' * (3 + len(FIGURES))}\n")
    for load in LOADERS.values():
        data = load()
        for name in (name for name in VARIANTS if name.startswith(args.only)):
            measure(data, name, 2, 0)  # compile before the clock runs
            for seed in range(args.seeds):
                row = measure(data, name, args.people, seed)
                show(data, name, seed, row)
        for quantile in ("mid", "cdf"):
            name = f"ar, one linear model, quantile={quantile}"
            for seed in range(args.seeds if name.startswith(args.only) else 0):
                show(data, name, seed, measure_stand_in(data, quantile, args.people, seed))


def show(data: Dataset, name: str, seed: int, row: dict[str, float]) -> None:
    """Print one line of the table."""
    figures = " | ".join(f"{row[k]:.3f}" if k == "PAC" else f"{row[k]:.2f}" for k in FIGURES)
    sys.stdout.write(f"| {data.name} | {name} | {seed} | {figures} |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
