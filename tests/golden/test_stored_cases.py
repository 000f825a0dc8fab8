"""Each stored case is made again and compared with its file, byte for byte; see `CHANGES.md`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import store


@pytest.mark.parametrize("name", store.names(), ids=lambda name: f"{name[0]}: {name[1]}")
def test_case_equals_its_stored_result(name: store.Name) -> None:
    difference = store.difference(name)
    assert not difference, f"\n{difference}"


def test_every_file_has_a_case() -> None:
    assert store.left_over() == []


def test_changed_byte_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = ("decisions", "guided, one option")
    stored = store.file_of(name).read_text(encoding="utf-8")
    monkeypatch.setattr(store, "FOLDER", tmp_path)
    assert "missing" in store.difference(name)
    copy = store.file_of(name)
    copy.parent.mkdir()
    copy.write_text(stored, encoding="utf-8")
    assert store.difference(name) == ""
    last_digit = stored.index('p-1"') - 1
    changed = stored[:last_digit] + ("0" if stored[last_digit] != "0" else "1") + stored[last_digit + 1 :]
    copy.write_text(changed, encoding="utf-8")
    assert "(stored)" in store.difference(name)
    copy.write_bytes(stored.encode() + b"\n")
    assert store.difference(name) != ""
    stray = copy.with_name("stray.json")
    stray.touch()
    assert stray in store.left_over()
