"""Read what a model returned: probabilities, labels or logits, for one target."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral, Number, Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import infer_dtype, is_float_dtype
from scipy.special import expit, softmax

from leastways._messages import listed, nearest
from leastways._values import plain
from leastways.errors import ModelError, SettingError
from leastways.models.base import FloatArray, Model, describe

TOLERANCE = 1e-9
"""How far outside [0, 1] a float64 probability may lie and still count as rounding."""
BELOW_HALF = float(np.nextafter(0.5, 0.0))
"""Given for a tie at one half that the model itself rejects."""
_FLOAT_KINDS = {"floating", "mixed-integer-float", "decimal"}


def error_text(error: Exception) -> str:
    """Describe a model failure: our own message if there is one, else the exception."""
    if isinstance(error, ModelError):
        return str(error)
    return f"The model raised {type(error).__name__}: {str(error).rstrip('.')}."


def as_series(answer: object) -> pd.Series:
    """Return a 1-D answer of any kind as a Series without the frame's index: answers are read by position."""
    if isinstance(answer, pd.Series):
        return answer.reset_index(drop=True)
    known = isinstance(answer, list | tuple | pd.Index | pd.api.extensions.ExtensionArray | np.ndarray)
    return pd.Series(answer if known else np.asarray(answer))


def as_probabilities(answer: object, rows: int) -> FloatArray:
    """Check that `answer` is one number per row and return float64 [rows], rounding at 0 and 1 removed.

    Values that are NaN or truly outside [0, 1] are kept as they are: `QueryCounter`, which has the rows, reports them.
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
    """Clip values within `tolerance` of [0, 1]; leave others outside, and NaN, to be reported."""
    near = (values >= -tolerance) & (values <= 1 + tolerance)
    return np.where(near, np.clip(values, 0.0, 1.0), values)


def unusable(values: FloatArray) -> npt.NDArray[np.bool_]:
    """Return a mask of NaN and of values outside [0, 1]."""
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
    """Refuse outputs whose index is the rows' index in another order: outputs are read by position.

    A default index tells nothing: many functions make a new Series of what their model returned.
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
            f"expected, row {plain(labels[first])!r} was found. Return them in the order of the "
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
    """Return column number `target` of class probabilities [n, k] whose classes are unnamed, or not named like it."""
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
    """Return whether 1-D values are probabilities: floats, in any dtype but a categorical."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        return False
    return is_float_dtype(series.dtype) or infer_dtype(series, skipna=True) in _FLOAT_KINDS


NUMBERS = {"integer", "floating", "mixed-integer-float", "boolean", "decimal"}
"""What pandas' `infer_dtype` calls values that are numbers."""


def same_label(label: object, target: object) -> bool:
    """Return whether two labels are the same class: Python equality of plain values (1, 1.0, True are one)."""
    return bool(plain(label) == plain(target))


def column_of(target: object, classes: Sequence[object], owner: str) -> int:
    """Return the position of `target` in `classes`; `owner` names the model in messages."""
    for position, label in enumerate(classes):
        if same_label(label, target):
            return position
    raise SettingError(
        f"target={plain(target)!r} is not a class of {owner}; its classes are {listed(classes)}."
        f"{suggestion(target, classes)}"
    )


def suggestion(target: object, classes: Sequence[object]) -> str:
    """Suggest a class, as in ``" Did you mean 1?"``: the same text in another type or case, else similar text."""
    wanted = str(plain(target)).casefold()
    for label in classes:
        if str(plain(label)).casefold() == wanted:
            return f" Did you mean {plain(label)!r}?"
    return nearest(plain(target), [plain(label) for label in classes])


