"""The service: recourse over HTTP, every answer recorded so that it can be reproduced, and pages for people."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from leastways._extras import require

for _module in ("sqlalchemy", "alembic", "fastapi"):
    require(_module, "server", "The service")

if TYPE_CHECKING:
    from leastways.errors import (
        Busy,
        DatabaseDown,
        InputRefused,
        NotFound,
        RefinementLimit,
        Superseded,
        TimedOut,
    )
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
    "errors": ("Busy", "DatabaseDown", "InputRefused", "NotFound", "RefinementLimit", "Superseded", "TimedOut"),
    "server.answers": ("Answer", "Applicant", "Choice", "Issued", "JobState", "Pending"),
    "server.app": ("check_exposure", "create_app", "open_socket", "run"),
    "server.config": ("EXAMPLE", "Limits", "ServiceConfig", "read_config"),
    "server.database": ("days_ago", "open_engine", "upgrade_database", "with_driver_message"),
    "server.keys": ("SCOPES", "KeyStore"),
    "server.pages": ("DEMO_TEXTS", "add_index"),
    "server.service": ("Service",),
    "server.solving": ("Replay", "replay"),
    "server.store": ("Store",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

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


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'leastways.server' has no attribute {name!r}")
    value = getattr(import_module(f"leastways.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
