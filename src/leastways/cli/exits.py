"""What the exit codes mean, and the one place where an error becomes a message and a code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import typer
from rich.text import Text

from leastways.cli.screen import notes, print_json
from leastways.errors import LeastwaysError, ModelError, SearcherError

BAD_INPUT, MODEL_FAILED, SOME_FAILED, INTERRUPTED = 2, 3, 4, 130

MEANINGS = (
    "Exit codes: 0 all went well · 1 a fault in leastways itself (with a traceback) · 2 wrong usage or bad input · "
    "3 the model failed · 4 finished and written, but some rows could not be used or the model failed on them, or "
    "answers to a study are missing or unusable, or a replayed answer differs · 130 interrupted."
)


@contextmanager
def errors_shown(as_json: bool, from_file: bool = False) -> Iterator[None]:
    """Turn what the user can mend into a message and an exit code. Anything else is a bug, and stays a traceback.

    `from_file`: the settings of this command stand in a service's file, and are named as they are there.
    """
    names = _KEYS if from_file else _OPTIONS
    try:
        yield
    except (ModelError, SearcherError) as error:
        _leave(error, MODEL_FAILED, as_json, names)
    except LeastwaysError as error:
        _leave(error, BAD_INPUT, as_json, names)
    except KeyboardInterrupt:
        notes().print("Interrupted. Files are written whole or not at all: no half of one is left.", style="yellow")
        raise typer.Exit(INTERRUPTED) from None


def _leave(error: LeastwaysError, code: int, as_json: bool, names: Mapping[str, str]) -> None:
    """Say what is wrong, on stderr; with `--json` also as the one document on stdout."""
    message = _named(str(error), names)
    notes().print(Text.assemble(("Error: ", "bold red"), message), soft_wrap=True)
    if as_json:
        print_json({"error": {"kind": type(error).__name__, "message": message, "exit_code": code}})
    raise typer.Exit(code) from error


def _setting(name: str) -> str:
    """Match a setting; not a column or a file that happens to have its name, which stands in quotes."""
    return rf"(?<![.\w'\"/-]){name}\b"


# What a Python user writes, and what is typed here; longer names first.
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
# And what is written into a service's file.
_KEYS = {
    r"pass trust=True, or the list of these names as trust=": "write trust: true into the service's file",
    r"pass trust=True": "write trust: true into the service's file",
    r"file with trust=True": "file with trust: true in the service's file",
    r"Pass threshold=(\d[\d.]*\d)": r"Write threshold: \1 into the service's file",
    _setting("random_state"): "seed",
}


def _named(message: str, names: Mapping[str, str]) -> str:
    """Name settings as the user of this command writes them."""
    for python, name in names.items():
        message = re.sub(python, name, message)
    return message
