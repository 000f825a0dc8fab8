"""Adult income with its many-valued categories, grouped as in the paper's appendix (from UCI's adult.data).

Twelve features: age and hours are numbers, the other ten categories; education, capital gain and capital
loss are ordered. `fnlwgt` (a survey weight) and `education-num` (education again) are left out. The groups of
countries are the paper's, with their oddities (El Salvador in South America, "South" in Euro_2, Yugoslavia by
itself); the country is fixed, so no option changes it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from leastways._messages import listed
from leastways.datasets.base import Dataset
from leastways.datasets.files import find_folder
from leastways.datasets.splits import split_balanced
from leastways.errors import DataError, SettingError

_RAW = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]
_UNUSED = ["fnlwgt", "education-num"]
_UNKNOWN = "?"

EDUCATION = ("Dropout", "High School grad", "Associates", "Bachelors", "Masters", "Prof-School", "Doctorate")
CAPITAL = ("none", "low", "high")

_EDUCATION = {
    "Dropout": "Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th",
    "High School grad": "HS-grad Some-college",
    "Associates": "Assoc-acdm Assoc-voc",
    "Bachelors": "Bachelors",
    "Masters": "Masters",
    "Prof-School": "Prof-school",
    "Doctorate": "Doctorate",
}
_MARITAL = {
    "Never-Married": "Never-married",
    "Married": "Married-civ-spouse Married-AF-spouse",
    "Separated": "Separated Divorced Married-spouse-absent",
    "Widowed": "Widowed",
}
_OCCUPATION = {
    "Admin": "Adm-clerical",
    "Military": "Armed-Forces",
    "Blue-Collar": "Craft-repair Farming-fishing Handlers-cleaners Machine-op-inspct Transport-moving",
    "White-Collar": "Exec-managerial",
    "Service": "Other-service Priv-house-serv",
    "Professional": "Prof-specialty",
    "Sales": "Sales",
    "Other": "Protective-serv Tech-support",
    _UNKNOWN: _UNKNOWN,
}
_COUNTRY = {
    "United-States": "United-States",
    "British-Commonwealth": "Canada England India Ireland Scotland",
    "China": "China Hong Taiwan",
    "SE-Asia": "Cambodia Laos Philippines Thailand Vietnam",
    "Euro_1": "France Germany Holand-Netherlands Italy",
    "Euro_2": "Greece Hungary Poland Portugal South",
    "Latin-America": (
        "Dominican-Republic Guatemala Haiti Honduras Jamaica Mexico Nicaragua Outlying-US(Guam-USVI-etc) "
        "Puerto-Rico Trinadad&Tobago"
    ),
    "South-America": "Columbia Ecuador El-Salvador Peru",
    "Yugoslavia": "Yugoslavia",
    "Other": "Cuba Iran Japan",
    _UNKNOWN: _UNKNOWN,
}
_GROUPS = {
    "education": _EDUCATION,
    "marital-status": _MARITAL,
    "occupation": _OCCUPATION,
    "native-country": _COUNTRY,
}

SETTINGS: dict[str, dict[str, Any]] = {
    "age": {"direction": "up", "unit": "years"},
    "workclass": {"direction": "any", "label": "kind of employer"},
    "education": {"direction": "up", "order": list(EDUCATION)},
    "marital-status": {"direction": "any", "label": "marital status"},
    "occupation": {"direction": "any"},
    "relationship": {"direction": "any"},
    "race": {"direction": "fixed"},
    "sex": {"direction": "fixed"},
    "capital-gain": {"direction": "any", "order": list(CAPITAL), "label": "capital gain"},
    "capital-loss": {"direction": "any", "order": list(CAPITAL), "label": "capital loss"},
    "hours-per-week": {"direction": "any", "label": "weekly working hours", "unit": "h"},
    "native-country": {"direction": "fixed", "label": "native country"},
}


def load_adult(
    data_dir: str | os.PathLike[str] | None = None,
    *,
    download: bool = False,
    random_state: int = 0,
    unknown: Literal["keep", "drop"] = "keep",
) -> Dataset:
    """Load Adult income in its non-binary form: 12 features, 1,000 people who earn 50,000 dollars or less.

    `adult/adult.data` comes from `data_dir`, the folder in LEASTWAYS_DATA, an earlier download or, with
    `download=True`, from UCI. "?" (workclass, occupation, country not known) is a category of its own, as in
    the paper; `unknown="drop"` leaves those rows out, so that no option sets a value to unknown.
    """
    if unknown not in ("keep", "drop"):
        raise SettingError(f"unknown must be 'keep' or 'drop', not {unknown!r}.")
    folder = find_folder("adult", ["adult.data"], data_dir, download)
    frame = _grouped(_read(folder / "adult.data"))
    if unknown == "drop":
        frame = frame[~(frame == _UNKNOWN).any(axis=1)]
    split = split_balanced(frame, "income", 1, random_state)
    return Dataset(
        name="adult",
        **vars(split),
        target="income",
        favourable=1,
        settings=SETTINGS,
        description="Adult income (US census 1994); an income above 50,000 dollars (1) is favourable.",
        source="UCI Machine Learning Repository, Adult, CC BY 4.0.",
        protected=("sex", "race"),
    )


def _read(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path, header=None, names=_RAW, skipinitialspace=True, keep_default_na=False)
    odd = sorted(set(frame["income"]) - {"<=50K", ">50K"})
    if odd:
        raise DataError(f"{str(path)!r}: income holds {listed(odd)}; expected '<=50K' or '>50K'.")
    return frame.drop(columns=_UNUSED)


def _grouped(raw: pd.DataFrame) -> pd.DataFrame:
    frame = raw.copy()
    for name, groups in _GROUPS.items():
        frame[name] = _regroup(raw[name], groups)
    for name in ("capital-gain", "capital-loss"):
        frame[name] = _levels(raw[name])
    frame["income"] = (raw["income"] == ">50K").astype(np.int64)
    return frame


def _regroup(column: pd.Series[Any], groups: Mapping[str, str]) -> pd.Series[Any]:
    """Replace each value by its group; a value in no group is an error."""
    group_of = {value: group for group, values in groups.items() for value in values.split()}
    unknown = sorted(set(column) - set(group_of))
    if unknown:
        raise DataError(f"column {column.name!r} holds {listed(unknown)}, which belong to no group.")
    return column.map(group_of)


def _levels(amounts: pd.Series[Any]) -> pd.Series[Any]:
    """Bin amounts into none, low and high, split at the median of the positive ones."""
    line = float(amounts[amounts > 0].median())
    level = (amounts > 0).astype(np.int64) + (amounts > line)
    return level.map(dict(enumerate(CAPITAL)))
