"""Make or check the stored files: `python -m tests.golden make|check [decisions|texts] [case ...]`.

`make` writes only what it is told to, or what is missing; `--all` writes everything anew. When a file may be made
anew, `CHANGES.md` says.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.golden import store


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("what", choices=("make", "check"))
    parser.add_argument("sets", nargs="*", help="decisions, texts, or names of cases; none: all")
    parser.add_argument("--all", action="store_true", help="make: also what is there already")
    parser.add_argument("--times", action="store_true", help="print the seconds of each case")
    args = parser.parse_intermixed_args(arguments)
    wanted = store.wanted(args.sets)
    wrong = 0
    began = time.perf_counter()
    for name in wanted:
        before = time.perf_counter()
        if args.what == "check":
            difference = store.difference(name)
            wrong += difference != ""
            if difference:
                print(difference)
        elif args.all or args.sets or not store.file_of(name).exists():
            store.write(name)
        if args.times:
            print(f"{time.perf_counter() - before:7.2f} s  {name}")
    left_over = store.left_over() if not args.sets else []
    for path in left_over:
        print(f"{path}: no case has this file")
    seconds = time.perf_counter() - began
    print(f"{len(wanted)} cases, {wrong + len(left_over)} differ, {seconds:.1f} s, {store.how()}")
    return int(wrong + len(left_over) > 0)


if __name__ == "__main__":
    sys.exit(main())
