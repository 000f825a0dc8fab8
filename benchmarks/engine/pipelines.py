"""Ordinary models on the many-valued public sets, as a user would build them; fixed seeds, one core."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import leastways as lw
from leastways.datasets import Dataset
from leastways.models import as_model

LOADERS: dict[str, Callable[[], Dataset]] = {
    "adult": lw.datasets.load_adult,
    "german": lw.datasets.load_german,
}


@dataclass(frozen=True, eq=False)
class Bank:
    """A data set, a model fitted on its training rows, and the people that model refuses."""

    data: Dataset
    schema: lw.Schema
    model: Any
    refused: pd.DataFrame

    def probability(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Return the chance of a yes."""
        return as_model(self.model, 1).probability(frame.copy())


@cache
def bank(data_name: str, model_name: str) -> Bank:
    """Fit a model, once a process. Labels are 0 and 1, whatever the set calls them: xgboost wants that."""
    data = LOADERS[data_name]()
    model = _pipeline(data, model_name).fit(data.X, (data.y == data.favourable).astype(int))
    refused = data.people[model.predict(data.people) == 0]
    return Bank(data, data.schema(), _in_torch(model) if model_name == "torch network" else model, refused)


def _in_torch(pipeline: Any) -> lw.TorchModel:
    """Return a fitted perceptron with its encoder as a torch module."""
    import torch

    perceptron = pipeline[-1]
    layers: list[Any] = []
    for weights, bias in zip(perceptron.coefs_, perceptron.intercepts_, strict=True):
        layer = torch.nn.Linear(*weights.shape)
        layer.weight.data, layer.bias.data = torch.tensor(weights.T).float(), torch.tensor(bias).float()
        layers += [layer, torch.nn.ReLU()]
    return lw.TorchModel(torch.nn.Sequential(*layers[:-1]), pipeline[:-1])


def _pipeline(data: Dataset, name: str) -> Any:
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    text = make_column_selector(dtype_exclude="number")
    coded = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(make_column_transformer((coded, text), remainder=StandardScaler()), _estimator(name))


def _estimator(name: str) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    if name == "logistic regression":
        return LogisticRegression(max_iter=1000)
    if name == "random forest":
        return RandomForestClassifier(100, random_state=0, n_jobs=1)
    if name == "torch network":
        return MLPClassifier((20,), early_stopping=True, random_state=0)
    if name == "gradient boosting":
        return HistGradientBoostingClassifier(random_state=0)
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=200, max_depth=6, random_state=0, n_jobs=1)
