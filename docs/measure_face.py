"""Measure FACE with several settings on the paper's people and networks.

    LEASTWAYS_DATA=folder python docs/measure_face.py [--seeds 3] [--people 100] [--only face-knn]

Prints the table of docs/explanation/baseline-face.md: B 5000, N 10, M 1000, hidden cost functions by seed. With
`--rows 1000000`, instead, the time and memory that FACE takes on a generated table of so many rows.
"""

from __future__ import annotations

import argparse
import resource
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.cols import measure  # noqa: E402
from benchmarks.paper import LOADERS, METHODS  # noqa: E402

from leastways import Recourse, Schema  # noqa: E402
from leastways.baselines import Face  # noqa: E402

VARIANTS: dict[str, Any] = {
    "face-knn": Face(),
    "face-knn, neighbors=10": Face(neighbors=10),
    "face-knn, neighbors=200": Face(neighbors=200),
    "face-knn, neighbors=1600": Face(neighbors=1600),
    "face-knn, density=0": Face(density=0),
    "face-knn, density=0.25": Face(density=0.25),
    "face-knn, confidence=0.75": Face(confidence=0.75),
    "face-eps": Face(graph="eps"),
    "face-eps, radius=0.3": Face(graph="eps", radius=0.3),
    "face-eps, radius=1.3": Face(graph="eps", radius=1.3),
}
FIGURES = ("FS@1", "Cov", "PAC", "Div", "Prox", "Spars", "Val", "ms_per_person", "most_queries")


def measure_large(n: int) -> None:
    """Print what `fit` and `recommend` for 100 people take on a generated table of n rows."""
    draw = np.random.default_rng(0)
    skewed = np.r_[0.5, np.full(7, 0.5 / 7)]
    numbers = {"age": draw.integers(18, 90, n), "hours": draw.integers(1, 99, n)}
    amounts = {"income": draw.gamma(3, 1000, n).round(2), "debt": draw.gamma(2, 500, n).round(2)}
    kinds = {f"kind {i}": draw.choice(list("abcdefgh"), n, p=skewed) for i in range(5)}
    groups = {"sex": draw.choice(["f", "m"], n), "region": draw.choice(list("abcde"), n)}
    frame = pd.DataFrame(numbers | amounts | kinds | groups)
    schema = Schema.infer(frame).update(
        age={"direction": "up"}, sex={"direction": "fixed"}, region={"direction": "fixed"}
    )

    def model(rows: pd.DataFrame) -> Any:
        return 1 / (1 + np.exp(6 - rows["income"].to_numpy(float) / 1000 - rows["hours"].to_numpy(float) / 30))

    for face in (Face(), Face(graph="eps")):
        begin = perf_counter()
        rec = Recourse(model, schema, face, budget=5000, n_costs=100).fit(frame)
        fitted = perf_counter()
        plans = rec.recommend(frame[model(frame) < 0.5].head(100))
        done = perf_counter()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        sys.stdout.write(
            f"{face.graph}: fit {fitted - begin:.1f} s, {10 * (done - fitted):.1f} ms a person, "
            f"{plans.summary['n_options'].mean():.2f} options each, {memory:.2f} GiB at most so far\n"
        )


def main() -> None:
    """Run every variant on both data sets and print the means over the seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--people", type=int, help="only the first so many people of each set")
    parser.add_argument("--only", default="", help="only variants whose name begins so")
    parser.add_argument("--rows", type=int, help="measure time and memory on so many generated rows instead")
    args = parser.parse_args()
    if args.rows:
        measure_large(args.rows)
        return
    METHODS.update(VARIANTS)
    sys.stdout.write(f"| data | method | {' | '.join(FIGURES)} |\n|{'---|' * (2 + len(FIGURES))}\n")
    for load in LOADERS.values():
        data = load()
        measure(data, "face-knn", 2, 0, 60, 20)  # compile before the clock runs
        for name in (name for name in VARIANTS if name.startswith(args.only)):
            rows = [measure(data, name, args.people, seed, 5000, 1000) for seed in range(args.seeds)]
            mean = [sum(float(row[k]) for row in rows) / len(rows) for k in FIGURES]
            sys.stdout.write(f"| {data.name} | {name} | {' | '.join(f'{x:.2f}' for x in mean)} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
