"""The folder of a run: its manifest, the journal of the parts that are done, and the parts.

A part is written under a temporary name, flushed to the disk, renamed, and only then entered in the journal. What is
not in the journal does not count: a run that was killed continues from there.
"""

from __future__ import annotations

import json
import os
import platform
import secrets
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

import numpy as np

from leastways._fingerprint import file_fingerprint, value_fingerprint
from leastways._messages import listed
from leastways.batch.parts import are_sums, grid_rows, total_sums
from leastways.batch.sources import arrow
from leastways.costs import Preferences
from leastways.errors import DataError, SettingError
from leastways.io import check_folder, json_of, read_json
from leastways.models import QueryCounter, as_model
from leastways.recourse import Recourse

MANIFEST, JOURNAL, LOG, LOCK = "manifest.json", "journal.jsonl", "log.jsonl", "lock"
TABLES = ("people", "options")
RUN = "a run of many people"
DUPLICATES = "duplicates"  # the folder inside, in which one person of each duplicate group is solved
FORMAT, VERSION = "leastways run", 1
_OF_A_FILE = {"name", "rows", "bytes", "sha256"}
_OF_A_RUN = {"config": dict, "input": dict, "schema": str, "finished": bool}
_OF_A_FINISHED_RUN = {"totals": dict, "parts": list}


@dataclass(frozen=True)
class DonePart:
    """A part that is on the disk: its people, its files with their checksums, and the sums over these people."""

    number: int
    first: int
    people: int
    files: Mapping[str, Mapping[str, Any]]  # by table: name, rows, bytes, sha256
    totals: Mapping[str, Any]


def nothing_done(path: Path) -> bool:
    """Return whether a run was interrupted before its first part was written, of people or of duplicate groups.

    Parts count even without a journal: they may be whole, and must not be overwritten.
    """
    return not any(journal_lines(place) or _part_files(place) for place in (path, path / DUPLICATES))


def _part_files(path: Path) -> list[Path]:
    return [file for name in TABLES for file in (path / name).glob("part-*.parquet")]


def journal_lines(path: Path) -> list[dict[str, Any]]:
    """Return the readable lines of a journal, without any that was cut off or damaged by a power cut."""
    journal = path / JOURNAL
    lines = []
    for text in journal.read_bytes().split(b"\n")[:-1] if journal.is_file() else []:
        with suppress(ValueError):
            line = json_of(text)
            if isinstance(line, dict) and isinstance(line.get("number"), int) and isinstance(line.get("people"), int):
                lines.append(line)
    return lines


def part_of(line: Any) -> DonePart | None:
    """Return the part that a line of a journal or manifest describes, or None if it describes none."""
    if not isinstance(line, dict) or line.keys() != {field.name for field in fields(DonePart)}:
        return None
    files = line["files"]
    named = isinstance(files, dict) and files.keys() == set(TABLES)
    complete = named and all(isinstance(file, dict) and file.keys() >= _OF_A_FILE for file in files.values())
    return DonePart(**line) if complete and are_sums(line["totals"]) else None


def held_by(path: Path) -> dict[str, Any] | None:
    """Return the manifest of the run in a folder, or None for a new or empty one; raise for any other folder."""
    check_folder(path, RUN)
    if not path.exists() or all(p.name == LOCK or p.name.startswith(f".{MANIFEST}") for p in path.iterdir()):
        return None  # also one in which a run was killed before it had begun
    if not (path / MANIFEST).is_file():
        raise SettingError(f"the folder {str(path)!r} holds other files, and no run; choose a new or an empty one.")
    return whole_manifest(path)


