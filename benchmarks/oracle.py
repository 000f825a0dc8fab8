"""The oracle on the paper's people and networks: the best FS@1 there is, rows and milliseconds a person on one core.

    LEASTWAYS_DATA=folder python -m benchmarks.oracle [--people 100] [--seeds 3] [--certify 24]

Prints a line per data set and seed, then one for certificates of a guided search (M 100).
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # one core, also for the linear algebra; before numpy is loaded

import argparse
import sys
import time

import leastways as lw
from leastways.datasets import Dataset


def measure(data: Dataset, people: int | None, seed: int) -> str:
    """Find everybody's least cost, up to 1, and say what it took."""
    crowd = data.people if people is None else data.people.head(people)
    truth = lw.simulate_people(crowd, data.schema(), data.frame, random_state=seed + 1000)
    began = time.perf_counter()
    table = lw.evaluation.oracle_people(data.model, truth, max_cost=1.0)
    ms = 1000 * (time.perf_counter() - began) / len(crowd)
    satisfied = 100 * lw.evaluation.fraction_satisfied(table["cost"].to_numpy())
    rows, calls = table["queries"].mean(), table.attrs["model_calls"]
    return f"{data.name:14} seed {seed}: FS@1 {satisfied:6.2f}, {rows:8,.0f} rows, {ms:6.1f} ms a person, {calls} calls"


def certify(data: Dataset, people: int) -> str:
    """Certify the plans of a guided search, and say what it took and how near they are."""
    recourse = lw.Recourse(data.model, data.schema(), "guided", budget=500, n_costs=100).fit(data.frame)
    plans = recourse.recommend(data.people.head(people))
    began = time.perf_counter()
    table = recourse.certify(plans).certificates
    ms = 1000 * (time.perf_counter() - began) / len(table)
    return (
        f"{data.name:14} certificates: gap {table['gap'].mean():.3f} (median {table['gap'].median():.3f}) of "
        f"{table['objective'].mean():.3f}, solved {table['solved'].mean():.0%}, "
        f"{table['queries'].mean():,.0f} rows, {ms:.0f} ms a person"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--people", type=int, help="the first so many; all if left out")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--certify", type=int, default=24, help="people to certify")
    asked = parser.parse_args()
    for load in (lw.datasets.load_adult_binary, lw.datasets.load_compas_binary):
        data = load()
        measure(data, 2, 0)  # compile
        for seed in range(asked.seeds):
            sys.stdout.write(measure(data, asked.people, seed) + "\n")
        certify(data, 1)
        sys.stdout.write(certify(data, asked.certify) + "\n")


if __name__ == "__main__":
    main()
