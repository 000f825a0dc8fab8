"""People with gaps, from files to files: what is not known is null, and plans are those of one call."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastways import Recourse, Schema
from leastways.batch import read_plans, recommend_files
from tests.recourse.gaps import PEOPLE, pipeline, recourse

pytest.importorskip("pyarrow")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_gaps_from_file_to_folder(suffix: str, tmp_path: Path) -> None:
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
def test_gaps_in_a_column_of_objects(values: list[Any], suffix: str, tmp_path: Path) -> None:
    """Files have nothing where the training table has NaN, and pandas reads that as None."""
    train = pd.DataFrame({"a": range(6), "b": pd.Series(values * 2, dtype=object)})
    rec = Recourse(lambda frame: (frame["a"] > 3).astype(float), Schema.infer(train), n_options=1, n_costs=5, budget=9)
    rec.fit(train)
    source = tmp_path / f"people{suffix}"
    train.head(3).to_csv(source, index=False) if suffix == ".csv" else train.head(3).to_parquet(source)
    with ThreadPoolExecutor(1) as executor:
        recommend_files(rec, source, tmp_path / "out", executor=executor)
    assert read_plans(tmp_path / "out").summary["status"].tolist() == ["found"] * 3
