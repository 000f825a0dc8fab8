"""scikit-learn ensembles of trees on few rows: one compiled walk, not a call or a pool of workers per tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from leastways.models.kernels import add_leaves

Array = npt.NDArray[Any]


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
