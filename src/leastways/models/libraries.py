"""The properties of each library's models: one `Library` record per library, or per family of its classes.

A record says how to recognise a model without importing its library, to which class `predict` gives a tie, how its
threads are limited, and which faster way there is to its probabilities. Nothing else in the package names a library's
classes: to support one more, write one record, and add it to `_LIBRARIES` or pass it to `register_library`.

Every fast way must give what `predict_proba` gives, bit for bit; that is checked before it is used (see
`leastways.models.encoder_table`), so those below may read private attributes. Each reads them at every call: an
estimator that was fitted again is never answered for by its past.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from math import nan
from operator import is_
from typing import Any, Literal, cast
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

from leastways.models.base import one_worker
from leastways.models.kernels import add_leaves

Array = npt.NDArray[Any]
Route = Callable[[Any], Any]
"""A way from an array or sparse matrix of encoded rows to an estimator's answers."""
Ties = Literal["as they are", "first wins", "last wins"]

MANY_ROWS = 1024  # from here on, threads are worth their start


@dataclass(frozen=True, kw_only=True)
class Library:
    """The properties of the models of one library, or of one family of its classes.

    Parameters
    ----------
    name
        What the record is called; a later record of the same name replaces it.
    package
        The top-level package that defines the models' class.
    classes
        Names of the classes it is about; empty for every class of the package.
    subclasses
        Whether subclasses count too, wherever they are defined. A subclass may answer differently, so records with
        a `fast_proba` leave this out.
    unwrap
        For models that hold another one: return the transformers before it, and the model inside.
    ties
        Which of two classes `predict` gives at a probability of one half: "first wins", "last wins", or "as they
        are" where that cannot be said.
    cutoff
        For models with a cut-off of their own: return it, and the class whose probability it is about. NaN stands
        for a cut-off that is no probability.
    one_thread
        Return a context in which the models answer with one thread; it is entered for batches below `MANY_ROWS`.
    unchecked
        Return a context in which the library leaves out checks of its input.
    fast_proba
        Return a function from encoded rows to what the model's `predict_proba` gives.
    linear_score
        Say why the model's decision is no single linear score, or return an empty string if it is one. It is given
        the model and whether it has probabilities.
    splits
        Return the numbers at which the model's trees split each encoded column. No record has it yet: it is the
        place for searches that read trees.
    not_a_model
        Why objects of these classes are refused, though they have `predict`.
    hint
        What to pass instead of an object that cannot predict by itself.

    Examples
    --------
    >>> record = Library(name="my trees", package="my_trees", ties="last wins")
    >>> record.recognises(object())
    False
    """

    name: str
    package: str
    classes: tuple[str, ...] = ()
    subclasses: bool = False
    unwrap: Callable[[Any], tuple[Sequence[Any], Any]] | None = None
    ties: Ties = "first wins"
    cutoff: Callable[[Any], tuple[float, object]] | None = None
    one_thread: Callable[[], AbstractContextManager[object]] | None = None
    unchecked: Callable[[], AbstractContextManager[object]] | None = None
    fast_proba: Callable[[Any], Route] | None = None
    linear_score: Callable[[Any, bool], str] | None = None
    splits: Callable[[Any], Any] | None = None
    not_a_model: str = ""
    hint: str = ""

    def recognises(self, model: object) -> bool:
        """Return whether the record is about this model."""
        kinds = type(model).__mro__ if self.subclasses else (type(model),)
        return any(
            kind.__module__.partition(".")[0] == self.package and (not self.classes or kind.__name__ in self.classes)
            for kind in kinds
        )


UNKNOWN = Library(name="unknown", package="")
"""Stands for models that no record is about: asked as they are, and a tie at one half goes to the first class."""


def library_of(model: object) -> Library:
    """Return the first record that recognises the model, or `UNKNOWN`."""
    found = _FOUND.get(type(model))
    if found is None:
        found = next((library for library in _LIBRARIES if library.recognises(model)), UNKNOWN)
        _FOUND[type(model)] = found
    return found


def register_library(library: Library) -> None:
    """Add a record; it comes before those already known.

    Parameters
    ----------
    library
        The record. Another one of the same name is replaced.

    Examples
    --------
    >>> register_library(Library(name="my trees", package="my_trees", ties="last wins"))
    >>> unregister_library("my trees")
    """
    _LIBRARIES[:] = [library, *(known for known in _LIBRARIES if known.name != library.name)]
    _FOUND.clear()


def unregister_library(name: str) -> None:
    """Remove the record of this name, if there is one."""
    _LIBRARIES[:] = [known for known in _LIBRARIES if known.name != name]
    _FOUND.clear()