def whole_manifest(path: Path) -> dict[str, Any]:
    """Read the manifest of a run, and raise if any of its entries is missing."""
    data = read_manifest(path)
    required = _OF_A_RUN | (_OF_A_FINISHED_RUN if data.get("finished") else {})
    missing = [name for name, type_ in required.items() if not isinstance(data.get(name), type_)]
    if missing:
        raise DataError(f"{str(path / MANIFEST)!r} is damaged: it does not hold {listed(missing)}.")
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
    """Return what differs between two inputs, file by file."""
    old, new = ({file["name"]: file for file in files["files"]} for files in (before, now))
    found = [f"the input has no file {name!r} any more" for name in old if name not in new]
    found += [f"the input has a new file {name!r}" for name in new if name not in old]
    found += [f"the input file {name!r} was changed" for name in old if name in new and old[name] != new[name]]
    if not found and before.get("index") != now.get("index"):
        found.append(f"people are labelled by {now.get('index')!r}, were by {before.get('index')!r}")
    return found


def people_done(path: Path) -> tuple[int, int]:
    """Return the number of people done in a run folder, and the total."""
    if not (path / MANIFEST).is_file():
        return 0, 0
    manifest = read_manifest(path)
    if manifest["finished"] or not (path / JOURNAL).is_file():
        return int(manifest["finished"]) * int(manifest["input"]["rows"]), int(manifest["input"]["rows"])
    done = {part["number"]: int(part["people"]) for part in journal_lines(path)}
    return sum(done.values()), int(manifest["input"]["rows"])


def groups_done(path: Path) -> tuple[int, int] | None:
    """Return how many duplicate groups of a run are done, and how many there are; None if it solves none now."""
    return people_done(path / DUPLICATES) if (path / DUPLICATES).is_dir() else None


# -- the configuration of a run ---------------------------------------------------------------------------------------

_LIBRARIES = ("leastways", "numpy", "pandas", "scikit-learn", "scipy", "numba", "pyarrow")
_PROBES = 64  # rows by whose answers a model is recognised
_SAME = 1e-6  # answers may differ by so much: their last bits depend on the machine


def config_of(
    recourse: Recourse,
    preferences: Preferences | Mapping[Any, Preferences] | None,
    model_file: str | None,
    people_per_part: int,
    dedup: bool,
) -> dict[str, Any]:
    """Return all that the results depend on beside the people, as plain values for JSON."""
    settings = recourse.recorded_settings()
    return {
        "settings": {name: settings[name] for name in sorted(settings)},
        "schema": value_fingerprint(recourse.schema.to_yaml()),
        "training": value_fingerprint([recourse._training, recourse.cost_model_.percentiles.data, recourse.distilled_]),
        "model": {"file": model_file, "answers": _answers(recourse)},
        "preferences": None if preferences is None else value_fingerprint(preferences),
        "people_per_part": people_per_part,
        "dedup": dedup,
        "made_with": made_with(),
    }


def made_with() -> dict[str, str]:
    """Return the versions of Python and of the packages on which the last bits of a result may depend."""
    return {"python": platform.python_version()} | {name: installed(name) for name in _LIBRARIES}


def _answers(recourse: Recourse) -> list[float | None]:
    """Return the model's answers to some rows made from the schema's grids, None where it fails.

    They identify the model: it may be any object, whose bytes need not be the same in the next process.
    """
    meter = QueryCounter(as_model(recourse.model, recourse.target, threshold=recourse.threshold))
    values, _ = meter.evaluate_by_group(grid_rows(recourse.schema, _PROBES), np.arange(_PROBES))
    return [None if np.isnan(v) else round(float(v), 9) for v in values]


_DIFFERS = {
    "schema": "the schema differs",
    "training": "the training table, or what was learned from it, differs",
    "preferences": "the preferences differ",
}


