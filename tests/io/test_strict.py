"""A user's JSON and YAML: every door says in words that a file is nested too deeply, or says a key twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from leastways.audit import Audit
from leastways.batch.manifest import people_done, read_manifest
from leastways.cli.preferences import read_profiles
from leastways.datasets.paper import PaperNetwork
from leastways.errors import DataError, LeastwaysError
from leastways.io import json_of, read_json, yaml_of
from leastways.plans import RecoursePlans
from leastways.schema import Schema
from leastways.study import Study

DEEP = "[" * 200_000
# of each door: the name of the file in a folder, and how it is read
DOORS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "plans": ("plans.json", RecoursePlans.from_json),
    "audit": ("audit.json", Audit.from_json),
    "profiles": ("profiles.json", lambda path: read_profiles(path, pd.Index([7]))),
    "study": ("study.json", lambda path: Study.read(path.parent)),
    "run": ("manifest.json", lambda path: read_manifest(path.parent)),
    "network": ("encoding.json", lambda path: PaperNetwork.load(path.parent)),
    "schema": ("schema.yaml", Schema.from_yaml),
    "texts": ("de.yaml", lambda path: _languages(path.parent)),
}


def _languages(folder: Path) -> Any:
    pytest.importorskip("fastapi")
    from leastways.server.pages.texts import Languages

    return Languages(folder)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("content", "words"), [(DEEP, "nested too deeply"), ('{"7": {}, "8": {}, "7": {}}', "the key '7' occurs twice")]
)
def test_every_reader_names_the_file_and_the_error(tmp_path: Path, door: str, content: str, words: str) -> None:
    name, read = DOORS[door]
    (tmp_path / name).write_text(content)
    with pytest.raises(LeastwaysError, match=words) as error:
        read(tmp_path / name)
    assert name in str(error.value)


def test_valid_json_and_yaml_are_read(tmp_path: Path) -> None:
    text = '{"a": [1, 2.5, null, {"a": "x"}], "b": {"a": true}}'
    said = {"a": [1, 2.5, None, {"a": "x"}], "b": {"a": True}}
    assert json_of(text) == json_of(text.encode()) == yaml_of(text) == said
    (tmp_path / "x.json").write_text(text)
    assert read_json(tmp_path / "x.json") == said


def test_missing_and_binary_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read wishes from .*x\.json"):
        read_json(tmp_path / "x.json", "wishes")
    (tmp_path / "x.json").write_bytes(b"\xff")
    with pytest.raises(DataError, match=r"cannot read .*x\.json.*utf-8"):
        read_json(tmp_path / "x.json")
    with pytest.raises(ValueError, match="month"):
        yaml_of("2026-13-01")  # looks like a date, and is none


def test_a_damaged_journal_line_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(
        '{"format": "leastways run", "version": 1, "finished": false, "input": {"rows": 9}}'
    )
    (tmp_path / "journal.jsonl").write_text(DEEP + '\n{"number": 0, "people": 4}\n')
    assert people_done(tmp_path) == (4, 9)


@pytest.mark.parametrize("text", ["a: !!bool maybe", "a: !!timestamp x", "a: !!int ''"])
def test_wrong_yaml_tags_are_value_errors(text: str) -> None:
    with pytest.raises(ValueError, match="not of the type that its tag says"):
        yaml_of(text)
