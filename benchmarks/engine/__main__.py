"""One command for all of it: a JSON file, a page made of it, and tables on the screen.

LEASTWAYS_DATA=folder python -m benchmarks.engine [--size smoke|full] [--only quality,time] [--resume]
python -m benchmarks.engine --render        the page and the tables again, from the file
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.engine.parts import PARTS
from benchmarks.engine.render import markdown, text
from benchmarks.engine.runner import run_part
from benchmarks.engine.sizes import SIZES
from benchmarks.engine.store import Store, read


def main(arguments: list[str] | None = None) -> int:
    args = _parser().parse_args(arguments)
    out: Path = args.out or Path("benchmarks/results") / ("engine.json" if args.size == "full" else "engine-smoke.json")
    if args.render:
        if not out.is_file():
            raise SystemExit(f"there is no {out} to render; run the benchmark first.")
    else:
        _run(args, out)
    content = read(out)
    out.with_suffix(".md").write_text(markdown(content), encoding="utf-8")
    print(text(content))
    print(f"{out}, {out.with_suffix('.md')}")
    return any(row["status"] == "failed" for part in content["parts"].values() for row in part.values())


def _run(args: argparse.Namespace, out: Path) -> None:
    names = args.only.split(",") if args.only else list(PARTS)
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise SystemExit(f"no part {', '.join(unknown)}; known: {', '.join(PARTS)}.")
    size = SIZES[args.size]
    store = Store(out, size.name)
    for name in names:
        run_part(name, PARTS[name], size, args.seeds or size.seeds, store, args.resume, _say)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.engine",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--size", choices=SIZES, default="full")
    parser.add_argument("--only", help=f"some parts, with commas: {','.join(PARTS)}")
    parser.add_argument("--seeds", type=int, help="quality and models; as many as the size says, if not given")
    parser.add_argument("--out", type=Path, help="default: benchmarks/results/engine.json (engine-smoke.json)")
    parser.add_argument("--resume", action="store_true", help="keep finished rows of the file, make the others")
    parser.add_argument("--render", action="store_true", help="measure nothing, only show the file again")
    return parser


if __name__ == "__main__":
    sys.exit(main())
