"""Built-in searchers keep the contract, and the contract finds the faults of others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import leastways as lw
from leastways.search import Chosen, Problem, Questions
from leastways.testing import SEARCHER_CHECKS, check_searcher

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
class Faulty:
    """A COLS run with one thing wrong."""

    fault: str

    def start(self, problem: Problem) -> Any:
        return FaultyRun(lw.COLS().start(problem), problem, self.fault)


class FaultyRun:
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
            codes[:, 0] = self.problem.start
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
def test_contract_suite_finds_faulty_searchers(fault: str, text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        check_searcher(Faulty(fault))
