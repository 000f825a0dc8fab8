"""The service: answers over HTTP, recorded so that each can be reproduced, and the pages on top of it."""

from leastways._extras import require

for _module in ("sqlalchemy", "alembic", "fastapi"):
    require(_module, "server", "The service")

from leastways.server.answers import Answer, Applicant, Choice, Issued, JobState, Promised  # noqa: E402
from leastways.server.config import Limits, ServiceConfig, read_config  # noqa: E402
from leastways.server.faults import Busy, InputRefused, NotKnown, Overtaken, Spent, StoreDown, TooLate  # noqa: E402
from leastways.server.service import Service  # noqa: E402

__all__ = [
    "Answer",
    "Applicant",
    "Busy",
    "Choice",
    "InputRefused",
    "Issued",
    "JobState",
    "Limits",
    "NotKnown",
    "Overtaken",
    "Promised",
    "Service",
    "ServiceConfig",
    "Spent",
    "StoreDown",
    "TooLate",
    "read_config",
]
