"""The one thing the rest of the package asks of a model, and what needs a target before it can answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
import pandas as pd

FloatArray: TypeAlias = npt.NDArray[np.float64]


@runtime_checkable
class Model(Protocol):
    """A model as the search sees it: raw rows in, the probability of the wanted class out."""

    def probability(self, frame: pd.DataFrame) -> FloatArray:
        """Return P(target) of each row, in row order: float64 [n]. The frame may be changed freely."""
        ...


@dataclass(frozen=True)
class Split:
    """A model as two halves: an encoder from raw rows to numbers, and a decision on those numbers.

    A `Model` may offer it by a method ``split() -> Split | None``. It is a claim, not a promise: whoever uses it
    compares both halves with `probability` first (see `leastways.models.tabulated`), so an adapter may offer what is
    only likely to hold.
    """

    encode: Callable[[pd.DataFrame], Any]
    """A frame to numbers, a row each: an array, or a scipy sparse matrix."""
    decisions: tuple[Callable[[Any], FloatArray], ...]
    """Ways from those numbers to P(target), the fastest first."""
    parts: tuple[object, ...] = ()
    """The objects both halves read. A part replaced by another object, as fitting again does, is a new model."""


class Unbound(ABC):
    """A wrapper that knows how to ask its model, but not yet for which class.

    The wanted class is a setting of `Recourse`, not of the model: `as_model` binds it. A class apart from
    `Model`, so that a wrapper without a target cannot be mistaken for one that answers.
    """

    @abstractmethod
    def bind(self, target: object, threshold: float) -> Model:
        """Return a `Model` for the class `target`; a row counts as accepted from `threshold` on."""


def split_of(model: Model) -> Split | None:
    """Return the halves a model offers, if any; one that cannot be taken apart is used whole."""
    split = getattr(model, "split", None)
    if not callable(split):
        return None
    try:
        halves = split()
    except Exception:  # a model that cannot be parted is asked as a whole, and reports its faults there
        return None
    return halves if isinstance(halves, Split) else None
