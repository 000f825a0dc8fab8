"""`leastways demo`."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import Result

import leastways as lw
from tests.support.command_line import document, run

FEW = ["--people", "6", "--budget", "80", "--options", "3"]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """A run of the demo: the folder that it wrote, and what it showed."""
    folder = tmp_path_factory.mktemp("demo") / "a folder"
    return folder, run("demo", *FEW, "--out", folder)


def test_demo_shows_plans_and_writes_files(shown: tuple[Path, Result]) -> None:
    pytest.importorskip("matplotlib")
    folder, result = shown
    assert result.exit_code == 0
    assert result.stdout.count("Person ") == 3
    for words in ("chance of a yes now", "→", "Simulated people", "FS@1", "All people", "report.html"):
        assert words in result.stdout
    plans = lw.RecoursePlans.from_json(folder / "plans.json")
    assert len(plans) == 6
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 4
    first = (folder / "plans.json").read_text()
    assert run("demo", *FEW, "--out", folder).exit_code == 0  # a second time, over the first
    assert (folder / "plans.json").read_text() == first
    assert sorted(p.name for p in folder.iterdir()) == ["plans.json", "report.html"]


def test_the_printed_next_command_works(shown: tuple[Path, Result], tmp_path: Path) -> None:
    said = shown[1].stdout
    command = shlex.split(said[said.index("Next:") :].splitlines()[0].removeprefix("Next:"))
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Option 1" in done.stdout


def test_json_output_and_the_default_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("demo", *FEW, "--seed", "3", "--json")
    said = document(result)
    assert result.stderr == ""
    assert said["summary"]["people"] == 6
    assert said["simulated"]["people"] == 6
    assert 0 <= said["simulated"]["FS@1"] <= said["simulated"]["Cov"] <= 1
    assert len(said["examples"]) == 3
    assert said["examples"][0]["options"]
    assert (tmp_path / "leastways-demo" / "report.html").is_file()
    assert Path(said["plans"]).is_file()


def test_without_matplotlib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("demo", *FEW, "--out", tmp_path)
    assert result.exit_code == 0
    assert "pip install 'leastways[plots]'" in result.stdout
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<svg" not in page
    assert "leastways[plots]" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--people", "0"], "--people"), (["--budget", "2"], "smaller than --options"), (["--seed", "x"], "--seed")],
)
def test_bad_options_are_named(tmp_path: Path, arguments: list[str], message: str) -> None:
    result = run("demo", *arguments, "--out", tmp_path)
    assert result.exit_code == 2
    assert message in result.stderr


def test_an_output_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    result = run("demo", *FEW, "--out", tmp_path / "taken")
    assert result.exit_code == 2
    assert "cannot make the folder" in result.stderr
