"""What is known about each library's models: one record per library."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from operator import is_
from typing import Any, Literal, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import expit, softmax

from leastways.errors import ModelError
from leastways.models.base import columns_as_fitted, one_worker, quiet_about_names
from leastways.models.kernels import add_leaves

Array = npt.NDArray[Any]
Route = Callable[[Any], Any]
Ties = Literal["as they are", "first wins", "last wins"]


def routes(estimator: Any, method: str) -> Iterator[Route]:
    """List ways to `predict_proba`, or `predict`, on an array or sparse matrix, the fastest first.

    A way of our own; then the method without checks that the array is known to pass, as it is, and with names.
    """
    library, special = _library(estimator), _SPECIAL.get(type(estimator).__name__)
    if special is not None and method == "predict_proba" and library in _LIBRARIES:  # else it only shares its name
        yield special(estimator)
    if library == "sklearn":
        yield lambda array: _unchecked(estimator, method, array)
    if library == "xgboost":
        yield lambda array: _one_thread(estimator, method, array)
    yield lambda array: _usual(nameless(estimator), method, array)
    if getattr(estimator, "feature_names_in_", None) is not None:
        yield lambda array: _usual(estimator, method, pd.DataFrame(array, columns=estimator.feature_names_in_))


def nameless(estimator: Any) -> Any:
    """Return a shallow twin that does not know its columns' names, and so does not ask an array for them.

    The estimator itself is somebody else's: nothing is changed in it.
    """
    if "feature_names_in_" not in getattr(estimator, "__dict__", ()):
        return estimator
    twin = object.__new__(type(estimator))
    twin.__dict__.update(estimator.__dict__)
    del twin.__dict__["feature_names_in_"]
    return twin


def _unchecked(estimator: Any, method: str, array: Any) -> Any:
    """Call a scikit-learn estimator with its input checks off. Its configuration is one per thread."""
    from sklearn import config_context

    with config_context(assume_finite=True, skip_parameter_validation=True):
        if type(estimator).__name__.startswith("HistGradientBoosting"):
            return _one_thread(estimator, method, array)
        return _usual(nameless(estimator), method, array)


def _usual(estimator: Any, method: str, rows: Any) -> Any:
    with one_worker():
        return getattr(estimator, method)(rows)


def _one_thread(estimator: Any, method: str, array: Any) -> Any:
    return one_thread(_library(estimator), lambda: getattr(nameless(estimator), method)(array), array.shape[0])


def _library(estimator: Any) -> str:
    return type(estimator).__module__.split(".")[0]


def _logistic(estimator: Any) -> Route:
    def route(array: Any) -> Array:
        scores = array @ estimator.coef_.T + estimator.intercept_
        if scores.shape[1] > 1:
            return np.asarray(softmax(scores, axis=1))
        return _two_columns(expit(scores[:, 0]))

    return route


def _layers(estimator: Any) -> Route:
    """Return the forward pass of a multi-layer perceptron with rectified units and one output."""

    def route(array: Any) -> Array:
        if estimator.activation != "relu" or estimator.out_activation_ != "logistic":
            return np.empty((0, 0))  # no such network: differs from the real answer, and so is not used
        values = array
        for k, (weights, bias) in enumerate(zip(estimator.coefs_, estimator.intercepts_, strict=True)):
            values = values @ weights
            values += bias
            if k < len(estimator.coefs_) - 1:
                np.maximum(values, 0, out=values)
        return _two_columns(expit(values[:, 0]))

    return route


def _forest(estimator: Any) -> Route:
    """Return the mean over trees, in their order, without starting a pool of workers at every call."""

    def route(array: Any) -> Array:
        rows = np.ascontiguousarray(array, dtype=np.float32)
        trees = estimator.estimators_
        total = np.zeros((len(rows), int(estimator.n_classes_)))
        if len(rows) < MANY_ROWS:
            forest_trees(estimator).add_to(total, rows)
        else:
            for tree in trees:
                total += tree.tree_.predict(rows)
        total /= len(trees)
        return total

    return route


def _histograms(estimator: Any) -> Route:
    """Return boosted trees on few rows; many go the usual way, by threads."""

    def route(array: Any) -> Array:
        if len(array) >= MANY_ROWS:
            return np.asarray(_unchecked(estimator, "predict_proba", array))
        total = np.zeros((len(array), 1)) + estimator._baseline_prediction
        histogram_trees(estimator).add_to(total, array.astype(np.float64, copy=False))
        return _two_columns(expit(total[:, 0]))

    return route


def _tree(estimator: Any) -> Route:
    return lambda array: estimator.tree_.predict(np.ascontiguousarray(array, dtype=np.float32))


def _lightgbm(estimator: Any) -> Route:
    """Return the booster's own answer; for few rows, starting threads costs more than the trees."""

    def route(array: Any) -> Array:
        threads = {"num_threads": 1} if array.shape[0] < MANY_ROWS else {}
        positive = estimator.booster_.predict(array, validate_features=False, **threads)
        return _two_columns(positive) if positive.ndim == 1 else np.asarray(positive)

    return route


def _xgboost(estimator: Any) -> Route:
    """Return the booster's own answer for trees, up to the best round where training stopped early."""

    def route(array: Any) -> Array:
        booster = estimator.get_booster()
        rounds = (0, int(booster.attr("best_iteration") or -1) + 1)  # (0, 0): all
        settings = {"iteration_range": rounds, "missing": estimator.missing, "validate_features": False}
        positive = one_thread("xgboost", lambda: booster.inplace_predict(array, **settings), array.shape[0])
        return _two_columns(positive) if positive.ndim == 1 else np.asarray(positive)

    return route


