"""Releases from North Carolina's prisons in 1980 (ICPSR 8987): the paper's non-binary "COMPAS".

Fifteen features. The favourable label is 1: not arrested again. Directions are the paper's: criminal history
cannot be undone, so priors, prison violations, schooling, age and months served only go up.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leastways._messages import listed
from leastways.datasets.base import Dataset
from leastways.datasets.files import find_folder, require_columns
from leastways.datasets.splits import split_balanced
from leastways.errors import DataError

PRIORS = ("unknown", "none", "1 to 5", "more than 5")
VIOLATIONS = ("none", "1 to 5", "more than 5")

_NO_YES = ("no", "yes")
_FLAGS: dict[str, tuple[str, tuple[str, str]]] = {  # column of the file -> our name, words for 0 and 1
    "WHITE": ("race", ("Black", "White")),
    "ALCHY": ("alcohol", _NO_YES),
    "JUNKY": ("drugs", _NO_YES),
    "SUPER": ("supervised_release", _NO_YES),
    "MARRIED": ("married", _NO_YES),
    "FELON": ("felony", _NO_YES),
    "WORKREL": ("work_release", _NO_YES),
    "PROPTY": ("property_crime", _NO_YES),
    "PERSON": ("person_crime", _NO_YES),
    "MALE": ("gender", ("Female", "Male")),
}
_NUMBERS = ("PRIORS", "SCHOOL", "RULE", "AGE", "TSERVD", "RECID")

SETTINGS: dict[str, dict[str, Any]] = {
    **{name: {"direction": "any"} for name, _ in _FLAGS.values()},
    "race": {"direction": "fixed"},
    "gender": {"direction": "fixed"},
    "priors": {"direction": "up", "order": list(PRIORS), "label": "prior convictions"},
    "years_school": {"direction": "up", "label": "years of school", "unit": "years"},
    "prison_violations": {"direction": "up", "order": list(VIOLATIONS)},
    "age": {"direction": "up", "unit": "years"},
    "months_served": {"direction": "up", "unit": "months"},
}


def load_recidivism(
    data_dir: str | os.PathLike[str] | None = None, *, download: bool = False, random_state: int = 0
) -> Dataset:
    """Load the 1980 releases: 15 features, 1,000 people who were arrested again.

    `recidivism/Data_1980.csv` comes from `data_dir` or the folder in LEASTWAYS_DATA.
    """
    folder = find_folder("recidivism", ["Data_1980.csv"], data_dir, download)
    split = split_balanced(_named(_read(folder / "Data_1980.csv")), "no_rearrest", 1, random_state)
    return Dataset(
        name="recidivism",
        **vars(split),
        target="no_rearrest",
        favourable=1,
        settings=SETTINGS,
        description="Releases from prison, North Carolina 1980; not arrested again (1) is favourable.",
        source="ICPSR 8987, as used in the anchors experiments.",
        protected=("gender", "race"),
    )


def _read(path: Path) -> pd.DataFrame:
    raw = pd.read_csv(path)
    require_columns(path, raw, (*_FLAGS, *_NUMBERS))
    for name in (*_FLAGS, "RECID"):
        odd = sorted(set(raw[name].tolist()) - {0, 1})
        if odd:
            raise DataError(f"{str(path)!r}: column {name!r} holds {listed(odd)}; expected 0 or 1.")
    return raw


def _named(raw: pd.DataFrame) -> pd.DataFrame:
    """Give columns and values their words; ages are in months in the file, a negative prior means unknown."""
    columns: dict[str, Any] = {
        name: raw[column].map(dict(enumerate(words))) for column, (name, words) in _FLAGS.items()
    }
    columns["priors"] = np.array(PRIORS, dtype=object)[np.digitize(raw["PRIORS"], [-1, 0, 5], right=True)]
    columns["years_school"] = raw["SCHOOL"].astype(np.int64)
    columns["prison_violations"] = np.array(VIOLATIONS, dtype=object)[np.digitize(raw["RULE"], [0, 5], right=True)]
    columns["age"] = raw["AGE"].astype(np.int64) // 12
    columns["months_served"] = raw["TSERVD"].astype(np.int64)
    columns["no_rearrest"] = 1 - raw["RECID"].astype(np.int64)
    return pd.DataFrame(columns)
