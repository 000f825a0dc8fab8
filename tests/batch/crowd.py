"""A small population on disk, models that misbehave on one of them, and what must hold of any output."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import leastways as lw
from leastways.batch import BatchResult, recommend_files
from leastways.batch.manifest import read_manifest
from tests.recourse.bank import chance, recourse, table

N = 48
PART = 16
QUICK: dict[str, Any] = {"budget": 25, "n_costs": 20}


def people(n: int = N) -> pd.DataFrame:
    """Some customers, refused or not, labelled by text."""
    frame = table(n, seed=11)
    return frame.set_axis([f"p{i}" for i in range(n)], axis=0).rename_axis("customer")


VICTIM = 21  # in the second part
VICTIM_INCOME = float(people()["income"].iloc[VICTIM])


def fitted(model: Any = chance, **settings: Any) -> lw.Recourse:
    return recourse(model, **(QUICK | settings))


@dataclass(frozen=True)
class Misbehaving:
    """The bank's model, which misbehaves when asked about one person as they are; with a mark, only once."""

    how: str
    mark: str = ""
    income: float = VICTIM_INCOME

    def __call__(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        if (frame["income"] == self.income).any() and not (self.mark and Path(self.mark).exists()):
            if self.mark:
                Path(self.mark).touch()
            self._misbehave()
        return chance(frame)

    def _misbehave(self) -> None:
        if self.how == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.how == "hang":
            time.sleep(1000)
        elif self.how == "exit":
            raise SystemExit(3)
        elif self.how == "raise":
            raise ValueError("this row is beyond me")
        elif self.how == "slow":
            time.sleep(0.3)


def write(path: Path, frame: pd.DataFrame | None = None, rows: int = 10) -> Path:
    """Write people as Parquet, in small row groups."""
    (people() if frame is None else frame).to_parquet(path, row_group_size=rows)
    return path


def run(rec: lw.Recourse, source: Path, out: Path, **settings: Any) -> BatchResult:
    """Run in threads of this process unless told otherwise: quick to start."""
    threads = None if settings.keys() & {"executor", "cluster", "workers"} else ThreadPoolExecutor(2)
    try:
        return recommend_files(rec, source, out, **({"people_per_part": PART, "executor": threads} | settings))
    finally:
        if threads is not None:
            threads.shutdown()


def tables(out: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read what was written."""
    return pd.read_parquet(out / "people"), pd.read_parquet(out / "options")


def everybody_once(out: Path, labels: list[Any] | None = None) -> pd.DataFrame:
    """Check that nobody is lost and nobody there twice; returns the people."""
    labels = people().index.tolist() if labels is None else labels
    found, options = tables(out)
    assert found["row"].tolist() == list(range(len(labels)))
    assert [None if pd.isna(label) else label for label in found["person"]] == labels
    counts = options["row"].value_counts().reindex(found["row"], fill_value=0)
    assert counts.tolist() == found["n_options"].tolist()
    assert not options.duplicated(["row", "option"]).any()
    known = [labels[row] for row in options["row"]]
    assert [None if pd.isna(label) else label for label in options["person"]] == known
    return found


def prints(out: Path) -> dict[str, str]:
    """Return the checksum of every file that is a result."""
    files = [p for p in sorted(out.rglob("*")) if p.is_file() and p.name not in ("log.jsonl", "lock")]
    return {str(p.relative_to(out)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def events(out: Path) -> list[str]:
    """Return what happened, from the log."""
    return pd.read_json(out / "log.jsonl", lines=True)["event"].tolist()


def cut_short(unbroken: Path, out: Path, keep: int = 1) -> Path:
    """Make a folder look as if the run had been killed after some parts."""
    shutil.copytree(unbroken, out)
    manifest = read_manifest(out)
    parts = manifest.pop("parts")
    manifest.pop("totals")
    (out / "manifest.json").write_text(json.dumps(manifest | {"finished": False}))
    (out / "journal.jsonl").write_text("".join(json.dumps(part) + "\n" for part in parts[:keep]))
    for part in parts[keep:]:
        for file in part["files"].values():
            (out / file["name"]).unlink()
    return out
