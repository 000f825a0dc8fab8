"""Make the rows of a part one by one: each is saved at once, and a failing one does not stop the others."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path

from benchmarks.engine.parts import Part
from benchmarks.engine.sizes import Size
from benchmarks.engine.store import Row, Store, stamp
from benchmarks.engine.task import Task


def run_part(
    name: str, part: Part, size: Size, seeds: int, store: Store, resume: bool, say: Callable[[str], None]
) -> None:
    """Make what is missing; without `resume`, everything."""
    if not resume:
        store.forget(name)
    todo = list(part.tasks(size, seeds))
    for place, task in enumerate(todo, 1):
        head = f"[{name} {place}/{len(todo)}] {task.key}"
        if store.has(name, task.key, task.settings):
            say(f"{head}: kept")
            continue
        row = make(task)
        store.put(name, task.key, row)
        say(f"{head}: {row['status']}, {row['seconds']:.1f} s" + (f": {row['error']}" if "error" in row else ""))


def make(task: Task) -> Row:
    """Make one row, whatever comes of it. Warnings are kept with it: a user would see them."""
    began = time.perf_counter()
    row: Row = {"settings": dict(task.settings), **stamp()}
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("default")
        try:
            row |= {"status": "ok", "result": task.run()}
        except Exception as error:  # a row that fails is a finding; the others go on
            row |= {"status": "failed", "error": f"{type(error).__name__}: {error}"[:500]}
    row["seconds"] = time.perf_counter() - began
    said = dict.fromkeys(f"{w.category.__name__}: {w.message} ({Path(w.filename).name}:{w.lineno})" for w in heard)
    return {**row, "warnings": list(said)} if said else row
