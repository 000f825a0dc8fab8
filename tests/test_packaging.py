"""What is not Python in the package gets into a wheel only if a pattern says so: every such file has to match one."""

from __future__ import annotations

import re
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


def test_oldest_tested_releases_equal_the_declared_minimum() -> None:
    """`make lowest` uses what lowest.txt names; what pyproject.toml promises must be the same."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    untried = {"torch", "dice-ml", "leastways"}  # with neighbours as old as these they cannot be installed
    wanted = [w for name, needs in extras.items() if name not in ("all", "test") for w in needs]
    allowed = {}
    for need in (*project["dependencies"], *wanted):
        name, least = re.fullmatch(r"([\w.-]+)(?:\[\w+\])?>=([\d.]+)(?:,.*)?", need).groups()  # type: ignore[union-attr]
        allowed[name] = least
    lines = (ROOT / "tests" / "install" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    tried = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert set(tried) == set(allowed) - untried
    for name, release in tried.items():
        assert _numbers(release) == _numbers(allowed[name]), name


def _numbers(release: str) -> list[int]:
    """Return 1.16 and 1.16.0 as the same."""
    numbers = [int(part) for part in release.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers
