"""The errors that leastways raises, each also the builtin that a caller would expect, and one table of what they mean.

The table `FAULTS` says, for each class, which status an HTTP service answers with, which exit code the command line
ends with, and a title. A room with errors of its own adds them: ``FAULTS[NotKnown] = Fault(...)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


class LeastwaysError(Exception):
    """Base class of everything that this package raises on purpose."""


class SchemaError(LeastwaysError, ValueError):
    """A schema, a rule or a schema file says something impossible or unknown."""


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
class Fault:
    """What a class of errors means to those who do not see Python exceptions.

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
}


def fault_of(error: Exception) -> Fault | None:
    """Return what an error means: the entry of its nearest class in `FAULTS`, None for an unexpected error."""
    return next((FAULTS[kind] for kind in type(error).__mro__ if kind in FAULTS), None)