def limit_threads(library: Library, rows: int) -> AbstractContextManager[object]:
    """Limit threads on small batches, for speed and determinism.

    Waking threads for a few rows costs more than the answer, far more on a busy machine. OpenMP keeps their number
    per calling thread, so other threads of the process are not slowed down.
    """
    if library.one_thread is None or rows >= MANY_ROWS:
        return nullcontext()
    return library.one_thread()


def openmp(library: str) -> Callable[[], AbstractContextManager[object]]:
    """Return a factory of contexts that limit the OpenMP runtimes of this process to one thread.

    `library` is a key: the runtimes are looked up once per key, when the library is sure to be loaded.
    """
    return lambda: cast(AbstractContextManager[object], _runtimes(library).limit(limits=1, user_api="openmp"))


@cache
def _runtimes(library: str) -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def lean_call(library: Library, estimator: Any, method: str, array: Any) -> Any:
    """Call an estimator with one thread for few rows, and with its input checks off."""
    unchecked = nullcontext() if library.unchecked is None else library.unchecked()
    with unchecked, limit_threads(library, array.shape[0]):
        return usual_call(nameless(estimator), method, array)


def nameless(estimator: Any) -> Any:
    """Return a shallow copy without feature names, so that arrays are accepted without a warning.

    Nothing is changed in the user's estimator.
    """
    if "feature_names_in_" not in getattr(estimator, "__dict__", ()):
        return estimator
    twin = object.__new__(type(estimator))
    twin.__dict__.update(estimator.__dict__)
    del twin.__dict__["feature_names_in_"]
    return twin


def usual_call(estimator: Any, method: str, rows: Any) -> Any:
    """Call a method of an estimator in the calling thread."""
    with one_worker():
        return getattr(estimator, method)(rows)


def _two_columns(positive: Array) -> Array:
    """Return [P(class 0), P(class 1)]."""
    out = np.empty((len(positive), 2), dtype=positive.dtype)
    np.subtract(1, positive, out=out[:, 0])
    out[:, 1] = positive
    return out


# scikit-learn


def _without_checks() -> AbstractContextManager[object]:
    """Return a context with scikit-learn's input checks off. Its configuration is one per thread."""
    from sklearn import config_context

    return cast(AbstractContextManager[object], config_context(assume_finite=True, skip_parameter_validation=True))


def _steps(pipeline: Any) -> tuple[list[Any], Any]:
    return [step for _, step in pipeline.steps[:-1] if step is not None and step != "passthrough"], pipeline.steps[-1][
        1
    ]


def _best(search: Any) -> tuple[tuple[()], Any]:
    return (), search.best_estimator_


def _own_cutoff(final: Any) -> tuple[float, object]:
    """Return the cut-off of FixedThresholdClassifier or TunedThresholdClassifierCV, and the class it is about."""
    if final.response_method == "decision_function":
        return nan, final.classes_[1]
    if hasattr(final, "best_threshold_"):
        at, positive = float(final.best_threshold_), final._curve_scorer._get_pos_label()
    else:
        at, positive = 0.5 if final.threshold == "auto" else float(final.threshold), final.pos_label
    return at, final.classes_[1] if positive is None else positive


def _score_by_probability(model: Any, has_probability: bool) -> str:
    return _several_scores(model) if has_probability else no_linear_score(model)


def _score_by_sign(model: Any, has_probability: bool) -> str:
    return no_linear_score(model) if has_probability else _several_scores(model)


def _score_of_sgd(model: Any, has_probability: bool) -> str:
    """Logistic with loss="log_loss", and by the sign of its score where it only gives labels."""
    if has_probability and len(model.classes_) == 2 and model.loss != "log_loss":
        return (
            f"{type(model).__name__}(loss={model.loss!r}) has probabilities that are not the logistic function of "
            f"its score"
        )
    return _several_scores(model)


def _several_scores(model: Any) -> str:
    if len(model.classes_) != 2:
        return f"{type(model).__name__} has {len(model.classes_)} classes, and so a score for each"
    if getattr(model, "multi_class", None) == "multinomial":
        return f"{type(model).__name__}(multi_class='multinomial') has a score for each class"
    return ""


def no_linear_score(model: Any) -> str:
    """Return the message that a model's class has no linear score."""
    return f"{type(model).__name__} does not decide by a linear score"


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


def _tree(estimator: Any) -> Route:
    return lambda array: estimator.tree_.predict(np.ascontiguousarray(array, dtype=np.float32))


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
            return np.asarray(lean_call(_HISTOGRAMS, estimator, "predict_proba", array))
        total = np.zeros((len(array), 1)) + estimator._baseline_prediction
        histogram_trees(estimator).add_to(total, array.astype(np.float64, copy=False))
        return _two_columns(expit(total[:, 0]))

    return route


