"""Few rows are answered sooner by one thread than by several, and by one worker always in the same way."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, TypeVar, cast

from joblib import parallel_backend

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


def one_worker() -> AbstractContextManager[object]:
    """Have scikit-learn's estimators work in the calling thread, whatever their `n_jobs`.

    The workers of a forest add up trees in the order in which they finish, so that the last digits of an answer would
    be others at every call. The setting is joblib's own, of this thread alone, and costs microseconds.
    """
    # Not `parallel_config`, which came with joblib 1.3: scikit-learn 1.5 is content with 1.2.
    return cast(AbstractContextManager[object], parallel_backend("sequential"))


@cache
def _threads_of(library: str) -> Any:
    """Return a handle on the OpenMP runtimes in this process; one per library, which is loaded by the time we ask."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
