"""German credit as processed for the flipset paper (Ustun, Spangher, Liu: Actionable Recourse, 2019).

What may move follows that paper where it says so: being single, a skilled job, a foreign worker, owning and
renting a home are fixed; a critical account can only be cleared, a checking account only be filled. The rest
is set here by meaning: savings and time in a job or home only grow, unemployment only ends, people who depend
on the applicant stay, gender and the loan's purpose stay (the paper leaves both columns out). Age goes up
(there: fixed), so that a schema may link it to other moves.

`MissedPayments` is 1 for those *without* a delay in UCI's credit history (912 of 1,000): the name says the
opposite of the values. It is a record of the past and fixed here. `OtherLoansAtStore` is 0 throughout and is
left out.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leastways._validation import check_seed
from leastways.datasets.base import Dataset
from leastways.datasets.files import find_folder, require_columns

TARGET = "GoodCustomer"
HELD_OUT = 0.3
_CONSTANT = "OtherLoansAtStore"

_DIRECTIONS = {
    "fixed": (
        "Gender ForeignWorker Single PurposeOfLoan NumberOfLiableIndividuals MissedPayments OwnsHouse "
        "RentsHouse JobClassIsSkilled"
    ),
    "up": (
        "Age YearsAtCurrentHome CheckingAccountBalance_geq_0 CheckingAccountBalance_geq_200 "
        "SavingsAccountBalance_geq_100 SavingsAccountBalance_geq_500 YearsAtCurrentJob_geq_4"
    ),
    "down": "CriticalAccountOrLoansElsewhere Unemployed YearsAtCurrentJob_lt_1",
    "any": (
        "LoanDuration LoanAmount LoanRateAsPercentOfIncome NumberOfOtherLoansAtBank HasTelephone "
        "NoCurrentLoan OtherLoansAtBank HasCoapplicant HasGuarantor"
    ),
}
_WORDING: dict[str, dict[str, str]] = {
    "Age": {"label": "age", "unit": "years"},
    "LoanDuration": {"label": "loan duration", "unit": "months"},
    "LoanAmount": {"label": "loan amount", "unit": "DM"},
    "LoanRateAsPercentOfIncome": {"label": "instalment as a share of income", "unit": "%"},
    "YearsAtCurrentHome": {"label": "years at the current home"},
    "NumberOfOtherLoansAtBank": {"label": "other loans at this bank"},
    "HasTelephone": {"label": "telephone"},
    "CheckingAccountBalance_geq_0": {"label": "checking account at 0 DM or more"},
    "CheckingAccountBalance_geq_200": {"label": "checking account at 200 DM or more"},
    "SavingsAccountBalance_geq_100": {"label": "savings of 100 DM or more"},
    "SavingsAccountBalance_geq_500": {"label": "savings of 500 DM or more"},
    "NoCurrentLoan": {"label": "no current loan"},
    "CriticalAccountOrLoansElsewhere": {"label": "critical account or loans elsewhere"},
    "OtherLoansAtBank": {"label": "instalment plans at other banks"},
    "HasCoapplicant": {"label": "co-applicant"},
    "HasGuarantor": {"label": "guarantor"},
    "Unemployed": {"label": "unemployed"},
    "YearsAtCurrentJob_lt_1": {"label": "less than a year in the job"},
    "YearsAtCurrentJob_geq_4": {"label": "four years or more in the job"},
}

SETTINGS: dict[str, dict[str, Any]] = {
    name: {"direction": direction, **_WORDING.get(name, {})}
    for direction, names in _DIRECTIONS.items()
    for name in names.split()
}

RULES: tuple[dict[str, Any], ...] = (
    {"if": {"CheckingAccountBalance_geq_200": 1}, "then": {"CheckingAccountBalance_geq_0": 1}},
    {"if": {"SavingsAccountBalance_geq_500": 1}, "then": {"SavingsAccountBalance_geq_100": 1}},
    {"forbid": {"YearsAtCurrentJob_lt_1": 1, "YearsAtCurrentJob_geq_4": 1}},
    {"forbid": {"Unemployed": 1, "YearsAtCurrentJob_geq_4": 1}},
)


def load_german(
    data_dir: str | os.PathLike[str] | None = None, *, download: bool = False, random_state: int = 0
) -> Dataset:
    """Load German credit: 28 features, 1,000 applicants, good customers (1) are favourable, bad ones are -1.

    `german/german.csv` comes from `data_dir` or the folder in LEASTWAYS_DATA. Classes are not balanced.
    `people` are three tenths held out, good and bad customers alike: a model refuses some of them. `rules`
    keep the flags that build on each other consistent (a balance of 200 is also a balance of 0).
    """
    folder = find_folder("german", ["german.csv"], data_dir, download)
    frame = _read(folder / "german.csv")
    rng = np.random.Generator(np.random.PCG64(check_seed(random_state)))
    held = np.sort(np.argsort(rng.random(len(frame)), kind="stable")[: round(HELD_OUT * len(frame))])
    return Dataset(
        name="german",
        frame=frame,
        train=frame.drop(index=frame.index[held]),
        people=frame.iloc[held].drop(columns=TARGET),
        target=TARGET,
        favourable=1,
        settings=SETTINGS,
        description="German credit: loans at a bank in the 1970s; being a good customer (1) is favourable.",
        source="UCI Machine Learning Repository, German Credit, as processed for the flipset paper.",
        protected=("Gender", "ForeignWorker"),
        rules=RULES,
    )


def _read(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path)
    require_columns(path, frame, (TARGET, *SETTINGS))
    return frame.drop(columns=_CONSTANT, errors="ignore")
