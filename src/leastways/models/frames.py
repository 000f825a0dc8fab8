"""Handing raw frames to other people's code: models, fitted scikit-learn objects, encoders."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from leastways.errors import ModelError, SettingError
from leastways.models.answers import describe
from leastways.models.threads import one_worker

_COPY_ON_WRITE = int(pd.__version__.split(".")[0]) >= 3


class Transformer(Protocol):
    """A fitted transformer, as scikit-learn has them."""

    def transform(self, X: Any, /) -> Any:
        """Turn a frame into numbers, dense or sparse."""


Encoder: TypeAlias = Callable[[pd.DataFrame], Any] | Transformer
"""What turns raw rows into a model's numbers: a callable frame -> float array, or a fitted transformer."""


def lend(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a copy that a model may change without reaching ours: free where pandas copies on write."""
    return frame.copy(deep=not _COPY_ON_WRITE)


def columns_as_fitted(fitted: object, frame: pd.DataFrame) -> pd.DataFrame:
    """Put the columns in the order `fitted` saw, leaving out those it never saw.

    Where one it saw is missing the frame goes through as it is: a ColumnTransformer may not need that column,
    and an estimator that does says so better than we could.
    """
    names = getattr(fitted, "feature_names_in_", None)
    if names is None or list(names) == list(frame.columns) or not set(names) <= set(frame.columns):
        return frame
    return frame[list(names)]


@contextmanager
def quiet_about_names(fitted: object) -> Iterator[None]:
    """Silence scikit-learn's warning that a model fitted on a bare array is given a frame.

    A search would repeat it thousands of times. Frames are all we have, and their column order is the
    array's.
    """
    if hasattr(fitted, "feature_names_in_"):
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X has feature names, but", category=UserWarning)
        yield


def check_encoder(encoder: object, owner: str) -> None:
    """Refuse, at construction, an encoder that cannot be called."""
    if isinstance(encoder, type) or not (callable(encoder) or callable(getattr(encoder, "transform", None))):
        raise SettingError(
            f"{owner}: encoder must be a callable frame -> float array or a fitted transformer with "
            f".transform, not {encoder!r}."
        )


def encode(encoder: Encoder, frame: pd.DataFrame) -> npt.NDArray[Any]:
    """Return the encoder's numbers, dense, one entry along the first axis per row of `frame`."""
    encoded: Any
    if callable(encoder):
        encoded = encoder(frame)
    else:
        with quiet_about_names(encoder), one_worker():
            encoded = encoder.transform(columns_as_fitted(encoder, frame))
    if hasattr(encoded, "toarray"):
        encoded = encoded.toarray()
    array = np.asarray(encoded)
    if array.ndim < 2 or array.shape[0] != len(frame):
        raise ModelError(f"The encoder must return a row for each of the {len(frame)} rows, not {describe(encoded)}.")
    if array.dtype.kind in "biuf":
        return array
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"The encoder must return numbers, not {describe(encoded)}: {error}") from error
