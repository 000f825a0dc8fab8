"""Applicants in files, a model that misbehaves on one of them, and checks of run folders."""

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
from leastways.batch import BatchResult, read_manifest, recommend_files
from leastways.batch.parts import parts_of
from leastways.batch.sources import survey
from tests.support.bank_people import SCHEMA, chance, recourse, table

N = 48
PART = 16
QUICK: dict[str, Any] = {"budget": 25, "n_costs": 20}


def people(n: int = N) -> pd.DataFrame:
    """Return customers of the bank, refused or not, labelled by text."""
    frame = table(n, seed=11)
    return frame.set_axis([f"p{i}" for i in range(n)], axis=0).rename_axis("customer")


FAULTY = 21  # the row on which models misbehave, in the second part
FAULTY_INCOME = float(people()["income"].iloc[FAULTY])


def fitted(model: Any = chance, **settings: Any) -> lw.Recourse:
    """Return a fitted recourse that searches quickly."""
    return recourse(model, **(QUICK | settings))


@dataclass(frozen=True)
class Misbehaving:
    """The bank's model, which misbehaves when queried with one person's own row; with a mark, only once."""

    how: str
    mark: str = ""
    income: float = FAULTY_INCOME

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


def write_people(path: Path, frame: pd.DataFrame | None = None, rows: int = 10) -> Path:
    """Write people as Parquet, in small row groups; returns the path."""
    (people() if frame is None else frame).to_parquet(path, row_group_size=rows)
    return path


def run(rec: lw.Recourse, source: Path, out: Path, **settings: Any) -> BatchResult:
    """Run in threads of this process, which start quickly, unless the settings name other workers."""
    threads = None if settings.keys() & {"executor", "cluster", "workers"} else ThreadPoolExecutor(2)
    try:
        return recommend_files(rec, source, out, **({"people_per_part": PART, "executor": threads} | settings))
    finally:
        if threads is not None:
            threads.shutdown()


def tables(out: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables of people and options in a run folder."""
    return pd.read_parquet(out / "people"), pd.read_parquet(out / "options")


def check_each_person_once(out: Path, labels: list[Any] | None = None) -> pd.DataFrame:
    """Check that each person was written exactly once, with their options; returns the table of people."""
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


def checksums(out: Path) -> dict[str, str]:
    """Return the checksum of every file of a run folder except log and lock."""
    files = [p for p in sorted(out.rglob("*")) if p.is_file() and p.name not in ("log.jsonl", "lock")]
    return {str(p.relative_to(out)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def events(out: Path) -> list[str]:
    """Return the events of the log, in order."""
    return pd.read_json(out / "log.jsonl", lines=True)["event"].tolist()


def interrupted_copy(finished: Path, out: Path, keep: int = 1) -> Path:
    """Copy the folder of a finished run as if it had been killed after some parts; returns the copy."""
    shutil.copytree(finished, out)
    manifest = read_manifest(out)
    parts = manifest.pop("parts")
    manifest.pop("totals")
    (out / "manifest.json").write_text(json.dumps(manifest | {"finished": False}))
    (out / "journal.jsonl").write_text("".join(json.dumps(part) + "\n" for part in parts[:keep]))
    for part in parts[keep:]:
        for file in part["files"].values():
            (out / file["name"]).unlink()
    return out


def read_parts(path: Path, index: str | None = None, size: int = 1000, done: tuple[int, ...] = ()) -> list[Any]:
    """Read the parts of a file or folder that are not done."""
    return list(parts_of(survey(path, SCHEMA, index), size, done, None))


def damage(path: Path, column: str, group: int) -> Path:
    """Overwrite the pages of one column of one row group."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    place = file.schema_arrow.names.index(column)
    chunk = file.metadata.row_group(group).column(place)
    begin = chunk.dictionary_page_offset or chunk.data_page_offset
    content = bytearray(path.read_bytes())
    content[begin : begin + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(bytes(content))
    return path


class OwnSearcher:
    """A user's searcher without a `repr` of its own."""

    def __init__(self, depth: int = 3, inner: Any = None) -> None:
        self.depth = depth
        if inner is not None:
            self.inner = inner

    def start(self, problem: Any) -> Any:
        return lw.search.COLS().start(problem)
