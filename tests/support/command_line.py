"""Run the command line in this process, and read what it wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
from typer.testing import CliRunner, Result

from leastways.cli import app

SMALL = ["--options", "3", "--budget", "60", "--n-costs", "20"]


def run(*arguments: object) -> Result:
    """Run the command line in this process; what the user did not cause is raised."""
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def recommend(bank: Path, out: Path, *more: object, **files: str) -> Result:
    """Run `recommend` with this bank's files; keywords choose other ones."""
    chosen = {"schema": "schema.yaml", "data": "train.csv", "people": "people.csv", "model": "bank_rule:approve"}
    arguments: list[Any] = ["recommend", "--out", out, *SMALL]
    for option, name in (chosen | files).items():
        arguments += [f"--{option}", name if option == "model" and ":" in name else bank / name]
    if (chosen | files)["people"] == "people.csv":
        arguments += ["--index", "id"]
    return run(*arguments, *more)


def document(result: Result) -> dict[str, Any]:
    """Return the one JSON document on stdout."""
    data = json.loads(result.stdout)
    assert isinstance(data, dict)
    return data


def table(path: Path) -> pd.DataFrame:
    """Read a table that was written."""
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
