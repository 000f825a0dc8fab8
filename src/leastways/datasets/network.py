"""The paper's network, reloaded from its exported weights: one hidden layer of 20 units."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from leastways.errors import DataError, listed, nearest

FILES = ("model.npz", "encoding.json")
_BLOCK = 1024  # rows at a time: stays in the cache, and too little work for BLAS to start threads over


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
    """A frame in, P(class 1) out: softmax(W2 relu(W1 x + b1) + b2), Picklable.

    In double precision: single precision rounds differently with the number of rows in a call, and a plan must not
    depend on who else is in the batch.
    """

    columns: tuple[ScaledColumn | CodedColumn, ...]
    W1: NDArray[np.float64]  # [hidden, columns]
    b1: NDArray[np.float64]  # [hidden]
    W2: NDArray[np.float64]  # [2, hidden]
    b2: NDArray[np.float64]  # [2]

    @classmethod
    def load(cls, folder: Path) -> PaperNetwork:
        """Read `model.npz` and `encoding.json`."""
        encoding = json.loads((folder / "encoding.json").read_text(encoding="utf-8"))
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
        x = np.empty((len(self.columns), len(frame)))  # a row per column: contiguous writes
        for k, column in enumerate(self.columns):
            if column.name not in frame.columns:
                raise DataError(f"column {column.name!r} is missing." + nearest(column.name, frame.columns))
            x[k] = column.encode(frame[column.name])
        gap = np.empty(len(frame))
        for start in range(0, len(frame), _BLOCK):
            rows = slice(start, start + _BLOCK)
            hidden = self.W1 @ x[:, rows]
            hidden += self.b1[:, None]
            np.maximum(hidden, 0, out=hidden)
            logits = self.W2 @ hidden + self.b2[:, None]
            np.subtract(logits[1], logits[0], out=gap[rows])
        # a softmax over two classes is a logistic function of their difference
        return np.asarray(expit(gap), dtype=np.float64)


def _column(entry: Mapping[str, Any]) -> ScaledColumn | CodedColumn:
    if entry["op"] == "minmax":
        return ScaledColumn(entry["name"], float(entry["min"]), float(entry["max"]))
    if entry["op"] == "integer_code":
        return CodedColumn(entry["name"], {str(value): int(code) for value, code in entry["map"].items()})
    raise DataError(f"encoding.json: column {entry['name']!r} has an unknown op {entry['op']!r}.")
