"""Every example runs as it is, without a warning, and stays small."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(path for path in FOLDER.glob("*.py") if path.name != "__init__.py")
NEEDS = {"torch_model.py": "torch"}
MOST_LINES = 75


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(path: Path, tmp_path: Path) -> None:
    needed = NEEDS.get(path.name)
    if needed is not None and find_spec(needed) is None:
        pytest.skip(f"{path.name} needs {needed}")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert not list(tmp_path.iterdir()), "an example leaves files behind"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_is_small_and_states_how_to_run_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    assert f"python examples/{path.name}" in text.partition('"""\n\nfrom')[0]
