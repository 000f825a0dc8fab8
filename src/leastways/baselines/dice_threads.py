"""dice-ml's random, genetic and k-d tree methods for one person, as runs that wait for answers.

dice-ml calls the model itself, so each run is a routine in a thread, which stops at every question until the budget
loop has the answer. At any time either the caller or one routine runs, never both: a thread serves only to keep a
routine's stack.
"""

from __future__ import annotations

import random
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways.baselines.dice_tables import MOST_STEPS, Answers, Layout, Person
from leastways.search import Problem

# The global random streams and the filters of warnings belong to the whole process: other threads wait until they are
# restored. The caller holds the lock while a routine runs; the routine's own thread never takes it.
_ONE_AT_A_TIME = threading.RLock()

States = NDArray[np.int32]  # [R, F]

_FREE = 20  # rows that dice-ml may look up for each row it may query; beyond that it is taken to make no progress
_CANDIDATES = {"genetic": 0.25, "kdtree": 0.8}  # share of the allowance for training rows
_ROUNDS = 4  # least number of rounds of random sampling that the allowance should suffice for

Question = TypeVar("Question")
Result = TypeVar("Result")


class StoppedError(BaseException):
    """Raised in a routine at a question that gets no answer; `except Exception` does not catch it."""


class OwnStreams:
    """States of the global random streams of Python and numpy, by a seed, for code that draws from them."""

    def __init__(self, seed: int) -> None:
        self._states: tuple[Any, Any] = (
            random.Random(seed).getstate(),
            np.random.RandomState(seed % 2**32).get_state(),
        )

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Use these random states within a block, continuing the last block's; restore the caller's afterwards."""
        with _ONE_AT_A_TIME:
            ours = _states()
            _set_states(self._states)
            try:
                yield
            finally:
                self._states = _states()
                _set_states(ours)


def _states() -> tuple[Any, Any]:
    return random.getstate(), np.random.get_state()  # noqa: NPY002 - the global stream is what dice-ml draws from


def _set_states(states: tuple[Any, Any]) -> None:
    random.setstate(states[0])
    np.random.set_state(states[1])  # noqa: NPY002


class Routine(Generic[Question, Result]):
    """Runs ``work(ask)`` in a thread that stops at every ``ask(question)`` until the caller resumes it.

    `question` is what it waits for, None before the start and after the end. `result` is what it returned, None if it
    was stopped. An error of the routine is raised by `start` or `resume`. The routine may draw from the global random
    streams of Python and numpy: it has states of its own, by `seed`, and the caller's do not change.
    """

    def __init__(self, work: Callable[[Callable[[Question], None]], Result], seed: int) -> None:
        self.question: Question | None = None
        self.result: Result | None = None
        self.ended = False
        self._work = work
        self._streams = OwnStreams(seed)
        self._error: BaseException | None = None
        self._stop = False
        self._its_turn, self._our_turn = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, name="leastways-dice", daemon=True)

    def start(self) -> None:
        """Run to the first question, or to the end."""
        with self._streams.in_force(), quiet():
            self._thread.start()
            self._our_turn.acquire()
        self._look()

    def resume(self) -> None:
        """Run from an answered question to the next, or to the end."""
        with self._streams.in_force(), quiet():
            self._its_turn.release()
            self._our_turn.acquire()
        self._look()

    def stop(self) -> None:
        """End the routine at its question, and its thread."""
        self._stop = True
        if self._thread.ident is not None:
            self._its_turn.release()
            self._thread.join()
        self.question, self.ended = None, True

    def _look(self) -> None:
        if self.ended:
            self._thread.join()
            if self._error is not None:
                raise self._error

    def _run(self) -> None:
        try:
            self.result = self._work(self._ask)
        except StoppedError:
            pass
        except BaseException as error:  # raised again by the caller
            self._error = error
        finally:
            self.question, self.ended = None, True
            self._our_turn.release()

    def _ask(self, question: Question) -> None:
        if not self._stop:
            self.question = question
            self._our_turn.release()
            self._its_turn.acquire()
            self.question = None
        if self._stop:
            raise StoppedError


@contextmanager
def quiet() -> Iterator[None]:
    """Hide the warnings caused by dice-ml's own use of pandas, and no others."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The inplace keyword in DataFrame", DeprecationWarning)
        yield


