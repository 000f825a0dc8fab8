"""What the texts of a CSV column mean: by the schema's feature, or, where there is none, by a careful guess."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from leastways._messages import listed
from leastways.errors import DataError
from leastways.schema import Feature
from leastways.schema.validation import may_hold_none

# Missing where numbers are expected. Among texts only an empty field is missing: these may be categories.
_NO_NUMBER = {"", "na", "n/a", "#n/a", "nan", "null", "none", "<na>"}
_LEADING_ZERO = re.compile(r"[+-]?0\d")  # 01234: a code made of digits, which a number would cut short
_TRUTH = ({"True", "False"}, {"true", "false"}, {"TRUE", "FALSE"})


def typed_column(texts: Sequence[str], feature: Feature) -> pd.Series[Any]:
    """Read a column as its feature is. What cannot be read stays as it is written, to be reported row by row."""
    if feature.numeric:
        return _as_dtype(_numbers(texts), feature.dtype)
    meant = {text: category_value(text, feature) for text in set(texts)}
    column = with_nan(pd.Series([meant[text] for text in texts], dtype=object), feature)
    if not column.isin(list(feature.values)).all():
        return column
    if feature.dtype == "category":
        return column.astype(pd.CategoricalDtype(list(feature.categories), feature.categories_ordered))
    return column.astype(feature.dtype)  # type: ignore[call-overload, no-any-return]


def with_nan(column: pd.Series[Any], feature: Feature) -> pd.Series[Any]:
    """Write NaN where a file has nothing and None would be taken for something else."""
    return column.where(column.notna(), math.nan) if feature.missing and may_hold_none(feature, column) else column


def category_value(text: str, feature: Feature) -> Any:
    """Return the category that a text names ('1' is 1 where categories are numbers); the text if it names none."""
    for candidate in (text, text.strip()):
        for value in feature.values:
            if _names(candidate, value):
                return value
    return text if text.strip() else None


def _names(text: str, value: Any) -> bool:
    if isinstance(value, bool):
        return text.lower() == str(value).lower()
    if isinstance(value, int | float):
        return number(text) == value
    return text == str(value)


def guessed_column(texts: Sequence[str]) -> pd.Series[Any]:
    """Read a column that no schema describes: numbers, truth values or text, as pandas would, but less eagerly."""
    given = [t for t in texts if t.strip().lower() not in _NO_NUMBER]
    if given and not any(_LEADING_ZERO.match(t.strip()) for t in given):
        if set(given) in _TRUTH and len(given) == len(texts):
            return pd.Series([t.lower() == "true" for t in texts], dtype=bool)
        if all(number(t) is not None for t in given):
            return _numbers(texts)
    return pd.Series([t if t.strip() else None for t in texts])


def labels_column(texts: Sequence[str], name: str | None, where: str) -> pd.Index[Any]:
    """Read people's labels: whole numbers if all of them are written as such (007 is not), else text."""
    empty = [place for place, text in enumerate(texts) if not text.strip()]
    if empty:
        raise DataError(f"{where}: the label of a person is missing in row(s) {listed(empty)}, counted from 0.")
    try:
        whole = [int(text) for text in texts]
    except ValueError:
        return pd.Index(texts, name=name)
    return pd.Index(whole if [str(n) for n in whole] == list(texts) else texts, name=name)


def number(text: str) -> int | float | None:
    """Return the number that a text is, or None."""
    if "_" in text:  # Python's own notation, not a file's
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return None
    return None if math.isnan(value) else value


def _numbers(texts: Sequence[str]) -> pd.Series[Any]:
    """Read numbers; a text that is none stays among them, and makes this a column of objects."""
    values: list[Any] = []
    for text in texts:
        value = number(text)
        missing = value is None and text.strip().lower() in _NO_NUMBER
        values.append(math.nan if missing else text if value is None else value)
    return pd.Series(values, dtype=object).infer_objects()


def _as_dtype(column: pd.Series[Any], dtype: str) -> pd.Series[Any]:
    """Bring numbers to the training table's dtype where that keeps every value."""
    if not pd.api.types.is_numeric_dtype(column.dtype):
        return column
    try:
        cast = column.astype(dtype)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return column
    same = pd.api.types.is_float_dtype(cast.dtype) or bool((cast == column).all())
    return cast if same else column