def differences(before: Mapping[str, Any], now: Mapping[str, Any], inside: str = "") -> list[str]:
    """Return what differs between two configurations, a sentence each."""
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
            found.append(_DIFFERS.get(where, f"{where} is {other!r}, was {one!r}"))
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
    """The folder of a run, locked while this run writes to it."""

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        self.path = path
        self.manifest = manifest
        self.done: dict[int, DonePart] = {}

    @classmethod
    @contextmanager
    def opened(cls, path: Path, manifest: dict[str, Any], resume: bool) -> Iterator[RunFolder]:
        """Start a run in a new or empty folder, or resume one that was interrupted; keep it locked until the end.

        A folder in which nothing is done yet, as after a wrong address of a cluster, counts as new.
        """
        folder = cls(path, {"format": FORMAT, "version": VERSION, **manifest, "finished": False})
        folder._known(resume)  # raise before anything is put into a folder of another run
        with _write_errors(path):
            path.mkdir(exist_ok=True)
        with _locked(path):
            known = folder._known(resume)  # again: another run may have been writing until now
            folder._remove_drafts()
            if known is None:
                folder._begin()
            else:
                folder.manifest = known
                folder._resume()
            yield folder

    @property
    def finished(self) -> bool:
        """Whether all parts are written, by the manifest."""
        return bool(self.manifest["finished"])

    @property
    def people(self) -> int:
        """The number of people who are done."""
        return sum(part.people for part in self.done.values())

    def people_with_status(self, status: str) -> int:
        """Return how many people who are done have a status."""
        return sum(part.totals["statuses"].get(status, 0) for part in self.done.values())

    def opened_duplicates(self, groups: int) -> AbstractContextManager[RunFolder]:
        """Open the folder inside in which one person of each duplicate group is solved, new or to resume."""
        manifest = {name: self.manifest[name] for name in ("config", "input", "schema")}
        manifest["input"] = {**manifest["input"], "rows": groups}
        return RunFolder.opened(self.path / DUPLICATES, manifest, resume=True)

    def remove_duplicates(self) -> None:
        """Remove the folder of the duplicate groups, once all people have their results."""
        if (self.path / DUPLICATES).is_dir():
            shutil.rmtree(self.path / DUPLICATES)

    def write(self, number: int, first: int, tables: Mapping[str, Any], totals: Mapping[str, Any]) -> DonePart:
        """Write the tables of a part, and enter it in the journal once they are on the disk."""
        files = {name: self._write_table(name, number, table) for name, table in tables.items()}
        part = DonePart(number, first, len(tables["people"]), files, totals)
        with _write_errors(self.path / JOURNAL), (self.path / JOURNAL).open("a", encoding="utf-8") as journal:
            journal.write(_line(part))
            _to_disk(journal)
        self.done[number] = part
        return part

    def finish(self) -> None:
        """Write the totals and all parts into the manifest, which replaces the journal."""
        parts = [self.done[number] for number in sorted(self.done)]
        totals = total_sums(part.totals for part in parts)
        finished = {"finished": True, "totals": totals, "parts": [asdict(part) for part in parts]}
        self.manifest = {**self.manifest, **finished}
        self._write_json(MANIFEST, self.manifest)
        (self.path / JOURNAL).unlink(missing_ok=True)

    def _known(self, resume: bool) -> dict[str, Any] | None:
        """Return the manifest of the run to resume, or None for a new run; raise if neither is possible."""
        known = held_by(self.path)
        if known is None or (not resume and not known["finished"] and nothing_done(self.path)):
            return None
        self._check_same(known, resume)
        return known

    def _begin(self) -> None:
        """Write the manifest, and create the folders and the journal."""
        self._write_json(MANIFEST, self.manifest)
        with _write_errors(self.path):
            shutil.rmtree(self.path / DUPLICATES, ignore_errors=True)  # of a run that got no further
            for name in TABLES:
                (self.path / name).mkdir(exist_ok=True)
        self._remove_unfinished()
        _folder_to_disk(self.path.parent)

    def _resume(self) -> None:
        """Find the parts that are done and still as they were written."""
        lines = self.manifest["parts"] if self.finished else journal_lines(self.path)
        self.done = {part.number: part for part in map(part_of, lines) if part is not None and self._is_whole(part)}
        if self.finished and len(self.done) == len(lines):
            (self.path / JOURNAL).unlink(missing_ok=True)  # the run was killed just before it did this
            return
        self._remove_unfinished()
        if self.finished:  # parts were damaged since; the journal is there by now, so that the others are not lost
            known = {name: value for name, value in self.manifest.items() if name not in ("totals", "parts")}
            self.manifest = {**known, "finished": False}
            self._write_json(MANIFEST, self.manifest)

    def _write_table(self, name: str, number: int, table: Any) -> dict[str, Any]:
        arrow()
        import pyarrow.parquet as pq

        target = self.path / name / f"part-{number:06d}.parquet"
        with _safely(target, f".{target.stem}") as draft, draft.open("wb") as stream:
            pq.write_table(table, stream, compression="zstd")
            _to_disk(stream)
        with _write_errors(target):
            size, checksum = target.stat().st_size, file_fingerprint(target)
        return {"name": f"{name}/{target.name}", "rows": len(table), "bytes": size, "sha256": checksum}

    def _write_json(self, name: str, content: Mapping[str, Any]) -> None:
        self._write_text(name, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")

    def _write_text(self, name: str, text: str) -> None:
        with _safely(self.path / name, f".{name}") as draft, draft.open("w", encoding="utf-8") as stream:
            stream.write(text)
            _to_disk(stream)

    def _check_same(self, known: Mapping[str, Any], resume: bool) -> None:
        """Raise unless the folder holds the same run, and it is to be resumed."""
        if not resume:
            state = "a finished run" if known["finished"] else "a run that was interrupted"
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
        return all(self._is_as_write_errors(file) for file in part.files.values())

    def _is_as_write_errors(self, file: Mapping[str, Any]) -> bool:
        path = self.path / file["name"]
        if not path.is_file() or path.stat().st_size != file["bytes"]:
            return False
        return file_fingerprint(path) == str(file["sha256"])

    def _remove_unfinished(self) -> None:
        """Remove files of parts that are not in the journal, and no other files."""
        known = {file["name"] for part in self.done.values() for file in part.files.values()}
        for name in TABLES:
            with _write_errors(self.path / name):
                (self.path / name).mkdir(exist_ok=True)
                for path in (self.path / name).glob("part-*.parquet"):
                    if f"{name}/{path.name}" not in known:
                        path.unlink()
        self._write_text(JOURNAL, "".join(_line(part) for part in self.done.values()))

    def _remove_drafts(self) -> None:
        """Remove files that a killed run was writing."""
        drafts = [f".{MANIFEST}-*", f".{JOURNAL}-*", *(f"{name}/.part-*" for name in TABLES)]
        with _write_errors(self.path):
            for path in [path for draft in drafts for path in self.path.glob(draft)]:
                path.unlink()


def _line(part: DonePart) -> str:
    return json.dumps(asdict(part), allow_nan=False) + "\n"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock the folder against a second run; the system releases the lock however this process ends."""
    with (path / LOCK).open("w") as stream:
        try:
            import fcntl
        except ImportError:  # a system without such locks
            yield
            return
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SettingError(f"another run is writing to the folder {str(path)!r} at this moment.") from None
        except OSError as error:  # some file systems of clusters have no locks
            warnings.warn(
                f"the folder {str(path)!r} cannot be locked ({error}): make sure that no second run writes to it.",
                RuntimeWarning,
                stacklevel=2,
            )
        yield


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    """Turn a failure to write into an error that names the file and how to continue."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"cannot write {str(path)!r}: {error}. The parts that are done are kept; mend this and continue the run "
            "with --resume (resume=True)."
        ) from error


@contextmanager
def _safely(target: Path, prefix: str) -> Iterator[Path]:
    """Yield a draft beside `target`, which replaces it, flushed to the disk, or is removed if anything failed.

    The draft's name begins with `prefix`, by which a draft that a killed run left behind is recognised.
    """
    draft = target.with_name(f"{prefix}-{secrets.token_hex(4)}")
    with _write_errors(target):
        try:
            yield draft
            draft.replace(target)
            _folder_to_disk(target.parent)
        finally:
            draft.unlink(missing_ok=True)


def _to_disk(stream: Any) -> None:
    """Flush a file's content to the disk."""
    stream.flush()
    os.fsync(stream.fileno())


def _folder_to_disk(path: Path) -> None:
    """Flush the names in a folder to the disk, where the system can."""
    with suppress(PermissionError):  # Windows opens no folders
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
