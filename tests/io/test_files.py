"""Files are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from leastways.errors import DataError, SettingError
from leastways.io import OutputFile


@pytest.mark.parametrize("fault", [ValueError("bug"), KeyboardInterrupt(), MemoryError()])
def test_a_failed_write_leaves_the_old_file(tmp_path: Path, fault: BaseException) -> None:
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


def test_the_file_appears_only_when_it_is_complete(tmp_path: Path) -> None:
    target = OutputFile.check(tmp_path / "plans.csv", (".csv",), force=False)

    def watched(path: Path) -> None:
        path.write_text("whole")
        assert path.parent == tmp_path
        assert path.suffix == ".csv"
        assert not target.path.exists()

    target.write(watched)
    assert target.path.read_text() == "whole"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_full_disk_is_a_data_error(tmp_path: Path) -> None:
    def full(path: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(DataError, match="No space left"):
        OutputFile.check(tmp_path / "plans.csv", (".csv",), force=False).write(full)


def test_a_folder_of_that_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plans.csv").mkdir()
    with pytest.raises(SettingError, match="is a folder"):
        OutputFile.check(tmp_path / "plans.csv", (".csv",), force=True)
