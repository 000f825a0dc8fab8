"""Data sets with a model: the people it refuses, and everything a search needs to know of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd

import leastways as lw
from experiments.models import MODELS, some_rows, torch_twin, train
from leastways.datasets import Dataset

LOADERS: dict[str, Callable[[], Dataset]] = {
    "adult_binary": lw.datasets.load_adult_binary,
    "compas_binary": lw.datasets.load_compas_binary,
    "adult": lw.datasets.load_adult,
    "recidivism": lw.datasets.load_recidivism,
    "german": lw.datasets.load_german,
    "credit": lw.datasets.load_credit,
}
OWN = "own"  # the network that was published with the data


@dataclass(frozen=True, eq=False)
class Place:
    """A data set, a model, and the people it refuses."""

    data: Dataset
    schema: lw.Schema
    frame: pd.DataFrame  # what percentiles, graphs and the like are fitted on
    model: Any
    target: Any  # the label that is a yes, as this model says it
    people: pd.DataFrame
    accuracy: float | None  # on the validation rows; None: not trained here

    def differentiable(self) -> Any:
        """Return the same model as a torch module, for methods that follow gradients."""
        return self.model.torch_model() if self.accuracy is None else torch_twin(self.model)


@cache
def place(data_name: str, model_name: str, rows: int | None = None) -> Place:
    """Load a data set and its model, or train one on it (on so many rows); once a process."""
    if data_name not in LOADERS:
        raise SystemExit(f"no data set {data_name!r}; known: {', '.join(LOADERS)}.")
    data = LOADERS[data_name]()
    if model_name == OWN:
        if data.model is None:
            raise SystemExit(f"{data_name} has no network of its own; give a model: {', '.join(MODELS)}.")
        return Place(data, data.schema(), some_rows(data.frame, rows), data.model, 1, data.people, None)
    trained = train(data, model_name, rows)
    candidates = data.candidates if data.candidates is not None else data.people
    refused = candidates[trained.model.predict(candidates) == 0]
    return Place(data, data.schema(), some_rows(data.frame, rows), trained.model, 1, refused, trained.accuracy)


def chosen_people(where: Place, people: int | None) -> pd.DataFrame:
    """Return a random subset of the refused, the same every time, or all of them."""
    if people is None or people >= len(where.people):
        return where.people
    return where.people.sample(people, random_state=20220).sort_index()
