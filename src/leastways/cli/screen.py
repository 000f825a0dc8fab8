"""Where things are shown: results on stdout, notes and progress on stderr. JSON never has company."""

from __future__ import annotations

import json
import math
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer
from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from leastways.batch import Progress

JsonFlag = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout, and nothing else there.")]
NO_PICTURES = "The report has no pictures. This brings them: pip install 'leastways[plots]'"
_PIPE_WIDTH = 100  # columns where there is no terminal to ask


def screen() -> Console:
    """Return the console for results."""
    return _console(stderr=False)


def say(text: str) -> None:
    """Print a line among the results: as it is, without markup, and not broken where a screen ends."""
    screen().print(Text(text), soft_wrap=True)


def notes() -> Console:
    """Return the console for messages and progress."""
    return _console(stderr=True)


def _console(stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _PIPE_WIDTH
    return console


def this_program() -> str:
    """Return what to type to call this program again: its name where that finds it, else the path it was called by."""
    called = sys.argv[0]
    if Path(called).stem == "leastways":
        return _typed(called, "leastways")
    return f"{_typed(sys.executable or 'python', 'python')} -m leastways"


def _typed(called: str, name: str) -> str:
    """Return the bare name if it leads to what was called; links are not followed: each environment has its own."""
    found = shutil.which(name)
    if called == name or (found is not None and os.path.abspath(found) == os.path.abspath(called)):
        return name
    return shlex.quote(called)


@contextmanager
def stdout_aside() -> Iterator[None]:
    """Send to stderr what a model prints while it is loaded or asked: results on stdout have no company.

    Where stdout is a file of the system, that one is turned aside too: processes that work for us write to it.
    """
    ours, other = _file_number(sys.stdout), _file_number(sys.stderr)
    with redirect_stdout(sys.stderr):
        if ours is None or other is None:
            yield
            return
        kept = os.dup(ours)
        os.dup2(other, ours)
        try:
            yield
        finally:
            os.dup2(kept, ours)
            os.close(kept)


def _file_number(stream: TextIO | None) -> int | None:
    """Return the number by which the system knows a stream, None where it does not; nothing is left unwritten."""
    if stream is None:
        return None
    try:
        stream.flush()
        return stream.fileno()
    except (OSError, ValueError):
        return None


def print_json(data: dict[str, Any]) -> None:
    """Print one JSON document; ASCII only, so that no terminal's encoding can spoil it."""
    sys.stdout.write(json.dumps(data, indent=2, allow_nan=False) + "\n")


@contextmanager
def progress_bar(text: str) -> Iterator[Callable[[float], None]]:
    """Show a bar on stderr where that is a terminal; gives a function that takes the share done."""
    console = notes()
    if not console.is_terminal:
        yield lambda share: None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(text, total=1.0)
        yield lambda share: bar.update(task, completed=share)


@contextmanager
def people_bar(text: str) -> Iterator[Callable[[Progress], None]]:
    """Show how many people are done, how fast, how many have an option, and how long it will take."""
    console = notes()
    if not console.is_terminal:
        yield lambda progress: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[figures]}", markup=False),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task(text, total=None, figures="")

        def show(now: Progress) -> None:
            bar.update(task, total=now.total, completed=now.done, figures=_figures(now))

        yield show


def _figures(now: Progress) -> str:
    left = "" if math.isnan(now.seconds_left) else f"{timedelta(seconds=round(now.seconds_left))} left"
    return f"{now.people_per_second:,.0f} people/s, {now.found:.0%} found, {left}".replace("nan", "–")
