"""What a searcher hands over is looked at before it is believed: its questions every round, its options at the end."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastways.errors import SearcherError
from leastways.search.base import Chosen, Problem, Questions, Searcher

_ODD = np.uint64(0x9E3779B97F4A7C15)


def counted(questions: Questions, left: NDArray[np.int64], problem: Problem) -> NDArray[np.int64]:
    """Return how many rows each person is asked about, [P]; raise unless they are states, and within the allowance."""
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
    used = problem.samples.tables.used[people]
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
                raise SearcherError(f"person {who[~fits][0]} is offered a state that they may not be led to.")
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
