"""Run what is missing, several cells at a time, with the time left in sight."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from experiments.cells import Outcome, run_cell
from experiments.config import Cell, Experiment
from experiments.store import RESULTS, Store


def run(experiments: Sequence[Experiment], workers: int, root: Path = RESULTS) -> int:
    """Make every missing cell; return how many failed. Each finished cell is kept at once."""
    store = Store(experiments[0].size, root)
    wanted = list(dict.fromkeys(cell for experiment in experiments for cell in experiment.cells))
    todo = [cell for cell in wanted if not store.has(cell)]
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    failed = 0
    began = time.perf_counter()
    with Progress(*columns) as progress:
        progress.console.print(f"{len(wanted) - len(todo)} cells kept from earlier runs, {len(todo)} to make")
        bar = progress.add_task("cells", total=len(todo))
        for cell, result in _made(todo, workers):
            if isinstance(result, str):
                failed += 1
                store.note_failure(cell, result)
                progress.console.print(f"failed: {cell.key}: {result.splitlines()[-1]}", markup=False)
            else:
                store.put(cell, result)
            progress.update(bar, advance=1, description=f"{cell.method} on {cell.data}")
    if todo:
        methods = sorted({cell.method for cell in todo})
        store.note_run(time.perf_counter() - began, workers, len(todo) - failed, methods)
    return failed


def _made(todo: Sequence[Cell], workers: int) -> Iterator[tuple[Cell, Outcome | str]]:
    """Yield each cell with what came of it, as they end; an error as its text."""
    groups = _groups(todo)
    if workers <= 1:
        for group in groups:
            yield from zip(group, map(_attempt, group), strict=True)
        return
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = "1"  # inherited: there are as many workers as cores
    # Fresh processes: a forked one would share the threads of numba and torch half-made.
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        waiting: dict[Future[list[Outcome | str]], list[Cell]] = {}
        left = iter(groups)
        while True:
            for group in islice(left, 2 * workers - len(waiting)):  # few ahead, so that Ctrl-C ends soon
                waiting[pool.submit(_attempt_all, group)] = group
            if not waiting:
                return
            ended, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in ended:
                yield from zip(waiting.pop(future), future.result(), strict=True)


def _groups(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Put cells of one search together, so that one worker searches once for all of them."""
    groups: dict[Cell, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.search, []).append(cell)
    return list(groups.values())


def _attempt_all(cells: Sequence[Cell]) -> list[Outcome | str]:
    return [_attempt(cell) for cell in cells]


def _attempt(cell: Cell) -> Outcome | str:
    """Run a cell; one that fails is a finding, and does not stop the others."""
    try:
        return run_cell(cell)
    except Exception:
        return traceback.format_exc(limit=5)
