"""The fastest public way each library has from an array to class probabilities.

Every way must give what `predict_proba` gives, bit for bit; that is checked before one is used, so those below may be
bold. Each reads the estimator's attributes at every call: an estimator fitted again is never answered for by its past.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import expit, softmax

from leastways.models.forests import forest_trees, histogram_trees
from leastways.models.threads import MANY_ROWS, one_thread, one_worker

Array = npt.NDArray[Any]
Route = Callable[[Any], Any]


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
