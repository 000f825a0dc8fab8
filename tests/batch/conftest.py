from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from tests.batch.crowd import fitted, run, write


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The people, as a Parquet file."""
    return write(tmp_path_factory.mktemp("population") / "people.parquet")


@pytest.fixture(scope="session")
def unbroken(source: Path) -> Path:
    """The folder of a run that nothing happened to."""
    out = source.parent / "unbroken"
    run(fitted(), source, out)
    return out
