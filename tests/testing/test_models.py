"""Sound models pass the contract of models, and it finds the faults of others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import leastways as lw
from leastways.testing import check_model


def frame_of_numbers() -> pd.DataFrame:
    draw = np.random.default_rng(0)
    return pd.DataFrame({"a": draw.random(20), "b": draw.random(20)})


def test_sound_model_passes() -> None:
    frame = frame_of_numbers()
    check_model(LogisticRegression().fit(frame, frame["a"] > 0.5), frame, target=True)


class Strict(LogisticRegression):  # type: ignore[misc]
    """Accepts only from 0.7 on."""

    def predict(self, X: Any) -> Any:
        return self.classes_[(self.predict_proba(X)[:, 1] >= 0.7).astype(int)]


def test_disagreement_of_predict_and_probability_is_found() -> None:
    frame = frame_of_numbers()
    model = Strict().fit(frame, frame["a"] > 0.5)
    with pytest.raises(
        AssertionError,
        match=r"Strict: predict\(\) and predict_proba\(\) disagree on \d+ of the \d+ rows whose probability of True",
    ):
        check_model(model, frame, target=True)
    check_model(model, frame, target=True, threshold=0.7)
    check_model(lambda rows: model.predict(rows), frame, target=True)


def test_model_may_change_its_frame_of_numbers() -> None:
    """As documented in `Model.probability`: it is given a copy."""

    def rude(frame: pd.DataFrame) -> Any:
        answer = frame["a"].to_numpy(copy=True)
        frame["a"] = 0.0
        return answer

    frame = frame_of_numbers()
    check_model(rude, frame)
    pd.testing.assert_frame_equal(frame, frame_of_numbers())


def test_unknown_target_is_a_setting_error() -> None:
    with pytest.raises(lw.SettingError, match="Did you mean 'Accept'"):
        check_model(lambda frame: np.where(frame["a"] > 0.5, "Accept", "Refuse"), frame_of_numbers(), target="accept")


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (lambda frame: frame["a"].rank(pct=True), "order|other rows"),
        (lambda frame: np.arange(len(frame)) / len(frame), "order of rows"),
        (lambda frame: np.where(frame.index < 20, 0.2, 0.8), "index"),
        (lambda frame: frame["a"].to_numpy() * np.nan, "finite"),
        (lambda frame: np.full(len(frame), 1 + 5e-7), "must lie in"),
    ],
)
def test_faulty_models_are_found(model: Any, text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        check_model(model, frame_of_numbers())
