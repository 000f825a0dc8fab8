"""COLS on the paper's people and networks: satisfied people, coverage, milliseconds a person on one core.

    LEASTWAYS_DATA=folder python -m benchmarks.cols [--people 100] [--seeds 3] [--methods cols-paper,cols]

Prints a table beside the paper's figures and the released code's time, and writes the same as JSON.
"""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path
from typing import Any

import leastways as lw
from benchmarks.paper import LOADERS, METHODS, PAPER, RELEASED_SAMPLING, RELEASED_SEARCH, first, judged, recourse, timed
from leastways.datasets import Dataset


def measure(data: Dataset, name: str, people: int | None, seed: int, budget: int, n_costs: int) -> dict[str, Any]:
    """Run one method on one data set and judge it by hidden functions."""
    crowd = first(data, people)
    plans, seconds, _ = timed(recourse(data, name, seed, n_options=10, budget=budget, n_costs=n_costs), crowd)
    truth = lw.simulate_people(crowd, data.schema(), data.frame, random_state=seed + 1000)
    return {
        "data": data.name,
        "method": name,
        "seed": seed,
        "ms_per_person": 1000 * seconds / len(crowd),
        "most_queries": int(plans.summary["queries"].max()),
        **judged(plans, truth),
    }


def mean_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Average the seeds of each data set and method, and put the references beside them."""
    out = []
    for key in dict.fromkeys((r["data"], r["method"]) for r in rows):
        mine = [r for r in rows if (r["data"], r["method"]) == key]
        mean = {c: sum(r[c] for r in mine) / len(mine) for c in mine[0] if c not in ("data", "method", "seed")}
        paper = PAPER[key[0]].get(key[1].removesuffix("-paper"))
        released = RELEASED_SEARCH[key[0]] + RELEASED_SAMPLING
        out.append(
            {
                "data": key[0],
                "method": key[1],
                **mean,
                "paper_FS@1": paper and paper["FS@1"],
                "paper_Cov": paper and paper["Cov"],
                "released_code_over_ours": released * 1000 / mean["ms_per_person"],
            }
        )
    return out


def show(rows: list[dict[str, Any]]) -> None:
    """Print the averages."""
    print(
        f"{'data':14}{'method':14}{'FS@1':>7}{'paper':>7}{'Cov':>7}{'paper':>7}{'PAC':>7}{'ms/person':>11}{'times':>7}"
    )
    for r in rows:
        paper = [f"{x:7.2f}" if x is not None else f"{'-':>7}" for x in (r["paper_FS@1"], r["paper_Cov"])]
        print(
            f"{r['data']:14}{r['method']:14}{r['FS@1']:7.2f}{paper[0]}{r['Cov']:7.2f}{paper[1]}{r['PAC']:7.3f}"
            f"{r['ms_per_person']:11.2f}{r['released_code_over_ours']:7.0f}"
        )
    print("times: the released code's COLS, seconds a person on such a machine, over ours")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, help="only the first so many people of each set")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--budget", type=int, default=5000)
    parser.add_argument("--costs", type=int, default=1000)
    parser.add_argument("--methods", default="cols-paper,cols,pcols-paper", help=f"of {', '.join(METHODS)}")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/cols.json"))
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for load in LOADERS.values():
        data = load()
        for name in args.methods.split(","):
            measure(data, name, 2, 0, 60, 20)  # compile before the clock runs
            rows.extend(measure(data, name, args.people, s, args.budget, args.costs) for s in range(args.seeds))
    means = mean_rows(rows)
    show(means)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    machine = {"python": platform.python_version(), "machine": platform.machine(), "cores_used": 1}
    args.out.write_text(
        json.dumps(
            {"machine": machine, "settings": vars(args) | {"out": str(args.out)}, "rows": rows, "means": means},
            indent=1,
        )
    )
    print(f"written to {args.out}")


if __name__ == "__main__":
    main()
