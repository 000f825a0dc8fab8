"""What a command shows: the names of settings in messages, progress, and how to run the program again."""

from __future__ import annotations

import io
import pickle
import sys
from pathlib import Path

import pytest
import typer
import yaml
from rich.console import Console

from leastways.batch import Progress
from leastways.cli import console
from leastways.cli.console import _figures, errors_shown, this_program
from leastways.errors import FAULTS, DataError, LeastwaysError, ModelError, SearcherError, SettingError, fault_of
from tests.support.command_line import run


def shown(capsys: pytest.CaptureFixture[str], error: Exception, from_file: bool = False) -> str:
    with pytest.raises(typer.Exit), errors_shown(False, from_file):
        raise error
    return capsys.readouterr().err


def test_settings_are_named_as_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--options must be 1 or more" in shown(capsys, SettingError("n_options must be 1 or more"))
    assert "n_options must be 1 or more" in shown(capsys, SettingError("n_options must be 1 or more"), from_file=True)
    assert "seed must be" in shown(capsys, SettingError("random_state must be 0 or more"), from_file=True)


@pytest.mark.parametrize("name", ["'n_costs'", "'runs/time_limit.csv'", "'my-random_state.csv'", '"n_options"'])
def test_columns_and_files_keep_their_names(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert name in shown(capsys, DataError(f"there is no {name} here."))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_options": 0}, "n_options must be a whole number of at least 1, not 0"),
        ({"nonsense": 1}, "model, n_costs, n_options, port"),
        ({"budget": 2, "n_options": 3}, "budget 2 is smaller than n_options 3"),
        ({"model": "model.pkl"}, "write trust: true into the service's file"),
    ],
)
def test_service_settings_are_named_as_keys_of_the_file(tmp_path: Path, change: dict[str, object], words: str) -> None:
    pytest.importorskip("sqlalchemy")
    from tests.support.loan_service import write_shop

    file = write_shop(tmp_path)
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(len))
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | change))
    result = run("serve", "--config", file)
    assert result.exit_code == 2
    assert words in result.stderr
    assert "--" not in result.stderr
    if "model" not in change:
        assert words in run("keys", "list", "--config", file).stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [(LeastwaysError("x"), 2), (DataError("x"), 2), (ModelError("x"), 3), (SearcherError("x"), 3)],
)
def test_the_exit_code_is_that_of_the_table_of_faults(error: LeastwaysError, code: int) -> None:
    with pytest.raises(typer.Exit) as left, errors_shown(False):
        raise error
    assert left.value.exit_code == code
    fault = fault_of(error)
    assert fault is not None
    assert fault.exit_code == code


def test_a_subclass_has_the_fault_of_its_nearest_class() -> None:
    class DownError(ModelError):
        pass

    assert fault_of(DownError("x")) is FAULTS[ModelError]
    assert fault_of(ValueError("x")) is None


def test_progress_is_shown_on_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for terminal in (True, False):
        stream = io.StringIO()
        fake = Console(file=stream, force_terminal=terminal, width=100)
        monkeypatch.setattr(console, "notes", lambda fake=fake: fake)
        with console.progress_bar("finding options") as progress:
            progress(0.5)
            progress(1.0)
        assert ("finding options" in stream.getvalue()) is terminal


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
def test_program_is_named_by_the_command_that_the_shell_finds(
    monkeypatch: pytest.MonkeyPatch, argv: str, on_path: str | None, typed: str
) -> None:
    monkeypatch.setattr(sys, "argv", [argv, "demo"])
    monkeypatch.setattr(sys, "executable", "/here/bin/python")
    monkeypatch.setattr("shutil.which", lambda name: on_path)
    assert this_program() == typed


def test_progress_figures_are_never_nan() -> None:
    assert _figures(Progress(50, 100, 0.5, 10.0, 65.0)) == "10 people/s, 50% found, 0:01:05 left"
    assert "nan" not in _figures(Progress(0, 100, float("nan"), float("nan"), float("nan")))
