"""Plans read back from a run folder equal those of `recommend`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastways import Recourse, Schema
from leastways.batch import read_plans, recommend_files
from leastways.errors import DataError, SettingError
from tests.support.applicant_files import (
    fitted,
    interrupted_copy,
    people,
)
from tests.support.tables_with_gaps import PEOPLE, pipeline, recourse


def test_plans_and_people_that_cannot_be_read_are_errors(uninterrupted: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not finished"):
        read_plans(interrupted_copy(uninterrupted, tmp_path / "out"))
    with pytest.raises(DataError, match="there is no person with the label 1180591620717411303424"):
        read_plans(uninterrupted, people=[2**70])
    with pytest.raises(DataError, match="people must be labels"):
        read_plans(uninterrupted, people=[[1, 2]])
    with pytest.raises(DataError, match="there is no person with the label 'unknown'"):
        read_plans(uninterrupted, ["unknown"])
    with pytest.raises(DataError, match="there is no person with the label 'unknown', 'p99', 7 in the run"):
        read_plans(uninterrupted, ["p3", "unknown", "p40", "p99", 7])


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_missing_values_survive_files(suffix: str, tmp_path: Path) -> None:
    source, people = tmp_path / f"people{suffix}", PEOPLE.rename_axis("id")
    people.to_csv(source) if suffix == ".csv" else people.to_parquet(source)
    rec = recourse(pipeline())
    with ThreadPoolExecutor(1) as executor:
        recommend_files(rec, source, tmp_path / "out", index="id", executor=executor, people_per_part=16)
    whole, read = rec.recommend(people), read_plans(tmp_path / "out")
    pd.testing.assert_frame_equal(read.people, whole.people)
    pd.testing.assert_frame_equal(read.options, whole.options, check_dtype=False)
    raw = pd.read_parquet(tmp_path / "out" / "people")
    assert raw[list(people.columns)].isna().sum().to_dict() == people.isna().sum().to_dict()
    for plan in whole:
        assert read[plan.person].options == plan.options
        assert read[plan.person].state == plan.state


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("values", [["x", np.nan, "y"], [True, np.nan, False]], ids=["text", "truth"])
def test_missing_values_in_columns_of_objects(values: list[Any], suffix: str, tmp_path: Path) -> None:
    """Files hold nulls where the training table has NaN, and pandas reads those as None."""
    train = pd.DataFrame({"a": range(6), "b": pd.Series(values * 2, dtype=object)})
    rec = Recourse(lambda frame: (frame["a"] > 3).astype(float), Schema.infer(train), n_options=1, n_costs=5, budget=9)
    rec.fit(train)
    source = tmp_path / f"people{suffix}"
    train.head(3).to_csv(source, index=False) if suffix == ".csv" else train.head(3).to_parquet(source)
    with ThreadPoolExecutor(1) as executor:
        recommend_files(rec, source, tmp_path / "out", executor=executor)
    assert read_plans(tmp_path / "out").summary["status"].tolist() == ["found"] * 3


def test_plans_equal_those_of_recommend(source: Path, uninterrupted: Path) -> None:
    wanted, found = fitted().recommend(people()), read_plans(uninterrupted)
    pd.testing.assert_frame_equal(found.summary, wanted.summary)
    pd.testing.assert_frame_equal(found.options, wanted.options)
    pd.testing.assert_frame_equal(found.people, wanted.people)
    first, second = wanted.summary.index[wanted.summary["status"] == "found"][[3, 20]]
    few = read_plans(uninterrupted, [second, first])
    assert [plan.person for plan in few] == [first, second]
    assert few[second] == found[second] == wanted[second]


def test_sample_is_random_and_reproducible(uninterrupted: Path) -> None:
    whole = read_plans(uninterrupted)
    drawn = [read_plans(uninterrupted, sample=20, random_state=seed).summary.index.tolist() for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    for labels in drawn:
        assert len(set(labels)) == 20
        assert labels == [label for label in whole.summary.index if label in labels]
    some = read_plans(uninterrupted, sample=20, random_state=2)
    pd.testing.assert_frame_equal(some.summary, whole.summary.loc[drawn[2]])
    own = whole.options[whole.options["person"].isin(drawn[2])]
    pd.testing.assert_frame_equal(some.options, own.reset_index(drop=True))
    assert len(read_plans(uninterrupted, sample=1000)) == len(whole)
    with pytest.raises(SettingError, match="not both"):
        read_plans(uninterrupted, ["p3"], sample=3)
