"""The queue of the service: requests that arrive at the same time are answered together.

A call of a scikit-learn Pipeline costs milliseconds, for one row as for hundreds, and plans do not depend on the other
people in a batch. So the requests that arrived during one batch form the next batch.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from leastways.errors import Busy, ShuttingDown, Superseded, TimedOut
from leastways.server.answers import Issued

_JOBS_EVERY = 4  # one in so many batches is of a job while requests are pending
_LINGER = 0.005  # seconds to wait for more requests while another batch is running
_MEMORY = 0.8  # weight of the past in the running mean of seconds per person


def unless_all_failed(failed: Sequence[bool]) -> int:
    """Record all answers of a request, or none if the model failed on all its people."""
    return 0 if all(failed) else len(failed)


@dataclass
class Ticket:
    """A request in the queue: its people, and the future of their answers.

    `to_record` takes for whom the model failed and returns how many answers, from the first on, are recorded.
    """

    requests: Sequence[Any]
    to_record: Callable[[Sequence[bool]], int] = unless_all_failed
    future: Future[Any] = field(default_factory=Future)
    _state: str = "open"  # open, recording, abandoned
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin_recording(self) -> bool:
        """Mark the answers as being recorded; False if the caller has given up."""
        return self._move("recording")

    def abandon(self) -> bool:
        """Give up waiting; False if the answers are being recorded already."""
        return self._move("abandoned")

    def supersede(self) -> None:
        """End in favour of a newer request of the same person; answers that are being recorded are waited for."""
        if self.abandon():
            self.fail(Superseded("a newer request of this person replaced this one."))
        else:
            wait([self.future])

    def fail(self, error: BaseException) -> None:
        """Set the error of the future, unless it has a result already."""
        with suppress(InvalidStateError):
            self.future.set_exception(error)

    def _move(self, to: str) -> bool:
        with self._lock:
            if self._state == "open":
                self._state = to
            return self._state == to

    @property
    def abandoned(self) -> bool:
        """Return whether the caller has given up."""
        return self._state == "abandoned"

    def result(self, seconds: float | None) -> Any:
        """Wait for the answers; raises `TimedOut` if nothing was recorded in time."""
        try:
            return self.future.result(seconds)
        except TimeoutError:
            if self.abandon():
                raise TimedOut(f"no answer within {seconds:g} seconds.") from None
            return self.future.result()


class Batcher:
    """Threads that work on the queue, many requests at a time; requests before jobs."""

    def __init__(
        self, work: Callable[[list[Ticket]], None], pending_people: int, at_once: int, threads: int = 1
    ) -> None:
        self._work = work
        self._limit = pending_people
        self._at_once = at_once
        self._requests: deque[Ticket] = deque()
        self._jobs: deque[Ticket] = deque()
        self._pending = 0  # people of pending requests
        self._seconds = 0.02  # a person, running mean
        self._batches = 0
        self._busy = 0  # running batches
        self._open = True
        self._changed = threading.Condition()
        names = [f"leastways-batches-{number}" for number in range(threads)]
        self._threads = [threading.Thread(target=self._run, name=name, daemon=True) for name in names]
        for thread in self._threads:
            thread.start()

    @property
    def pending(self) -> int:
        """Number of people in pending requests."""
        return self._pending

    def check_room(self, people: int) -> None:
        """Raise `Busy` if this number of people would exceed the limit."""
        if self._pending and self._pending + people > self._limit:
            raise Busy(f"{self._pending} people are pending already.", self._retry_after())

    def submit(self, ticket: Ticket, patient: bool = False) -> Ticket:
        """Queue a request, or a part of a job (`patient`); raises `Busy` if too many people are pending."""
        with self._changed:
            if not self._open:
                raise ShuttingDown("the service is shutting down.")
            if patient:
                self._jobs.append(ticket)
            else:
                self.check_room(len(ticket.requests))
                self._requests.append(ticket)
                self._pending += len(ticket.requests)
            self._changed.notify_all()
        return ticket

    def close(self, seconds: float) -> None:
        """Accept nothing new, finish accepted requests, and stop; parts of jobs stay in the database."""
        with self._changed:
            self._open = False
            for ticket in self._jobs:
                ticket.fail(ShuttingDown("the service is shutting down."))
            self._jobs.clear()
            self._changed.notify_all()
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _retry_after(self) -> int:
        return max(1, math.ceil(self._pending * self._seconds / len(self._threads)))

    def _run(self) -> None:
        while True:
            batch = self._next()
            if not batch:
                return
            began, people = time.perf_counter(), sum(len(t.requests) for t in batch)
            try:
                self._work(batch)
            except BaseException as error:  # the callers must receive it, whatever it is
                for ticket in batch:
                    ticket.fail(error)
            with self._changed:
                self._busy -= 1
            each = (time.perf_counter() - began) / max(people, 1)
            self._seconds = _MEMORY * self._seconds + (1 - _MEMORY) * each

    def _next(self) -> list[Ticket]:
        """Wait for the next batch; an empty list means the end."""
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
        """While another batch is running, wait briefly for more requests: a small batch costs more per person.

        Callers who were answered together send their next requests one after the other; without this wait, the first
        of them would get a batch of its own. A single caller does not wait.
        """
        end = time.monotonic() + _LINGER
        while self._busy and self._open and 0 < self._pending < self._at_once:
            left = end - time.monotonic()
            if left <= 0 or not self._changed.wait(left):
                return

    def _gather(self) -> list[Ticket]:
        batch: list[Ticket] = []
        people = 0
        while self._requests and (not batch or people + len(self._requests[0].requests) <= self._at_once):
            ticket = self._requests.popleft()
            self._pending -= len(ticket.requests)
            if not ticket.abandoned:
                batch.append(ticket)
                people += len(ticket.requests)
        return batch


class LatestRequests:
    """Open requests by person, in the order of their arrival in this process.

    Requests in other processes are not known here; the store compares times when it records an answer.
    """

    def __init__(self) -> None:
        self._open: dict[str, list[Ticket]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def ticket(self, person: str) -> Iterator[Ticket]:
        """Yield a ticket for a new request of a person, once no earlier one can be recorded after it.

        Earlier requests end as `Superseded`; one that is being recorded is waited for.
        """
        mine = Ticket([])
        with self._lock:
            earlier = self._open.get(person, [])
            self._open[person] = [*earlier, mine]
        try:
            for ticket in earlier:
                ticket.supersede()
            yield mine
        finally:
            with self._lock:
                self._open[person] = [ticket for ticket in self._open[person] if ticket is not mine]
                if not self._open[person]:
                    del self._open[person]


def ignore_late_error(future: asyncio.Future[Any]) -> None:
    """Retrieve an error that arrives after the caller gave up; else asyncio would log it with its contents."""
    if not future.cancelled():
        future.exception()


async def ticket_result(ticket: Ticket, seconds: float) -> list[Issued]:
    """Wait for a ticket like `Ticket.result`, without blocking the event loop."""
    waiting = asyncio.wrap_future(ticket.future)
    waiting.add_done_callback(ignore_late_error)
    try:
        issued: list[Issued] = await asyncio.wait_for(asyncio.shield(waiting), seconds)
    except TimeoutError:
        if ticket.abandon():
            raise TimedOut(f"no answer within {seconds:g} seconds.") from None
        issued = await waiting
    return issued
