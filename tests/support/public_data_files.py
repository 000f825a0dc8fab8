"""Made-up files in the layouts of the public data sets, so that loaders can be tested without those."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leastways.datasets.german import SETTINGS


def write_adult(folder: Path, **replaced: Any) -> Path:
    rng = np.random.default_rng(0)
    n = 4000
    frame = pd.DataFrame(
        {
            "age": rng.integers(17, 91, n),
            "workclass": rng.choice(["Private", "State-gov", "?"], n),
            "fnlwgt": 1,
            "education": rng.choice(["10th", "HS-grad", "Some-college", "Assoc-voc", "Bachelors", "Masters"], n),
            "education-num": 9,
            "marital": rng.choice(["Divorced", "Married-civ-spouse", "Never-married", "Widowed"], n),
            "occupation": rng.choice(["Sales", "Tech-support", "Craft-repair", "?"], n),
            "relationship": rng.choice(["Husband", "Wife"], n),
            "race": rng.choice(["White", "Black"], n),
            "sex": rng.choice(["Male", "Female"], n),
            "gain": rng.choice([0, 100, 300, 900], n),
            "loss": rng.choice([0, 7, 7, 9], n),
            "hours": rng.integers(1, 100, n),
            "country": rng.choice(["United-States", "Mexico", "?"], n),
            "income": rng.choice(["<=50K", ">50K"], n),
        }
    ).assign(**replaced)
    (folder / "adult").mkdir()
    lines = [", ".join(map(str, row)) for row in frame.itertuples(index=False)]
    (folder / "adult" / "adult.data").write_text("\n".join(lines) + "\n\n")
    return folder


def write_recidivism(folder: Path, n: int = 4000, **replaced: Any) -> Path:
    rng = np.random.default_rng(0)
    flags = "WHITE ALCHY JUNKY SUPER MARRIED FELON WORKREL PROPTY PERSON MALE RECID"
    frame = pd.DataFrame({name: rng.integers(0, 2, n) for name in flags.split()}).assign(
        PRIORS=rng.choice([-9, 0, 1, 5, 6, 40], n),
        SCHOOL=rng.integers(0, 20, n),
        RULE=rng.choice([0, 1, 5, 6], n),
        AGE=rng.integers(177, 946, n),
        TSERVD=rng.integers(0, 355, n),
    )
    (folder / "recidivism").mkdir()
    frame.assign(**replaced).to_csv(folder / "recidivism" / "Data_1980.csv", index=False)
    return folder


def write_german(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.integers(0, 2, 200) for name in SETTINGS})
    frame.insert(0, "GoodCustomer", rng.choice([-1, 1], 200))
    (folder / "german").mkdir()
    frame.assign(OtherLoansAtStore=0).to_csv(folder / "german" / "german.csv", index=False)
    return folder


def write_binary(folder: Path, name: str) -> Path:
    """Write a set in the form of the paper's binary ones: splits, schema and a small network."""
    rng = np.random.default_rng(0)
    n = 40
    frame = pd.DataFrame(
        {
            "row": range(n),
            "data_idx": range(n),
            "age": rng.integers(20, 60, n),
            "sex": rng.choice(["Female", "Male"], n),
            "race": rng.choice(["Other", "White"], n),
            "capital-gain": rng.choice(["0", "1", "2"], n),
            "income": [0, 1] * (n // 2),
        }
    )
    home = folder / name
    home.mkdir()
    for split, rows in (
        ("all", frame),
        ("train", frame[:30]),
        ("val", frame[30:35]),
        ("test_users", frame[35:]),
    ):
        rows.to_csv(home / f"{split}.csv", index=False)
    categories = {"sex": ["Female", "Male"], "race": ["Other", "White"], "capital-gain": ["0", "1", "2"]}
    declared = {
        "outcome": "income",
        "favourable_class": 1,
        "feature_order": ["age", *categories],
        "categorical_features": list(categories),
        "features": [
            {"name": "age", "kind": "numeric_integer", "type": "ordered", "change_restriction": 1},
            {"name": "sex", "kind": "categorical", "type": "fixed", "change_restriction": -2},
            {"name": "race", "kind": "categorical", "type": "fixed", "change_restriction": -2},
            {
                "name": "capital-gain",
                "kind": "categorical",
                "type": "ordered",
                "change_restriction": -1,
                "values_declared_order": ["0", "1", "2"],
            },
        ],
    }
    (home / "schema.json").write_text(json.dumps(declared))
    columns: list[dict[str, Any]] = [{"name": "age", "op": "minmax", "min": 20, "max": 60}]
    for category, values in categories.items():
        codes = {value: code for code, value in enumerate(values)}
        columns.append({"name": category, "op": "integer_code", "map": codes})
    write_network(home, columns)
    return folder


def write_network(home: Path, columns: list[dict[str, Any]], inputs: int | None = None) -> None:
    """Write random weights for these columns (or for another number of inputs, which is a fault)."""
    rng = np.random.default_rng(4)
    shapes = {"W1": (20, inputs or len(columns)), "b1": (20,), "W2": (2, 20), "b2": (2,)}
    weights = {key: rng.normal(size=shape).astype(np.float32) for key, shape in shapes.items()}
    np.savez(home / "model.npz", allow_pickle=False, **weights)
    (home / "encoding.json").write_text(json.dumps({"columns": columns}))
