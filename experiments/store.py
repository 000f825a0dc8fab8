"""Results as data: a Parquet file per cell, and a manifest that says how each was made.

A cell's file name holds a digest of its settings, so configurations never mix. A file is written under another name and
renamed, and entered in the manifest with its checksum only then: a run that is killed loses the cell it was at and
nothing else. One run at a time writes; reports read whenever they like.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

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
        self._whole: dict[str, bool] = {}  # by cell, once looked at: whether its file is as it was written
        self._run: dict[str, Any] | None = None  # the entry of the run that is going on
        self._began = 0.0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other runs out while this one writes; the system lets go however this process ends."""
        folder = self.path.parent
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as stream:
            _lock(stream, folder)
            self.manifest = self._read()  # again: until now another run may have been at work here
            self._whole.clear()
            yield

    def _read(self) -> dict[str, Any]:
        if not self.path.is_file():
            return {"format": 1, "cells": {}}
        content: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        return content

    def has(self, cell: Cell) -> bool:
        """Whether a cell was finished, with exactly these settings."""
        entry = self.manifest["cells"].get(cell.key)
        return entry is not None and entry["settings"] == asdict(cell) and self._is_whole(cell, entry)

    def _is_whole(self, cell: Cell, entry: Mapping[str, Any]) -> bool:
        """Whether a cell's file is there and as it was written; one that is not counts as not made, and is named."""
        if cell.key not in self._whole:
            path = self._file(cell)
            self._whole[cell.key] = path.is_file() and _as_written(path, entry)
            if path.is_file() and not self._whole[cell.key]:
                print(f"{path} is damaged and counts as not made: `run` makes it again.", file=sys.stderr)
        return self._whole[cell.key]

    def put(self, cell: Cell, outcome: Outcome) -> None:
        """Keep a finished cell."""
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = asdict(cell)
        table = outcome.rows.assign(**{k: settings[k] for k in ("data", "model", "method", "seed")})
        table["person"] = table["person"].astype(str)
        partial = self._file(cell).with_suffix(".part")
        table.to_parquet(partial, index=False)
        digest = _digest(partial)
        os.replace(partial, self._file(cell))
        entry = {"settings": settings, "rows": len(table), "sha256": digest, "made": stamp(), **outcome.facts}
        self.manifest["cells"][cell.key] = entry
        self._whole[cell.key] = True
        if self._run is not None:
            self._run["cells"] += 1
        self._write()

    def note_failure(self, cell: Cell, error: str) -> None:
        """Keep what went wrong; a later run tries again."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.manifest.setdefault("failures", {})[cell.key] = {"settings": asdict(cell), "error": error}
        self._write()

    def begin_run(self, workers: int, methods: Sequence[str]) -> None:
        """Enter a run; what it has taken by the clock is kept with every cell, so that one that is killed counts."""
        self._began = time.perf_counter()
        self._run = {"seconds": 0.0, "workers": workers, "cells": 0, "methods": list(methods), "made": stamp()}
        self.manifest.setdefault("runs", []).append(self._run)
        self._write()

    def end_run(self) -> None:
        """Keep what the whole run took."""
        self._write()
        self._run = None

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
        if self._run is not None:
            self._run["seconds"] = round(time.perf_counter() - self._began, 1)
        partial = self.path.with_suffix(".part")
        partial.write_text(json.dumps(self.manifest, indent=1, sort_keys=True), encoding="utf-8")
        os.replace(partial, self.path)


def _lock(stream: IO[str], folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # no such locks here: two runs at once are the user's to avoid
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SystemExit(
            f"another run is writing to {folder} at this moment: wait for it, or give this one a folder of its own "
            "(--results)."
        ) from None
    except OSError as error:  # some file systems of clusters have no locks
        print(f"{folder} cannot be locked ({error}): see to it that no second run writes to it.", file=sys.stderr)


def _as_written(path: Path, entry: Mapping[str, Any]) -> bool:
    """Whether a file has its checksum or, of those written before there were any, can be read whole."""
    if "sha256" in entry:
        return _digest(path) == str(entry["sha256"])
    try:
        return len(pd.read_parquet(path)) == int(entry["rows"])
    except (OSError, ValueError):  # what Arrow raises of a file that was cut short
        return False


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


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
