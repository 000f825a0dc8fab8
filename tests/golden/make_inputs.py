"""Write the tables and the models of the stored cases: `python -m tests.golden.make_inputs`. Run once; not a test.

The files are what counts: models are trained here and nowhere else, with whatever releases were installed then.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier

from tests.golden.data import FEATURES, INPUTS
from tests.golden.models import encoder

N = 150


def main() -> None:
    """Write everything."""
    train = table(np.random.default_rng(20261119), N)
    train.to_csv(INPUTS / "train.csv", index_label="row")
    applicants().to_csv(INPUTS / "applicants.csv", index_label="person")
    from tests.golden.data import train as stored

    frame = stored()
    X, y = np.asarray(encoder().fit(frame).transform(frame), dtype=np.float64), label(frame)
    write("networks", networks(X.shape[1]))
    forest = RandomForestClassifier(12, max_depth=4, random_state=0).fit(X, y)
    boosted = GradientBoostingClassifier(n_estimators=15, max_depth=2, init="zero", random_state=0).fit(X, y)
    trees = [one.tree_ for one in forest.estimators_], [one.tree_ for one in boosted.estimators_[:, 0]]
    write("forest", [tree_of(tree) for tree in trees[0]])
    write("boosted", [tree_of(tree) for tree in trees[1]])
    histograms = HistGradientBoostingClassifier(max_iter=12, max_depth=3, min_samples_leaf=5).fit(X, y)
    nodes = [
        [{name: plain(node[name]) for name in node.dtype.names} for node in p[0].nodes] for p in histograms._predictors
    ]
    write("histograms", {"baseline": float(histograms._baseline_prediction[0, 0]), "predictors": nodes})
    boosters(X, y)
    surrogates()


def surrogates() -> None:
    """Fit and write the surrogates of the cases with one."""
    from tests.golden.cases import CASES
    from tests.golden.package import surrogate_record

    cases = [case for case in CASES.values() if case.surrogate]
    write(
        "surrogates", {case.surrogate: surrogate_record(replace(case, surrogate="").run().recourse) for case in cases}
    )


def table(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Draw rows in which older, better educated people earn more."""
    age = rng.integers(18, 71, n)
    education = np.minimum(rng.integers(0, 4, n), (age - 14) // 4)
    hours = np.minimum(60, 5 * rng.integers(0, 13, n))
    income = np.clip(10 + (age - 18) // 3 + 6 * education + hours // 4 + rng.integers(-8, 25, n), 10, 90)
    values: dict[str, Any] = {
        "age": age,
        "income": income,
        "hours": hours,
        "rate": rng.integers(8, 41, n) / 8,
        "savings": 500.0 * np.minimum(24, rng.integers(0, 12, n) + income // 8),
        "education": [FEATURES["education"]["values"][k] for k in education],
        "job": [FEATURES["job"]["values"][k] for k in rng.choice(4, n, p=[0.4, 0.35, 0.2, 0.05])],
        "region": [FEATURES["region"]["values"][k] for k in rng.integers(0, 2, n)],
    }
    return pd.DataFrame(values)


def applicants() -> pd.DataFrame:
    """Write people out: most are refused by every model, some are beside the grids or have no value."""
    rows = {
        "a": (22, 24, 20, 4.0, 1000.0, "school", "manual", "north"),
        "b": (35, 30, 35, 3.5, 500.0, "none", "office", "south"),
        "c": (41, 26, 25, 4.5, 2000.0, "school", "own firm", "north"),
        "d": (58, 20, 10, 5.0, 0.0, "none", "manual", "south"),
        "e": (29, 38, 40, 3.0, 1500.0, "school", "office", "north"),
        "f": (19, 12, 0, 4.875, 0.0, "none", "unknown", "south"),
        "own": (33, 27, 38, 3.3, 1234.5, "school", "office", "north"),  # numbers between the points of the grids
        "beyond": (74, 31, 70, 6.5, 900.0, "college", "manual", "south"),  # and beyond their ends
        "gap": (27, 28, 30, 4.25, None, "school", "manual", "north"),  # no value
        "rich": (52, 88, 45, 1.25, 12000.0, "master", "own firm", "north"),  # accepted by every model
        "nowhere": (30, 30, 30, 3.0, 1000.0, "school", "astronaut", "north"),  # no such job
        "young": (17, 30, 30, 3.0, 1000.0, "school", "office", "north"),  # below the valid range
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(FEATURES))


def label(frame: pd.DataFrame) -> np.ndarray[Any, Any]:
    """Return who was accepted before: by a formula, so the models learn something plain."""
    education = frame["education"].map({"none": 0, "school": 1, "college": 2, "master": 3}).to_numpy(dtype=float)
    score = frame["income"] / 12 + education + frame["savings"] / 3000 - frame["rate"] + (frame["job"] == "office") / 2
    return (score.to_numpy() > 2.75).astype(int)


def networks(columns: int) -> dict[str, Any]:
    """Draw weights that are multiples of 1/64 or 1/4: products with what enters are exact, in whatever order."""
    rng = np.random.default_rng(5)
    signs = {"income": 1, "hours": 0.3, "rate": -1, "savings": 0.6, "age": 0.2}
    H = 20
    W1 = np.round(rng.normal(0, 1, (H, 8)) * 32) / 64
    for k, name in enumerate(("age", "income", "hours", "rate", "savings")):
        W1[:, k] = np.abs(W1[:, k]) * signs[name] * 2
    outer = np.round(rng.random(H) * 64) / 64
    inner = np.round(rng.normal(0, 1, (columns, 6)) * 16) / 64
    inner[:5] = np.abs(inner[:5]) * np.array([0.0625, 0.25, 0.0625, -0.25, 0.25])[:, None]
    return {
        "paper": {
            "W1": W1.tolist(),
            "b1": (np.round(rng.normal(0, 1, H) * 16) / 64).tolist(),
            "W2": [(-outer / 2).tolist(), (outer / 2).tolist()],
            "b2": [3.0, -3.0],
        },
        "perceptron": {
            "coefs": [inner.tolist(), (np.round(rng.random((6, 1)) * 64) / 16).tolist()],
            "intercepts": [(np.round(rng.normal(0, 1, 6) * 16) / 64).tolist(), [-6.5]],
        },
    }


def tree_of(tree: Any) -> dict[str, Any]:
    """Return a tree's arrays."""
    return {
        "max_depth": int(tree.max_depth),
        "feature": tree.feature.tolist(),
        "threshold": tree.threshold.tolist(),
        "left": tree.children_left.tolist(),
        "right": tree.children_right.tolist(),
        "value": tree.value[:, 0].tolist(),
    }


def boosters(X: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> None:
    """Train and write one model of each boosting library, in its own portable format."""
    import lightgbm
    import xgboost

    settings: dict[str, Any] = {"n_estimators": 12, "max_depth": 3, "random_state": 0, "n_jobs": 1}
    trained = lightgbm.LGBMClassifier(min_child_samples=5, verbose=-1, **settings).fit(X, y)
    trained.booster_.save_model(INPUTS / "lightgbm.txt")
    xgboost.XGBClassifier(**settings).fit(X, y).save_model(INPUTS / "xgboost.json")


def plain(value: Any) -> Any:
    """Return a numpy scalar as Python's."""
    return value.item()


def write(name: str, content: Any) -> None:
    """Write a file of numbers; Python's shortest form of a float brings back the same float."""
    (INPUTS / f"{name}.json").write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