@dataclass(frozen=True)
class Trees:
    """Trees laid end to end for one compiled walk, and those they were read from."""

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
    dtypes = (np.int64, np.float64, np.int64, np.int64, np.float64)
    feature, threshold, left, right, value = (np.ascontiguousarray(p, d) for p, d in zip(parts, dtypes, strict=True))
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


def _sklearn(name: str, *classes: str, **known: Any) -> Library:
    """Return a record of some of scikit-learn's classes."""
    return Library(name=name, package="sklearn", classes=classes, unchecked=_without_checks, **known)


_HISTOGRAMS = _sklearn(
    "scikit-learn histogram boosting",
    "HistGradientBoostingClassifier",
    one_thread=openmp("sklearn"),
    fast_proba=_histograms,
)


# xgboost, lightgbm and torch


def _xgboost(estimator: Any) -> Route:
    """Return the booster's own answer for trees, up to the best round where training stopped early."""

    def route(array: Any) -> Array:
        booster = estimator.get_booster()
        rounds = (0, int(booster.attr("best_iteration") or -1) + 1)  # (0, 0): all
        settings = {"iteration_range": rounds, "missing": estimator.missing, "validate_features": False}
        with limit_threads(_XGBOOST, array.shape[0]):
            positive = booster.inplace_predict(array, **settings)
        return _two_columns(positive) if positive.ndim == 1 else np.asarray(positive)

    return route


def _lightgbm(estimator: Any) -> Route:
    """Return the booster's own answer; for few rows, starting threads costs more than the trees."""

    def route(array: Any) -> Array:
        threads = {"num_threads": 1} if array.shape[0] < MANY_ROWS else {}
        positive = estimator.booster_.predict(array, validate_features=False, **threads)
        return _two_columns(positive) if positive.ndim == 1 else np.asarray(positive)

    return route


_XGBOOST = Library(
    name="xgboost classifiers",
    package="xgboost",
    classes=("XGBClassifier",),
    one_thread=openmp("xgboost"),
    fast_proba=_xgboost,
)
TORCH = Library(
    name="torch modules",
    package="torch",
    classes=("Module",),
    subclasses=True,
    one_thread=openmp("torch"),
    hint=" A torch module needs an encoder from raw rows to numbers: TorchModel(module, encoder).",
)

_LIBRARIES: list[Library] = [
    _sklearn("scikit-learn pipelines", "Pipeline", subclasses=True, unwrap=_steps),
    _sklearn("scikit-learn searches", "BaseSearchCV", subclasses=True, unwrap=_best),
    _sklearn(
        "scikit-learn cut-offs",
        "FixedThresholdClassifier",
        "TunedThresholdClassifierCV",
        subclasses=True,
        cutoff=_own_cutoff,
    ),
    _sklearn(
        "scikit-learn logistic regression",
        "LogisticRegression",
        "LogisticRegressionCV",
        fast_proba=_logistic,
        linear_score=_score_by_probability,
    ),
    _sklearn("scikit-learn linear discriminants", "LinearDiscriminantAnalysis", linear_score=_score_by_probability),
    _sklearn(
        "scikit-learn linear classifiers",
        "LinearSVC",
        "PassiveAggressiveClassifier",
        "Perceptron",
        "RidgeClassifier",
        "RidgeClassifierCV",
        linear_score=_score_by_sign,
    ),
    _sklearn("scikit-learn stochastic gradient descent", "SGDClassifier", linear_score=_score_of_sgd),
    _sklearn("scikit-learn perceptrons", "MLPClassifier", fast_proba=_layers),
    _sklearn("scikit-learn trees", "DecisionTreeClassifier", "ExtraTreeClassifier", fast_proba=_tree),
    _sklearn("scikit-learn forests", "RandomForestClassifier", "ExtraTreesClassifier", fast_proba=_forest),
    # a score of exactly 0 counts as the second class
    _sklearn("scikit-learn gradient boosting", "GradientBoostingClassifier", ties="last wins"),
    _HISTOGRAMS,
    _sklearn("scikit-learn"),
    _XGBOOST,
    Library(
        name="xgboost boosters",
        package="xgboost",
        classes=("Booster",),
        subclasses=True,
        not_a_model=(
            "The model is an xgboost Booster, which takes a DMatrix and gives scores, not labels. If they are "
            "probabilities, pass a callable: lambda frame: booster.predict(xgboost.DMatrix(frame))."
        ),
    ),
    Library(name="xgboost", package="xgboost", one_thread=openmp("xgboost")),
    Library(name="lightgbm", package="lightgbm", classes=("LGBMClassifier",), fast_proba=_lightgbm),
    TORCH,
]
"""The records, in the order in which they are tried."""

_FOUND: WeakKeyDictionary[type, Library] = WeakKeyDictionary()
