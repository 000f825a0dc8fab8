"""Make audits for the API and the auditor's page, one at a time, since each takes seconds of computing."""

from __future__ import annotations

import asyncio
import json
import math
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from fastapi.concurrency import run_in_threadpool

from leastways.errors import Busy, DatabaseDown, FieldError, InputRefused, LeastwaysError, NotFound, TimedOut
from leastways.server.queue import ignore_late_error
from leastways.server.service import Service

MOST_PENDING = 4  # different questions, besides the one at work

T = TypeVar("T")


@dataclass
class _Turn:
    """An audit that is running or pending, and the number of callers that wait for it."""

    make: Callable[[], Any]
    made: Future[Any] = field(default_factory=Future)
    callers: int = 0


class Audits:
    """Makes one audit at a time in this process, in a thread of its own; callers await the result.

    Callers that ask the same question while it is being answered share the result. Waiting holds no thread, since
    the threads that answer requests are few.
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self._turns: dict[Hashable, _Turn] = {}  # the first of them is at work
        self._lock = threading.Lock()
        self._working = False
        self._took = 5.0  # seconds of the last one

    async def __call__(self, question: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` returns, or share the result of a caller with the same question.

        Raises `Busy` at once if too many questions are pending, `TimedOut` after the time that a request may take.
        """
        # After a person was erased, no audit that began before may be returned.
        erased = await run_in_threadpool(self.service.store.erased)
        asked = (question, *sorted(erased.items()))
        turn = self._join(asked, make)
        waiting = asyncio.wrap_future(turn.made)
        waiting.add_done_callback(ignore_late_error)
        seconds = self.service.config.limits.request_seconds
        try:
            made: T = await asyncio.wait_for(asyncio.shield(waiting), seconds)
        except TimeoutError:
            raise TimedOut(f"the audit was not ready within {seconds:g} seconds; try a shorter span of time.") from None
        finally:
            self._leave(asked, turn)
        return made

    def _join(self, asked: Hashable, make: Callable[[], Any]) -> _Turn:
        with self._lock:
            turn = self._turns.get(asked)
            if turn is None:
                if len(self._turns) > MOST_PENDING:
                    again = math.ceil(self._took * len(self._turns))
                    raise Busy(f"{MOST_PENDING} audits are pending already.", max(1, again))
                self._begin()
                turn = self._turns[asked] = _Turn(make)
            turn.callers += 1
            return turn

    def _begin(self) -> None:
        """Start the thread unless it runs; a daemon, so that no audit keeps the process alive."""
        if not self._working:
            threading.Thread(target=self._work, name="leastways-audit", daemon=True).start()
            self._working = True  # the thread reads this under the lock that is held here

    def _leave(self, asked: Hashable, turn: _Turn) -> None:
        """Count a caller out; a pending audit without callers is dropped."""
        with self._lock:
            turn.callers -= 1
            if not turn.callers and turn.made.cancel():
                del self._turns[asked]

    def _work(self) -> None:
        """Make pending audits, one after the other, until none is left."""
        while True:
            with self._lock:
                if not self._turns:
                    self._working = False
                    return
                asked, turn = next(iter(self._turns.items()))
                turn.made.set_running_or_notify_cancel()
            began = time.monotonic()
            made, error = _outcome(turn.make)
            with self._lock:
                self._took = time.monotonic() - began
                del self._turns[asked]  # before the result is set: later callers start a new audit
            if error is None:
                turn.made.set_result(made)
            else:
                turn.made.set_exception(error)


def _outcome(make: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return make(), None
    except BaseException as error:  # the callers must receive it, whatever it is
        return None, error


async def audit_as_json(
    audits: Audits, by: list[str], since: datetime | None, until: datetime | None, which: str
) -> Any:
    """Return an audit as plain values: `GET /v1/audit`."""
    filters = {"since": in_utc(since, "since"), "until": in_utc(until, "until"), "which": which}
    return await audits(("json", *by, *filters.values()), partial(_as_json, audits.service, by, filters))


def _as_json(service: Service, by: list[str], filters: dict[str, Any]) -> Any:
    try:
        return json.loads(service.audit(by, **filters).to_json())
    except (InputRefused, NotFound, DatabaseDown):
        raise
    except LeastwaysError as error:  # errors of the audit itself concern the columns to group by
        raise InputRefused([FieldError("/query/by", "by", str(error))]) from error


def in_utc(moment: datetime | None, name: str) -> datetime | None:
    """Return a moment in UTC; a time without a zone is taken as UTC."""
    if moment is None:
        return None
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:  # in UTC it is before the year 1, or after 9999
        fault = f"{moment.isoformat()} is too far away; allowed: the years 1 to 9999 in UTC"
        raise InputRefused([FieldError(f"/query/{name}", name, fault)]) from None
