"""Measure what each difference to the paper's COLS is worth, on the paper's people and networks.

    LEASTWAYS_DATA=folder python docs/measure_differences.py [--seeds 3] [--people 100] [--only COLS]

Prints the table of docs/explanation/paper-differences.md: B 5000, N 10, M 1000, hidden cost functions by seed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.cols import LOADERS, METHODS, measure  # noqa: E402

import leastways as lw  # noqa: E402

VARIANTS: dict[str, Any] = {
    "COLS: gain and proposals as in the paper": lw.COLS(gain="paper", proposals="paper"),
    "COLS: exact gain, proposals as in the paper": lw.COLS(gain="exact", proposals="paper"),
    "COLS: gain as in the paper, actionable proposals": lw.COLS(gain="paper", proposals="actionable"),
    "COLS: exact gain, actionable proposals (default)": lw.COLS(),
    "P-COLS: gain and proposals as in the paper": lw.PCOLS(gain="paper", proposals="paper"),
    "P-COLS: exact gain, actionable proposals (default)": lw.PCOLS(),
    "LS on EMC: proposals as in the paper": lw.LocalSearch(proposals="paper"),
    "Random: as in the paper": lw.RandomSearch(proposals="paper"),
}


def main() -> None:
    """Run every variant on both data sets and print the means over the seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--people", type=int, help="only the first so many people of each set")
    parser.add_argument("--only", default="", help="only methods whose name begins so")
    args = parser.parse_args()
    METHODS.update(VARIANTS)
    sys.stdout.write(
        "| data | method | FS@1 | Cov | PAC | Div | Prox | Spars | Val |\n|---|---|---|---|---|---|---|---|---|\n"
    )
    for load in LOADERS.values():
        data = load()
        for name in (name for name in VARIANTS if name.startswith(args.only)):
            rows = [measure(data, name, args.people, seed, 5000, 1000) for seed in range(args.seeds)]
            mean = {
                k: sum(r[k] for r in rows) / len(rows) for k in ("FS@1", "Cov", "PAC", "Div", "Prox", "Spars", "Val")
            }
            figures = " | ".join(f"{mean[k]:.2f}" for k in mean)
            sys.stdout.write(f"| {data.name} | {name} | {figures} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
