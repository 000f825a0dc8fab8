"""Write the files of a small bank: tables, a schema, and models in every form that the command line reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from leastways.schema import Schema
from tests.support.job_table import NUMBERS, TEXT, people, pipeline, yes

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


def write_bank(folder: Path) -> Path:
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
