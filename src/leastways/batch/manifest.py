"""Write and check a run folder: its manifest, its journal and its parts."""

from __future__ import annotations

import json
import os
import platform
import secrets
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

import numpy as np

from leastways._fingerprint import file_print, value_print
from leastways._messages import listed
from leastways.batch.parts import are_sums, grid_rows
from leastways.batch.sources import arrow
from leastways.costs import Preferences
from leastways.errors import DataError, SettingError
from leastways.io import check_folder, json_of, read_json
from leastways.models import QueryCounter, as_model
from leastways.recourse import Recourse
from leastways.recourse.settings import settings_of

MANIFEST, JOURNAL, LOG, LOCK = "manifest.json", "journal.jsonl", "log.jsonl", "lock"
TABLES = ("people", "options")
RUN = "a run of many people"
DUPLICATES = "kinds"  # the folder inside, of a run that solves each kind of people once
FORMAT, VERSION = "leastways population", 1
_OF_A_FILE = {"name", "rows", "bytes", "sha256"}
_OF_A_RUN = {"config": dict, "input": dict, "schema": str, "finished": bool}
_OF_A_FINISHED_RUN = {"totals": dict, "parts": list}


@dataclass(frozen=True)
class DonePart:
    """A part that is on the disk: which people, its files with their checksums, and what came of these people."""

    number: int
    first: int
    people: int
    files: Mapping[str, Mapping[str, Any]]  # by table: name, rows, bytes, sha256
    totals: Mapping[str, Any]


def nothing_done(path: Path) -> bool:
    """Whether a run was cut short before the first part was written, of people or of kinds.

    The journal may be lost while parts are there: they may be whole, and are not to be overwritten.
    """
    return not any(journal_lines(place) or _part_files(place) for place in (path, path / DUPLICATES))


def _part_files(path: Path) -> list[Path]:
    return [file for name in TABLES for file in (path / name).glob("part-*.parquet")]


def journal_lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a journal; one that was cut off, or that a power cut spoiled, is as good as none."""
    journal = path / JOURNAL
    lines = []
    for text in journal.read_bytes().split(b"\n")[:-1] if journal.is_file() else []:
        with suppress(ValueError):
            line = json_of(text)
            if isinstance(line, dict) and isinstance(line.get("number"), int) and isinstance(line.get("people"), int):
                lines.append(line)
    return lines


def part_of(line: Any) -> DonePart | None:
    """Return the part that a journal or a manifest tells of; None where this is no account of one."""
    if not isinstance(line, dict) or line.keys() != {field.name for field in fields(DonePart)}:
        return None
    files = line["files"]
    named = isinstance(files, dict) and files.keys() == set(TABLES)
    told = named and all(isinstance(file, dict) and file.keys() >= _OF_A_FILE for file in files.values())
    return DonePart(**line) if told and are_sums(line["totals"]) else None


def held_by(path: Path) -> dict[str, Any] | None:
    """Return the manifest of the run that a folder holds; None for a new or empty one. Any other is refused."""
    check_folder(path, RUN)
    if not path.exists() or all(p.name == LOCK or p.name.startswith(f".{MANIFEST}") for p in path.iterdir()):
        return None  # also one that a run was killed in before it had begun
    if not (path / MANIFEST).is_file():
        raise SettingError(f"the folder {str(path)!r} holds other files, and no run; choose a new or an empty one.")
    return whole_manifest(path)


def whole_manifest(path: Path) -> dict[str, Any]:
    """Read the manifest of a run, with all that it has to say."""
    data = read_manifest(path)
    wanted = _OF_A_RUN | (_OF_A_FINISHED_RUN if data.get("finished") else {})
    missing = [name for name, kind in wanted.items() if not isinstance(data.get(name), kind)]
    if missing:
        raise DataError(f"{str(path / MANIFEST)!r} is damaged: it does not say {listed(missing)}.")
    return data


def read_manifest(path: Path) -> dict[str, Any]:
    """Read the manifest of a run."""
    file = path / MANIFEST
    if not file.is_file():
        raise SettingError(f"the folder {str(path)!r} holds no run of leastways recommend.")
    data = read_json(file)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise DataError(f"{str(file)!r} is not the manifest of a run of leastways.")
    if data.get("version") != VERSION:
        raise DataError(f"{str(file)!r} has version {data.get('version')!r}; this release reads {VERSION}.")
    return data


def other_input(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Say what differs between two inputs, file by file."""
    old, new = ({file["name"]: file for file in files["files"]} for files in (before, now))
    found = [f"the input has no file {name!r} any more" for name in old if name not in new]
    found += [f"the input has a new file {name!r}" for name in new if name not in old]
    found += [f"the input file {name!r} was changed" for name in old if name in new and old[name] != new[name]]
    if not found and before.get("index") != now.get("index"):
        found.append(f"people are labelled by {now.get('index')!r}, were by {before.get('index')!r}")
    return found


