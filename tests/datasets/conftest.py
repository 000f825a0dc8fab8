"""Where the real data are, and small stand-ins for them in the same layout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_data_dir() -> Path:
    given = os.environ.get("LEASTWAYS_DATA")
    if not given:
        pytest.skip("LEASTWAYS_DATA is not set: no real data to check against")
    folder = Path(given)
    if not folder.is_dir():
        pytest.skip(f"LEASTWAYS_DATA names {given!r}, which is not a folder")
    return folder


@pytest.fixture
def no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Neither a data folder nor a filled cache; returns the (empty) cache folder."""
    monkeypatch.delenv("LEASTWAYS_DATA", raising=False)
    monkeypatch.setenv("LEASTWAYS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
