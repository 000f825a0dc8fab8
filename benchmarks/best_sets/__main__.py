"""How near guided search is to the best ten options there are, on the paper's people and network.

    LEASTWAYS_DATA=folder python -m benchmarks.best_sets [--people 60] [--samples 16000] [--options 10 11]

For each person the whole grid is looked through for the accepted states in which no change can be left out or made
smaller: under cost functions without noise nobody needs another. The N of them that serve the most of the cost
functions drawn, at a cost below 1, are found by an integer program, with proof. For the very functions they were chosen
by they do better than for others: in the long run the best N lie between what these N reach on other functions and on
their own. Beside them stand the options of guided search, judged by functions that it did not see.
With noise (`--noise 0.01`) a larger change may be the cheaper one by luck, which no search can foresee: the bound then
holds for the states looked at only.
Prints each as a share of what all states together serve; by person in benchmarks/results/best_sets.json.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # one core a worker, also for the linear algebra; before numpy is loaded

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.best_sets.measure import ELSEWHERE, Asked, measure
from benchmarks.paper import LOADERS, first

_RESULT = Path(__file__).parents[1] / "results" / "best_sets.json"
_CHUNK = 8  # people a task


def shares(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return each column's mean as a percentage of what all states together serve."""
    table = pd.DataFrame(rows).drop(columns=["person", "states", "seconds"]).mean()
    whole = {name: table[f"all{ELSEWHERE}" if str(name).endswith(ELSEWHERE) else "all"] for name in table.index}
    return {str(name): 100 * float(value / whole[name]) for name, value in table.items()}


def main() -> None:
    """Measure everybody on all cores, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", default="adult_binary", choices=list(LOADERS))
    parser.add_argument("--people", type=int, help="the first so many; all if left out")
    parser.add_argument("--samples", type=int, default=64_000, help="cost functions a person is judged by")
    parser.add_argument("--options", type=int, nargs="+", default=[10], help="sizes of the best sets")
    parser.add_argument("--noise", type=float, default=0.0, help="standard deviation of the cost functions' noise")
    parser.add_argument("--budget", type=int, default=5000, help="rows of the searches")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    told = parser.parse_args()
    asked = Asked(told.data, told.samples, tuple(told.options), told.noise, told.budget)
    n = len(first(LOADERS[told.data](), told.people))
    starts = range(0, n, _CHUNK)
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(told.workers, mp_context=get_context("spawn")) as pool:
        parts = [pool.submit(measure, asked, start, min(start + _CHUNK, n)) for start in starts]
        for part in parts:
            rows += part.result()
            sys.stderr.write(f"\r{len(rows)} of {n} people")
    sys.stderr.write("\n")
    result = {**asked._asdict(), "people": n, "share of all states": shares(rows), "by person": rows}
    _RESULT.parent.mkdir(exist_ok=True)
    _RESULT.write_text(json.dumps(result, indent=1), encoding="utf-8")
    sys.stdout.write(f"{told.data}, {n} people, {told.samples} cost functions each, noise {told.noise:g}\n")
    for name, share in shares(rows).items():
        sys.stdout.write(f"  {name:34} {share:7.3f} %\n")


if __name__ == "__main__":
    main()
