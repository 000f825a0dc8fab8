"""The paper's tables and figures by one command.

    LEASTWAYS_DATA=folder python -m experiments run main --size smoke
    LEASTWAYS_DATA=folder python -m experiments run --all --own
    python -m experiments report --size paper --out docs/reproduction
    python -m experiments list

Results are kept under experiments/results; a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from experiments.config import FOLDER, SIZES, load, names, only


def main(arguments: list[str] | None = None) -> int:
    """Parse, and do what was asked."""
    args = _parser().parse_args(arguments)
    if args.command == "list":
        for name in names(args.configs):
            e = load(name, "paper", args.configs)
            print(f"{name:12} {len(e.cells):5} cells  {e.question}")
        return 0
    if args.command == "run":
        return _run(args)
    from experiments.report import render  # late: a run needs no plots

    chosen = [load(name, args.size, args.configs) for name in args.experiments or names(args.configs)]
    page = render(chosen, args.size, args.results, args.out)
    print(f"written to {page}")
    return 0


def _run(args: argparse.Namespace) -> int:
    wanted = names(args.configs) if args.all else args.experiments
    if not wanted:
        raise SystemExit(f"which experiment? Give --all, or some of: {', '.join(names(args.configs))}.")
    chosen = [only(load(name, args.size, args.configs), args.methods, args.data) for name in wanted]
    public = sorted({cell.data for e in chosen for cell in e.cells} - {"credit"})
    if public and not os.environ.get("LEASTWAYS_DATA"):
        raise SystemExit(
            f"{public[0]} is a public data set: set LEASTWAYS_DATA to its folder; see docs/how-to/data-sets.md."
        )
    from experiments.methods import NOT_OWN  # late: it loads numba
    from experiments.runner import run

    left_out = {*(args.without or ()), *(NOT_OWN if args.own else ())}
    if left_out:
        chosen = [only(e, [c.method for c in e.cells if c.method not in left_out], None) for e in chosen]
    failed = run(chosen, args.workers, args.results)
    if failed:
        print(
            f"{failed} cells failed; their errors are in the manifests. Run again to try them again.", file=sys.stderr
        )
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list", help="the experiments there are, and how many cells each has")
    run = commands.add_parser("run", help="make the missing results")
    report = commands.add_parser("report", help="show results beside the paper's")
    for command in (run, report):
        command.add_argument("experiments", nargs="*", help="ids as in `list`")
        command.add_argument("--size", choices=SIZES, default="paper")
        command.add_argument("--results", type=Path, default=Path("experiments/results"), help="where results are kept")
    for command in (listing, run, report):
        command.add_argument("--configs", type=Path, default=FOLDER, help="folder of YAML files (default: the paper's)")
    run.add_argument("--all", action="store_true", help="every experiment")
    run.add_argument("--methods", nargs="+", help="only these methods")
    run.add_argument("--without", nargs="+", help="not these methods")
    run.add_argument("--own", action="store_true", help="only methods of leastways, not those it is compared with")
    run.add_argument("--data", nargs="+", help="only these data sets")
    run.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)")
    report.add_argument("--out", type=Path, default=Path("build/reproduction"), help="folder for the report")
    return parser


if __name__ == "__main__":
    sys.exit(main())
