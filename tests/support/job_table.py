"""A small table of people with jobs, labels for it, and pipelines on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

NUMBERS = ["age", "hours-week"]
TEXT = ["job title"]


def people(rows: int = 200, seed: int = 0) -> pd.DataFrame:
    """Mixed raw columns, two of them with names that are no identifiers; an index that is not 0..n-1."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "hours-week": rng.uniform(5, 60, rows).astype(np.float32),
            "job title": rng.choice(["clerk", "cook", "nurse"], rows),
        },
        index=pd.Index(np.arange(rows) + 1000, name="id"),
    )


def score(frame: pd.DataFrame) -> npt.NDArray[np.float64]:
    """What the labels are made from."""
    nurse = (frame["job title"] == "nurse").to_numpy(dtype=np.float64)
    return np.asarray(frame["age"] / 20.0 + frame["hours-week"] / 15.0 + nurse - 5.0, dtype=np.float64)


def yes(frame: pd.DataFrame) -> npt.NDArray[np.int64]:
    return (score(frame) > 0).astype(np.int64)


def pipeline(final: Any = None) -> Pipeline:
    encoder = ColumnTransformer(
        [("text", OneHotEncoder(handle_unknown="ignore"), TEXT), ("numbers", StandardScaler(), NUMBERS)]
    )
    return make_pipeline(encoder, LogisticRegression() if final is None else final)
