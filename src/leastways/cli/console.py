"""What a command shows: results on stdout, notes, errors and progress on stderr, and the exit code.

With `--json`, stdout holds one JSON document and nothing else.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer
from rich.console import Console
from rich.text import Text

from leastways._progress import count_bar, share_bar
from leastways.errors import FAULTS, LeastwaysError, fault_of

if TYPE_CHECKING:
    from leastways.batch import Progress

JsonFlag = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout, and nothing else there.")]
NO_PICTURES = "The report has no pictures. This brings them: pip install 'leastways[plots]'"
_PIPE_WIDTH = 100  # columns where there is no terminal to ask


def screen() -> Console:
    """Return the console for results."""
    return _console(stderr=False)


def say(text: str) -> None:
    """Print a line among the results, without interpreting markup or breaking lines."""
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
    """Return the command that runs this program: its name if the shell finds it, else its path."""
    called = sys.argv[0]
    if Path(called).stem == "leastways":
        return _typed(called, "leastways")
    return f"{_typed(sys.executable or 'python', 'python')} -m leastways"


def _typed(called: str, name: str) -> str:
    """Return `name` if the shell finds this program by it, else the path; links are not followed."""
    found = shutil.which(name)
    if called == name or (found is not None and os.path.abspath(found) == os.path.abspath(called)):
        return name
    return shlex.quote(called)


@contextmanager
def stdout_aside() -> Iterator[None]:
    """Send to stderr what a model prints while it is loaded or evaluated, so that stdout holds results alone.

    The file descriptor of stdout is redirected too, where there is one: worker processes write to it.
    """
    ours, other = _descriptor(sys.stdout), _descriptor(sys.stderr)
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


def _descriptor(stream: TextIO | None) -> int | None:
    """Flush a stream and return its file descriptor, None where it has none."""
    if stream is None:
        return None
    try:
        stream.flush()
        return stream.fileno()
    except (OSError, ValueError):
        return None


def print_json(data: dict[str, Any]) -> None:
    """Print one JSON document, in ASCII, which every terminal's encoding can show."""
    sys.stdout.write(json.dumps(data, indent=2, allow_nan=False) + "\n")


def progress_bar(text: str) -> AbstractContextManager[Callable[[float], None]]:
    """Show a bar on stderr where that is a terminal; gives a function that takes the share done."""
    return share_bar(text, notes())


@contextmanager
def people_bar(text: str) -> Iterator[Callable[[Progress], None]]:
    """Show how many people are done, how fast, how many have an option, and how much time is left."""
    with count_bar(text, notes()) as show:
        yield lambda now: show(now.done, now.total, _figures(now))


def _figures(now: Progress) -> str:
    left = "" if math.isnan(now.seconds_left) else f"{timedelta(seconds=round(now.seconds_left))} left"
    return f"{now.people_per_second:,.0f} people/s, {now.found:.0%} found, {left}".replace("nan", "–")


# Exit codes that no class of errors stands for; the others are in `leastways.errors.FAULTS`.
SOME_FAILED, INTERRUPTED = 4, 130
EXIT_CODES = (
    "Exit codes: 0 all went well · 1 a fault in leastways itself (with a traceback) · 2 wrong usage or bad input · "
    "3 the model failed · 4 finished and written, but some rows could not be used or the model failed on them, or "
    "answers to a study are missing or unusable, or a replayed answer differs · 130 interrupted."
)


@contextmanager
def errors_shown(as_json: bool, from_file: bool = False) -> Iterator[None]:
    """Turn errors that a user can correct into a message and an exit code; others are bugs, and keep their traceback.

    `from_file`: the settings of this command are in a service's file, and the message names them as they are there.
    """
    names = _KEYS if from_file else _OPTIONS
    try:
        yield
    except LeastwaysError as error:
        _leave(error, as_json, names)
    except KeyboardInterrupt:
        notes().print("Interrupted. Files are written whole or not at all: none is left half written.", style="yellow")
        raise typer.Exit(INTERRUPTED) from None


def _leave(error: LeastwaysError, as_json: bool, names: Mapping[str, str]) -> None:
    """Show what is wrong on stderr, with `--json` also as the one document on stdout, and end with its exit code."""
    code = FAULTS[LeastwaysError].exit_code if (fault := fault_of(error)) is None else fault.exit_code
    message = _named(str(error), names)
    notes().print(Text.assemble(("Error: ", "bold red"), message), soft_wrap=True)
    if as_json:
        print_json({"error": {"kind": type(error).__name__, "message": message, "exit_code": code}})
    raise typer.Exit(code) from error


def _setting(name: str) -> str:
    """Return a pattern for a setting, but not for a column or file of the same name (in quotes)."""
    return rf"(?<![.\w'\"/-]){name}\b"


# Settings as Python users write them, and as they are typed here; longer names first.
_OPTIONS = {
    r"pass trust=True, or the list of these names as trust=": "give --trust (in a service's file: trust: true)",
    r"pass trust=True": "give --trust (in a service's file: trust: true)",
    r"file with trust=True": "file with --trust (in a service's file: trust: true)",
    r"go into groups": "go into --groups",
    r"Pass threshold=(\d[\d.]*\d)": r"Give --threshold \1 (in a service's file: threshold: \1)",
    r"pass it as target=": "give it as --target",
    r"so target must be a column number": "so --target, the wanted answer, must be a column number",
    r"^target=(.*)": r"--target \1 It is the label of the wanted answer, 1 if left out, and not the name of a column.",
    r"\b([Dd]rop it)\b": r"\1 (--drop)",
    r"(?<![.\w-])costs must be a CostDistribution or one of": "--distribution must be one of",
    r"\bmethod=\"([^\"]+)\"": r"--method \1",
    _setting("random_state"): "--seed",
    _setting("n_options"): "--options",
    _setting("n_costs"): "--n-costs",
    _setting("satisfied_below"): "--satisfied-below",
    _setting("uncovered_cost"): "--uncovered-cost",
    _setting("time_limit"): "--time-limit",
}
# The same, as they are written in a service's file.
_KEYS = {
    r"pass trust=True, or the list of these names as trust=": "write trust: true into the service's file",
    r"pass trust=True": "write trust: true into the service's file",
    r"file with trust=True": "file with trust: true in the service's file",
    r"Pass threshold=(\d[\d.]*\d)": r"Write threshold: \1 into the service's file",
    _setting("random_state"): "seed",
}


def _named(message: str, names: Mapping[str, str]) -> str:
    """Return a message with settings named as the user of this command writes them."""
    for python, name in names.items():
        message = re.sub(python, name, message)
    return message
