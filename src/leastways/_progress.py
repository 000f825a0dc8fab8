"""Show the progress of long work: as a bar in a terminal, by a function of the caller's, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import ProgressColumn

Report = Callable[[float], None]


@dataclass(frozen=True)
class Reporter:
    """Passes the share of work done to a progress callback."""

    show: Report

    def part(self, done: int, size: int, total: int) -> Report:
        """Return a report for one chunk that turns its own share into the share of the whole."""
        return lambda share: self.show((done + size * share) / total)


@dataclass(frozen=True)
class Clock:
    """Divides the remaining time among the remaining people."""

    until: float | None

    @classmethod
    def start(cls, limit: float | None) -> Clock:
        """Start the clock; None is no limit."""
        return cls(None if limit is None else monotonic() + limit)

    def share(self, people: int, remaining: int) -> float | None:
        """Return the seconds that `people` of the remaining people may take."""
        return None if self.until is None else max(self.until - monotonic(), 0.0) * people / remaining


@contextmanager
def reporter(progress: bool | Report, text: str) -> Iterator[Reporter]:
    """Make a reporter: a progress bar for True, the given function, or silence."""
    if callable(progress):
        yield Reporter(progress)
    elif not progress:
        yield Reporter(lambda share: None)
    else:
        with share_bar(text) as show:
            yield Reporter(show)


@contextmanager
def share_bar(text: str, console: Console | None = None) -> Iterator[Report]:
    """Show a bar for the share done; a console that is no terminal shows nothing."""
    if console is not None and not console.is_terminal:
        yield lambda share: None
        return
    from rich.progress import TaskProgressColumn

    with _bar(console, TaskProgressColumn()) as bar:
        task = bar.add_task(text, total=1.0)
        yield lambda share: bar.update(task, completed=share)


@contextmanager
def count_bar(text: str, console: Console) -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar for `done` of `total` things, with a note beside it; a console that is no terminal shows nothing."""
    if not console.is_terminal:
        yield lambda done, total, note: None
        return
    from rich.progress import MofNCompleteColumn, TextColumn

    with _bar(console, MofNCompleteColumn(), TextColumn("{task.fields[note]}", markup=False)) as bar:
        task = bar.add_task(text, total=None, note="")
        yield lambda done, total, note: bar.update(task, completed=done, total=total, note=note)


def _bar(console: Console | None, *figures: ProgressColumn) -> Bar:
    """Make a bar with some figures, that is gone when the work is done."""
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    text = TextColumn("{task.description}", markup=False)
    return Bar(SpinnerColumn(), text, BarColumn(), *figures, TimeElapsedColumn(), console=console, transient=True)


@dataclass(frozen=True)
class Progress:
    """The progress of a run over many people.

    Attributes
    ----------
    done
        People who are done, those of an earlier, interrupted call included.
    total
        All people.
    found
        The share of people with an option, of those done in this call.
    people_per_second
        Since this call began.
    seconds_left
        At this speed; NaN before there is one.
    """

    done: int
    total: int
    found: float
    people_per_second: float
    seconds_left: float


class PeopleCounter:
    """Counts people done, and reports the `Progress` to a callback."""

    def __init__(self, total: int, done: int, show: Callable[[Progress], None] | None) -> None:
        self._total, self._done, self._before = total, done, done
        self._found = 0
        self._show = show
        self._began = perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since this call began."""
        return perf_counter() - self._began

    def add(self, people: int, found: int) -> None:
        """Count some people, of whom `found` have an option."""
        self._done += people
        self._found += found
        if self._show is not None:
            self._show(self.progress())

    def progress(self) -> Progress:
        """Return the progress so far."""
        new = self._done - self._before
        speed = new / self.seconds if new else float("nan")
        share = self._found / new if new else float("nan")
        return Progress(self._done, self._total, share, speed, (self._total - self._done) / speed)
