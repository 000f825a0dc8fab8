"""The budget loop: it alone decides when a search stops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastways.costs import CostSamples
from leastways.errors import ModelError, SearcherError
from leastways.search.protocol import Account, Accounting, Chosen, Problem, Questions, Run, Searcher

# Rows in, P(target) per row and the people whose rows the model failed on out.
Evaluate = Callable[[Questions], tuple[NDArray[np.float64], dict[int, ModelError]]]


@dataclass(frozen=True)
class SearchResult:
    """The result of a search for a chunk: options, queries, and the people on whom the model failed."""

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
    evaluate: Evaluate,
    progress: Callable[[float], None] | None = None,
    time_limit: float | None = None,
) -> SearchResult:
    """Run a searcher until it asks for no more states, the budget is spent, or the time (in seconds) is up.

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
        probability, failed = evaluate(questions)
        lost = np.isin(questions.people, list(failed))
        answers, accepted = np.where(lost, 0.0, steady(probability)), ~lost & (probability >= problem.threshold)
        misses.note(questions, answers, accepted)
        yeses.note(questions, answers, accepted)
        run.tell(questions, answers, accepted)  # last: a searcher may write into what it gets
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
    """Return a run's account; an empty one if it gives none."""
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


_ODD = np.uint64(0x9E3779B97F4A7C15)


def counted(questions: Questions, left: NDArray[np.int64], problem: Problem) -> NDArray[np.int64]:
    """Count the states asked for per person, [P]; raise unless they are valid and within the allowance."""
    _check_kind(questions, Questions, "ask")
    people, codes = questions
    P, F = problem.people.codes.shape
    if people.ndim != 1 or codes.shape != (len(people), F) or {people.dtype.kind, codes.dtype.kind} - set("iu"):
        raise SearcherError(
            f"ask must return people [R] and codes [R, {F}] of whole numbers; it returned {people.dtype} "
            f"{list(people.shape)} and {codes.dtype} {list(codes.shape)}."
        )
    strangers = (people < 0) | (people >= P)
    if strangers.any():
        raise SearcherError(f"a question names person {people[strangers][0]}; there are {P}, counted from 0.")
    used = problem.samples.tables.space.used[people]
    outside = (codes < 0) | (codes >= used)
    if outside.any():
        r, f = np.argwhere(outside)[0]
        raise SearcherError(
            f"a question for person {people[r]} has the code {codes[r, f]} in feature {f}, whose codes run from 0 to "
            f"{used[r, f] - 1} there."
        )
    asked = np.bincount(people, minlength=P).astype(np.int64)
    if (asked > left).any():
        raise SearcherError(
            f"{int((asked > left).sum())} people were asked about more rows than their budget leaves "
            "(rows for gradients count too); a searcher must not ask more than `left`."
        )
    return asked


