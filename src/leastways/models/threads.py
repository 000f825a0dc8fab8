"""Few rows are answered sooner by one thread than by several."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

MANY_ROWS = 1024  # from here on, threads are worth their start

Answer = TypeVar("Answer")


def one_thread(library: str, ask: Callable[[], Answer], rows: int) -> Answer:
    """Ask about few rows without OpenMP's threads: waking them costs more than the answer, far more on a busy machine.

    OpenMP keeps their number per calling thread, so nobody else is slowed down.
    """
    if rows >= MANY_ROWS:
        return ask()
    with _threads_of(library).limit(limits=1, user_api="openmp"):
        return ask()


@cache
def _threads_of(library: str) -> Any:
    """Return a handle on the OpenMP runtimes in this process; one per library, which is loaded by the time we ask."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