def label_matches(labels: pd.Series, target: object, owner: str, seen: LabelsSeen | None = None) -> FloatArray:
    """Turn labels into 1.0 (is `target`), 0.0 (is another) and NaN (no label, which `QueryCounter` reports).

    Text never equals a number: such a target would reject every row, so it is an error. Other mistakes in a target
    show only after many rows: `seen` keeps the labels.
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


_MANY = 20  # classes, at most, that a model is likely to have; more whole numbers are scores
_KEPT = 1000


@dataclass
class LabelsSeen:
    """Collects the labels a model gives, for as long as none of them is the target.

    It belongs to one adapter, and so to one call of `recommend`. Threads that share it only add to it.
    """

    target: Any = None
    found: bool = False
    labels: set[Any] = field(default_factory=set)

    def note(self, labels: pd.Series, target: object, same: FloatArray) -> None:
        """Add the labels of a call; `same` is 1.0 where they are the target."""
        if self.found:
            return
        if (same == 1.0).any():
            self.found = True
        elif len(self.labels) < _KEPT:
            self.target = target
            self.labels.update(label for label in labels.dropna().tolist() if isinstance(label, str | Real))

    def trouble(self, people: int) -> str:
        """Return a warning if the target may be wrong, else an empty string; raise where it must be.

        A model may reject every row: that alone is no error. A single person with one and the same label for all
        rows is not worth a warning either.
        """
        if self.found or not self.labels or (people == 1 and len(self.labels) == 1) or self._are_usual_numbers():
            return ""
        texts = [label for label in self.labels if isinstance(label, str)]
        if alike := [label for label in texts if _bare(label) == _bare(self.target)]:
            raise SettingError(
                f"target={self.target!r} was the label of no row; the model gives {listed(self._shown())}. "
                f"Did you mean {alike[0]!r}?"
            )
        scores = not texts and len(self.labels) > _MANY
        hint = (
            " These look like scores: pass what they decide, such as lambda frame: score(frame) >= 600."
            if scores
            else f"{nearest(self.target, texts)} If acceptance has another label, pass it as target=."
        )
        text = f"target={self.target!r} was the label of no row; the model gives {listed(self._shown())}.{hint}"
        if scores and isinstance(self.target, Real) and not min(self.labels) <= self.target <= max(self.labels):
            raise SettingError(text)
        return text

    def _are_usual_numbers(self) -> bool:
        """Return whether labels and target are the usual two numbers, 0 and 1 or -1 and 1."""
        known = {*self.labels, self.target}
        return known <= {0, 1} or known <= {-1, 1}

    def _shown(self) -> list[Any]:
        return sorted(self.labels, key=lambda label: (isinstance(label, str), label))


def check_labels_seen(model: Model, people: int) -> None:
    """Warn or raise if a model gave the target as a label for no row of all `people`."""
    for seen in seen_by(model):
        if text := seen.trouble(people):
            warnings.warn(text, RuntimeWarning, stacklevel=3)


def seen_by(model: Model) -> tuple[LabelsSeen, ...]:
    """Return the labels that a model's adapters have collected."""
    kept = getattr(model, "labels_seen", ())
    return tuple(seen for seen in kept if isinstance(seen, LabelsSeen)) if isinstance(kept, tuple) else ()


def _bare(label: object) -> str:
    """Return a text without case, spaces and punctuation."""
    return re.sub(r"[\W_]+", "", str(plain(label))).casefold()


_OUTPUTS = ("logits", "probability")


def check_output(output: str, owner: str) -> None:
    """Raise `SettingError` for an unknown kind of output."""
    if output not in _OUTPUTS:
        raise SettingError(f"{owner}: output={output!r} must be one of {listed(_OUTPUTS)}.")


def read_scores(
    scores: npt.NDArray[Any], target: object, classes: Sequence[object] | None, logits: bool, rows: int
) -> FloatArray:
    """Read a network's output: [n] or [n, 1] for the positive class, else [n, k] with a column per class."""
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    if scores.ndim not in (1, 2) or scores.shape[0] != rows or scores.dtype.kind not in "biuf":
        raise ModelError(
            f"The model must return numbers of shape ({rows},), ({rows}, 1) or ({rows}, classes), "
            f"not {describe(scores)}."
        )
    single = scores.ndim == 1
    names = _class_names(classes, 2 if single else scores.shape[1])
    column = column_of(target, names, "the model" if classes else "the model (without classes=, column numbers)")
    tolerance = rounding(scores.dtype)
    wide = scores.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        if single:
            positive = expit(wide) if logits else wide
            chosen = positive if column == 1 else 1.0 - positive
        else:
            chosen = (softmax(wide, axis=1) if logits else wide)[:, column]
    return snap(np.asarray(chosen, dtype=np.float64), tolerance)


def _class_names(classes: Sequence[object] | None, k: int) -> Sequence[object]:
    """Return the labels of k columns: those given, or 0..k-1."""
    if classes is None:
        return range(k)
    if len(classes) != k:
        raise SettingError(f"classes={listed(classes)} has {len(classes)} labels; the model has {k} classes.")
    return classes
