from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace

import pandas as pd
import pytest

from leastways.datasets import Dataset, load_credit
from leastways.errors import DataError


@pytest.fixture
def small() -> Dataset:
    frame = pd.DataFrame({"hours": [10, 20, 30, 40], "plan": ["a", "b", "a", "b"], "ok": [0, 1, 0, 1]})
    return Dataset(
        name="small",
        frame=frame,
        train=frame.iloc[:3],
        people=frame.iloc[3:].drop(columns="ok"),
        target="ok",
        favourable=1,
        settings={"hours": {"direction": "up", "unit": "h"}},
        description="four rows",
        source="here",
        protected=("plan",),
        rules=({"forbid": {"hours": 40, "plan": "a"}},),
    )


def test_parts_of_a_data_set(small: Dataset) -> None:
    assert small.features == ["hours", "plan"]
    assert list(small.X.columns) == small.features
    assert small.y.tolist() == [0, 1, 0]
    assert repr(small) == ("Dataset('small': 4 rows, 2 features, 3 to train on, 1 people, ok = 1 is favourable)")


def test_schema_has_settings_and_rules(small: Dataset) -> None:
    schema = small.schema()
    assert schema.target == "ok"
    assert schema.by_name["hours"].direction == "up"
    assert schema.by_name["hours"].unit == "h"
    assert schema.by_name["hours"].values[0] == 10
    assert len(schema.rules) == 1


def test_settings_are_a_copy() -> None:
    once = load_credit(n=100)
    once.settings["age"]["direction"] = "fixed"  # type: ignore[index]
    assert load_credit(n=100).settings["age"]["direction"] == "up"


def test_is_frozen_and_picklable(small: Dataset) -> None:
    with pytest.raises(FrozenInstanceError):
        small.name = "other"  # type: ignore[misc]
    back = pickle.loads(pickle.dumps(small))
    pd.testing.assert_frame_equal(back.frame, small.frame)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": "yes"}, "no target column 'yes'"),
        ({"favourable": 2}, "no row has 'ok' = 2"),
        ({"people": pd.DataFrame({"plan": ["a"], "hours": [10]})}, "in this order"),
        ({"settings": {"hour": {}}}, "no feature 'hour'. Did you mean 'hours'?"),
        ({"protected": ("plans",)}, "no feature 'plans'. Did you mean 'plan'?"),
    ],
)
def test_inconsistent_data_sets_are_refused(small: Dataset, changes: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message.replace("?", r"\?")):
        replace(small, **changes)  # type: ignore[arg-type]


def test_import_is_cheap() -> None:
    code = (
        "import sys, leastways; before = set(sys.modules); import leastways.datasets; "
        "print(*({'sklearn', 'numba', 'torch', 'yaml', 'matplotlib'} & (set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
