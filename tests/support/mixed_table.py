"""A table with a column of every kind a schema knows, a schema, labels and an encoder for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from leastways.models import as_model
from leastways.schema import Schema


def mixed(n: int = 300, seed: int = 5) -> pd.DataFrame:
    """Draw rows: ints, reals, short floats, bools, text, categoricals, pandas' nullable types."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 60, n),
            "income": rng.gamma(3.0, 800.0, n),
            "debt": rng.uniform(0, 100, n).astype(np.float32),
            "owner": rng.random(n) < 0.5,
            "job": rng.choice(["clerk", "cook", "nurse"], n),
            "school": pd.Categorical(rng.choice(["low", "mid", "top"], n), ["low", "mid", "top"], ordered=True),
            "visits": pd.array(rng.integers(0, 9, n), dtype="Int64"),
            "score": pd.array(rng.normal(0, 1, n), dtype="Float64"),
            "member": pd.array(rng.random(n) < 0.5, dtype="boolean"),
        }
    )


TRAIN = mixed()
SCHEMA = Schema.infer(TRAIN).update(
    age={"direction": "up"},
    income={"min": 0, "max": 12_000, "step": 500},  # nearly everybody is between two grid points
    debt={"min": 0, "max": 100, "step": 10},
    score={"min": -4, "max": 4, "step": 1},
)
Y = (TRAIN["income"] / 2500 + TRAIN["age"] / 40 + (TRAIN["job"] == "nurse") - TRAIN["debt"] / 60 > 1.4).to_numpy(int)
PEOPLE = mixed(40, seed=6).set_axis([f"p{i}" for i in range(40)], axis=0)
NUMBERS = ["age", "income", "debt"]


def encoder(sparse: bool = False) -> ColumnTransformer:
    """One of each: scaled, one-hot, ordinal, passed through."""
    return ColumnTransformer(
        [
            ("scaled", StandardScaler(), NUMBERS),
            ("hot", OneHotEncoder(sparse_output=sparse), ["job", "owner"]),
            ("ordinal", OrdinalEncoder(), ["school"]),
            ("ranged", MinMaxScaler(), ["visits", "score"]),
            ("plain", "passthrough", ["member"]),
        ],
        sparse_threshold=1.0 if sparse else 0.0,
    )


@dataclass(frozen=True)
class Whole:
    """A model without halves: always evaluated with frames."""

    model: Any
    target: Any = 1

    def probability(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Evaluate the model as it is."""
        return as_model(self.model, self.target).probability(frame)
