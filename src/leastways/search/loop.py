"""The budget loop: it alone decides when a search stops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leastways.errors import ModelError
from leastways.search.base import Account, Accounting, Chosen, Problem, Questions, Run, Searcher
from leastways.search.contract import Accepted, counted
from leastways.search.nearest import NearestMisses

# Rows in, P(target) per row and the people whose rows the model failed on out.
Judge = Callable[[Questions], tuple[NDArray[np.float64], dict[int, ModelError]]]


@dataclass(frozen=True)
class SearchResult:
    """What a search found for a chunk, what it asked, and whom the model failed."""

    chosen: Chosen
    queries: NDArray[np.int64]  # [P] rows asked, those for gradients included
    gradient_rows: NDArray[np.int64]  # [P]
    rounds: int
    failures: dict[int, ModelError]
    cut_short: NDArray[np.bool_]  # [P] who had more to ask when the time was up
    no_way: NDArray[np.bool_]  # [P] of whom every state they can reach was refused
    reasons: Mapping[int, str]  # what the method says of people who got nothing, or less
    misses: NearestMisses  # how close those came who got nothing


def run_search(
    searcher: Searcher,
    problem: Problem,
    judge: Judge,
    progress: Callable[[float], None] | None = None,
    time_limit: float | None = None,
) -> SearchResult:
    """Let the searcher ask until it has no more questions, or the budget is spent, or the time (in seconds) is up.

    A person on whose rows the model fails drops out with what was found so far; the others go on.
    """
    problem = problem.within(time_limit)
    run = searcher.start(problem)
    left = np.full(problem.n_people, problem.budget, np.int64)
    gradient_rows = np.zeros(problem.n_people, np.int64)
    total = np.zeros(problem.n_people, np.int64)
    failures: dict[int, ModelError] = {}
    cut_short = np.zeros(problem.n_people, np.bool_)
    misses, yeses = NearestMisses.of(problem), Accepted(problem)
    rounds = 0
    while left.any():
        questions = run.ask(left.copy())
        own_rows = _account(run, problem.n_people).gradient_rows
        left, gradient_rows = left - (own_rows - gradient_rows), own_rows.copy()
        asked = counted(questions, left, problem)
        if not len(questions.people):
            break
        if problem.out_of_time():
            cut_short[questions.people] = True
            break
        probability, failed = judge(questions)
        lost = np.isin(questions.people, list(failed))
        told, accepted = np.where(lost, 0.0, steady(probability)), ~lost & (probability >= problem.threshold)
        misses.note(questions, told, accepted)
        yeses.note(questions, told, accepted)
        run.tell(questions, told, accepted)  # last: a searcher may write into what it gets
        left -= asked
        left[list(failed)] = 0  # the model fails on them: they keep what they have
        total += asked
        failures.update(failed)
        rounds += 1
        if progress is not None:
            progress(1.0 - float(left.sum()) / (problem.budget * problem.n_people))
    if progress is not None:
        progress(1.0)
    account = _account(run, problem.n_people)
    return SearchResult(
        chosen=yeses.check(run.chosen(), problem, searcher),
        queries=total + gradient_rows,
        gradient_rows=gradient_rows,
        rounds=rounds,
        failures=failures,
        cut_short=cut_short | account.cut_short,
        no_way=np.zeros_like(cut_short) if account.no_way is None else account.no_way,
        reasons=account.reasons,
        misses=misses,
    )


def _account(run: Run, n_people: int) -> Account:
    """Return what a run says for itself; of one that says nothing, that there is nothing."""
    if isinstance(run, Accounting):
        return run.account()
    return Account(np.zeros(n_people, np.int64), {}, np.zeros(n_people, np.bool_))


def steady(probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round a probability to six decimals.

    The last bits of a model's answer often depend on how many rows share a call; a plan must not. (A model in single
    precision can still differ in the sixth decimal now and then.) Whether a state is accepted is decided on the answer
    as it came.
    """
    return np.round(probability, 6)
