"""What can go wrong in the service, each as an error of its own: the HTTP layer turns them into problem details."""

from __future__ import annotations

import traceback
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


class Stuck(NotReady):
    """The answer is promised, but its job has failed."""


class Busy(LeastwaysError, RuntimeError):
    """More is waiting than may wait; `retry_after` says when to come back, in seconds."""

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Spent(LeastwaysError, RuntimeError):
    """This person has been answered as often as may be; their latest answer stays. Coming back later does not help."""


class Overtaken(LeastwaysError, RuntimeError):
    """The same person has said something else meanwhile, and that is what counts. Nothing was stored."""


class TooLate(LeastwaysError, TimeoutError):
    """The time a request may take was over before its answer was there. Nothing was stored."""


class StoreDown(LeastwaysError, RuntimeError):
    """The database cannot be reached, read or written just now."""


class Closing(LeastwaysError, RuntimeError):
    """The service is shutting down and takes nothing new."""


def without_contents(error: BaseException) -> str:
    """Describe an error by its type and where it happened: its message may quote what a person sent."""
    frames = traceback.extract_tb(error.__traceback__)
    places = " < ".join(f"{f.filename}:{f.lineno} {f.name}" for f in reversed(frames[-12:]))
    cause = error.__cause__ or error.__context__
    more = f"; because of {without_contents(cause)}" if cause is not None and cause is not error else ""
    return f"{type(error).__name__} at {places}{more}"
