"""The service: recourse over HTTP, every answer recorded so that it can be reproduced, and pages for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastways._extras import require
from leastways._lazy import lazy_names
from leastways.errors import Busy, DatabaseDown, InputRefused, NotFound, RefinementLimit, Superseded, TimedOut

for _module in ("sqlalchemy", "alembic", "fastapi"):
    require(_module, "server", "The service")

if TYPE_CHECKING:
    from leastways.server.answers import (
        Answer,
        Applicant,
        Choice,
        Issued,
        JobState,
        Pending,
    )
    from leastways.server.app import check_exposure, create_app, open_socket, run
    from leastways.server.config import EXAMPLE, Limits, ServiceConfig, read_config
    from leastways.server.database import days_ago, open_engine, upgrade_database, with_driver_message
    from leastways.server.keys import SCOPES, KeyStore
    from leastways.server.pages import DEMO_TEXTS, add_index
    from leastways.server.service import Service
    from leastways.server.solving import Replay, replay
    from leastways.server.store import Store

# Where each name lives. They load on first use: `leastways keys list` needs no web framework.
_HOMES = {
    "answers": ("Answer", "Applicant", "Choice", "Issued", "JobState", "Pending"),
    "app": ("check_exposure", "create_app", "open_socket", "run"),
    "config": ("EXAMPLE", "Limits", "ServiceConfig", "read_config"),
    "database": ("days_ago", "open_engine", "upgrade_database", "with_driver_message"),
    "keys": ("SCOPES", "KeyStore"),
    "pages": ("DEMO_TEXTS", "add_index"),
    "service": ("Service",),
    "solving": ("Replay", "replay"),
    "store": ("Store",),
}

__all__ = [
    "DEMO_TEXTS",
    "EXAMPLE",
    "SCOPES",
    "Answer",
    "Applicant",
    "Busy",
    "Choice",
    "DatabaseDown",
    "InputRefused",
    "Issued",
    "JobState",
    "KeyStore",
    "Limits",
    "NotFound",
    "Pending",
    "RefinementLimit",
    "Replay",
    "Service",
    "ServiceConfig",
    "Store",
    "Superseded",
    "TimedOut",
    "add_index",
    "check_exposure",
    "create_app",
    "days_ago",
    "open_engine",
    "open_socket",
    "read_config",
    "replay",
    "run",
    "upgrade_database",
    "with_driver_message",
]


__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
