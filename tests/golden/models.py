"""The models of the stored cases: formulas, coefficients and files; nothing is trained here."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, LabelBinarizer, OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import NODE_DTYPE, Tree

from tests.golden.data import FEATURES, INPUTS, train

Scores = NDArray[np.float64]
NUMBERS = ["age", "income", "hours", "rate", "savings"]
DIVISORS = np.array([64.0, 64.0, 64.0, 4.0, 8192.0])  # powers of two: dividing by them is exact
RANKS = {name: rank for rank, name in enumerate(FEATURES["education"]["values"])}


def _scaled(x: Any) -> Any:
    return np.nan_to_num(np.asarray(x, dtype=np.float64)) / DIVISORS


def encoder() -> ColumnTransformer:
    """Return numbers scaled by powers of two, ranks of education, one-hot jobs and regions: twelve columns."""
    categories = [list(FEATURES[name]["values"]) for name in ("job", "region")]
    parts = [
        ("numbers", FunctionTransformer(_scaled, check_inverse=False), NUMBERS),
        ("education", OrdinalEncoder(categories=[list(RANKS)]), ["education"]),
        ("categories", OneHotEncoder(categories=categories, sparse_output=False), ["job", "region"]),
    ]
    return ColumnTransformer(parts)


def rational(score: Scores) -> Scores:
    """Turn scores into probabilities with sums and quotients alone, which are the same on every machine."""
    return np.asarray(0.5 + 0.5 * score / (1.0 + np.abs(score)))


def score_of(frame: pd.DataFrame) -> Scores:
    """Return a score that every column enters, with two bends."""
    column = {name: frame[name].to_numpy(dtype=np.float64) for name in NUMBERS}
    rank = frame["education"].map(RANKS).to_numpy(dtype=np.float64)
    job = frame["job"].map({"manual": 0.0, "office": 0.5, "own firm": 0.25, "unknown": -0.5}).to_numpy(dtype=np.float64)
    saved = np.nan_to_num(column["savings"]) / 4096
    score = column["income"] / 16 + np.maximum(column["hours"] - 20, 0.0) / 32 - column["rate"] + rank * 0.75 + job
    return np.asarray(score + np.minimum(saved, 2.0) - np.where(column["age"] < 25, 0.5, 0.0) - 1.0)


def formula(frame: pd.DataFrame) -> Scores:
    """Return a probability for each row: a callable that is a black box."""
    return rational(score_of(frame))


def labels(frame: pd.DataFrame) -> NDArray[np.object_]:
    """Return a label for each row, and no probability."""
    return np.where(score_of(frame) >= 0, "good", "bad").astype(object)


def stump(frame: pd.DataFrame) -> Scores:
    """Accept by one number only: few values of the probability, many ties."""
    return np.where(frame["income"].to_numpy(dtype=np.float64) >= 46, 0.875, 0.25)


def refusing(frame: pd.DataFrame) -> Scores:
    """Refuse everything, the less the higher the income."""
    return np.asarray(frame["income"].to_numpy(dtype=np.float64) / 256)


def failing(frame: pd.DataFrame) -> Scores:
    """Raise where a master's degree is asked about."""
    if (frame["education"] == "master").any():
        raise ValueError("no such degree")
    return formula(frame)


@cache
def stored(name: str) -> Any:
    return json.loads((INPUTS / f"{name}.json").read_text(encoding="utf-8"))


def _pipeline(last: Any) -> Pipeline:
    """Put a decision behind the encoder, which is fitted to its categories alone."""
    last.classes_ = np.array([0, 1])
    last.n_features_in_ = encoder().fit_transform(train()).shape[1]
    return Pipeline([("encoder", encoder().fit(train())), ("model", last)])


def logistic() -> Pipeline:
    """Return a logistic regression from its coefficients, multiples of 1/64: its scores are exact sums."""
    model = LogisticRegression()
    coefficients = [0.5, 8.0, 1.0, -3.0, 2.5, 0.75, 0.0, 0.5, 0.25, -0.5, 0.125, -0.125]
    model.coef_, model.intercept_ = np.array([coefficients]), np.array([-4.0])
    return _pipeline(model)


def perceptron() -> Pipeline:
    """Return scikit-learn's network from its coefficients."""
    given = stored("networks")["perceptron"]
    model = MLPClassifier((6,))
    model.coefs_ = [np.array(part) for part in given["coefs"]]
    model.intercepts_ = [np.array(part) for part in given["intercepts"]]
    model.n_layers_, model.n_outputs_, model.out_activation_ = 3, 1, "logistic"
    pipeline = _pipeline(model)
    model._label_binarizer = LabelBinarizer().fit([0, 1])
    return pipeline


