"""Parts: what is read, and what is written for rows that cannot be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from leastways.batch.parts import parts_of
from leastways.batch.sources import survey
from leastways.errors import DataError
from tests.support.applicant_files import (
    check_each_person_once,
    damage,
    fitted,
    people,
    read_parts,
    run,
    write_people,
)
from tests.support.bank_people import SCHEMA


@pytest.mark.parametrize("done", [(), (0,), (1,), (0, 1), (2,), (0, 2)])
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_parts_that_are_done_are_not_read(
    tmp_path: Path, suffix: str, done: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leastways.batch.sources.BATCH", 6)
    applicants = people()
    path = tmp_path / f"people.{suffix}"
    write_people(path, applicants, rows=7) if suffix == "parquet" else applicants.to_csv(path)
    found = read_parts(path, "customer", 20, done)
    assert [part.number for part in found] == [n for n in range(3) if n not in done]
    for part in found:
        wanted = applicants.iloc[part.number * 20 : part.number * 20 + 20]
        assert part.labels.to_pylist() == wanted.index.tolist()
        pd.testing.assert_frame_equal(part.frame, wanted.reset_index(drop=True), check_dtype=suffix == "parquet")


def test_part_without_readable_rows_is_written(tmp_path: Path) -> None:
    source = damage(write_people(tmp_path / "people.parquet", rows=16), "income", 1)
    run(fitted(), source, tmp_path / "out")
    found = check_each_person_once(tmp_path / "out")
    assert found["reason"].str.contains("row group 1").sum() == 16
    assert found["reason"].iloc[16:32].str.contains("row group 1").all()


def test_unusable_rows_get_the_reasons_of_recommend(uninterrupted: Path, tmp_path: Path) -> None:
    """Also where all rows of a chunk are wrong in the same way."""
    applicants = people().astype({"age": object, "school": object})
    applicants.iloc[3, 0] = None
    applicants.iloc[5, 2] = "hihg"
    applicants.loc[applicants.index[16:32], "school"] = "unheard of"
    applicants["age"] = applicants["age"].astype("Int64")
    source = write_people(tmp_path / "people.parquet", applicants)
    run(fitted(), source, tmp_path / "out")
    found = check_each_person_once(tmp_path / "out").set_index("person")
    wanted = fitted().recommend(applicants).summary
    assert found["status"].tolist() == wanted["status"].tolist()
    assert found["reason"].tolist() == wanted["reason"].tolist()
    assert "Did you mean 'high'" in str(found.loc["p5", "reason"])
    assert found["age"].isna().loc["p3"]
    assert found["age"].loc[["p4"]].tolist() == applicants["age"].loc[["p4"]].tolist()


def test_long_values_are_shortened_in_reasons(tmp_path: Path) -> None:
    applicants = people().head(2)
    applicants.iloc[0, 2] = "x" * 100_000
    run(fitted(), write_people(tmp_path / "people.parquet", applicants), tmp_path / "out")
    reason = check_each_person_once(tmp_path / "out", ["p0", "p1"])["reason"].iloc[0]
    assert "xxx… (100,002 characters) is not a known category" in reason
    assert len(reason) < 500


def test_file_that_ends_early_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "people.csv"
    people().to_csv(path)
    parts = parts_of(survey(path, SCHEMA, "customer"), 20, (), None)

    def cut_off(*_: Any) -> Any:
        path.write_text("")
        return iter(())

    monkeypatch.setattr("leastways.batch.sources.CsvFile.blocks", cut_off)
    with pytest.raises(DataError, match="was changed while"):
        list(parts)
