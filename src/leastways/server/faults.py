"""What can go wrong in the service, each as an error of its own: the HTTP layer turns them into problem details."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leastways.errors import LeastwaysError


@dataclass(frozen=True)
class FieldError:
    """One field of a request that is wrong: a JSON pointer to it, its name, and what is allowed."""

    pointer: str
    field: str
    message: str


class InputRefused(LeastwaysError, ValueError):
    """Fields of a request are wrong; `errors` lists every one. Nothing was stored."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__("; ".join(f"{e.pointer}: {e.message}" for e in errors))
        self.errors = list(errors)


class NotKnown(LeastwaysError, LookupError):
    """There is no such answer, job, key or link (any more)."""


class NotReady(NotKnown):
    """The answer is promised, but its job has not come to it yet."""


class Busy(LeastwaysError, RuntimeError):
    """More is waiting than may wait; `retry_after` says when to come back, in seconds."""

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TooLate(LeastwaysError, TimeoutError):
    """The time a request may take was over before its answer was there. Nothing was stored."""


class StoreDown(LeastwaysError, RuntimeError):
    """The database cannot be reached, read or written just now."""


class Closing(LeastwaysError, RuntimeError):
    """The service is shutting down and takes nothing new."""