def _two_columns(positive: Array) -> Array:
    """Return [P(class 0), P(class 1)]."""
    out = np.empty((len(positive), 2), dtype=positive.dtype)
    np.subtract(1, positive, out=out[:, 0])
    out[:, 1] = positive
    return out


_LIBRARIES = ("sklearn", "xgboost", "lightgbm")
_SPECIAL: dict[str, Callable[[Any], Route]] = {
    "LogisticRegression": _logistic,
    "LogisticRegressionCV": _logistic,
    "MLPClassifier": _layers,
    "RandomForestClassifier": _forest,
    "ExtraTreesClassifier": _forest,
    "DecisionTreeClassifier": _tree,
    "ExtraTreeClassifier": _tree,
    "HistGradientBoostingClassifier": _histograms,
    "LGBMClassifier": _lightgbm,
    "XGBClassifier": _xgboost,
}


@dataclass(frozen=True)
class Trees:
    """Trees laid end to end, and those they were read from."""

    source: tuple[Any, ...]
    nodes: tuple[Array, Array, Array, Array, Array, Array]  # roots, feature, threshold, left, right, value

    def add_to(self, total: Array, rows: Array) -> None:
        """Add every tree's answer, in order."""
        add_leaves(np.ascontiguousarray(rows), *self.nodes, total)


_READ: WeakKeyDictionary[Any, Trees] = WeakKeyDictionary()


def forest_trees(estimator: Any) -> Trees:
    """Lay out the trees of a forest; once for each time it is fitted."""
    return _read(estimator, [one.tree_ for one in estimator.estimators_], _forest_tree)


def histogram_trees(estimator: Any) -> Trees:
    """Lay out the trees of histogram gradient boosting with one output, no categories and no preparation of its own."""
    if getattr(estimator, "_preprocessor", None) is not None or estimator.n_trees_per_iteration_ != 1:
        raise NotImplementedError("only plain numbers and two classes")
    return _read(estimator, estimator._predictors, _histogram_tree)


def _read(estimator: Any, source: Sequence[Any], read: Any) -> Trees:
    kept = _READ.get(estimator)
    if kept is not None and len(kept.source) == len(source) and all(map(is_, kept.source, source)):
        return kept
    trees = [read(tree) for tree in source]
    sizes = np.array([len(tree[0]) for tree in trees])
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    moved = [(f, t, lo + root, hi + root, v) for root, (f, t, lo, hi, v) in zip(roots, trees, strict=True)]
    parts = [np.concatenate(part) for part in zip(*moved, strict=True)]
    kinds = (np.int64, np.float64, np.int64, np.int64, np.float64)
    feature, threshold, left, right, value = (np.ascontiguousarray(p, k) for p, k in zip(parts, kinds, strict=True))
    fresh = Trees(tuple(source), (roots, feature, threshold, left, right, value))
    _READ[estimator] = fresh
    return fresh


def _forest_tree(tree: Any) -> tuple[Array, Array, Array, Array, Array]:
    if tree.n_outputs != 1:
        raise NotImplementedError("only one output")
    leaf = tree.children_left < 0
    return np.where(leaf, -1, tree.feature), tree.threshold, tree.children_left, tree.children_right, tree.value[:, 0]


def _histogram_tree(predictors: Sequence[Any]) -> tuple[Array, Array, Array, Array, Array]:
    nodes = predictors[0].nodes
    if nodes["is_categorical"].any():
        raise NotImplementedError("only numbers")
    feature = np.where(nodes["is_leaf"], -1, nodes["feature_idx"].astype(np.int64))
    left, right = nodes["left"].astype(np.int64), nodes["right"].astype(np.int64)
    return feature, nodes["num_threshold"], left, right, nodes["value"][:, None]


MANY_ROWS = 1024  # from here on, threads are worth their start

Answer = TypeVar("Answer")


def one_thread(library: str, ask: Callable[[], Answer], rows: int) -> Answer:
    """Ask about few rows without OpenMP's threads: waking them costs more than the answer, far more on a busy machine.

    OpenMP keeps their number per calling thread, so nobody else is slowed down.
    """
    if rows >= MANY_ROWS:
        return ask()
    with _threads_of(library).limit(limits=1, user_api="openmp"):
        return ask()


@cache
def _threads_of(library: str) -> Any:
    """Return a handle on the OpenMP runtimes in this process; one per library, which is loaded by the time we ask."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@dataclass(frozen=True)
class Stages:
    """The transformers of a (nested) Pipeline in order, and its last step; an estimator alone has no transformers."""

    whole: Any
    transformers: tuple[Any, ...]
    final: Any

    @classmethod
    def of(cls, estimator: Any) -> Stages:
        """Take apart Pipelines, and searches over settings, which answer through their best estimator."""
        from sklearn.model_selection._search import BaseSearchCV
        from sklearn.pipeline import Pipeline

        transformers: list[Any] = []
        final = estimator
        while isinstance(final, Pipeline | BaseSearchCV):
            if isinstance(final, BaseSearchCV):
                final = final.best_estimator_
            else:
                transformers += [step for _, step in final.steps[:-1] if step is not None and step != "passthrough"]
                final = final.steps[-1][1]
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
        """Everything the steps hold: fitting one again replaces what it holds."""
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
