"""Generated people of any number and width, all of them refused by a generated logistic model.

Numbers only: the model is then one matrix product, so that a curve shows the engine and not the model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import leastways as lw

_DIRECTIONS = ("any", "up", "down", "any", "fixed", "any")
_GRIDS = (2, 5, 20, 10, 4, 40)  # values of a feature, by turns
_ROWS = 2000


@dataclass(frozen=True, eq=False)
class Logistic:
    """A logistic model of the columns."""

    names: list[str]
    weights: NDArray[np.float64]
    offset: float

    def __call__(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Return the chance of a yes."""
        x = frame[self.names].to_numpy(dtype=np.float64)
        return np.asarray(1.0 / (1.0 + np.exp(self.offset - x @ self.weights)))


@dataclass(frozen=True, eq=False)
class World:
    """A schema with its training rows, a model, and people it refuses."""

    schema: lw.Schema
    frame: pd.DataFrame
    model: Logistic
    people: pd.DataFrame


def make_world(n_people: int, n_features: int, seed: int = 0) -> World:
    """Draw it. About two of three rows are refused, whatever the width."""
    rng = np.random.default_rng(seed)
    names = [f"x{i}" for i in range(n_features)]
    sizes = np.array([_GRIDS[i % len(_GRIDS)] for i in range(n_features)])
    weights = rng.normal(size=n_features) * np.sqrt(12 / n_features) / sizes

    def draw(n: int) -> pd.DataFrame:
        return pd.DataFrame(rng.integers(0, sizes, size=(n, n_features)), columns=names)

    frame = draw(_ROWS)
    frame.iloc[0], frame.iloc[1] = 0, sizes - 1  # the grids are the whole ranges
    scores = frame.to_numpy(np.float64) @ weights
    scale = 2.0 / scores.std()
    model = Logistic(names, weights * scale, float(np.quantile(scores, 2 / 3)) * scale)
    parts: list[pd.DataFrame] = []
    while sum(map(len, parts)) < n_people:
        some = draw(max(64, 2 * n_people))
        parts.append(some[model(some) < 0.5])
    directions = {name: {"direction": _DIRECTIONS[i % len(_DIRECTIONS)]} for i, name in enumerate(names)}
    schema = lw.Schema.infer(frame).update(directions)
    return World(schema, frame, model, pd.concat(parts, ignore_index=True).head(n_people))
