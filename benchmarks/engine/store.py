"""The results file: every row is written as soon as it is made, with the settings that made it."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Rows = dict[str, Row]
_FORMAT = 1
_PACKAGES = ("numpy", "pandas", "scikit-learn", "numba", "xgboost")
_ROOT = Path(__file__).parents[2]


class Store:
    """Rows by part and key, kept in one JSON file.

    Figures of two sizes, machines or sets of packages do not belong into one file, and hours of measuring are not to be
    overwritten by accident: such a file is refused.
    """

    def __init__(self, path: Path, size: str) -> None:
        self.path = path
        here = {"format": _FORMAT, "size": size, "machine": machine()}
        self.content: dict[str, Any] = read(path) if path.is_file() else {**here, "parts": {}}
        other = [name for name, value in here.items() if self.content[name] != value]
        if other:
            raise SystemExit(f"{path} was made with another {' and '.join(other)}; remove it or choose another --out.")

    def rows(self, part: str) -> Rows:
        """Return the rows of a part, in the order they were made."""
        rows: Rows = self.content["parts"].setdefault(part, {})
        return rows

    def forget(self, part: str) -> None:
        """Drop the rows of a part: it is measured anew."""
        self.content["parts"].pop(part, None)

    def has(self, part: str, key: str, settings: Mapping[str, Any]) -> bool:
        """Say whether a row is there, succeeded, and was made with these settings."""
        row = self.rows(part).get(key)
        return row is not None and row["status"] == "ok" and row["settings"] == json.loads(json.dumps(settings))

    def put(self, part: str, key: str, row: Row) -> None:
        """Add a row and save at once; an interrupted save leaves the old file whole."""
        self.rows(part).pop(key, None)
        self.rows(part)[key] = row
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_suffix(".part")
        beside.write_text(json.dumps(self.content, indent=1), encoding="utf-8")
        os.replace(beside, self.path)


def read(path: Path) -> dict[str, Any]:
    """Read a results file."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if content.get("format") != _FORMAT:
        raise SystemExit(f"{path} is not a results file of this version; choose another --out.")
    return content


def stamp() -> Row:
    """Return what each row notes of its making: when, which code, and how busy the machine was."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return {"at": time.strftime("%Y-%m-%dT%H:%M:%S"), "code": code_version(), "load": round(load, 2)}


def code_version() -> str:
    """Return the commit, with a + where files differ from it."""
    commit, changed = (_git("rev-parse", "--short", "HEAD"), _git("status", "--porcelain", "--untracked-files=no"))
    return f"{commit}{'+' if changed else ''}" if commit else version("leastways")


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=_ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip()


def machine() -> Row:
    """Describe the machine, so that figures of two machines are never compared unawares."""
    found = {name: version(name) for name in _PACKAGES if _installed(name)}
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "cores_used": 1,
        "system": platform.system(),
        "python": platform.python_version(),
        **found,
    }


def _installed(name: str) -> bool:
    try:
        version(name)
    except ModuleNotFoundError:
        return False
    return True


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
