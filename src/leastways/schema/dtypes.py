"""Names of column types that pandas turns back into the very same type."""

from __future__ import annotations

from typing import Any

import pandas as pd


def dtype_name(dtype: Any) -> str:
    """Return a name for a dtype. pandas tells its kinds of text apart, but not by how it prints them."""
    text = str(dtype)
    if isinstance(dtype, pd.StringDtype) and text == "string":
        return f"string[{dtype.storage}]"
    if isinstance(dtype, pd.ArrowDtype) and text == "string[pyarrow]":  # which would be the one above
        return "utf8[pyarrow]"
    return text
