"""What is not Python in the package gets into a wheel only if a pattern says so: every such file has to match one."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "leastways"


def test_every_file_of_the_package_is_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["leastways"]
    files = [
        path.relative_to(PACKAGE)
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc", ".nbi", ".nbc") and "__pycache__" not in path.parts
    ]
    assert len(files) > 10
    left_out = [str(f) for f in files if not any(_matches(f, pattern) for pattern in patterns)]
    assert left_out == []


def _matches(file: Path, pattern: str) -> bool:
    """Match part by part: a star does not reach into folders."""
    parts = pattern.split("/")
    return len(parts) == len(file.parts) and all(map(fnmatchcase, file.parts, parts))
