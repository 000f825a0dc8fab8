"""`leastways demo`."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import leastways as lw
from leastways.cli.console import this_program
from tests.cli.bank import document, run

FEW = ["--people", "6", "--budget", "80", "--options", "3"]


def test_shows_plans_and_writes_files(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    result = run("demo", *FEW, "--out", tmp_path / "demo")
    assert result.exit_code == 0
    assert result.stdout.count("Person ") == 3
    for words in ("chance of a yes now", "→", "Simulated people", "FS@1", "All people", "report.html"):
        assert words in result.stdout
    plans = lw.RecoursePlans.from_json(tmp_path / "demo" / "plans.json")
    assert len(plans) == 6
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 4
    first = (tmp_path / "demo" / "plans.json").read_text()
    assert run("demo", *FEW, "--out", tmp_path / "demo").exit_code == 0  # a second time, over the first
    assert (tmp_path / "demo" / "plans.json").read_text() == first
    assert sorted(p.name for p in (tmp_path / "demo").iterdir()) == ["plans.json", "report.html"]


@pytest.mark.parametrize(
    ("argv", "on_path", "typed"),
    [
        (".venv/bin/leastways", None, ".venv/bin/leastways"),
        (".venv/bin/leastways", "/usr/bin/leastways", ".venv/bin/leastways"),
        ("/here/bin/leastways", "/here/bin/leastways", "leastways"),
        ("my envs/leastways.exe", None, "'my envs/leastways.exe'"),
        ("/src/leastways/__main__.py", None, "/here/bin/python -m leastways"),
        ("/src/leastways/__main__.py", "/here/bin/python", "python -m leastways"),
    ],
)
def test_the_program_as_it_can_be_called_again(
    monkeypatch: pytest.MonkeyPatch, argv: str, on_path: str | None, typed: str
) -> None:
    monkeypatch.setattr(sys, "argv", [argv, "demo"])
    monkeypatch.setattr(sys, "executable", "/here/bin/python")
    monkeypatch.setattr("shutil.which", lambda name: on_path)
    assert this_program() == typed


def test_the_next_step_works_as_it_is_printed(tmp_path: Path) -> None:
    said = run("demo", *FEW, "--out", tmp_path / "a folder").stdout
    command = shlex.split(said[said.index("Next:") :].splitlines()[0].removeprefix("Next:"))
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Option 1" in done.stdout


def test_as_json_and_by_default_into_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_bad_input(tmp_path: Path, arguments: list[str], message: str) -> None:
    result = run("demo", *arguments, "--out", tmp_path)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    result = run("demo", *FEW, "--out", tmp_path / "taken")
    assert result.exit_code == 2
    assert "cannot make the folder" in result.stderr
