"""Reading a network's output, logits or probabilities, for one class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

from leastways._messages import listed
from leastways.errors import ModelError, SettingError
from leastways.models.answers import describe, rounding, snap
from leastways.models.base import FloatArray
from leastways.models.labels import column_of

_OUTPUTS = ("logits", "probability")


def check_output(output: str, owner: str) -> None:
    """Refuse an unknown kind of output."""
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
