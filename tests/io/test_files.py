"""Files are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from leastways.cli.plans import _with_one_type_per_column
from leastways.errors import DataError, SettingError
from leastways.io import OutputFile


@pytest.mark.parametrize("fault", [ValueError("bug"), KeyboardInterrupt(), MemoryError()])
def test_a_crash_half_way_leaves_nothing_and_loses_nothing(tmp_path: Path, fault: BaseException) -> None:
    def half(path: Path) -> None:
        path.write_text("half of")
        raise fault

    target = OutputFile.check(tmp_path / "plans.csv", (".csv",), force=True)
    with pytest.raises(type(fault)):
        target.write(half)
    assert not list(tmp_path.iterdir())
    (tmp_path / "plans.csv").write_text("the old one")
    with pytest.raises(type(fault)):
        target.write(half)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["the old one"]


def test_the_target_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    target = OutputFile.check(tmp_path / "plans.csv", (".csv",), force=False)

    def watched(path: Path) -> None:
        path.write_text("whole")
        assert path.parent == tmp_path
        assert path.suffix == ".csv"
        assert not target.path.exists()

    target.write(watched)
    assert target.path.read_text() == "whole"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    def full(path: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(DataError, match="No space left"):
        OutputFile.check(tmp_path / "plans.csv", (".csv",), force=False).write(full)


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "plans.csv").mkdir()
    with pytest.raises(SettingError, match="is a folder"):
        OutputFile.check(tmp_path / "plans.csv", (".csv",), force=True)


def test_columns_of_mixed_types_become_text_for_parquet(tmp_path: Path) -> None:
    table = pd.DataFrame({"a": [1, 2.5, 3], "b": [1, "x", None], "c": [True, None, False]}, dtype=object)
    made = _with_one_type_per_column(table)
    assert made["b"].tolist()[:2] == ["1", "x"]
    assert made["b"].isna().tolist() == [False, False, True]
    assert made["c"].tolist() == [True, None, False]
    made.to_parquet(tmp_path / "t.parquet")
    assert len(pd.read_parquet(tmp_path / "t.parquet")) == 3
