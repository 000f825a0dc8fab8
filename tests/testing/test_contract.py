"""Our own searchers keep the contract, and the contract catches searchers that do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import leastways as lw
from leastways.search import Chosen, Problem, Questions
from leastways.testing import SEARCHER_CHECKS, check_model, check_searcher

SEARCHERS = [
    lw.COLS(),
    lw.COLS(gain="paper", proposals="paper"),
    lw.PCOLS(),
    lw.LocalSearch(),
    lw.LocalSearch(objective="diversity", proposals="paper"),
    lw.RandomSearch(),
    lw.RandomSearch(proposals="paper"),
    lw.Guided(),
]


@pytest.mark.parametrize("check", SEARCHER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("searcher", SEARCHERS, ids=repr)
def test_built_in_searchers_keep_the_contract(searcher: lw.Searcher, check: Any) -> None:
    check(searcher, 3)


@dataclass(frozen=True)
class Twisted:
    """A COLS run with one thing wrong."""

    fault: str

    def start(self, problem: Problem) -> Any:
        return TwistedRun(lw.COLS().start(problem), problem, self.fault)


class TwistedRun:
    def __init__(self, run: Any, problem: Problem, fault: str) -> None:
        self.run, self.problem, self.fault = run, problem, fault
        self.last: Questions | None = None

    def ask(self, left: np.ndarray[Any, Any]) -> Questions:
        questions: Questions = self.run.ask(left)
        if self.fault == "greedy" and len(questions.people):
            people = np.repeat(questions.people, 20)
            return Questions(people, np.repeat(questions.codes, 20, axis=0))
        if self.fault == "off the grid":
            return Questions(questions.people, questions.codes + 500)
        return questions

    def tell(self, questions: Questions, probability: Any, accepted: Any) -> None:
        if self.fault not in ("greedy", "off the grid"):
            self.run.tell(questions, probability, accepted)
            self.last = questions

    def chosen(self) -> Chosen:
        chosen: Chosen = self.run.chosen()
        if self.fault == "offers the present" and self.last is not None:
            codes = chosen.codes.copy()
            codes[:, 0] = self.problem.samples.tables.space.start
            return Chosen(codes, np.maximum(chosen.n, 1), chosen.probability)
        if self.fault == "offers twice" and (chosen.n > 1).any():
            codes = chosen.codes.copy()
            codes[:, 1] = codes[:, 0]
            return Chosen(codes, chosen.n, chosen.probability)
        if self.fault == "looks around":
            return Chosen(chosen.codes, np.minimum(chosen.n, 1 + len(chosen.n) % 2), chosen.probability)
        return chosen


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("greedy", "than `left` allows"),
        ("off the grid", "outside the grid"),
        ("offers the present", "does not accept"),
        ("offers twice", "twice"),
        ("looks around", "who else"),
    ],
)
def test_the_contract_catches(fault: str, text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        check_searcher(Twisted(fault))


def _frame() -> pd.DataFrame:
    draw = np.random.default_rng(0)
    return pd.DataFrame({"a": draw.random(20), "b": draw.random(20)})


def test_sound_model_passes() -> None:
    frame = _frame()
    check_model(LogisticRegression().fit(frame, frame["a"] > 0.5), frame, target=True)


class Strict(LogisticRegression):  # type: ignore[misc]
    """Says yes only from 0.7 on."""

    def predict(self, X: Any) -> Any:
        return self.classes_[(self.predict_proba(X)[:, 1] >= 0.7).astype(int)]


def test_disagreement_of_predict_and_probability_is_found() -> None:
    frame = _frame()
    model = Strict().fit(frame, frame["a"] > 0.5)
    with pytest.raises(
        AssertionError,
        match=r"Strict: predict\(\) and predict_proba\(\) disagree on \d+ of the \d+ rows whose probability of True",
    ):
        check_model(model, frame, target=True)
    check_model(model, frame, target=True, threshold=0.7)
    check_model(lambda rows: model.predict(rows), frame, target=True)


def test_a_model_may_change_what_it_is_given() -> None:
    """As `Model.probability` says; what it is given is a copy."""

    def rude(frame: pd.DataFrame) -> Any:
        answer = frame["a"].to_numpy(copy=True)
        frame["a"] = 0.0
        return answer

    frame = _frame()
    check_model(rude, frame)
    pd.testing.assert_frame_equal(frame, _frame())


def test_unknown_target_is_a_setting_error() -> None:
    with pytest.raises(lw.SettingError, match="Did you mean 'Accept'"):
        check_model(lambda frame: np.where(frame["a"] > 0.5, "Accept", "Refuse"), _frame(), target="accept")


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
def test_bad_models_are_caught(model: Any, text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        check_model(model, _frame())
