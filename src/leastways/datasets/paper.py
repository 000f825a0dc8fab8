"""The two binary data sets of the paper's main tables, with the splits, the people and the network it used.

The splits are the paper's own and kept as they are: `people` are the test people whom its network refuses,
drawn with replacement (so some occur twice), and classes were balanced before the split.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd

from leastways.datasets import network
from leastways.datasets.base import Dataset
from leastways.datasets.folders import find_folder, require_columns
from leastways.io.strict_json import read_json

_FILES = ("all.csv", "train.csv", "val.csv", "test_users.csv", "schema.json", *network.FILES)
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
        model=network.PaperNetwork.load(folder),
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
