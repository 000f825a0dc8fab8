"""Results as data: a Parquet file per cell, and a manifest that says how each was made.

A cell's file name holds a digest of its settings, so configurations never mix. A file is written under another name and
renamed, and entered in the manifest only then: a run that is killed loses the cell it was at and nothing else.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

import leastways as lw
from experiments.cells import Outcome
from experiments.config import Cell

RESULTS = Path("experiments/results")
_PACKAGES = ("numpy", "pandas", "scikit-learn", "scipy", "numba", "torch", "dice-ml", "xgboost")


class Store:
    """The results at one size. Experiments share cells: what one has made, another need not make again."""

    def __init__(self, size: str, root: Path = RESULTS) -> None:
        self.folder = root / size / "cells"
        self.path = root / size / "manifest.json"
        self.manifest: dict[str, Any] = self._read()

    def _read(self) -> dict[str, Any]:
        if not self.path.is_file():
            return {"format": 1, "cells": {}}
        content: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        return content

    def has(self, cell: Cell) -> bool:
        """Whether a cell was finished, with exactly these settings."""
        entry = self.manifest["cells"].get(cell.key)
        return entry is not None and entry["settings"] == asdict(cell) and self._file(cell).is_file()

    def put(self, cell: Cell, outcome: Outcome) -> None:
        """Keep a finished cell."""
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = asdict(cell)
        table = outcome.rows.assign(**{k: settings[k] for k in ("data", "model", "method", "seed")})
        table["person"] = table["person"].astype(str)
        partial = self._file(cell).with_suffix(".part")
        table.to_parquet(partial, index=False)
        os.replace(partial, self._file(cell))
        entry = {"settings": settings, "rows": len(table), "made": stamp(), **outcome.facts}
        self.manifest["cells"][cell.key] = entry
        self._write()

    def note_failure(self, cell: Cell, error: str) -> None:
        """Keep what went wrong; a later run tries again."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.manifest.setdefault("failures", {})[cell.key] = {"settings": asdict(cell), "error": error}
        self._write()

    def note_run(self, seconds: float, workers: int, cells: int, methods: Sequence[str]) -> None:
        """Keep what a whole run took, by the clock."""
        done = {"seconds": round(seconds, 1), "workers": workers, "cells": cells, "methods": list(methods)}
        self.manifest.setdefault("runs", []).append({**done, "made": stamp()})
        self._write()

    def rows(self, cell: Cell) -> pd.DataFrame:
        """Return a finished cell's rows."""
        return pd.read_parquet(self._file(cell))

    def entry(self, cell: Cell) -> Mapping[str, Any]:
        """Return what the manifest says of a finished cell."""
        found: Mapping[str, Any] = self.manifest["cells"][cell.key]
        return found

    def _file(self, cell: Cell) -> Path:
        return self.folder / f"{cell.key}.parquet"

    def _write(self) -> None:
        done = {k: v for k, v in self.manifest.get("failures", {}).items() if k not in self.manifest["cells"]}
        self.manifest["failures"] = done
        partial = self.path.with_suffix(".part")
        partial.write_text(json.dumps(self.manifest, indent=1, sort_keys=True), encoding="utf-8")
        os.replace(partial, self.path)


def stamp() -> dict[str, Any]:
    """Say what made a result: the code, the versions, the machine, the time."""
    return {
        "leastways": lw.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "packages": {name: found for name in _PACKAGES if (found := _version(name))},
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _commit() -> str:
    done = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
