"""Load the two binary data sets of the paper's main tables, with its splits, its people and its network.

The splits are the paper's own and kept as they are: `people` are the test people whom its network refuses, drawn with
replacement (so some occur twice), and classes were balanced before the split.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._messages import listed, nearest
from leastways.datasets.base import Dataset
from leastways.datasets.files import find_folder, require_columns
from leastways.errors import DataError
from leastways.io import read_json

if TYPE_CHECKING:
    from leastways.models import TorchModel

NETWORK_FILES = ("model.npz", "encoding.json")
_FILES = ("all.csv", "train.csv", "val.csv", "test_users.csv", "schema.json", *NETWORK_FILES)
_DIRECTIONS = {-2: "fixed", 0: "any", 1: "up", -1: "down"}


def load_adult_binary(data_dir: str | os.PathLike[str] | None = None, *, download: bool = False) -> Dataset:
    """Load Adult income, categories binarised: 12 features, 749 people, income over 50,000 is favourable.

    The files come from `data_dir` or the folder in LEASTWAYS_DATA, sub-folder `adult_binary`.
    """
    return _load(
        "adult_binary",
        data_dir,
        download,
        description="Adult income (US census 1994), binary categories; above 50,000 dollars is favourable.",
    )


def load_compas_binary(data_dir: str | os.PathLike[str] | None = None, *, download: bool = False) -> Dataset:
    """Load COMPAS, categories binarised: 7 features, 491 people, class 1 (low risk) is favourable.

    The files come from `data_dir` or the folder in LEASTWAYS_DATA, sub-folder `compas_binary`.
    """
    return _load(
        "compas_binary",
        data_dir,
        download,
        description="COMPAS (Broward County), binary categories; judged unlikely to reoffend is favourable.",
    )


def _load(
    name: str,
    data_dir: str | os.PathLike[str] | None,
    download: bool,
    description: str,
) -> Dataset:
    folder = find_folder(name, _FILES, data_dir, download)
    drawn = folder / "test_before_filter.csv"
    declared = read_json(folder / "schema.json")
    target = str(declared["outcome"])
    return Dataset(
        name=name,
        frame=_read(folder / "all.csv", declared, index="data_idx"),
        train=_read(folder / "train.csv", declared, index="data_idx"),
        validation=_read(folder / "val.csv", declared, index="data_idx"),
        people=_read(folder / "test_users.csv", declared, index="row").drop(columns=target),
        target=target,
        favourable=int(declared["favourable_class"]),
        settings={feature["name"]: _settings(feature) for feature in declared["features"]},
        description=description,
        source="The paper's released data and network, exported to plain files.",
        model=PaperNetwork.load(folder),
        candidates=_read(drawn, declared, index="row").drop(columns=target) if drawn.is_file() else None,
        protected=("sex", "race"),
    )


def _read(path: Path, declared: dict[str, Any], index: str) -> pd.DataFrame:
    """Read a split: categories as text (capital gain is '0', '1', '2'), everything else as whole numbers."""
    features, target = list(declared["feature_order"]), str(declared["outcome"])
    categories = set(declared["categorical_features"])
    dtypes = {name: "str" if name in categories else "int64" for name in [*features, target]}
    frame = pd.read_csv(path, dtype=dtypes, keep_default_na=False, index_col=index)
    require_columns(path, frame, dtypes)
    return frame[[*features, target]]


def _settings(feature: dict[str, Any]) -> dict[str, Any]:
    """Translate one feature of schema.json: its direction, and its order where it is an ordered category."""
    name = str(feature["name"])
    out: dict[str, Any] = {
        "direction": _DIRECTIONS[int(feature["change_restriction"])],
        "label": name.replace("-", " ").replace("_", " "),
    }
    if feature["kind"] == "categorical" and feature["type"] == "ordered":
        out["order"] = [str(value) for value in feature["values_declared_order"]]
    return out


@dataclass(frozen=True)
class ScaledColumn:
    """A number, scaled to 0 .. 1 over the rows the network was trained on."""

    name: str
    low: float
    high: float

    def encode(self, column: pd.Series[Any]) -> NDArray[np.float64]:
        """Return the scaled numbers. Scaled in double precision, as the network's authors did."""
        x = column.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isnan(x).any():
            raise DataError(f"column {self.name!r} has missing values; the network needs a number in every row.")
        return np.asarray((x - self.low) / (self.high - self.low))


