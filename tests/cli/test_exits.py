"""Settings in messages: as they are typed where they are typed, as they stand in a file where they stand in one."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import typer
import yaml

from leastways.cli.console import errors_shown
from leastways.errors import DataError, SettingError
from tests.cli.bank import run

pytest.importorskip("sqlalchemy")

from tests.support.loan_service import write_shop


def said(capsys: pytest.CaptureFixture[str], error: Exception, from_file: bool = False) -> str:
    with pytest.raises(typer.Exit), errors_shown(False, from_file):
        raise error
    return capsys.readouterr().err


def test_a_setting_is_named_as_it_is_typed(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--options must be 1 or more" in said(capsys, SettingError("n_options must be 1 or more"))
    assert "n_options must be 1 or more" in said(capsys, SettingError("n_options must be 1 or more"), from_file=True)
    assert "seed must be" in said(capsys, SettingError("random_state must be 0 or more"), from_file=True)


@pytest.mark.parametrize("name", ["'n_costs'", "'runs/time_limit.csv'", "'my-random_state.csv'", '"n_options"'])
def test_a_column_or_file_keeps_its_name(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert name in said(capsys, DataError(f"there is no {name} here."))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_options": 0}, "n_options must be a whole number of at least 1, not 0"),
        ({"nonsense": 1}, "model, n_costs, n_options, port"),
        ({"budget": 2, "n_options": 3}, "budget 2 is smaller than n_options 3"),
        ({"model": "model.pkl"}, "write trust: true into the service's file"),
    ],
)
def test_a_service_is_told_of_the_keys_of_its_file(tmp_path: Path, change: dict[str, object], words: str) -> None:
    file = write_shop(tmp_path)
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(len))
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | change))
    result = run("serve", "--config", file)
    assert result.exit_code == 2
    assert words in result.stderr
    assert "--" not in result.stderr
    if "model" not in change:
        assert words in run("keys", "list", "--config", file).stderr
