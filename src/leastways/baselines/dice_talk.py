"""A routine that calls the model by itself, made to wait: it runs in a thread, and stops at every question.

At any time either the caller runs or the routine, never both; the thread is there for its stack alone.
"""

from __future__ import annotations

import random
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import numpy as np

# The global random streams, and the filters of warnings, are everybody's: other threads wait until they are put back.
# The routine's own thread never takes it; whoever waits for the routine holds it.
_ONE_AT_A_TIME = threading.RLock()

Question = TypeVar("Question")
Result = TypeVar("Result")


class StoppedError(BaseException):
    """Raised within the routine at a question that will not be answered; no handler of errors holds it up."""


class OwnStreams:
    """Global random streams of Python and numpy, by a seed, for code that draws from nothing else."""

    def __init__(self, seed: int) -> None:
        self._states: tuple[Any, Any] = (
            random.Random(seed).getstate(),
            np.random.RandomState(seed % 2**32).get_state(),
        )

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Let a block draw from these, on from where the last one ended; the caller's are put back."""
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


class Talk(Generic[Question, Result]):
    """One run of a routine ``work(ask)``, which calls ``ask(question)`` and gets its answer by being gone on with.

    `question` is what it waits for, None before the start and after the end. `result` is what it returned, None if it
    was stopped. An error it raises is raised in whoever starts it or goes on with it. The routine may draw from the
    global random streams of Python and numpy: it has states of its own, by `seed`, and the caller's are left alone.
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
        """Run to the first question, or the end."""
        with self._streams.in_force(), quiet():
            self._thread.start()
            self._our_turn.acquire()
        self._look()

    def go_on(self) -> None:
        """Run from an answered question to the next, or the end."""
        with self._streams.in_force(), quiet():
            self._its_turn.release()
            self._our_turn.acquire()
        self._look()

    def stop(self) -> None:
        """End the routine where it waits; its thread is gone afterwards."""
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
    """Let go the warnings that dice-ml's own use of pandas gives, and no others."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The inplace keyword in DataFrame", DeprecationWarning)
        yield
