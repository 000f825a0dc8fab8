"""Same seed, same plans, in this process or another; the index is kept as it came."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastways.recourse import Recourse
from leastways.schema import Schema
from tests.recourse.fresh import everything, kept
from tests.support.bank_people import recourse, refused

PEOPLE = refused(8)
CODE = """
from tests.support.bank_people import recourse, refused
print(recourse(method={method!r}, random_state=5).recommend(refused(8)).to_json())
"""


@pytest.mark.parametrize("method", ["guided", "cols", "pcols", "ls", "random"])
def test_another_process_gives_the_same_plans(method: str) -> None:
    here = recourse(method=method, random_state=5).recommend(PEOPLE).to_json()
    there = subprocess.run(
        [sys.executable, "-c", CODE.format(method=method)], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert there.stdout.strip() == here


FRESH = """
from tests.recourse.fresh import everything
print(everything())
"""


def test_kernels_compiled_afresh_give_the_same_plans(tmp_path: Path) -> None:
    """Machine code that was read from disk must do to the last bit what newly made code does."""
    here, there = everything(), kept()
    if there is None:
        there = _compiled_now(tmp_path)
    assert there == here


def _compiled_now(folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", FRESH],
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder)},
    )
    made = {p.name.split(".")[0].rsplit("-", 1)[0] for p in folder.rglob("*.nbi")}
    assert {"guided", "tables"} <= made, "the folder was not used, so nothing was compiled afresh"
    return done.stdout.strip()


@pytest.mark.parametrize("method", ["guided", "cols", "pcols", "ls", "random"])
def test_plans_do_not_depend_on_the_chunk_size(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = recourse(method=method).recommend(PEOPLE)
    monkeypatch.setattr("leastways.recourse.settings._CHUNK_BYTES", 1)  # one person at a time
    single = recourse(method=method).recommend(PEOPLE)
    assert single.settings["model_calls"] > whole.settings["model_calls"]
    pd.testing.assert_frame_equal(single.options, whole.options)
    pd.testing.assert_frame_equal(single.summary, whole.summary)


@pytest.mark.parametrize("method", ["guided", "cols", "pcols", "ls", "random"])
def test_other_seeds_give_other_plans(method: str) -> None:
    first, second = (recourse(method=method, random_state=seed).recommend(PEOPLE) for seed in (0, 1))
    assert not first.options.equals(second.options)
    assert recourse(method=method, random_state=1).recommend(PEOPLE) == second


def test_plans_depend_on_rows_and_not_on_labels() -> None:
    """A person's plan depends on their row, so two people in the same state get the same options."""
    people = pd.concat([PEOPLE.iloc[[0, 0]], PEOPLE.iloc[[1]]]).set_axis(["one", "two", "other"], axis=0)
    plans = recourse().recommend(people)
    assert plans["one"].options == plans["two"].options
    assert plans["one"].options != plans["other"].options


INDEXES: list[Any] = [
    pd.Index([30, 10, 20, 80, 70, 60, 50, 40]),
    pd.Index(list("hgfedcba"), name="customer"),
    pd.Index([0.5, 1.5, 2.5, -1.0, 4.0, 5.0, 6.0, 7.0]),
    pd.date_range("2020-01-01", periods=8, tz="UTC"),
    pd.CategoricalIndex(list("hgfedcba")),
]


@pytest.mark.parametrize("index", INDEXES, ids=lambda i: type(i).__name__ + str(i.dtype))
def test_plans_keep_the_index_of_the_table(index: Any) -> None:
    plans = recourse().recommend(PEOPLE.set_axis(index, axis=0))
    pd.testing.assert_index_equal(plans.summary.index, index)
    pd.testing.assert_index_equal(plans.people.index, index)
    assert [plan.person for plan in plans] == index.tolist()
    assert plans.options["person"].dtype == index.dtype
    assert plans.options["person"].unique().tolist() == index.tolist()
    assert type(plans).from_json(plans.to_json()) == plans


def test_people_in_the_end_are_people_as_given() -> None:
    given = PEOPLE[["sex", "job", "school", "income", "age"]]
    plans = recourse().recommend(given)
    pd.testing.assert_frame_equal(plans.people, PEOPLE)
    np.testing.assert_array_equal(plans.options.dtypes[PEOPLE.columns], PEOPLE.dtypes)


def test_negative_zero_and_zero_give_the_same_plan() -> None:
    train = pd.DataFrame({"x": [1.0, 2.5, 4.0, 7.0], "y": [1, 2, 3, 4]})
    rec = Recourse(lambda frame: frame["x"].to_numpy() > 3, Schema.infer(train), n_costs=40, budget=30, n_options=2)
    one, other = rec.fit(train).recommend(pd.DataFrame({"x": [0.0, -0.0], "y": [2, 2]}))
    assert one.options
    assert [option.values for option in one.options] == [option.values for option in other.options]
    assert one.emc == other.emc


@pytest.mark.parametrize("method", ["guided", "cols", "face-knn"])
@pytest.mark.parametrize("kind", [np.int8, np.int64])
def test_counts_may_be_numpy_integers(method: str, kind: Any) -> None:
    plain = recourse(method=method, n_options=4, budget=100, n_costs=100).recommend(PEOPLE)
    numpys = recourse(method=method, n_options=kind(4), budget=kind(100), n_costs=kind(100)).recommend(PEOPLE)
    assert numpys.options.equals(plain.options)
    assert numpys.to_json() == plain.to_json()


def test_long_seeds_are_distinguished() -> None:
    one, other = (recourse(random_state=10**80 + k).recommend(PEOPLE) for k in (0, 1))
    assert not one.summary["emc"].equals(other.summary["emc"])
