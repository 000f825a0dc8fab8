"""Run what is missing, several cells at a time, with the time left in sight."""

from __future__ import annotations

import os
import threading
import traceback
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import get_context, parent_process
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from experiments.cells import Outcome, run_cell
from experiments.config import Cell, Experiment
from experiments.store import RESULTS, Store

_KILLED = "the process that ran this cell was killed: by the system, for want of memory, perhaps."


def run(experiments: Sequence[Experiment], workers: int, root: Path = RESULTS) -> int:
    """Make every missing cell; return how many failed. Each finished cell is kept at once."""
    store = Store(experiments[0].size, root)
    with store.held():
        wanted = list(dict.fromkeys(cell for experiment in experiments for cell in experiment.cells))
        todo = [cell for cell in wanted if not store.has(cell)]
        return _run(store, todo, len(wanted) - len(todo), workers)


def _run(store: Store, todo: Sequence[Cell], kept: int, workers: int) -> int:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    failed = 0
    if todo:
        store.begin_run(workers, sorted({cell.method for cell in todo}))
    with Progress(*columns) as progress:
        progress.console.print(f"{kept} cells kept from earlier runs, {len(todo)} to make")
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
        store.end_run()
    return failed


def _made(todo: Sequence[Cell], workers: int) -> Iterator[tuple[Cell, Outcome | str]]:
    """Yield each cell with what came of it, as they end; an error as its text."""
    left = deque(_groups(todo))
    if workers <= 1:
        for group in left:
            yield from zip(group, map(_attempt, group), strict=True)
        return
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = "1"  # inherited: there are as many workers as cores
    while left:
        # If one process is killed all that were under way are lost; whose fault it was shows when each has its own.
        for group in (yield from _side_by_side(left, workers)):
            yield from zip(group, _alone(group), strict=True)


def _side_by_side(
    left: deque[list[Cell]], workers: int
) -> Generator[tuple[Cell, Outcome | str], None, list[list[Cell]]]:
    """Yield cells as they end until none is left, or a process was killed; return what was under way then."""
    waiting: dict[Future[list[Outcome | str]], list[Cell]] = {}
    with _pool(workers) as pool, suppress(BrokenProcessPool):
        while left or waiting:
            while left and len(waiting) < 2 * workers:  # few ahead, so that Ctrl-C ends soon
                waiting[pool.submit(_attempt_all, left[0])] = left[0]
                left.popleft()
            ended, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in ended:
                results = future.result()
                yield from zip(waiting.pop(future), results, strict=True)
    lost = []
    for future, group in waiting.items():
        if future.exception() is None:
            yield from zip(group, future.result(), strict=True)
        else:
            lost.append(group)
    return lost


def _alone(group: list[Cell]) -> list[Outcome | str]:
    """Run some cells in a process of their own; if it is killed, that is what came of them."""
    with _pool(1) as pool:
        try:
            return pool.submit(_attempt_all, group).result()
        except BrokenProcessPool:
            return [_KILLED] * len(group)


def _pool(workers: int) -> ProcessPoolExecutor:
    # Fresh processes: a forked one would share the threads of numba and torch half-made.
    return ProcessPoolExecutor(workers, get_context("spawn"), initializer=_watch_parent)


def _watch_parent() -> None:
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    """Wait until the driver is gone, however it went, and go too: nobody would take the result."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


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