def _tree(stored: Any, columns: int, outputs: int) -> Tree:
    """Build scikit-learn's tree from its arrays."""
    n = len(stored["feature"])
    nodes = np.zeros(n, NODE_DTYPE)
    nodes["left_child"], nodes["right_child"] = stored["left"], stored["right"]
    nodes["feature"], nodes["threshold"] = stored["feature"], stored["threshold"]
    nodes["n_node_samples"], nodes["weighted_n_node_samples"] = 1, 1.0
    tree = Tree(columns, np.array([outputs], dtype=np.intp), 1)
    values = np.array(stored["value"], dtype=np.float64).reshape(n, 1, outputs)
    tree.__setstate__({"max_depth": stored["max_depth"], "node_count": n, "nodes": nodes, "values": values})
    return tree


def forest() -> Pipeline:
    """Return a random forest from its trees' arrays."""
    model = RandomForestClassifier(len(stored("forest")))
    pipeline = _pipeline(model)
    model.n_classes_, model.n_outputs_, model.estimators_ = 2, 1, []
    for entry in stored("forest"):
        one = DecisionTreeClassifier()
        one.tree_, one.n_outputs_, one.n_classes_ = _tree(entry, model.n_features_in_, 2), 1, 2
        one.classes_, one.n_features_in_ = model.classes_, model.n_features_in_
        model.estimators_.append(one)
    return pipeline


def boosted() -> Pipeline:
    """Return gradient boosting from its trees' arrays."""
    trees = stored("boosted")
    model = GradientBoostingClassifier(n_estimators=len(trees), init="zero", learning_rate=0.1)
    pipeline = _pipeline(model)
    model.n_classes_, model.n_trees_per_iteration_, model.init_ = 2, 1, "zero"
    model._loss = model._get_loss(sample_weight=None)
    regressors = []
    for entry in trees:
        one = DecisionTreeRegressor()
        one.tree_, one.n_outputs_, one.n_features_in_ = _tree(entry, model.n_features_in_, 1), 1, model.n_features_in_
        regressors.append([one])
    model.estimators_ = np.array(regressors, dtype=object)
    return pipeline


def histograms() -> Pipeline:
    """Return histogram gradient boosting: scaffolding of a fit that cannot split, with the stored trees put in."""
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    given, pipeline = stored("histograms"), _pipeline(HistGradientBoostingClassifier(max_iter=1))
    model, rows = pipeline[-1], np.asarray(pipeline[0].transform(train()))
    model.fit(rows, np.arange(len(rows)) % 2)
    model._baseline_prediction = np.array([[given["baseline"]]])
    nothing = np.zeros((0, 8), dtype=np.uint32)
    model._predictors = []
    for tree in given["predictors"]:
        nodes = np.zeros(len(tree), PREDICTOR_RECORD_DTYPE)
        for i, node in enumerate(tree):
            for name in PREDICTOR_RECORD_DTYPE.names:
                nodes[i][name] = node[name]
        model._predictors.append([TreePredictor(nodes, nothing, nothing)])
    return pipeline


def xgboost() -> Pipeline:
    """Return xgboost's model from its file."""
    from xgboost import XGBClassifier

    model = XGBClassifier(n_jobs=1)
    model.load_model(INPUTS / "xgboost.json")
    return Pipeline([("encoder", encoder().fit(train())), ("model", model)])


def lightgbm() -> Pipeline:
    """Return lightgbm's model from its file: the scaffolding of a fit of one tree, with the stored booster put in."""
    from lightgbm import Booster, LGBMClassifier

    encoded = np.asarray(encoder().fit_transform(train()))
    model = LGBMClassifier(n_estimators=1, n_jobs=1, verbose=-1).fit(encoded, np.arange(len(encoded)) % 2)
    model._Booster = Booster(model_file=INPUTS / "lightgbm.txt")
    return Pipeline([("encoder", encoder().fit(train())), ("model", model)])


MODELS: dict[str, Callable[[], Any]] = {
    "logistic": logistic,
    "perceptron": perceptron,
    "forest": forest,
    "boosted": boosted,
    "histograms": histograms,
    "xgboost": xgboost,
    "lightgbm": lightgbm,
    "formula": lambda: formula,
    "labels": lambda: labels,
    "stump": lambda: stump,
    "refusing": lambda: refusing,
    "failing": lambda: failing,
}


@cache
def model(name: str) -> Any:
    """Return a model by its name; made once."""
    return MODELS[name]()
