"""Measure speed, memory and overhead of runs over many people; each row in a fresh process, and saved at once.

python -m benchmarks.batch [--people 2000 20000] [--whole 1000000] [--budget 500] [--costs 100]
python -m benchmarks.batch --render       write docs/scale.md again from the file

Rows that are in the file with the same settings are kept: an interrupted run continues. --again measures them again.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.batch.page import markdown, put_into_page
from benchmarks.batch.world import BUDGET, COSTS
from benchmarks.engine import probe as engine_probe
from benchmarks.engine.runner import make
from benchmarks.engine.store import Store, read
from benchmarks.engine.task import Result, Task

PART = "batch"


def main(arguments: list[str] | None = None) -> int:
    args = _parser().parse_args(arguments)
    if not args.render:
        store = Store(args.out, PART)
        for task in tasks(args):
            if not args.again and store.has(PART, task.key, task.settings):
                _say(f"{task.key}: kept")
                continue
            row = make(task)
            store.put(PART, task.key, row)
            _say(f"{task.key}: {row['status']}, {row['seconds']:.0f} s {row.get('error', '')}")
    content = read(args.out)
    text = markdown(content)
    print(text)
    if args.page:
        put_into_page(text)
    return any(row["status"] == "failed" for row in content["parts"].get(PART, {}).values())


def tasks(args: argparse.Namespace) -> list[Task]:
    """Return the rows to measure: per size one process, files with 1 and 2 workers, and Dask; then the large run."""
    out = []
    for n in args.people:
        out += [_task(args, what, n, w) for what, w in (("plain", 1), ("files", 1), ("files", 2), ("dask", 2))]
    if args.whole:
        out.append(_task(args, "files", args.whole, 2))
    return out


def _task(args: argparse.Namespace, what: str, people: int, workers: int) -> Task:
    settings = {"what": what, "people": people, "workers": workers, "budget": args.budget, "costs": args.costs}
    numbers = [str(settings[name]) for name in ("people", "workers", "budget", "costs")]

    def run() -> Result:
        engine_probe.LIMIT = args.limit
        return engine_probe.python("-m", "benchmarks.batch.probe", what, str(args.work.resolve()), *numbers)

    return Task(f"{what} {people} people {workers} workers B {args.budget} M {args.costs}", settings, run)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.batch",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--people", type=int, nargs="*", default=[10_000], help="sizes to compare workers at")
    parser.add_argument("--whole", type=int, default=0, help="and one run of so many people with two processes")
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--costs", type=int, default=COSTS)
    parser.add_argument("--limit", type=int, default=24 * 3600, help="seconds that one row may take")
    parser.add_argument("--work", type=Path, default=Path("build/batch"), help="folder for people and runs")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/batch.json"))
    parser.add_argument("--again", action="store_true", help="measure what is in the file again")
    parser.add_argument("--page", action="store_true", help="put the tables into docs/scale.md")
    parser.add_argument("--render", action="store_true", help="measure nothing, only show the file again")
    return parser


if __name__ == "__main__":
    sys.exit(main())
