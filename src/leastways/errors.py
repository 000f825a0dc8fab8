"""The errors that leastways raises, each also the builtin that a caller would expect, and one table of what they mean.

The table `FAULTS` gives for each class the status of an HTTP response, the exit code of a command, and a title.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


class LeastwaysError(Exception):
    """Base class of everything that this package raises on purpose."""


class SchemaError(LeastwaysError, ValueError):
    """A schema, a rule or a schema file is contradictory, or has unknown entries."""


class DataError(LeastwaysError, ValueError):
    """A table does not fit the schema. `problems` lists every problem found, a row each."""

    def __init__(self, message: str, problems: pd.DataFrame | None = None) -> None:
        super().__init__(message)
        self.problems = problems


class PreferenceError(LeastwaysError, ValueError):
    """A person's preferences contradict the schema or each other."""


class SettingError(LeastwaysError, ValueError):
    """An option of a method or of `Recourse` has a value it cannot have."""


class ModelError(LeastwaysError, RuntimeError):
    """The user's model failed: it raised, or its output is unusable. `rows` keeps the rows of that call."""

    def __init__(self, message: str, rows: pd.DataFrame | None = None) -> None:
        super().__init__(message)
        self.rows = rows

    @property
    def unanswered(self) -> int:
        """The number of rows in a call that raised: they were not evaluated, so they cost no budget."""
        return 0 if self.__cause__ is None or self.rows is None else len(self.rows)


class SearcherError(LeastwaysError, RuntimeError):
    """A searcher broke its contract (asked for more than it may, or for an impossible state)."""


class MissingExtraError(LeastwaysError, ImportError):
    """An optional dependency is needed and not installed."""


@dataclass(frozen=True)
class FieldError:
    """One field of a request that is wrong: a JSON pointer to it, its name, and what is allowed."""

    pointer: str
    field: str
    message: str


class InputRefused(LeastwaysError, ValueError):
    """Fields of a request to the service are wrong; `errors` lists every one. Nothing was stored."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__("; ".join(f"{e.pointer}: {e.message}" for e in errors))
        self.errors = list(errors)


class NotFound(LeastwaysError, LookupError):
    """The service has no such answer, job, key or link, or no longer."""


class NotReady(NotFound):
    """The answer is pending: its job has not come to it yet."""


class JobFailed(NotReady):
    """The answer is pending, but its job has failed."""


class Busy(LeastwaysError, RuntimeError):
    """The service is at its limit; try again after `retry_after` seconds."""

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RefinementLimit(LeastwaysError, RuntimeError):
    """This person has the maximum number of answers that the service allows. The latest one is kept."""


class Superseded(LeastwaysError, RuntimeError):
    """A newer request of the same person replaced this one. Nothing was stored."""


class TimedOut(LeastwaysError, TimeoutError):
    """There was no answer within the time that a request may take. Nothing was stored."""


class DatabaseDown(LeastwaysError, RuntimeError):
    """The database cannot be reached, read or written at the moment."""


class ShuttingDown(LeastwaysError, RuntimeError):
    """The service is shutting down and accepts no new requests."""


@dataclass(frozen=True)
class Fault:
    """The status code, exit code and title of a class of errors.

    Parameters
    ----------
    kind
        A short name that does not change: the type of an HTTP problem.
    status
        The HTTP status.
    exit_code
        The exit code of a command.
    title
        What happened, in a few words.

    """

    kind: str
    status: int
    exit_code: int
    title: str


FAULTS: dict[type[Exception], Fault] = {
    LeastwaysError: Fault("wrong-input", 422, 2, "Some fields are wrong"),
    ModelError: Fault("model-failed", 502, 3, "The model failed"),
    SearcherError: Fault("wrong-input", 422, 3, "Some fields are wrong"),
    NotFound: Fault("not-found", 404, 2, "There is no such thing"),
    NotReady: Fault("not-ready", 404, 2, "The answer is not ready yet"),
    Busy: Fault("busy", 503, 2, "The service is at its limit"),
    RefinementLimit: Fault("refinement-limit", 409, 2, "This person has as many answers as the service allows"),
    Superseded: Fault("superseded", 409, 2, "A newer request of this person replaced this one"),
    TimedOut: Fault("timed-out", 504, 2, "The answer took too long"),
    DatabaseDown: Fault("database-down", 503, 2, "The database cannot be used just now"),
    ShuttingDown: Fault("shutting-down", 503, 2, "The service is shutting down"),
}


def fault_of(error: Exception) -> Fault | None:
    """Return what an error means: the entry of its nearest class in `FAULTS`, None for an unexpected error."""
    return next((FAULTS[kind] for kind in type(error).__mro__ if kind in FAULTS), None)


def without_contents(error: BaseException) -> str:
    """Describe an error by its type and where it happened, without its message, which may quote personal data."""
    frames = traceback.extract_tb(error.__traceback__)
    places = " < ".join(f"{f.filename}:{f.lineno} {f.name}" for f in reversed(frames[-12:]))
    cause = error.__cause__ or error.__context__
    more = f"; because of {without_contents(cause)}" if cause is not None and cause is not error else ""
    return f"{type(error).__name__} at {places}{more}"
