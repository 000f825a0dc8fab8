"""The whole suite of the engine's benchmark, small: every row comes out, and the page is made. Times are not judged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
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
    first = parts["startup"]["first search"]["result"]
    assert isinstance(first, dict)
    assert first["compiled_functions_kept"] > 0  # NUMBA_CACHE_DIR is honoured, so the cold run was cold


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
