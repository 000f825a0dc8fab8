"""People with gaps, from files to files: what is not known is null, and plans are those of one call."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

from leastways.population import read_plans, recommend_files
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
