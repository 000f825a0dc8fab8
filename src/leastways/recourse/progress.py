"""How far long work has come: a bar for a terminal, a function for a program, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

Report = Callable[[float], None]


@dataclass(frozen=True)
class Reporter:
    """Passes on the share done."""

    show: Report

    def part(self, done: int, size: int, total: int) -> Report:
        """Return a report for one chunk that turns its own share into the share of the whole."""
        return lambda share: self.show((done + size * share) / total)


@contextmanager
def reporter(progress: bool | Report, text: str) -> Iterator[Reporter]:
    """Make a reporter: a progress bar for True, the given function, or silence."""
    if callable(progress):
        yield Reporter(progress)
    elif not progress:
        yield Reporter(lambda share: None)
    else:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        with Progress(*columns, transient=True) as bar:
            task = bar.add_task(text, total=1.0)
            yield Reporter(lambda share: bar.update(task, completed=share))