class Accepted:
    """The states that the model accepted, and whether options are among them."""

    def __init__(self, problem: Problem) -> None:
        F = problem.people.codes.shape[1]
        self._factors = np.cumprod(np.full(F + 1, _ODD))  # the last one for the person
        self._keys: list[NDArray[np.uint64]] = [np.empty(0, np.uint64)]
        self._probability: list[NDArray[np.float64]] = [np.empty(0)]

    def note(self, questions: Questions, probability: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Remember the states that were accepted, and how gladly."""
        self._keys.append(self._key(questions.people[accepted], questions.codes[accepted]))
        self._probability.append(probability[accepted])

    def check(self, chosen: Chosen, problem: Problem, searcher: Searcher) -> Chosen:
        """Return the options, with the probabilities that the model gave.

        Raise unless they are at most so many, no two alike, all accepted, and permitted to the person.
        """
        _check_kind(chosen, Chosen, "chosen")
        codes, n, _ = chosen
        P, F = problem.people.codes.shape
        N = problem.n_options
        if codes.shape != (P, N, F) or n.shape != (P,) or chosen.probability.shape != (P, N):
            raise SearcherError(
                f"chosen must return codes [{P}, {N}, {F}], n [{P}] and probability [{P}, {N}]; it returned "
                f"{list(codes.shape)}, {list(n.shape)} and {list(chosen.probability.shape)}."
            )
        if n.dtype.kind not in "iu" or ((n < 0) | (n > N)).any():
            raise SearcherError(f"chosen: n must be whole numbers from 0 to {N}, the options asked for; it holds {n}.")
        who, place = np.nonzero(np.arange(N) < n[:, None])
        options = np.ascontiguousarray(codes[who, place], np.int32)
        keys, (known, first) = self._key(who, options), np.unique(np.concatenate(self._keys), return_index=True)
        stray = ~np.isin(keys, known)
        if stray.any():
            raise SearcherError(f"person {who[stray][0]} is offered a state that the model did not accept when asked.")
        _, once = np.unique(keys, return_index=True)
        if len(once) < len(keys):
            twice = np.setdiff1d(np.arange(len(keys)), once)[0]
            raise SearcherError(f"person {who[twice]} is offered the same state twice.")
        if not getattr(searcher, "offers_unpermitted", False):  # to study sets as others make them
            fits = problem.samples.permits(who, options)
            if not fits.all():
                raise SearcherError(f"person {who[~fits][0]} is offered a state that is not permitted to them.")
        probability = np.zeros((P, N))
        probability[who, place] = np.concatenate(self._probability)[first[np.searchsorted(known, keys)]]
        return chosen._replace(probability=probability)

    def _key(self, people: NDArray[np.int64], codes: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Return a number for each state of each person; that two share one is as good as impossible."""
        whole = np.concatenate([codes, people[:, None]], axis=1).astype(np.uint64) + np.uint64(1)
        mixed = (whole * self._factors).sum(axis=1, dtype=np.uint64)
        return np.asarray(mixed ^ (mixed >> np.uint64(29)), dtype=np.uint64)


def _check_kind(given: Any, kind: type, method: str) -> None:
    """Raise unless a searcher returned the tuple of arrays that is expected."""
    arrays = isinstance(given, tuple) and all(isinstance(part, np.ndarray) for part in given)
    if not arrays or not isinstance(given, kind):
        fields = ", ".join(kind._fields)  # type: ignore[attr-defined]
        raise SearcherError(f"{method} must return {kind.__name__}({fields}), of arrays; it returned {given!r:.200}.")


@dataclass(frozen=True)
class NearestMisses:
    """The refused state with the highest probability, per person; kept only while nothing was accepted."""

    served: NDArray[np.bool_]  # [P] something was accepted: no miss is of interest
    known: NDArray[np.bool_]  # [P] a state likelier than the present one was refused
    probability: NDArray[np.float64]  # [P] of that state
    codes: NDArray[np.int32]  # [P, F]
    samples: CostSamples  # which states are permitted

    @classmethod
    def of(cls, problem: Problem) -> NearestMisses:
        """Start from the present states: a near miss is likelier than these."""
        P = problem.n_people
        none = np.zeros(P, np.bool_)
        present, codes = problem.present.astype(np.float64), problem.people.codes.astype(np.int32)
        return cls(none, none.copy(), present, codes, problem.samples)

    def note(self, questions: Questions, probability: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Record a round's evaluations. Among equal probabilities the first evaluated is kept, whatever the batch."""
        self.served[questions.people[accepted]] = True
        closer = ~self.served[questions.people] & (probability > self.probability[questions.people])
        rows = np.flatnonzero(closer)
        # some methods also ask about states that are not permitted
        rows = rows[self.samples.permits(questions.people[rows], questions.codes[rows])]
        if not len(rows):
            return
        rows = rows[np.lexsort((-probability[rows], questions.people[rows]))]
        people, first = np.unique(questions.people[rows], return_index=True)
        self.known[people] = True
        self.probability[people] = probability[rows[first]]
        self.codes[people] = questions.codes[rows[first]]
