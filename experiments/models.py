"""Models that are trained here: the paper's family with another seed, and others; 0 and 1 are their labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

import leastways as lw
from leastways.datasets import Dataset

MODELS = ("network", "logistic", "forest", "xgboost")


class Trained(NamedTuple):
    """A fitted pipeline on raw rows, and its accuracy on rows it has not seen."""

    model: Pipeline
    accuracy: float


def some_rows(frame: pd.DataFrame, rows: int | None) -> pd.DataFrame:
    """Return so many rows of a table, the same ones every time; None: all."""
    return frame if rows is None or rows >= len(frame) else frame.sample(rows, random_state=0).sort_index()


def train(data: Dataset, name: str, rows: int | None = None) -> Trained:
    """Fit a model on the training rows; the same one every time."""
    if name not in MODELS:
        raise SystemExit(f"no model {name!r}; known: own, {', '.join(MODELS)}.")
    model = pipeline(_estimator(name))
    seen = some_rows(data.train, rows)
    model.fit(seen[data.features], (seen[data.target] == data.favourable).astype(int))
    unseen = data.validation if data.validation is not None else data.frame.drop(index=data.train.index)
    wanted = (unseen[data.target] == data.favourable).astype(int)
    return Trained(model, float((model.predict(unseen[data.features]) == wanted).mean()))


def pipeline(estimator: Any) -> Pipeline:
    """Return an estimator behind the encoding of raw rows."""
    text = make_column_selector(dtype_exclude="number")
    coded = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(make_column_transformer((coded, text), remainder=MinMaxScaler()), estimator)


def _estimator(name: str) -> Any:
    if name == "network":
        return MLPClassifier((20, 20), early_stopping=True, max_iter=300, random_state=2)
    if name == "logistic":
        return LogisticRegression(max_iter=1000)
    if name == "forest":
        return RandomForestClassifier(100, min_samples_leaf=5, random_state=0, n_jobs=1)
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=200, max_depth=6, random_state=0, n_jobs=1)


def torch_twin(model: Pipeline) -> lw.TorchModel:
    """Return a trained network, or a logistic regression, as a torch module behind the same encoder."""
    import torch

    last = model[-1]
    weights, biases = (
        (last.coefs_, last.intercepts_) if hasattr(last, "coefs_") else ([last.coef_.T], [last.intercept_])
    )
    layers: list[Any] = []
    for W, b in zip(weights, biases, strict=True):
        linear = torch.nn.Linear(W.shape[0], W.shape[1], dtype=torch.float64)
        linear.weight.data = torch.as_tensor(np.ascontiguousarray(W.T))
        linear.bias.data = torch.as_tensor(np.asarray(b))
        layers += [linear, torch.nn.ReLU()]
    return lw.TorchModel(torch.nn.Sequential(*layers[:-1]), _Encoder(model[:-1]), output="logits")


class _Encoder:
    """The encoding steps of a pipeline, as a callable that can be sent to another process."""

    def __init__(self, steps: Pipeline) -> None:
        self.steps = steps

    def __call__(self, frame: pd.DataFrame) -> Any:
        return self.steps.transform(frame)
