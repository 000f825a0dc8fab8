"""Single values of tables and settings: as plain Python values, and whether they are missing."""

from __future__ import annotations

from typing import Any

import pandas as pd


def plain(value: Any) -> Any:
    """Turn a numpy scalar into the Python value a reader expects to see."""
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 else value


def value_or_none(value: Any) -> Any:
    """Return a cell of a table as a plain Python value, None where it is missing."""
    value = plain(value)
    missing = value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)
    return None if missing else value


def is_missing(value: Any) -> bool:
    """Whether a single value is None, NaN or one of pandas' own words for it."""
    return value_or_none(value) is None
