"""The whole suite of the engine's benchmark, small: every row comes out, and the page is made. Times are not judged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.engine import probe, startup
from benchmarks.engine.store import read

ROOT = Path(__file__).parents[2]


def smoke(out: Path, only: str) -> dict[str, dict[str, dict[str, object]]]:
    command = [sys.executable, "-m", "benchmarks.engine", "--size", "smoke", "--only", only, "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    page = out.with_suffix(".md").read_text(encoding="utf-8")
    assert "Targets met" in page
    parts: dict[str, dict[str, dict[str, object]]] = read(out)["parts"]
    assert list(parts) == only.split(",")
    for rows in parts.values():
        assert {row["status"] for row in rows.values()} <= {"ok", "skipped"}
    shown = subprocess.run(
        [*command[:3], "--size", "smoke", "--render", "--out", str(out)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 0
    assert out.with_suffix(".md").read_text(encoding="utf-8") == page
    return parts


def test_parts_on_generated_people(tmp_path: Path) -> None:
    parts = smoke(tmp_path / "out.json", "growth,memory,startup")
    assert list(parts["startup"]) == ["import leastways", "and its Recourse"]


def test_the_first_search_is_timed_cold_and_warm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without compiling anything: both runs get the same empty folder, and what the first left there is counted."""
    folders: list[str] = []

    def ask(what: str, method: str, environment: dict[str, str]) -> dict[str, float]:
        folders.append(environment["NUMBA_CACHE_DIR"])
        if len(folders) == 1:
            assert not list(Path(folders[0]).iterdir())
            (Path(folders[0]) / "kernel.nbc").touch()
        return {"loading": 1.0, "first": 3.0 - len(folders), "second": 0.1}

    monkeypatch.setattr(probe, "ask", ask)
    result = startup._first("guided")
    assert folders[0] == folders[1]
    assert result["compiled_functions_kept"] == 1
    assert (result["cold"]["first"], result["warm"]["first"]) == (2.0, 1.0)


@pytest.mark.real_data
def test_parts_on_public_people(tmp_path: Path) -> None:
    if not os.environ.get("LEASTWAYS_DATA"):
        pytest.skip("needs the public data: set LEASTWAYS_DATA to its folder")
    parts = smoke(tmp_path / "out.json", "quality,time,latency,models")
    for row in parts["quality"].values():
        if row["status"] == "ok":
            result = row["result"]
            assert isinstance(result, dict)
            assert 0 < result["FS@1"] <= 100
