"""The interface of a model, and the form in which it gets raw rows.

`Model` is all that the search sees. `Unbound` is for wrappers that wait for a target, `Split` for models that part
into an encoder and a decision, `Combined` for models made of several. The functions below lend frames to code that
is not ours: models, fitted scikit-learn objects, encoders.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
import numpy.typing as npt
import pandas as pd
from joblib import parallel_backend

from leastways.errors import ModelError, SettingError

FloatArray: TypeAlias = npt.NDArray[np.float64]

_COPY_ON_WRITE = int(pd.__version__.split(".")[0]) >= 3


@runtime_checkable
class Model(Protocol):
    """A model as the search sees it: raw rows in, the probability of the target out.

    Any object with this method can be passed to `Recourse`:

    >>> import pandas as pd
    >>> class Affordable:
    ...     def probability(self, frame):
    ...         return (frame["income"] > 3 * frame["rent"]).to_numpy(float)
    ...
    >>> Affordable().probability(pd.DataFrame({"income": [1000, 2000], "rent": [500, 500]}))
    array([0., 1.])
    """

    def probability(self, frame: pd.DataFrame) -> FloatArray:
        """Return P(target) of each row, in row order: float64 [n]. The frame may be changed freely."""
        ...


@dataclass(frozen=True)
class Split:
    """A model as two halves: an encoder from raw rows to numbers, and a decision on those numbers.

    A `Model` may offer it by a method ``split() -> Split | None``. The package compares both halves with
    `probability` before it uses them (see `leastways.models.encoder_table`), so an adapter may offer what is only
    likely to hold.

    Parameters
    ----------
    encode
        A frame to numbers, one row each: an array, or a scipy sparse matrix.
    decisions
        Functions from those numbers to P(target), the fastest first.
    parts
        The objects both halves read. A part replaced by another object, as fitting again does, is a new model.
    """

    encode: Callable[[pd.DataFrame], Any]
    decisions: tuple[Callable[[Any], FloatArray], ...]
    parts: tuple[object, ...] = ()


class Unbound(ABC):
    """A wrapper that knows how to evaluate its model, but not yet for which target.

    The target is a setting of `Recourse`, not of the model: `as_model` binds it. The class is not a `Model`, so that
    a wrapper without a target cannot be mistaken for one that answers.
    """

    @abstractmethod
    def bind(self, target: object, threshold: float) -> Model:
        """Return a `Model` for the class `target`; a row counts as accepted from `threshold` on."""


@dataclass(frozen=True)
class Combined:
    """A model made of several bound ones, each with a threshold of its own."""

    members: tuple[Model, ...]
    thresholds: tuple[float, ...]


def split_of(model: Model) -> Split | None:
    """Return the halves a model offers, or None where it offers none or fails to."""
    split = getattr(model, "split", None)
    if not callable(split):
        return None
    try:
        halves = split()
    except Exception:  # it is used as a whole, and its errors are reported there
        return None
    return halves if isinstance(halves, Split) else None


class Transformer(Protocol):
    """A fitted transformer with scikit-learn's interface."""

    def transform(self, X: Any, /) -> Any:
        """Turn a frame into numbers, dense or sparse."""


Encoder: TypeAlias = Callable[[pd.DataFrame], Any] | Transformer
"""Turns raw rows into a model's numbers: a callable frame -> float array, or a fitted transformer."""


def check_encoder(encoder: object, owner: str) -> None:
    """Raise `SettingError` for an encoder that cannot be called."""
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


def lend(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a copy that a model may change without reaching ours: free where pandas copies on write."""
    return frame.copy(deep=not _COPY_ON_WRITE)


def columns_as_fitted(fitted: object, frame: pd.DataFrame) -> pd.DataFrame:
    """Put the columns in the order `fitted` saw, leaving out those it never saw.

    Where a column it saw is missing, the frame is returned as it is: a ColumnTransformer may not need that column,
    and an estimator that does reports it better than we could.
    """
    names = getattr(fitted, "feature_names_in_", None)
    if names is None or list(names) == list(frame.columns) or not set(names) <= set(frame.columns):
        return frame
    return frame[list(names)]


@contextmanager
def quiet_about_names(fitted: object) -> Iterator[None]:
    """Silence scikit-learn's warning that a model fitted on a bare array is given a frame.

    A search would repeat it thousands of times. Models are always given frames, whose columns are in the order of
    the array's.
    """
    if hasattr(fitted, "feature_names_in_"):
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X has feature names, but", category=UserWarning)
        yield


def one_worker() -> AbstractContextManager[object]:
    """Have scikit-learn's estimators work in the calling thread, whatever their `n_jobs`.

    The workers of a forest add up trees in the order in which they finish, so the last digits of an answer would
    differ from call to call. The setting is joblib's own, of this thread alone, and costs microseconds.
    """
    # Not `parallel_config`, which came with joblib 1.3: scikit-learn 1.5 is content with 1.2.
    return cast(AbstractContextManager[object], parallel_backend("sequential"))


def describe(answer: object) -> str:
    """Describe an answer for a message: type, dtype and shape."""
    parts = [type(answer).__name__]
    if (dtype := getattr(answer, "dtype", None)) is not None:
        parts.append(f"of {dtype}")
    if (shape := getattr(answer, "shape", None)) is not None:
        parts.append(f"with shape {tuple(shape)}")
    elif isinstance(answer, Sequence):
        parts.append(f"of length {len(answer)}")
    return " ".join(parts)
