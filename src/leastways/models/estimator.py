"""Adapters for estimators with the scikit-learn interface, and for callables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from leastways._values import plain
from leastways.errors import ModelError, SettingError
from leastways.models.answers import (
    BELOW_HALF,
    LabelsSeen,
    as_probabilities,
    as_series,
    check_order,
    column_of,
    label_matches,
    read_answer,
)
from leastways.models.base import FloatArray, Model, Split, columns_as_fitted, describe, one_worker, quiet_about_names
from leastways.models.libraries import Route, Ties, lean_call, library_of, nameless, usual_call


@dataclass(frozen=True)
class _Estimator(ABC):
    """An estimator evaluated by one of its methods, for one class."""

    method: ClassVar[str]
    estimator: Any
    target: object

    def probability(self, frame: pd.DataFrame) -> FloatArray:
        """Call the method and read the answer for the target."""
        with quiet_about_names(self.estimator), one_worker():
            answer = getattr(self.estimator, self.method)(columns_as_fitted(self.estimator, frame))
        return self._read(answer, len(frame))

    def split(self) -> Split:
        """Return the steps before the last as the encoder, and the fastest ways of its last step as decisions."""
        stages = Stages.of(self.estimator)
        ways = tuple(_then(route, self._read) for route in routes(stages.final, self.method))
        return Split(stages.encode, ways, stages.parts)

    @abstractmethod
    def _read(self, answer: Any, rows: int) -> FloatArray: ...


@dataclass(frozen=True)
class ProbabilityEstimator(_Estimator):
    """`predict_proba`, and the column of the target among `n_classes` (None: the target is the column).

    Where `predict` gives the class with the highest probability, one of two classes gets a tie at one half: usually
    the first. A tie that the target loses (to the last digit: 0.5 against 0.5000000000000001) is returned as just below
    one half, so that `predict` rejects no option because of a tie. Ties are common: searches end at the boundary, and
    an even number of trees puts many states right on it.
    """

    method = "predict_proba"
    column: int | None
    n_classes: int | None
    ties: Ties = "as they are"

    def _read(self, answer: Any, rows: int) -> FloatArray:
        if self.column is None:
            values = read_answer(answer, self.target, rows)
            several = isinstance(answer, np.ndarray) and answer.ndim == 2 and answer.shape[1] > 1
            return self._without_lost_ties(values, answer, int(plain(self.target))) if several else values
        if np.shape(answer) != (rows, self.n_classes):
            raise ModelError(
                f"predict_proba of {_name(self.estimator)} must return shape "
                f"({rows}, {self.n_classes}), not {describe(answer)}."
            )
        table = np.asarray(answer)
        return self._without_lost_ties(as_probabilities(table[:, self.column], rows), table, self.column)

    def _without_lost_ties(self, values: FloatArray, table: Any, column: int) -> FloatArray:
        if self.ties == "as they are":
            return values
        others = np.delete(table, column, axis=1) if table.shape[1] > 2 else table[:, 1 - column][:, None]
        first = np.arange(others.shape[1]) < column  # the others that come before the target
        loses_to = (others > values[:, None]) | ((others == values[:, None]) & (first == (self.ties == "first wins")))
        return np.where((values >= 0.5) & loses_to.any(axis=1), BELOW_HALF, values)


@dataclass(frozen=True)
class LabelEstimator(_Estimator):
    """`predict` alone: 1.0 where it gives the target, 0.0 elsewhere."""

    method = "predict"
    seen: LabelsSeen | None = field(default=None, repr=False, compare=False)  # where its classes are not known

    @property
    def labels_seen(self) -> tuple[LabelsSeen, ...]:
        """The labels it has given, where its classes are not known."""
        return () if self.seen is None else (self.seen,)

    def _read(self, answer: Any, rows: int) -> FloatArray:
        if np.shape(answer) == (rows, 1):
            answer = np.asarray(answer)[:, 0]
        if np.shape(answer) != (rows,):
            raise ModelError(
                f"predict of {_name(self.estimator)} must return one label per row, shape ({rows},), "
                f"not {describe(answer)}."
            )
        labels = as_series(answer)
        _refuse_fractions(labels, self.estimator)
        return label_matches(labels, self.target, _name(self.estimator), self.seen)


@dataclass(frozen=True)
class Stages:
    """The transformers of a (nested) Pipeline in order, and its last step; an estimator alone has no transformers."""

    whole: Any
    transformers: tuple[Any, ...]
    final: Any

    @classmethod
    def of(cls, estimator: Any) -> Stages:
        """Take apart Pipelines, and searches over settings, which answer through their best estimator."""
        transformers: list[Any] = []
        final = estimator
        while (unwrap := library_of(final).unwrap) is not None:
            before, final = unwrap(final)
            transformers += before
        return cls(estimator, tuple(transformers), final)

    def encode(self, frame: pd.DataFrame) -> Any:
        """Return what the last step is given."""
        with quiet_about_names(self.whole), one_worker():
            rows: Any = columns_as_fitted(self.whole, frame)
            for step in self.transformers:
                rows = step.transform(rows)
        return as_numbers(rows) if isinstance(rows, pd.DataFrame) else rows

    @property
    def parts(self) -> tuple[object, ...]:
        """All attribute values of the steps: fitting a step again replaces its own."""
        return tuple(
            part
            for step in (*self.transformers, self.final)
            for part in (step, *getattr(step, "__dict__", {}).values())
        )


def as_numbers(frame: pd.DataFrame) -> npt.NDArray[Any]:
    """Return a frame of numbers as the array scikit-learn makes of it: one type that holds all, column after column."""
    dtypes: list[np.dtype[Any]] = []
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        inner = dtype if isinstance(dtype, np.dtype) else np.dtype(np.float64)
        if not pd.api.types.is_numeric_dtype(dtype) or inner.kind not in "biuf":
            raise ModelError(f"Column {name!r} holds {dtype}, not numbers.")
        dtypes.append(inner)
    common = np.result_type(*dtypes)
    out = np.empty(frame.shape, dtype=common, order="F")
    for k in range(frame.shape[1]):
        out[:, k] = frame.iloc[:, k].to_numpy(dtype=common)
    return out


def routes(estimator: Any, method: str) -> Iterator[Route]:
    """List ways to `predict_proba`, or `predict`, on an array or sparse matrix, the fastest first.

    The library's own fast way; then the method with one thread or without checks, as it is, and with names.
    """
    library = library_of(estimator)
    if library.fast_proba is not None and method == "predict_proba":
        yield library.fast_proba(estimator)
    if library.one_thread is not None or library.unchecked is not None:
        yield lambda array: lean_call(library, estimator, method, array)
    yield lambda array: usual_call(nameless(estimator), method, array)
    if getattr(estimator, "feature_names_in_", None) is not None:
        yield lambda array: usual_call(estimator, method, pd.DataFrame(array, columns=estimator.feature_names_in_))


def adapt_estimator(estimator: Any, target: object, ties: Ties) -> Model:
    """Wrap an estimator that has been through `check_estimator`, for the class `target`."""
    classes = class_labels(estimator)
    column = None if classes is None else column_of(target, classes, _name(estimator))
    if callable(getattr(estimator, "predict_proba", None)):
        return ProbabilityEstimator(estimator, target, column, None if classes is None else len(classes), ties)
    return LabelEstimator(estimator, target, LabelsSeen() if classes is None else None)


def check_estimator(estimator: Any) -> None:
    """Raise `SettingError` for an estimator that is not fitted, or that predicts amounts and not classes."""
    from sklearn.base import BaseEstimator, is_regressor
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if not isinstance(estimator, BaseEstimator):
        return
    try:
        check_is_fitted(estimator)
    except NotFittedError as error:
        raise SettingError(f"The model {_name(estimator)} is not fitted: call its fit(...) first.") from error
    if is_regressor(estimator):
        raise SettingError(
            f"The model {_name(estimator)} is a regressor, which has no classes. If it predicts a "
            f"probability, pass a callable: lambda frame: model.predict(frame)."
        )


def class_labels(estimator: Any) -> Sequence[object] | None:
    """Return the estimator's classes, or None where it keeps none."""
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        return None
    if any(isinstance(label, list | np.ndarray) for label in classes):
        raise SettingError(
            f"The model {_name(estimator)} predicts several outputs at once; leastways needs one. Pass a "
            f"callable frame -> probability that picks it."
        )
    return list(classes)


