"""Every method of DICE on a small world, and what the tests know of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways.baselines import Dice
from leastways.models import TorchModel, as_model
from leastways.search import Background, Searcher
from leastways.search.registry import made_ready
from tests.support.small_worlds import World

METHODS = ("gradient", "random", "genetic", "kdtree")


@dataclass(frozen=True)
class Columns:
    """The encoder of a world's model: a column for each feature, from 0 to about 1."""

    world: World

    def __call__(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        columns = []
        for feature in self.world.schema.features:
            column = frame[feature.name]
            if feature.numeric:
                columns.append((column.to_numpy(dtype=float) - feature.values[0]) / max(feature.range, 1.0))
            else:
                places = feature.index.get_indexer(pd.Index(column.to_numpy(dtype=object)))
                columns.append(places / max(len(feature.values) - 1, 1))
        return np.stack(columns, axis=1)


def torch_model(world: World, module: Any = None) -> TorchModel:
    """The world's logistic model as a torch module, in `module` if one is given."""
    import torch

    layer = torch.nn.Linear(len(world.weights), 1, dtype=torch.float64, device="meta")
    values = {"weight": torch.tensor(8.0 * world.weights[None]), "bias": torch.tensor([-8.0 * world.cut]).double()}
    layer.load_state_dict(values, assign=True)
    return TorchModel(layer if module is None else module(layer), Columns(world))


def ready(method: Any, world: World, model: TorchModel | None = None, **settings: Any) -> Searcher:
    """Prepare a method with all rows of a world."""
    bound = as_model(torch_model(world) if model is None else model, 1)
    dice = Dice(method, **settings)
    return made_ready(dice, lambda: Background(world.schema, world.schema.encode(world.frame), bound, 0.5, 0))
