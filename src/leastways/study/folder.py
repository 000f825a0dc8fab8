"""A study on disk: study.json describes it, key.json holds which method was shown as A, forms/ is for annotators."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leastways._fingerprint import text_fingerprint
from leastways.errors import DataError, SettingError
from leastways.io import read_json, write_text

MANIFEST, KEY, FORMS, ANSWERS = "study.json", "key.json", "forms", "answers"
NO_PREFERENCE = "no preference"  # an answer, beside the names of the methods
VERSION = 1
_FORMAT, _KEY_FORMAT = "leastways study", "leastways study key"


@dataclass(frozen=True)
class Study:
    """A study on disk: its design and its key, to check and unblind the answers.

    Attributes
    ----------
    folder
        Where it lies.
    id
        Its identifier in forms and answers; another design, other people or other options give another id.
    methods
        The names of the two methods.
    annotators
        Their names.
    per_item
        Annotations per item.
    seed
        Seed of all random draws.
    people
        The person of each item.
    tasks
        The items of each annotator, in the order in which they see them.
    shown_first
        By annotator and item: the method that was shown as A. This is the key.
    checksums
        What each annotator's form holds, as a checksum that the answers repeat.
    left_out
        How many people could not be used, by reason.
    """

    folder: Path
    id: str
    methods: tuple[str, str]
    annotators: tuple[str, ...]
    per_item: int
    seed: int
    people: Mapping[str, Any]
    tasks: Mapping[str, tuple[str, ...]]
    shown_first: Mapping[str, Mapping[str, str]]
    checksums: Mapping[str, str]
    left_out: Mapping[str, int]

    @property
    def n_judgements(self) -> int:
        """Items times annotations per item."""
        return sum(len(items) for items in self.tasks.values())

    def form(self, annotator: str) -> Path:
        """Return the path of an annotator's form."""
        return self.folder / FORMS / f"{annotator}.html"

    def method_shown(self, annotator: str, item: str, side: str) -> str:
        """Return the method that this annotator saw as A or B."""
        first = self.shown_first[annotator][item]
        one, two = self.methods
        return first if side == "A" else (two if first == one else one)

    @classmethod
    def read(cls, folder: str | Path) -> Study:
        """Read a study and its key, and raise where they are damaged or do not belong together."""
        folder = Path(folder)
        data, key = _read(folder / MANIFEST, _FORMAT), _read(folder / KEY, _KEY_FORMAT)
        try:
            if data["key_checksum"] != checksum(key):
                raise DataError(f"{str(folder / KEY)!r} is not the key of this study, or it was changed.")
            one, two = data["methods"]
            return cls(
                folder=folder,
                id=data["id"],
                methods=(one, two),
                annotators=tuple(data["annotators"]),
                per_item=int(data["annotations_per_item"]),
                seed=int(data["seed"]),
                people={item["id"]: item["person"] for item in data["items"]},
                tasks={annotator: tuple(items) for annotator, items in data["tasks"].items()},
                shown_first=key["shown_first"],
                checksums=data["form_checksums"],
                left_out=data["left_out"],
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"{str(folder / MANIFEST)!r} is damaged: {type(error).__name__}: {error}. Make the study again."
            ) from error


def checksum(content: Any) -> str:
    """Return a checksum of JSON data, independent of its layout."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, default=str)
    return text_fingerprint(text)


def write_study(study: Study, details: Mapping[str, Any], forms: Mapping[str, str]) -> None:
    """Write a study, the manifest first, so that an interrupted study can be recognised and made again."""
    key = {"format": _KEY_FORMAT, "version": VERSION, "study": study.id, "shown_first": study.shown_first}
    manifest = {
        "format": _FORMAT,
        "version": VERSION,
        "id": study.id,
        "methods": list(study.methods),
        "annotators": list(study.annotators),
        "annotations_per_item": study.per_item,
        "seed": study.seed,
        "tasks": study.tasks,
        "left_out": study.left_out,
        "form_checksums": study.checksums,
        "key_checksum": checksum(key),
        **details,
    }
    write_text(study.folder / MANIFEST, _as_text(manifest))
    write_text(study.folder / KEY, _as_text(key))
    for annotator, page in forms.items():
        write_text(study.form(annotator), page)


def refuse_another_study(folder: Path, study_id: str) -> None:
    """Raise where a folder holds anything but this study."""
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not (folder / MANIFEST).is_file():
        raise SettingError(f"the folder {str(folder)!r} holds other files; choose a new or an empty one.")
    held = _read(folder / MANIFEST, _FORMAT).get("id")
    if held != study_id:
        raise SettingError(
            f"the folder {str(folder)!r} holds another study ({held}), whose answers would be lost; choose a new one."
        )


def _as_text(data: Mapping[str, Any]) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False, default=str) + "\n"


def _read(path: Path, form: str) -> dict[str, Any]:
    if not path.is_file():
        raise DataError(f"there is no file {str(path)!r}; `leastways study create` makes it.")
    data = read_json(path)
    if not isinstance(data, dict) or data.get("format") != form:
        raise DataError(f"{str(path)!r} does not hold a {form}.")
    if data.get("version") != VERSION:
        raise DataError(f"{str(path)!r} has version {data.get('version')!r}; this release reads {VERSION}.")
    return data
