"""What a fresh process waits for: the import, and the first search with and without compiled code on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.engine import probe
from benchmarks.engine.sizes import Size
from benchmarks.engine.store import Rows
from benchmarks.engine.tables import Table, each, verdict
from benchmarks.engine.task import Result, Task

TARGET_SECONDS = 0.5
_IMPORTS = {"import leastways": "import leastways", "and its Recourse": "import leastways; leastways.Recourse"}


def tasks(size: Size, seeds: int) -> Iterator[Task]:
    """Imports, then the first search twice: with an empty cache, and with the one that the first run filled."""
    for name, code in _IMPORTS.items():
        yield Task(name, {"repeats": size.imports}, partial(_import, code, size.imports))
    if size.first_method:
        yield Task("first search", {"method": size.first_method}, partial(_first, size.first_method))


def _import(code: str, repeats: int) -> Result:
    program = (
        f"import json, time; t = time.perf_counter(); {code}; print(json.dumps({{'seconds': time.perf_counter() - t}}))"
    )
    seconds = [probe.python("-c", program)["seconds"] for _ in range(repeats)]
    return {"median": median(seconds), "repeats": seconds}


def _first(method: str) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        cold = probe.ask("first", method, environment={"NUMBA_CACHE_DIR": folder})
        kept = sum(1 for _ in Path(folder).rglob("*.nbc"))
        warm = probe.ask("first", method, environment={"NUMBA_CACHE_DIR": folder})
    return {"cold": cold, "warm": warm, "compiled_functions_kept": kept}


def tables(rows: Rows) -> list[Table]:
    """Show import times against the target, and what compiling takes."""
    lines = []
    for name in _IMPORTS:
        row = rows.get(name, {})
        if row.get("status") == "ok":
            r, promised = row["result"], name == "import leastways"
            met = verdict(r["median"] < TARGET_SECONDS if promised else None)
            target = f"< {TARGET_SECONDS:g}" if promised else ""
            lines.append([name, f"{r['median']:.3f}", target, met, f"repeats {each(r['repeats'], 3)}"])
    row = rows.get("first search", {})
    if row.get("status") == "ok":
        r = row["result"]
        for name, words in (("cold", "first search, nothing compiled"), ("warm", "first search, compiled before")):
            once, again = r[name]["first"], r[name]["second"]
            detail = f"loading before it {r[name]['loading']:.2f}; the second search {again:.3f}"
            lines.append([words, f"{once:.2f}", "", "-", detail])
        compiling = r["cold"]["first"] - r["warm"]["first"]
        honoured = f"{r['compiled_functions_kept']} compiled functions kept in the folder of NUMBA_CACHE_DIR"
        lines.append(["compiling: the difference", f"{compiling:.2f}", "", "-", honoured])
    columns = ("what", "seconds", "target", "verdict", "detail")
    return [
        Table("Start-up, in fresh processes", columns, lines, "Guided search for five people, B 50, in a full run.")
    ]
