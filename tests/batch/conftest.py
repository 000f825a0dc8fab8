from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from tests.support.applicant_files import fitted, run, write_people


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The applicants as a Parquet file."""
    return write_people(tmp_path_factory.mktemp("applicants") / "people.parquet")


@pytest.fixture(scope="session")
def uninterrupted(source: Path) -> Path:
    """The folder of a run without faults or interruptions."""
    out = source.parent / "uninterrupted"
    run(fitted(), source, out)
    return out
