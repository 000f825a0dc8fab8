"""The few errors leastways raises. Each is also the builtin a caller would expect."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


class LeastwaysError(Exception):
    """Anything this package raises on purpose."""


class SchemaError(LeastwaysError, ValueError):
    """A schema, a rule or a schema file says something impossible or unknown."""


class DataError(LeastwaysError, ValueError):
    """A table does not fit the schema. `problems` lists every fault found, a row each."""

    def __init__(self, message: str, problems: pd.DataFrame | None = None) -> None:
        super().__init__(message)
        self.problems = problems


class PreferenceError(LeastwaysError, ValueError):
    """What a person told us contradicts the schema or itself."""


class SettingError(LeastwaysError, ValueError):
    """An option of a method or of `Recourse` has a value it cannot have."""


class ModelError(LeastwaysError, RuntimeError):
    """The user's model failed: it raised, or its answer is unusable. `rows` keeps what it was asked."""

    def __init__(self, message: str, rows: pd.DataFrame | None = None) -> None:
        super().__init__(message)
        self.rows = rows

    @property
    def unanswered(self) -> int:
        """How many rows were in a call that raised: they were never answered, so they cost no budget."""
        return 0 if self.__cause__ is None or self.rows is None else len(self.rows)


class SearcherError(LeastwaysError, RuntimeError):
    """A searcher broke its contract (asked for more than it may, or for an impossible state)."""


class MissingExtraError(LeastwaysError, ImportError):
    """An optional dependency is needed and not installed."""
