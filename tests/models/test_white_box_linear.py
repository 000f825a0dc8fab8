"""Linear models, read: the score from parts is the model's own, for people with values of their own too."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC

from leastways.errors import ModelError
from leastways.models import as_model
from leastways.models.white_box import LinearScore, read_linear
from leastways.schema import Schema
from tests.support.small_worlds import make_world

WORLD = make_world(seed=3, rules=False)
X = WORLD.frame
Y = (WORLD.probability(X) > np.median(WORLD.probability(X))).astype(int)
TEXT, NUMBERS = ["school", "job", "sex"], ["age", "income", "owner"]
PEOPLE = X.head(20).assign(income=X["income"].head(20) * 1.01)  # between grid points


def fitted(final: Any, *between: Any, y: Any = Y) -> Any:
    encoder = make_column_transformer((OneHotEncoder(drop="if_binary"), TEXT), (StandardScaler(), NUMBERS))
    return make_pipeline(encoder, *between, final).fit(X, y)


def read(model: Any, target: Any = 1, threshold: float = 0.5) -> LinearScore | str:
    return read_linear(as_model(model, target, threshold=threshold), WORLD.schema)


@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize(
    "final",
    [LogisticRegression(), SGDClassifier(loss="log_loss", random_state=0), LinearDiscriminantAnalysis()],
    ids=lambda m: type(m).__name__,
)
def test_logistic_scores(final: Any, target: int) -> None:
    model = fitted(final)
    score = read(model, target, threshold=0.7)
    assert isinstance(score, LinearScore)
    people = WORLD.schema.encode(PEOPLE)
    parts, now = score.parts(people)
    assert expit(now) == pytest.approx(model.predict_proba(PEOPLE)[:, target], abs=1e-9)
    assert score.cut_at(0.7) == pytest.approx(np.log(0.7 / 0.3))
    score.check(now, model.predict_proba(PEOPLE)[:, target])
    rng = np.random.default_rng(0)
    codes = (rng.random(people.codes.shape) * [len(f.values) for f in WORLD.schema.features]).astype(np.int32)
    scores = score.base + parts[np.arange(20)[:, None], WORLD.schema.offsets[:-1] + codes].sum(axis=1)
    moved = WORLD.schema.decode(codes, people, np.arange(20))
    assert expit(scores) == pytest.approx(model.predict_proba(moved)[:, target], abs=1e-9)


@pytest.mark.parametrize("target", ["no", "yes"])
@pytest.mark.parametrize(
    "final",
    [RidgeClassifier(), LinearSVC(), Perceptron(), SGDClassifier(random_state=0)],
    ids=lambda m: type(m).__name__,
)
def test_sign_of_the_score_follows_the_target(final: Any, target: str) -> None:
    model = fitted(final, y=np.where(Y == 1, "yes", "no"))
    score = read(model, target, threshold=0.9)
    assert isinstance(score, LinearScore)
    assert score.cut_at(0.9) == 0.0
    now = score.parts(WORLD.schema.encode(PEOPLE))[1]
    assert ((now > 0) == (model.predict(PEOPLE) == target)).all()
    score.check(now, (model.predict(PEOPLE) == target).astype(float))


def test_threshold_of_one_gives_a_finite_score() -> None:
    score = read(fitted(LogisticRegression()), threshold=1.0)
    assert isinstance(score, LinearScore)
    assert 30 < score.cut_at(1.0) < 40


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (fitted(RandomForestClassifier(5)), "RandomForestClassifier does not decide by a linear score"),
        (fitted(LogisticRegression(), PolynomialFeatures(2)), "LogisticRegression gets columns"),
        (fitted(LogisticRegression(), y=np.arange(len(Y)) % 3), "LogisticRegression has 3 classes"),
        (fitted(SGDClassifier(loss="modified_huber")), "SGDClassifier.loss='modified_huber'. has probabilities"),
        (WORLD.probability, "FunctionModel is no scikit-learn estimator"),
    ],
)
def test_unsupported_models_are_named(model: Any, why: str) -> None:
    found = read(model)
    assert isinstance(found, str)
    assert re.match(why, found), found


def test_a_model_fitted_again_is_noticed() -> None:
    model = fitted(LogisticRegression())
    score = read(model)
    assert isinstance(score, LinearScore)
    now = score.parts(WORLD.schema.encode(PEOPLE))[1]
    model.fit(X, 1 - Y)
    with pytest.raises(ModelError, match=r"LogisticRegression answers .* Call fit again"):
        score.check(now, model.predict_proba(PEOPLE)[:, 1])


@pytest.mark.filterwarnings("ignore::FutureWarning")  # scikit-learn's, of settings that are none of ours
def test_numbers_without_an_encoder() -> None:
    numbers = pd.DataFrame({"a": [1, 2, 3, 4], "b": [0.0, 1.0, 0.5, 2.0]})
    schema = Schema.infer(numbers)
    model = LogisticRegressionCV(cv=2).fit(numbers, [0, 1, 0, 1])
    score = read_linear(as_model(model, 1), schema)
    assert isinstance(score, LinearScore)
    assert expit(score.parts(schema.encode(numbers))[1]) == pytest.approx(model.predict_proba(numbers)[:, 1])
