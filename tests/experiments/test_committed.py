"""The committed report is what its manifest's data say, and every difference in it has a cause."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from experiments.config import Cell, load, names
from experiments.methods import NOT_OWN
from experiments.report import draw
from experiments.report.differences import UNKNOWN, cause_of, gaps

REPORT = Path(__file__).parents[2] / "docs" / "reproduction"


def read(name: str) -> str:
    return (REPORT / name).read_text(encoding="utf-8")


def test_the_numbers_are_those_of_the_manifest() -> None:
    manifest, numbers = json.loads(read("manifest.json")), json.loads(read("numbers.json"))
    assert manifest["numbers_sha256"] == hashlib.sha256(read("numbers.json").encode()).hexdigest()
    assert list(numbers) == names()
    for name, found in numbers.items():
        wanted = load(name, "paper")
        assert found["made"] == found["wanted"] == len(wanted.cells), name
        assert all(cell.key in manifest["cells"] for cell in wanted.cells), name
    searches = {Cell(**e["settings"]).search: e["queries"] for e in manifest["cells"].values()}
    assert manifest["queries"] == sum(searches.values())
    assert not any("dirty" in entry["made"]["commit"] for entry in manifest["cells"].values())


def test_the_measures_are_over_the_people_and_seeds_of_the_manifest() -> None:
    manifest, numbers = json.loads(read("manifest.json")), json.loads(read("numbers.json"))
    by_settings = {json.dumps(e["settings"], sort_keys=True): e for e in manifest["cells"].values()}
    compared = 0
    for found in numbers.values():
        for cell in found.get("cells", []):
            entry = by_settings[json.dumps(cell["settings"], sort_keys=True)]
            assert cell["people"] == entry["rows"]
            assert cell["queries_per_person"] == pytest.approx(entry["queries"] / entry["people"])
            compared += 1
    assert compared > 500


def test_the_pages_are_drawn_from_the_numbers(tmp_path: Path) -> None:
    for name in ("numbers.json", "manifest.json"):
        shutil.copy(REPORT / name, tmp_path / name)
    draw(tmp_path)
    for name in ("README.md", "differences.md"):
        assert (tmp_path / name).read_text(encoding="utf-8") == read(name), f"{name} is not what the numbers say"
    drawn, kept = ({p.name for p in (folder / "figures").iterdir()} for folder in (tmp_path, REPORT))
    assert drawn == kept


def test_docs_state_the_measured_times() -> None:
    manifest = json.loads(read("manifest.json"))
    took = {Cell(**e["settings"]).search: e["seconds"] + e.get("fit_seconds", 0.0) for e in manifest["cells"].values()}
    own = sum(seconds for cell, seconds in took.items() if cell.method not in NOT_OWN) / 60
    rest = sum(seconds for cell, seconds in took.items() if cell.method in NOT_OWN) / 60
    assert f"{own + rest:.0f} core-minutes: {own:.0f} for our own methods, {rest:.0f} for those" in read("README.md")
    page = " ".join((REPORT.parent / "how-to" / "reproduce.md").read_text(encoding="utf-8").split())
    assert f"{own + rest:.0f} core-minutes, {own:.0f} for our own methods (`--own`), {rest:.0f} for those" in page


def test_no_method_is_better_than_the_oracle() -> None:
    compared = 0
    for found in json.loads(read("numbers.json")).values():
        for cell in found.get("cells", []):
            if cell["oracle"] is not None:
                compared += 1
                assert cell["means"]["FS@1"] <= cell["oracle"] + 1e-6, cell["settings"]
    assert compared > 150


def test_every_difference_has_a_cause() -> None:
    found = list(gaps(json.loads(read("numbers.json"))))
    assert found
    assert [gap for gap in found if cause_of(gap) == UNKNOWN] == []
    assert UNKNOWN not in read("differences.md")
