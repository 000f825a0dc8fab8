"""How far long work has come: a bar for a terminal, a function for a program, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

Report = Callable[[float], None]


@dataclass(frozen=True)
class Reporter:
    """Passes on the share done."""

    show: Report

    def part(self, done: int, size: int, total: int) -> Report:
        """Return a report for one chunk that turns its own share into the share of the whole."""
        return lambda share: self.show((done + size * share) / total)


@dataclass(frozen=True)
class Clock:
    """Deals out a limited time over the people still to come."""

    until: float | None

    @classmethod
    def start(cls, limit: float | None) -> Clock:
        """Start the clock; None is no limit."""
        return cls(None if limit is None else monotonic() + limit)

    def share(self, people: int, still_to_come: int) -> float | None:
        """Return the seconds that so many of the people still to come may take."""
        return None if self.until is None else max(self.until - monotonic(), 0.0) * people / still_to_come


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
