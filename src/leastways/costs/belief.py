"""Beliefs about what changes cost people: samples of their preferences, each with a weight."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._messages import listed
from leastways._random import Keys
from leastways.costs.preferences import Preferences
from leastways.costs.preferences_json import preferences_from_json, preferences_to_json
from leastways.errors import DataError, PreferenceError
from leastways.io import draft_of
from leastways.schema import Schema

_ARRAYS = ("keys", "scores", "alpha", "weights")


@dataclass(frozen=True)
class Belief:
    """M weighted samples of the preferences of some people, from which their cost samples follow.

    Made by `Recourse.belief`; passed to `recommend` and `certify`, it takes the place of samples drawn anew. The
    samples stay as they are; what is learned about a person changes their weights (`reweighted`).

    Attributes
    ----------
    index
        Labels of the people.
    features
        Names of the features, in the order of `scores`.
    keys
        [people] random streams that categories' costs and the noise follow.
    scores
        [people, features, samples] preference scores; NaN where a feature is not editable.
    alpha
        [people, samples] mixing weights of the linear and the percentile cost.
    weights
        [people, samples] weights of the samples; each person's sum to 1.
    preferences
        What each person stated; None for nothing.

    Examples
    --------
    >>> belief = recourse.belief(people)                                          # doctest: +SKIP
    >>> belief.editable[0].mean(axis=0)  # how often each feature can be changed   # doctest: +SKIP
    >>> plans = recourse.recommend(people, belief=belief)                         # doctest: +SKIP
    """

    index: pd.Index[Any]
    features: tuple[str, ...]
    keys: Keys
    scores: NDArray[np.float64]
    alpha: NDArray[np.float64]
    weights: NDArray[np.float64]
    preferences: tuple[Preferences | None, ...]

    def __post_init__(self) -> None:
        P, F, M = len(self.index), len(self.features), self.alpha.shape[-1]
        shapes = {"keys": (P,), "scores": (P, F, M), "alpha": (P, M), "weights": (P, M)}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise DataError(f"{name} of a belief must have the shape {shape}, not {getattr(self, name).shape}.")
        if len(self.preferences) != P:
            raise DataError(f"a belief about {P} people must have {P} preferences, not {len(self.preferences)}.")
        sums = self.weights.sum(axis=1)
        wrong = ~(np.isfinite(self.weights) & (self.weights >= 0)).all(axis=1) | (abs(sums - 1.0) > 1e-6)
        if wrong.any():
            place = int(wrong.argmax())
            raise DataError(
                f"weights must be numbers of 0 or more that sum to 1 for each person; those of "
                f"{self.index[place]!r} sum to {sums[place]:.6g}."
            )

    def __len__(self) -> int:
        return len(self.index)

    @property
    def n_samples(self) -> int:
        """Samples per person."""
        return int(self.alpha.shape[1])

    @property
    def editable(self) -> NDArray[np.bool_]:
        """Which features each sample can change, [people, samples, features]; stated costs open a feature to all."""
        stated = np.array([[p is not None and name in p.costs for name in self.features] for p in self.preferences])
        stated = stated.reshape(len(self), len(self.features))
        return np.asarray((~np.isnan(self.scores) | stated[:, :, None]).swapaxes(1, 2))

    def take(self, rows: NDArray[np.intp] | Sequence[int]) -> Belief:
        """Return the belief about some of the people, by position."""
        rows = np.asarray(rows, np.intp)
        arrays = {name: getattr(self, name)[rows] for name in _ARRAYS}
        return Belief(self.index[rows], self.features, **arrays, preferences=tuple(self.preferences[r] for r in rows))

    def of(self, labels: pd.Index[Any]) -> Belief:
        """Return the belief about the people with these labels, in this order."""
        rows = self.index.get_indexer(labels)
        if (rows < 0).any():
            raise DataError(f"the belief has no samples for {listed(labels[rows < 0].tolist())}.")
        return self.take(rows)

    def reweighted(self, weights: NDArray[np.float64]) -> Belief:
        """Return the same samples with other weights, [people, samples]; they are scaled to sum to 1."""
        weights = np.array(weights, np.float64)
        if weights.shape != self.weights.shape:
            raise DataError(f"weights must have the shape {self.weights.shape}, not {weights.shape}.")
        total = weights.sum(axis=1, keepdims=True)
        if not (np.isfinite(weights).all() and (weights >= 0).all() and (total > 0).all()):
            raise DataError("weights must be finite numbers of 0 or more, and not all 0 for any person.")
        return replace(self, weights=weights / total)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per person and sample: weight, alpha, and the score of each feature (NaN: not editable)."""
        P, M = self.alpha.shape
        rows = pd.MultiIndex.from_arrays(
            [self.index.repeat(M), np.tile(np.arange(M), P)], names=[self.index.name or "person", "sample"]
        )
        scores = self.scores.swapaxes(1, 2).reshape(P * M, len(self.features))
        table = {"weight": self.weights.ravel(), "alpha": self.alpha.ravel()}
        return pd.DataFrame(table | dict(zip(self.features, scores.T, strict=True)), index=rows)

    def save(self, path: str | Path) -> None:
        """Write the belief to a file (`.npz`), from which `load` reads the same again."""
        stated = {
            "index": self.index.tolist(),
            "name": self.index.name,
            "features": list(self.features),
            "preferences": [preferences_to_json(p) for p in self.preferences],
        }
        try:
            text = json.dumps(stated)
        except TypeError as error:
            raise DataError(f"a belief about people with such labels cannot be saved: {error}") from error
        with draft_of(Path(path)) as draft, draft.open("wb") as stream:
            np.savez_compressed(stream, stated=np.array(text), **{name: getattr(self, name) for name in _ARRAYS})

    @classmethod
    def load(cls, path: str | Path, schema: Schema) -> Belief:
        """Read a belief that `save` wrote, for people described by this schema."""
        try:
            with np.load(Path(path), allow_pickle=False) as arrays:
                stated = json.loads(str(arrays["stated"]))
                parts = {name: arrays[name] for name in _ARRAYS}
        except (OSError, KeyError, ValueError) as error:
            raise DataError(f"cannot read a belief from {str(path)!r}: {error}") from error
        if tuple(stated["features"]) != schema.names:
            raise DataError(f"the belief in {str(path)!r} is about other features: {listed(stated['features'])}.")
        index = pd.Index(stated["index"], name=stated["name"])
        preferences = tuple(preferences_from_json(p, schema) for p in stated["preferences"])
        return cls(index, schema.names, **parts, preferences=preferences)


def check_belief(belief: object, preferences: object) -> Belief | None:
    """Return a belief given in place of preferences; raise if it is not a belief, or both are given."""
    if belief is None:
        return None
    if not isinstance(belief, Belief):
        raise PreferenceError(f"belief must be what Recourse.belief returns, not {type(belief).__name__}.")
    if preferences is not None:
        raise PreferenceError("give preferences or a belief, not both: a belief holds the preferences of its people.")
    return belief