@dataclass(frozen=True)
class Prepared:
    """dice-ml's explainer, the training rows in its order, and the settings: what all people share."""

    method: str
    layout: Layout
    explainer: Any
    rows: NDArray[np.float64]  # [R, F] training rows
    weights: NDArray[np.float64]  # [numbers] of the distance, per unit of each number
    settings: Mapping[str, float]

    def keywords(self, left: int) -> dict[str, Any]:
        """Return the settings as keywords of this method of dice-ml, given the rows left."""
        own = dict(self.settings)
        if self.method == "random":
            return {"sample_size": int(max(1, min(own["sample_size"], left // _ROUNDS))), "limit_steps_ls": MOST_STEPS}
        if self.method == "kdtree":
            return {"sparsity_weight": own["sparsity_weight"], "limit_steps_ls": MOST_STEPS}
        weights = dict(zip(self.layout.numbers, self.weights.tolist(), strict=True))
        return {
            "proximity_weight": own["proximity_weight"],
            "sparsity_weight": own["sparsity_weight"],
            "maxiterations": int(own["max_iter"]),
            "feature_weights": weights | dict.fromkeys(self.layout.categories, 1.0),
        }

    def candidates(self, person: Person, left: int) -> NDArray[np.float64]:
        """Return the training rows for dice-ml's tree, [R, F]: those permitted to the person, the nearest first.

        There are as many as their share of the allowance; distances are those of the tree.
        """
        share = _CANDIDATES.get(self.method)
        if share is None:
            return self.rows[:0]
        n = self.layout.n_numbers
        within = np.ones(len(self.rows), np.bool_)
        for k, (codes, levels) in enumerate(zip(person.codes, person.levels, strict=True)):
            x = self.rows[:, k]
            within &= (x >= levels[0]) & (x <= levels[-1]) if k < n else np.isin(x, codes)
        states = np.unique(person.states(self.rows[within]), axis=0)
        states = states[person.permits(states) & (states != person.start).any(axis=1)]
        values = person.values(states)
        gaps = values - person.now
        distance = (gaps[:, :n] ** 2).sum(axis=1) + 2.0 * (gaps[:, n:] != 0).sum(axis=1)
        return values[np.argsort(distance, kind="stable")[: int(share * left)]]


class PersonRun:
    """A run of dice-ml for one person, which waits whenever states have to be evaluated."""

    def __init__(self, prepared: Prepared, problem: Problem, p: int) -> None:
        self.person = Person(prepared.layout, problem, p)
        self.answers = Answers(self.person, float(problem.present[p]), problem.threshold)
        self.out_of_time = False
        self.error: str | None = None  # what dice-ml raised
        self._prepared, self._problem = prepared, problem
        self._left, self._free = 0, 0
        self.routine: Routine[States, States] = Routine(self._work, int(problem.keys[p]))

    @property
    def pending(self) -> States | None:
        """The states that the run needs evaluated; None when it has ended."""
        return self.routine.question

    def start(self, left: int) -> None:
        """Start the run, with `left` rows to query."""
        self._left, self._free = left, _FREE * left + 1000
        if self.person.varies and left:
            self.routine.start()
        else:
            self.routine.stop()

    def tell(self, states: States, probability: NDArray[np.float64], accepted: NDArray[np.bool_], left: int) -> None:
        """Take answers, and continue to the next question; end if no rows are left."""
        self.answers.note(states, probability, accepted)
        self.routine.resume()
        if not left:
            self.routine.stop()

    def options(self) -> States:
        """Return dice-ml's own set if it found one, else the accepted states nearest to the person."""
        if self.routine.result is not None:
            own = self.answers.accepted_among(self.routine.result)
            if len(own):
                return own[: self._problem.n_options]
        return self.answers.nearest(self._problem.n_options, self._prepared.weights)

    def _work(self, ask: Callable[[States], None]) -> States:
        """Run dice-ml; in its thread."""
        from leastways.baselines.dice_explainers import AnsweringModel, FinishedError

        person, layout = self.person, self.person.layout
        explainer = copy(self._prepared.explainer)
        explainer.model = AnsweringModel(lambda table: self._probability(table, ask))
        explainer.candidates = self._prepared.candidates(person, self._left)
        now = layout.frame(person.now[None]).astype(dict.fromkeys(layout.categories, object))
        try:
            explainer._generate_counterfactuals(
                now,
                self._problem.n_options,
                desired_class=1,
                permitted_range=person.ranges(),
                features_to_vary=person.varies,
                **self._prepared.keywords(self._left),
            )
        except FinishedError as done:
            if done.table is not None and len(done.table):
                return person.states(layout.values(done.table))
        except Exception as error:  # dice-ml's, on this person's rows: it becomes their reason, and the others continue
            self.error = f"{type(error).__name__}: {error}"
        return np.empty((0, len(person.start)), np.int32)

    def _probability(self, table: pd.DataFrame, ask: Callable[[States], None]) -> NDArray[np.float64]:
        """Return the probabilities of a table for dice-ml, after evaluating unknown states; runs in its thread."""
        if self._problem.out_of_time():
            self.out_of_time = True
            raise StoppedError
        states = self.person.states(self.person.layout.values(table))
        self._free -= len(states)
        if self._free < 0:
            raise StoppedError
        unknown = self.answers.unknown(states)
        if len(unknown):
            ask(unknown)
            if len(self.answers.unknown(unknown)):  # the allowance sufficed for a part of them
                raise StoppedError
        return self.answers.lookup(states)