@dataclass(frozen=True)
class CodedColumn:
    """A category, replaced by its integer code: not scaled, not one-hot."""

    name: str
    codes: Mapping[str, int]

    def encode(self, column: pd.Series[Any]) -> NDArray[np.float64]:
        """Return the codes. Each distinct value is looked up once, not each row."""
        if isinstance(column.dtype, pd.CategoricalDtype):
            rows, values = column.cat.codes.to_numpy(), column.cat.categories
        else:
            rows, values = pd.factorize(column)
        table = np.array([self.codes.get(str(value), np.nan) for value in values] + [np.nan])
        out = table[rows]  # a missing value has code -1 and so meets the last entry
        if np.isnan(out).any():
            bad = column[np.isnan(out)].unique().tolist()
            raise DataError(f"column {self.name!r} holds {listed(bad)}; allowed: {listed(list(self.codes))}.")
        return out


@dataclass(frozen=True, eq=False)
class PaperNetwork:
    """The paper's network, one hidden layer of 20 units: softmax(W2 relu(W1 x + b1) + b2) of a table. Picklable.

    It computes in double precision, row by row: a matrix product rounds differently with the number of rows in a call,
    and a plan must not depend on the other people of a batch.
    """

    columns: tuple[ScaledColumn | CodedColumn, ...]
    W1: NDArray[np.float64]  # [hidden, columns]
    b1: NDArray[np.float64]  # [hidden]
    W2: NDArray[np.float64]  # [2, hidden]
    b2: NDArray[np.float64]  # [2]

    @classmethod
    def load(cls, folder: Path) -> PaperNetwork:
        """Read `model.npz` and `encoding.json`."""
        encoding = read_json(folder / "encoding.json")
        columns = tuple(_column(entry) for entry in encoding["columns"])
        with np.load(folder / "model.npz", allow_pickle=False) as arrays:
            weights = {key: np.asarray(arrays[key], dtype=np.float64) for key in ("W1", "b1", "W2", "b2")}
        if weights["W1"].shape[1] != len(columns):
            raise DataError(
                f"{str(folder)!r}: the network takes {weights['W1'].shape[1]} columns, "
                f"encoding.json lists {len(columns)}."
            )
        return cls(columns, **weights)

    def __call__(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Return the probability of class 1 for each row."""
        return self.probability_of(self.encode(frame))

    def encode(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Return the network's input, [rows, columns]: column by column, so it can be tabulated."""
        x = np.empty((len(frame), len(self.columns)))
        for k, column in enumerate(self.columns):
            if column.name not in frame.columns:
                raise DataError(f"column {column.name!r} is missing." + nearest(column.name, frame.columns))
            x[:, k] = column.encode(frame[column.name])
        return x

    def probability_of(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of class 1 for each row of encoded input."""
        from leastways.models import two_class_network  # late, so that a loader stays cheap to import

        out, hidden = np.empty(len(x)), np.empty(len(self.b1))
        two_class_network(np.ascontiguousarray(x, np.float64), *self._inner, hidden, out)
        return out

    def torch_model(self) -> TorchModel:
        """Return the same network as a torch module, in double precision, for methods that follow gradients."""
        from leastways._extras import require
        from leastways.models import TorchModel

        torch = require("torch", "torch", "PaperNetwork.torch_model")
        layers = []
        for W, b in ((self.W1, self.b1), (self.W2, self.b2)):
            layer = torch.nn.Linear(W.shape[1], W.shape[0], dtype=torch.float64, device="meta")  # draws no weights
            layer.load_state_dict({"weight": torch.tensor(W), "bias": torch.tensor(b)}, assign=True)
            layers.append(layer)
        return TorchModel(torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1]), self.encode)

    @cached_property
    def _inner(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float]:
        """The weights as the kernel reads them: a softmax over two classes needs only their difference."""
        gap = np.ascontiguousarray(self.W2[1] - self.W2[0])
        return np.ascontiguousarray(self.W1.T), np.ascontiguousarray(self.b1), gap, float(self.b2[1] - self.b2[0])


def _column(entry: Mapping[str, Any]) -> ScaledColumn | CodedColumn:
    if entry["op"] == "minmax":
        return ScaledColumn(entry["name"], float(entry["min"]), float(entry["max"]))
    if entry["op"] == "integer_code":
        return CodedColumn(entry["name"], {str(value): int(code) for value, code in entry["map"].items()})
    raise DataError(f"encoding.json: column {entry['name']!r} has an unknown op {entry['op']!r}.")
