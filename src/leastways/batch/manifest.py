"""What a run says of itself: its manifest, and the journal of the parts that are done. Nothing is written here."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from leastways._messages import listed
from leastways.batch.totals import are_sums
from leastways.errors import DataError, SettingError
from leastways.io.files import check_folder
from leastways.io.strict_json import json_of, read_json

MANIFEST, JOURNAL, LOG, LOCK = "manifest.json", "journal.jsonl", "log.jsonl", "lock"
TABLES = ("people", "options")
RUN = "a run of many people"
KINDS = "kinds"  # the folder inside, of a run that solves each kind of people once
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
    return not any(journal_lines(place) or _part_files(place) for place in (path, path / KINDS))


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
