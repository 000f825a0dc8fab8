"""The folder of a run: a manifest of what it is, the parts that are done, and nothing that is half done.

A part is written under a temporary name, brought to the disk, renamed, and only then entered in the journal. Whatever
is not in the journal does not count: a run that was killed goes on from there.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from leastways._fingerprint import file_print
from leastways.batch.manifest import (
    FORMAT,
    JOURNAL,
    KINDS,
    LOCK,
    MANIFEST,
    TABLES,
    VERSION,
    DonePart,
    held_by,
    journal_lines,
    nothing_done,
    other_input,
    part_of,
)
from leastways.batch.prints import differences
from leastways.batch.tables import arrow
from leastways.errors import DataError, SettingError


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
            shutil.rmtree(self.path / KINDS, ignore_errors=True)  # of a run that got no further than that
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
