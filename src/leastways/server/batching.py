"""Requests that come at the same time are answered together.

Asking a scikit-learn Pipeline costs milliseconds a call, for one row as for hundreds, and plans do not depend on who
else is in the batch. So whatever came while the last batch was at work is the next batch.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from leastways.server.faults import Busy, Closing, Overtaken, TooLate

_JOBS_EVERY = 4  # of so many batches, one is of a job while requests are waiting too
_LINGER = 0.005  # seconds to wait for company while another batch is at work
_MEMORY = 0.8  # weight of the past in the running mean of seconds per person


def unless_all_failed(failed: Sequence[bool]) -> int:
    """Record all answers of a request, or none where the model failed on everybody in it."""
    return 0 if all(failed) else len(failed)


@dataclass
class Ticket:
    """A request in the queue: its people, and the promise of their answers.

    `to_record` is told on whom the model failed, and says how many answers, from the first on, are to be recorded.
    """

    asks: Sequence[Any]
    to_record: Callable[[Sequence[bool]], int] = unless_all_failed
    future: Future[Any] = field(default_factory=Future)
    _state: str = "open"  # open, recording, abandoned
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin_recording(self) -> bool:
        """Say that answers are about to be recorded; False where nobody waits for them any more."""
        return self._move("recording")

    def abandon(self) -> bool:
        """Give up waiting; False where the answers are being recorded, so that they will come."""
        return self._move("abandoned")

    def give_way(self) -> None:
        """End for a newer request of the same person; where the answers are being recorded, wait until they are."""
        if self.abandon():
            self.fail(Overtaken("this person has said something else meanwhile."))
        else:
            wait([self.future])

    def fail(self, error: BaseException) -> None:
        """Say why there are no answers; whoever was told already hears nothing more."""
        with suppress(InvalidStateError):
            self.future.set_exception(error)

    def _move(self, to: str) -> bool:
        with self._lock:
            if self._state == "open":
                self._state = to
            return self._state == to

    @property
    def abandoned(self) -> bool:
        """Whether nobody waits any more."""
        return self._state == "abandoned"

    def result(self, seconds: float | None) -> Any:
        """Wait for the answers; `TooLate` means that nothing was recorded."""
        try:
            return self.future.result(seconds)
        except TimeoutError:
            if self.abandon():
                raise TooLate(f"no answer within {seconds:g} seconds.") from None
            return self.future.result()


class Batcher:
    """Threads that work through the queue, many requests at a time; requests before jobs."""

    def __init__(
        self, work: Callable[[list[Ticket]], None], waiting_people: int, at_once: int, threads: int = 1
    ) -> None:
        self._work = work
        self._limit = waiting_people
        self._at_once = at_once
        self._requests: deque[Ticket] = deque()
        self._jobs: deque[Ticket] = deque()
        self._waiting = 0  # people of waiting requests
        self._seconds = 0.02  # a person, running mean
        self._batches = 0
        self._busy = 0  # batches at work
        self._open = True
        self._changed = threading.Condition()
        names = [f"leastways-batches-{number}" for number in range(threads)]
        self._threads = [threading.Thread(target=self._run, name=name, daemon=True) for name in names]
        for thread in self._threads:
            thread.start()

    @property
    def waiting(self) -> int:
        """How many people of requests are waiting."""
        return self._waiting

    def check_room(self, people: int) -> None:
        """Raise `Busy` where so many more may not wait."""
        if self._waiting and self._waiting + people > self._limit:
            raise Busy(f"{self._waiting} people are waiting already.", self._retry_after())

    def submit(self, ticket: Ticket, patient: bool = False) -> Ticket:
        """Queue a request, or a part of a job (`patient`); `Busy` at once where too many are waiting."""
        with self._changed:
            if not self._open:
                raise Closing("the service is shutting down.")
            if patient:
                self._jobs.append(ticket)
            else:
                self.check_room(len(ticket.asks))
                self._requests.append(ticket)
                self._waiting += len(ticket.asks)
            self._changed.notify_all()
        return ticket

    def close(self, seconds: float) -> None:
        """Take nothing new, finish what was accepted, and end; jobs not begun are left in the database."""
        with self._changed:
            self._open = False
            for ticket in self._jobs:
                ticket.fail(Closing("the service is shutting down."))
            self._jobs.clear()
            self._changed.notify_all()
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _retry_after(self) -> int:
        return max(1, math.ceil(self._waiting * self._seconds / len(self._threads)))

    def _run(self) -> None:
        while True:
            batch = self._next()
            if not batch:
                return
            began, people = time.perf_counter(), sum(len(t.asks) for t in batch)
            try:
                self._work(batch)
            except BaseException as error:  # whoever waits must hear of it, whatever it is
                for ticket in batch:
                    ticket.fail(error)
            with self._changed:
                self._busy -= 1
            each = (time.perf_counter() - began) / max(people, 1)
            self._seconds = _MEMORY * self._seconds + (1 - _MEMORY) * each

    def _next(self) -> list[Ticket]:
        """Wait for work; an empty list means the end."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._requests or self._jobs or not self._open)
                if not self._requests and not self._jobs:
                    return []
                self._linger()
                batch = self._take()
                if batch:
                    self._busy += 1
                    return batch

    def _take(self) -> list[Ticket]:
        self._batches += 1
        if self._jobs and (not self._requests or self._batches % _JOBS_EVERY == 0):
            return [self._jobs.popleft()]
        return self._gather()

    def _linger(self) -> None:
        """While another batch is at work, let those come along who are on their way: a small batch costs more each.

        Callers who were answered together ask again one after the other; without this, the first of them would be
        searched for alone. Somebody who is the only one to ask never waits.
        """
        end = time.monotonic() + _LINGER
        while self._busy and self._open and 0 < self._waiting < self._at_once:
            left = end - time.monotonic()
            if left <= 0 or not self._changed.wait(left):
                return

    def _gather(self) -> list[Ticket]:
        batch: list[Ticket] = []
        people = 0
        while self._requests and (not batch or people + len(self._requests[0].asks) <= self._at_once):
            ticket = self._requests.popleft()
            self._waiting -= len(ticket.asks)
            if not ticket.abandoned:
                batch.append(ticket)
                people += len(ticket.asks)
        return batch
