"""The few errors leastways raises. Each is also the builtin a caller would expect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

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


def nearest(name: object, known: Iterable[object]) -> str:
    """Return ``" Did you mean 'x'?"`` for the closest known name, or an empty string.

    Names that differ by case or blanks alone come first: 'male' is nearer to 'Female' than to 'Male' by its letters.
    """
    by_text, text = {str(k): plain(k) for k in known}, str(name)
    alike = [k for k in by_text if k != text and k.strip().casefold() == text.strip().casefold()]
    match = [text] if text in by_text else alike or get_close_matches(text, by_text, n=1)
    return f" Did you mean {by_text[match[0]]!r}?" if match else ""


def listed(values: Sequence[Any], limit: int = 8) -> str:
    """Show values for a message, cut after `limit`."""
    shown = ", ".join(repr(plain(v)) for v in list(values)[:limit])
    return shown + (f", ... ({len(values)} in all)" if len(values) > limit else "")


def plain(value: Any) -> Any:
    """Turn a numpy scalar into the Python value a reader expects to see."""
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 else value
