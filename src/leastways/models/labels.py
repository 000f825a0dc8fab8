"""Comparing the class the user wants with the labels a model has, without mistaking 1 for '1'."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype

from leastways._messages import listed, nearest, plain
from leastways.errors import SettingError
from leastways.models.base import FloatArray
from leastways.models.labels_seen import LabelsSeen

NUMBERS = {"integer", "floating", "mixed-integer-float", "boolean", "decimal"}
"""What pandas' `infer_dtype` calls values that are numbers."""


def same_label(label: object, target: object) -> bool:
    """Say whether two labels mean the same class: Python equality of plain values (1, 1.0, True are one)."""
    return bool(plain(label) == plain(target))


def column_of(target: object, classes: Sequence[object], owner: str) -> int:
    """Return the position of `target` in `classes`; `owner` is who has these classes, for the message."""
    for position, label in enumerate(classes):
        if same_label(label, target):
            return position
    raise SettingError(
        f"target={plain(target)!r} is not a class of {owner}; its classes are {listed(classes)}."
        f"{suggestion(target, classes)}"
    )


def suggestion(target: object, classes: Sequence[object]) -> str:
    """Return ``" Did you mean 1?"``: first the same text in another type or case, then similar text."""
    wanted = str(plain(target)).casefold()
    for label in classes:
        if str(plain(label)).casefold() == wanted:
            return f" Did you mean {plain(label)!r}?"
    return nearest(plain(target), [plain(label) for label in classes])


def label_matches(labels: pd.Series, target: object, owner: str, seen: LabelsSeen | None = None) -> FloatArray:
    """Turn labels into 1.0 (is `target`), 0.0 (is another) and NaN (no label, which the meter reports).

    Text never equals a number: with such a target everybody would be refused without a word, hence an error. What
    else may be wrong with a target only shows after many rows: `seen` keeps the labels.
    """
    if isinstance(labels.dtype, pd.CategoricalDtype):
        labels = labels.astype(object)
    kind = infer_dtype(labels, skipna=True)
    wanted = plain(target)
    clash = (kind in NUMBERS and isinstance(wanted, str)) or (kind == "string" and isinstance(wanted, Number))
    if clash:
        given = list(labels.dropna().unique())
        raise SettingError(
            f"target={wanted!r} can never equal a label of {owner}, which are {listed(given)}."
            f"{suggestion(wanted, given)}"
        )
    same = (labels == wanted).to_numpy(dtype=np.float64, na_value=np.nan)
    answer = np.where(labels.isna(), np.nan, same)
    if seen is not None:
        seen.note(labels, wanted, answer)
    return answer
