"""`GET /v1/audit`: the audit over what was served. It takes seconds of computing, so one at a time."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from typing import Any

from leastways.errors import LeastwaysError
from leastways.server.faults import Busy, FieldError, InputRefused, NotKnown, StoreDown
from leastways.server.service import Service


class Audits:
    """Runs one audit at a time."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._turn = threading.Lock()

    def __call__(self, by: list[str], since: datetime | None, until: datetime | None, **filters: Any) -> dict[str, Any]:
        """Return an audit as plain values."""
        if not self._turn.acquire(blocking=False):
            raise Busy("another audit is being made.", 5)
        try:
            audit = self._service.audit(by, since=in_utc(since), until=in_utc(until), **filters)
        except (InputRefused, NotKnown, StoreDown):
            raise
        except LeastwaysError as error:  # what the audit itself finds wrong is about the columns to group by
            raise InputRefused([FieldError("/query/by", "by", str(error))]) from error
        finally:
            self._turn.release()
        data: dict[str, Any] = json.loads(audit.to_json())
        return data


def in_utc(moment: datetime | None) -> datetime | None:
    """Take a time without a zone for UTC."""
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment
