"""A table with gaps in numbers, text and categories, and pipelines that know what to do with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from leastways.recourse import Recourse
from leastways.schema import Schema

NUMBERS = ["age", "income", "debt"]
WORDS = ["job", "housing"]


def table(n: int = 400, seed: int = 4, gaps: float = 0.15) -> pd.DataFrame:
    """Draw customers; those of whom something is not known are spread evenly."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": draw.integers(18, 60, n).astype(float),
            "income": draw.gamma(3.0, 800.0, n).round(2),
            "debt": pd.array(draw.integers(0, 30, n), dtype="Int64"),
            "job": draw.choice(["clerk", "cook", "nurse"], n),
            "housing": pd.Categorical(draw.choice(["own", "rent"], n)),
        }
    )
    return frame.mask(draw.random(frame.shape) < gaps)


TRAIN = table()
Y = TRAIN["income"].fillna(1500) / 1500 - TRAIN["debt"].astype(float).fillna(40) / 20 + (TRAIN["job"] == "nurse") > 1
SCHEMA = Schema.infer(TRAIN).update(age={"direction": "fixed"}, debt={"direction": "down"})
PEOPLE = table(60, seed=9, gaps=0.3).set_axis([f"p{i}" for i in range(60)], axis=0)


def pipeline(indicator: bool = True) -> Pipeline:
    """Gaps are filled column by column; with `indicator` there is also a column that says so."""
    numbers = make_pipeline(SimpleImputer(add_indicator=indicator), StandardScaler())
    words = make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), OneHotEncoder(handle_unknown="ignore"))
    encoder = make_column_transformer((numbers, NUMBERS), (words, WORDS))
    return make_pipeline(encoder, LogisticRegression(max_iter=1000)).fit(TRAIN, Y)


def trees() -> Pipeline:
    """Floats alone, gaps and all, for trees that learn which side a gap goes to."""
    encoder = make_column_transformer(("passthrough", ["age", "income"]))
    return make_pipeline(encoder, HistGradientBoostingClassifier(max_iter=30, random_state=0)).fit(TRAIN, Y)


def recourse(model: Any, schema: Schema = SCHEMA, **settings: Any) -> Recourse:
    quick: dict[str, Any] = {"n_options": 3, "budget": 80, "n_costs": 40} | settings
    return Recourse(model, schema, **quick).fit(TRAIN)
