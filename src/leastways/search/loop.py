"""The budget loop: it alone decides when a search stops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from leastways.errors import ModelError, SearcherError
from leastways.search.base import Chosen, Problem, Questions, Searcher

# Rows in, P(target) per row and the people whose rows the model failed on out.
Judge = Callable[[Questions], tuple[NDArray[np.float64], dict[int, ModelError]]]


@dataclass(frozen=True)
class SearchResult:
    """What a search found for a chunk, what it asked, and whom the model failed."""

    chosen: Chosen
    queries: NDArray[np.int64]  # [P] rows asked
    rounds: int
    failures: dict[int, ModelError]
    cut_short: NDArray[np.bool_]  # [P] who had more to ask when the time was up


def run_search(
    searcher: Searcher,
    problem: Problem,
    judge: Judge,
    threshold: float,
    progress: Callable[[float], None] | None = None,
    time_limit: float | None = None,
) -> SearchResult:
    """Let the searcher ask until it has no more questions, or the budget is spent, or the time (in seconds) is up.

    A person on whose rows the model fails drops out with what was found so far; the others go on.
    """
    began = monotonic()
    run = searcher.start(problem)
    left = np.full(problem.n_people, problem.budget, np.int64)
    total = np.zeros(problem.n_people, np.int64)
    failures: dict[int, ModelError] = {}
    cut_short = np.zeros(problem.n_people, np.bool_)
    rounds = 0
    while left.any():
        questions = run.ask(left.copy())
        if not len(questions.people):
            break
        if time_limit is not None and monotonic() - began >= time_limit:
            cut_short[questions.people] = True
            break
        asked = _count(questions, left)
        probability, failed = judge(questions)
        lost = np.isin(questions.people, list(failed))
        run.tell(questions, np.where(lost, 0.0, steady(probability)), ~lost & (probability >= threshold))
        left -= asked
        left[list(failed)] = 0  # the model fails on them: they keep what they have
        total += asked
        failures.update(failed)
        rounds += 1
        if progress is not None:
            progress(1.0 - float(left.sum()) / (problem.budget * problem.n_people))
    if progress is not None:
        progress(1.0)
    return SearchResult(run.chosen(), total, rounds, failures, cut_short)


def steady(probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round a probability to six decimals.

    The last bits of a model's answer often depend on how many rows share a call; a plan must not. (A model in single
    precision can still differ in the sixth decimal now and then.) Whether a state is accepted is decided on the answer
    as it came.
    """
    return np.round(probability, 6)


def _count(questions: Questions, left: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count each person's questions and hold the searcher to its allowance."""
    asked = np.bincount(questions.people, minlength=len(left))
    if len(asked) > len(left) or (asked > left).any():
        raise SearcherError(
            f"{int((asked[: len(left)] > left).sum())} people were asked about more rows than their budget leaves; "
            "a searcher must not ask more than `left`."
        )
    return asked.astype(np.int64)