def people_done(path: Path) -> tuple[int, int]:
    """Return how many people of a run are on the disk, and how many there are."""
    if not (path / MANIFEST).is_file():
        return 0, 0
    manifest = read_manifest(path)
    if manifest["finished"] or not (path / JOURNAL).is_file():
        return int(manifest["finished"]) * int(manifest["input"]["rows"]), int(manifest["input"]["rows"])
    done = {part["number"]: int(part["people"]) for part in journal_lines(path)}
    return sum(done.values()), int(manifest["input"]["rows"])


_LIBRARIES = ("leastways", "numpy", "pandas", "scikit-learn", "scipy", "numba", "pyarrow")
_PROBES = 64  # rows that a model is known by
_SAME = 1e-6  # the last bits of an answer depend on the machine


def config_of(
    recourse: Recourse,
    preferences: Preferences | Mapping[Any, Preferences] | None,
    model_file: str | None,
    people_per_part: int,
    dedup: bool,
) -> dict[str, Any]:
    """Return all that the results depend on beside the people, as JSON can hold it."""
    settings = settings_of(recourse)
    return {
        "settings": {name: settings[name] for name in sorted(settings)},
        "schema": value_print(recourse.schema.to_yaml()),
        "training": value_print([recourse._training, recourse.cost_model_.percentiles.data, recourse.distilled_]),
        "model": {"file": model_file, "answers": _answers(recourse)},
        "preferences": None if preferences is None else value_print(preferences),
        "people_per_part": people_per_part,
        "dedup": dedup,
        "made_with": made_with(),
    }


def made_with() -> dict[str, str]:
    """Return the versions of what the last bits of a result may depend on."""
    return {"python": platform.python_version()} | {name: installed(name) for name in _LIBRARIES}


def _answers(recourse: Recourse) -> list[float | None]:
    """Return what the model says of some rows made of the schema's grids: None where it fails.

    A model is any object, and no bytes of it can be relied on to be the same in the next process. Its answers can.
    """
    meter = QueryCounter(as_model(recourse.model, recourse.target, threshold=recourse.threshold))
    values, _ = meter.evaluate_by_group(grid_rows(recourse.schema, _PROBES), np.arange(_PROBES))
    return [None if np.isnan(v) else round(float(v), 9) for v in values]


_WORDS = {
    "schema": "the schema differs",
    "training": "the training table, or what was learned from it, differs",
    "preferences": "the preferences differ",
}


def differences(before: Mapping[str, Any], now: Mapping[str, Any], inside: str = "") -> list[str]:
    """Say what differs between two configurations, a line each."""
    found = []
    for name in dict.fromkeys([*before, *now]):
        one, other = before.get(name), now.get(name)
        where = f"{inside}{name}"
        if one == other:
            continue
        if where == "model.answers":
            found += _other_answers(one or [], other or [])
        elif isinstance(one, Mapping) and isinstance(other, Mapping):
            found += differences(one, other, f"{where}.")
        elif where == "model.file":
            found.append(f"the model's file differs (sha256 {str(other)[:12]}, was {str(one)[:12]})")
        else:
            found.append(_WORDS.get(where, f"{where} is {other!r}, was {one!r}"))
    return found


