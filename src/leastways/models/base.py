"""The one thing the rest of the package asks of a model, and what needs a target before it can answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol, TypeAlias, runtime_checkable

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


class Unbound(ABC):
    """A wrapper that knows how to ask its model, but not yet for which class.

    The wanted class is a setting of `Recourse`, not of the model: `as_model` binds it. A class apart from
    `Model`, so that a wrapper without a target cannot be mistaken for one that answers.
    """

    @abstractmethod
    def bind(self, target: object, threshold: float) -> Model:
        """Return a `Model` for the class `target`; a row counts as accepted from `threshold` on."""
