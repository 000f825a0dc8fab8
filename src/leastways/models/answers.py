"""Reading what a model returned: its shape, its type, and the column of the wanted class."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import infer_dtype, is_float_dtype

from leastways._messages import plain
from leastways.errors import ModelError, SettingError
from leastways.models.base import FloatArray
from leastways.models.labels import NUMBERS, column_of, label_matches, same_label
from leastways.models.labels_seen import LabelsSeen

TOLERANCE = 1e-9
"""How far outside [0, 1] a float64 probability may lie and still count as rounding."""
BELOW_HALF = float(np.nextafter(0.5, 0.0))
"""What a tie at one half is given as where the model itself calls it a no."""
_FLOAT_KINDS = {"floating", "mixed-integer-float", "decimal"}


def describe(answer: object) -> str:
    """Say what came back, short enough for a message: type, dtype and shape."""
    parts = [type(answer).__name__]
    if (dtype := getattr(answer, "dtype", None)) is not None:
        parts.append(f"of {dtype}")
    if (shape := getattr(answer, "shape", None)) is not None:
        parts.append(f"with shape {tuple(shape)}")
    elif isinstance(answer, Sequence):
        parts.append(f"of length {len(answer)}")
    return " ".join(parts)


def told(error: Exception) -> str:
    """Say what went wrong in the model: our own words where we have them, else what it raised."""
    if isinstance(error, ModelError):
        return str(error)
    return f"The model raised {type(error).__name__}: {str(error).rstrip('.')}."


def as_series(answer: object) -> pd.Series:
    """Wrap a 1-D answer of any kind, with the frame's own index dropped: answers are by position."""
    if isinstance(answer, pd.Series):
        return answer.reset_index(drop=True)
    known = isinstance(answer, list | tuple | pd.Index | pd.api.extensions.ExtensionArray | np.ndarray)
    return pd.Series(answer if known else np.asarray(answer))


def as_probabilities(answer: object, rows: int) -> FloatArray:
    """Check that `answer` is one number per row and return float64 [rows], rounding at 0 and 1 removed.

    Values that are NaN or truly outside [0, 1] are kept as they are: only the meter, which has the rows,
    reports them.
    """
    if isinstance(answer, np.ndarray) and answer.shape == (rows,) and answer.dtype.kind == "f":
        return snap(answer.astype(np.float64), rounding(answer.dtype))  # the common case, without pandas
    if shape_of(answer) != (rows,):
        raise ModelError(f"The model must return one probability per row, shape ({rows},), not {describe(answer)}.")
    series = as_series(answer)
    kind = infer_dtype(series, skipna=True)
    if kind not in NUMBERS and not series.isna().all():
        raise ModelError(f"The model must return numbers, not {describe(answer)} holding {kind} values.")
    return snap(series.to_numpy(dtype=np.float64, na_value=np.nan), rounding(series.dtype))


def rounding(dtype: Any) -> float:
    """Return the rounding a sum of probabilities may show: more in float32, where 1.0000004 is common."""
    name = np.dtype(dtype) if isinstance(dtype, np.dtype) else np.dtype(np.float64)
    return max(TOLERANCE, 16 * float(np.finfo(name).eps)) if name.kind == "f" else TOLERANCE


def snap(values: FloatArray, tolerance: float) -> FloatArray:
    """Clip what is within `tolerance` of [0, 1]; leave what is further outside, and NaN, to be reported."""
    near = (values >= -tolerance) & (values <= 1 + tolerance)
    return np.where(near, np.clip(values, 0.0, 1.0), values)


def unusable(values: FloatArray) -> npt.NDArray[np.bool_]:
    """Mark NaN and what lies outside [0, 1]."""
    return ~((values >= 0.0) & (values <= 1.0))


def read_answer(answer: object, target: object, rows: int, seen: LabelsSeen | None = None) -> FloatArray:
    """Read what a callable returned: 1-D floats are P(target), 2-D class probabilities, the rest labels."""
    if isinstance(answer, np.ndarray) and answer.shape == (rows,) and answer.dtype.kind == "f":
        return as_probabilities(answer, rows)
    names = list(answer.columns) if isinstance(answer, pd.DataFrame) else None
    if isinstance(answer, pd.DataFrame):
        answer = _frame_column(answer, target)
    shape = shape_of(answer)
    if not shape or shape[0] != rows or len(shape) > 2 or 0 in shape[1:]:
        raise ModelError(
            f"The model must return a value, or a row of class probabilities, for each of the {rows} rows, "
            f"not {describe(answer)}."
        )
    if len(shape) == 2 and shape[1] > 1:
        return _index_column(np.asarray(answer), target, rows, names)
    series = as_series(np.asarray(answer)[:, 0] if len(shape) == 2 else answer)
    if _holds_floats(series):
        return as_probabilities(series, rows)
    return label_matches(series, target, "the model", seen)


def check_order(answer: object, rows: pd.Index) -> None:
    """Refuse answers whose labels are those of the rows in another order: answers are read by position.

    A default index says nothing: many a function makes a new Series of what its model returned.
    """
    if not isinstance(answer, pd.Series | pd.DataFrame) or len(answer) != len(rows) or answer.index.equals(rows):
        return
    if not answer.index.is_unique or not rows.is_unique or answer.index.equals(pd.RangeIndex(len(rows))):
        return
    labels, asked = answer.index.to_numpy(dtype=object), rows.to_numpy(dtype=object)
    place = {label: i for i, label in enumerate(asked)}  # not compared with each other: NA is neither equal nor unequal
    places = [place.get(label, -1) for label in labels]
    moved = [i for i, other in enumerate(places) if i != other]
    if moved and min(places) >= 0:
        first = moved[0]
        raise ModelError(
            f"The model returned its answers in another order than the rows: where row {plain(asked[first])!r} was "
            f"asked about stands the answer for row {plain(labels[first])!r}. Return them in the order of the "
            "rows, such as answers.loc[frame.index]."
        )


def shape_of(answer: Any) -> tuple[int, ...]:
    """Return the answer's shape; nested lists of unequal length have none."""
    try:
        return tuple(np.shape(answer))
    except ValueError as error:
        raise ModelError(f"The model returned {describe(answer)} whose rows differ in length.") from error


def _frame_column(answer: pd.DataFrame, target: object) -> object:
    """Take the column named like the target, or the only one; else leave the numbers to be indexed."""
    for position, name in enumerate(answer.columns):
        if same_label(name, target) or answer.shape[1] == 1:
            return answer.iloc[:, position]
    return answer.to_numpy()


def _index_column(values: npt.NDArray[Any], target: object, rows: int, names: Sequence[object] | None) -> FloatArray:
    """Take column number `target` of class probabilities [n, k], whose classes have no names, or none like it."""
    wanted, k = plain(target), values.shape[1]
    if isinstance(wanted, Integral) and 0 <= int(wanted) < k:
        return as_probabilities(values[:, int(wanted)], rows)
    if names is not None:
        return as_probabilities(values[:, column_of(target, names, "the model")], rows)
    raise SettingError(
        f"The model returns {k} class probabilities per row, so target must be a column number "
        f"0..{k - 1}, not {wanted!r}."
    )


def _holds_floats(series: pd.Series) -> bool:
    """Say whether 1-D values are probabilities: floats, in any dtype but a categorical."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        return False
    return is_float_dtype(series.dtype) or infer_dtype(series, skipna=True) in _FLOAT_KINDS
