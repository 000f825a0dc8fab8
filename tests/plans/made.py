"""Plans made by hand, so that every figure in them is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from leastways.plans import RecoursePlans
from leastways.schema import AtMost, Forbidden, Schema

PEOPLE = pd.DataFrame(
    {
        "monthly_hours": [20, 30, 40, 50],
        "debt": np.array([0.5, 1.25, 9.0, 3.0], dtype=np.float32),
        "job": pd.Categorical(["cook", "nurse", "cook", "nurse"], ["nurse", "cook", "née"]),
        "owner": [True, False, True, False],
    },
    index=pd.Index(["ann", "bob", "cy", "dée"], name="customer"),
)
SCHEMA = Schema.infer(PEOPLE).update(
    monthly_hours={"min": 10, "max": 60, "unit": "h", "label": "working hours"},
    rules=[AtMost(3), Forbidden({"monthly_hours": (50, None), "job": ["cook"]})],
)
OPTIONS = pd.DataFrame(
    {
        "person": ["ann", "ann", "cy"],
        "option": [1, 2, 1],
        "monthly_hours": [30, 20, 40],
        "debt": np.array([0.5, 0.5, 1.25], dtype=np.float32),
        "job": pd.Categorical(["cook", "née", "cook"], ["nurse", "cook", "née"]),
        "owner": [True, False, True],
        "probability": [0.75, 0.5, 1.0],
        "expected_cost": [0.25, np.inf, 0.0],
        "best_for": [0.75, 0.125, 1.0],
    }
)
SUMMARY = pd.DataFrame(
    {
        "status": pd.Series(["found", "already_positive", "partial", "invalid_input"], dtype="str"),
        "n_options": [2, 0, 1, 0],
        "covered": [0.875, np.nan, 1.0, np.nan],
        "emc": [0.25, np.nan, 0.0, np.nan],
        "satisfied": [0.875, np.nan, 1.0, np.nan],
        "queries": [40, 1, 12, 0],
        "probability": [0.25, 0.9, 0.125, np.nan],
        "reason": pd.Series(["", "", "the model failed", "column 'debt': bad"], dtype="str"),
    }
).set_axis(PEOPLE.index, axis=0)
FAILED = pd.DataFrame({"person": ["cy"], "error": ["boom"], **{n: PEOPLE[n].iloc[:1].array for n in PEOPLE}})
SETTINGS = {"n_options": 4, "budget": 40, "threshold": 0.5, "target": "oui", "method": "COLS()"}


def plans(**changes: Any) -> RecoursePlans:
    """Return plans for four people: two options, accepted already, one option, a bad row."""
    parts: dict[str, Any] = {
        "schema": SCHEMA,
        "people": PEOPLE,
        "summary": SUMMARY,
        "options": OPTIONS,
        "failed_rows": FAILED,
        "settings": SETTINGS,
    }
    return RecoursePlans(**(parts | changes))