def _then(route: Route, read: Callable[[Any, int], FloatArray]) -> Callable[[Any], FloatArray]:
    """Read what a route returns."""
    return lambda array: read(route(array), array.shape[0])


def _refuse_fractions(labels: pd.Series, estimator: object) -> None:
    """Raise `SettingError` for scores taken for labels: they would equal no target, so every row would be rejected."""
    if labels.dtype.kind == "f" and (fractions := labels[labels % 1 > 0]).size:
        raise SettingError(
            f"predict of {_name(estimator)} returns numbers such as {float(fractions.iloc[0])!r}, not "
            f"labels. If they are probabilities, pass a callable: lambda frame: model.predict(frame)."
        )


def _name(estimator: object) -> str:
    return type(estimator).__name__


@dataclass(frozen=True)
class FunctionModel:
    """A callable frame -> probability or label. Its answer may be an array, list, Series or DataFrame.

    - 1-D floats are P(target), even where they are only zeros and ones;
    - 2-D numbers are class probabilities, and the target is the column's number, or its name in a DataFrame;
    - all else (ints, bools, text, categoricals, objects) are labels, compared with the target.
    """

    function: Callable[[pd.DataFrame], object]
    target: object
    seen: LabelsSeen = field(default_factory=LabelsSeen, repr=False, compare=False)

    def probability(self, frame: pd.DataFrame) -> FloatArray:
        """Call the function and read its answer."""
        answer = self.function(frame)
        check_order(answer, frame.index)
        return read_answer(answer, self.target, len(frame), self.seen)

    @property
    def labels_seen(self) -> tuple[LabelsSeen, ...]:
        """The labels it has given."""
        return (self.seen,)

    def split(self) -> Split | None:
        """Return the halves of a callable that has methods `encode` and `probability_of`."""
        function: Any = self.function
        encode, decide = getattr(function, "encode", None), getattr(function, "probability_of", None)
        if not callable(encode) or not callable(decide):
            return None
        return Split(
            encode, (lambda array: read_answer(decide(array), self.target, len(array), self.seen),), (function,)
        )
