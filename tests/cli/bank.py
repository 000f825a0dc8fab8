"""A small bank on disk: tables, a schema and models in every form that the command line reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from typer.testing import CliRunner, Result

from leastways.cli import app
from leastways.schema import Schema
from tests.models.people import NUMBERS, TEXT, people, pipeline, yes

SMALL = ["--options", "3", "--budget", "60", "--n-costs", "20"]
RULE = """\
import numpy as np

def approve(frame):
    return np.clip((frame["age"] / 20.0 + frame["hours-week"] / 15.0 - 5.0) / 4.0 + 0.5, 0.0, 1.0)

def words(frame):
    return np.where(approve(frame) >= 0.5, "yes", "no")

def broken(frame):
    raise ValueError("the bank's computer is down")

def fails_on_old_cooks(frame):
    answer = approve(frame)
    answer[(frame["job title"] == "cook") & (frame["age"] > 50)] = np.nan
    return answer

def never_accepts_cooks(frame):
    answer = approve(frame)
    answer[(frame["job title"] == "cook") & (answer >= 0.5)] = np.nan
    return answer
"""


def build(folder: Path) -> Path:
    """Write train and people (CSV, Parquet), schema.yaml, bank_rule.py, and the model as .skops and .onnx."""
    import skl2onnx
    import skops.io

    frame = people(200)
    frame["hours-week"] = frame["hours-week"].astype(float).round(1)
    train = frame.assign(approved=yes(frame))
    refused = frame[yes(frame) == 0].head(12)
    schema = Schema.infer(train, target="approved").update({"age": {"direction": "up", "unit": "years"}})
    schema.to_yaml(folder / "schema.yaml")
    train.to_csv(folder / "train.csv", index=False)
    train.to_parquet(folder / "train.parquet")
    refused.reset_index().to_csv(folder / "people.csv", index=False)
    refused.to_parquet(folder / "people.parquet")
    (folder / "bank_rule.py").write_text(RULE)
    model = pipeline().fit(train[[*NUMBERS, *TEXT]], train["approved"])
    skops.io.dump(model, folder / "model.skops")
    wide = train[[*NUMBERS, *TEXT]].astype({"age": np.int64, "hours-week": np.float32})
    graph = skl2onnx.to_onnx(model, wide[:1], options={"zipmap": False})
    (folder / "model.onnx").write_bytes(graph.SerializeToString())
    return folder


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