def _other_answers(before: list[float | None], now: list[float | None]) -> list[str]:
    if len(before) != len(now):
        return ["the model differs"]
    for one, other in zip(before, now, strict=True):
        same = one is other if one is None or other is None else abs(one - other) <= _SAME
        if not same:
            return [f"the model answers {other!r} where it answered {one!r}"]
    return []


class RunFolder:
    """A folder that one run, and nobody else at the same time, writes to."""

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        self.path = path
        self.manifest = manifest
        self.done: dict[int, DonePart] = {}

    @classmethod
    @contextmanager
    def opened(cls, path: Path, manifest: dict[str, Any], resume: bool) -> Iterator[RunFolder]:
        """Start a run in a new or empty folder, or take up one that was cut short; hold it until the end.

        A folder in which nothing is done yet, as after a wrong address of a cluster, is as good as new.
        """
        folder = cls(path, {"format": FORMAT, "version": VERSION, **manifest, "finished": False})
        folder._known(resume)  # before anything is put into a folder that is not ours
        with _written(path):
            path.mkdir(exist_ok=True)
        with _locked(path):
            known = folder._known(resume)  # again: until now another run may have been at work here
            folder._forget_drafts()
            if known is None:
                folder._begin()
            else:
                folder.manifest = known
                folder._take_up()
            yield folder

    @property
    def finished(self) -> bool:
        """Whether all parts are written and the manifest says so."""
        return bool(self.manifest["finished"])

    def keep(self, number: int, first: int, tables: Mapping[str, Any], totals: Mapping[str, Any]) -> DonePart:
        """Write the tables of a part, and enter it in the journal once they are safe."""
        files = {name: self._write_table(name, number, table) for name, table in tables.items()}
        part = DonePart(number, first, len(tables["people"]), files, totals)
        with _written(self.path / JOURNAL), (self.path / JOURNAL).open("a", encoding="utf-8") as journal:
            journal.write(_line(part))
            _to_disk(journal)
        self.done[number] = part
        return part

    def finish(self, totals: Mapping[str, Any]) -> None:
        """Write the whole account into the manifest; the journal is of no more use."""
        parts = [asdict(self.done[number]) for number in sorted(self.done)]
        self.manifest = {**self.manifest, "finished": True, "totals": dict(totals), "parts": parts}
        self._write_json(MANIFEST, self.manifest)
        (self.path / JOURNAL).unlink(missing_ok=True)

    def _known(self, resume: bool) -> dict[str, Any] | None:
        """Return the manifest of the run to continue, or None for a new one; raises where neither can be."""
        known = held_by(self.path)
        if known is None or (not resume and not known["finished"] and nothing_done(self.path)):
            return None
        self._check_same(known, resume)
        return known

    def _begin(self) -> None:
        """Say what this run is, and bring all names that it will need to the disk."""
        self._write_json(MANIFEST, self.manifest)
        with _written(self.path):
            shutil.rmtree(self.path / DUPLICATES, ignore_errors=True)  # of a run that got no further than that
            for name in TABLES:
                (self.path / name).mkdir(exist_ok=True)
        self._forget_unfinished()
        _folder_to_disk(self.path.parent)

    def _take_up(self) -> None:
        """Find out what is done already, and is as it was written."""
        lines = self.manifest["parts"] if self.finished else journal_lines(self.path)
        self.done = {part.number: part for part in map(part_of, lines) if part is not None and self._is_whole(part)}
        if self.finished and len(self.done) == len(lines):
            (self.path / JOURNAL).unlink(missing_ok=True)  # where the run was killed just before it did this
            return
        self._forget_unfinished()
        if self.finished:  # parts were damaged since; the journal is there by now, so that the others are not lost
            known = {name: said for name, said in self.manifest.items() if name not in ("totals", "parts")}
            self.manifest = {**known, "finished": False}
            self._write_json(MANIFEST, self.manifest)

    def _write_table(self, name: str, number: int, table: Any) -> dict[str, Any]:
        arrow()
        import pyarrow.parquet as pq

        target = self.path / name / f"part-{number:06d}.parquet"
        with _safely(target, f".{target.stem}") as draft, draft.open("wb") as stream:
            pq.write_table(table, stream, compression="zstd")
            _to_disk(stream)
        with _written(target):
            size, checksum = target.stat().st_size, file_print(target)
        return {"name": f"{name}/{target.name}", "rows": len(table), "bytes": size, "sha256": checksum}

    def _write_json(self, name: str, content: Mapping[str, Any]) -> None:
        self._write_text(name, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")

    def _write_text(self, name: str, text: str) -> None:
        with _safely(self.path / name, f".{name}") as draft, draft.open("w", encoding="utf-8") as stream:
            stream.write(text)
            _to_disk(stream)

    def _check_same(self, known: Mapping[str, Any], resume: bool) -> None:
        """Raise unless the folder holds this very run, and it is to be continued."""
        if not resume:
            state = "a finished run" if known["finished"] else "a run that was cut short"
            raise SettingError(
                f"the folder {str(self.path)!r} holds {state}; choose a new folder, or continue it with --resume "
                "(resume=True)."
            )
        found = differences(known["config"], self.manifest["config"])
        found += other_input(known["input"], self.manifest["input"])
        if found:
            raise SettingError(
                f"the folder {str(self.path)!r} holds another run, so it is not continued: " + "; ".join(found) + "."
            )

    def _is_whole(self, part: DonePart) -> bool:
        return all(self._is_as_written(file) for file in part.files.values())

    def _is_as_written(self, file: Mapping[str, Any]) -> bool:
        path = self.path / file["name"]
        if not path.is_file() or path.stat().st_size != file["bytes"]:
            return False
        return file_print(path) == str(file["sha256"])

    def _forget_unfinished(self) -> None:
        """Remove what a killed run left behind: files that never made it into the journal, and nobody else's."""
        known = {file["name"] for part in self.done.values() for file in part.files.values()}
        for name in TABLES:
            with _written(self.path / name):
                (self.path / name).mkdir(exist_ok=True)
                for path in (self.path / name).glob("part-*.parquet"):
                    if f"{name}/{path.name}" not in known:
                        path.unlink()
        self._write_text(JOURNAL, "".join(_line(part) for part in self.done.values()))

    def _forget_drafts(self) -> None:
        """Remove files that a killed run was writing."""
        drafts = [f".{MANIFEST}-*", f".{JOURNAL}-*", *(f"{name}/.part-*" for name in TABLES)]
        with _written(self.path):
            for path in [path for draft in drafts for path in self.path.glob(draft)]:
                path.unlink()


def _line(part: DonePart) -> str:
    return json.dumps(asdict(part), allow_nan=False) + "\n"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep a second run out of the folder; the system lets go of the lock however this process ends."""
    with (path / LOCK).open("w") as stream:
        try:
            import fcntl
        except ImportError:  # no such locks here: two runs at once are the user's to avoid
            yield
            return
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SettingError(f"another run is writing to the folder {str(path)!r} at this moment.") from None
        except OSError as error:  # some file systems of clusters have no locks
            warnings.warn(
                f"the folder {str(path)!r} cannot be locked ({error}): see to it that no second run writes to it.",
                RuntimeWarning,
                stacklevel=2,
            )
        yield


@contextmanager
def _written(path: Path) -> Iterator[None]:
    """Say which file could not be written, and that nothing done is lost."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"cannot write {str(path)!r}: {error}. The parts that are done are kept; mend this and continue the run "
            "with --resume (resume=True)."
        ) from error


@contextmanager
def _safely(target: Path, prefix: str) -> Iterator[Path]:
    """Yield a file beside `target` to write to; at the end it takes its place, for good, or is gone if anything failed.

    `prefix` is how its name begins, so that a draft that a killed run left is known for one.
    """
    draft = target.with_name(f"{prefix}-{secrets.token_hex(4)}")
    with _written(target):
        try:
            yield draft
            draft.replace(target)
            _folder_to_disk(target.parent)
        finally:
            draft.unlink(missing_ok=True)


def _to_disk(stream: Any) -> None:
    stream.flush()
    os.fsync(stream.fileno())


def _folder_to_disk(path: Path) -> None:
    """Bring the names in a folder to the disk, where the system has a way to."""
    with suppress(PermissionError):  # Windows opens no folders
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
