"""`GET /v1/audit`: the audit over what was served. It takes seconds of computing, so one at a time."""

from __future__ import annotations

import asyncio
import json
import threading
from datetime import UTC, datetime
from typing import Any

from leastways.errors import LeastwaysError
from leastways.server.faults import Busy, FieldError, InputRefused, NotKnown, StoreDown, TooLate
from leastways.server.service import Service
from leastways.server.waiting import heard


class Audits:
    """Runs one audit at a time, in a thread of its own."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._turn = threading.Lock()

    async def __call__(
        self, by: list[str], since: datetime | None, until: datetime | None, **filters: Any
    ) -> dict[str, Any]:
        """Return an audit as plain values; `TooLate` after the time that a request may take."""
        since, until = in_utc(since, "since"), in_utc(until, "until")
        if not self._turn.acquire(blocking=False):
            raise Busy("another audit is being made.", 5)
        seconds = self._service.config.limits.request_seconds
        work = asyncio.ensure_future(asyncio.to_thread(self._make, by, since, until, filters))
        work.add_done_callback(heard)
        try:
            return await asyncio.wait_for(asyncio.shield(work), seconds)
        except TimeoutError:
            raise TooLate(f"the audit was not ready within {seconds:g} seconds; try a shorter span of time.") from None

    def _make(
        self, by: list[str], since: datetime | None, until: datetime | None, filters: dict[str, Any]
    ) -> dict[str, Any]:
        try:
            audit = self._service.audit(by, since=since, until=until, **filters)
        except (InputRefused, NotKnown, StoreDown):
            raise
        except LeastwaysError as error:  # what the audit itself finds wrong is about the columns to group by
            raise InputRefused([FieldError("/query/by", "by", str(error))]) from error
        finally:
            self._turn.release()
        data: dict[str, Any] = json.loads(audit.to_json())
        return data


def in_utc(moment: datetime | None, name: str) -> datetime | None:
    """Return a moment in UTC, which a time without a zone is taken for."""
    if moment is None:
        return None
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:  # in UTC it is before the year 1, or after 9999
        fault = f"{moment.isoformat()} is too far away; allowed: the years 1 to 9999 in UTC"
        raise InputRefused([FieldError(f"/query/{name}", name, fault)]) from None
