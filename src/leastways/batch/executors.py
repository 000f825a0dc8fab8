"""Run chunks on processes, threads, or a given executor."""

from __future__ import annotations

import copy
import os
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from importlib import import_module
from multiprocessing import get_context
from typing import Any, Protocol

from leastways.batch import worker
from leastways.batch.parts import Solved
from leastways.batch.worker import Chunk, NotPreparedError
from leastways.errors import SettingError
from leastways.recourse import Recourse

_ONE_THREAD = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
    *("NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"),
)
_STARTS = 3  # worker processes in a row that may die, or hang, before they have begun
_START_SECONDS = 1800.0  # that a process may take to load and try the model: compiling may take minutes


class WorkerLostError(Exception):
    """The worker is gone, and with it what it was working on; the chunk may be fine."""


class NewWorkerError(WorkerLostError):
    """The worker joined late and did not know how to search yet."""


class ChunkEndedError(Exception):
    """What ran in the worker tried to end it, or to interrupt it; the driver is not meant."""


def taken(future: Future[Solved]) -> Solved:
    """Return a result, or raise what was raised in the worker, as an error that cannot be mistaken for our own."""
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, Exception):
        raise error
    raise ChunkEndedError(f"{type(error).__name__}: {error}") from error


class ChunkExecutor(Protocol):
    """Workers behind one door."""

    name: str

    def places(self) -> int:
        """Return how many chunks can be worked on at the same time, now."""
        ...

    def submit(self, chunk: Chunk) -> Future[Solved]:
        """Give a chunk to a free place."""
        ...

    def since(self, future: Future[Solved]) -> float | None:
        """Return when a worker began on a chunk, by the monotonic clock; None where it has not yet."""
        ...

    def result(self, future: Future[Solved]) -> Solved:
        """Return what came of a chunk; raises `WorkerLostError`, or what the chunk raised."""
        ...

    def give_up(self, future: Future[Solved]) -> None:
        """Get rid of a worker that hangs, and of its chunk."""
        ...

    def close(self, at_once: bool) -> None:
        """Send everybody home; `at_once` without waiting for what they are at."""
        ...


class Processes:
    """Processes of our own, each behind an executor of its own: one that dies takes nobody else's chunk along."""

    def __init__(self, workers: int, key: str, blob: bytes) -> None:
        self.name = f"{workers} process{'es' if workers > 1 else ''}"
        self._told = (key, blob)
        self._seats: list[_Seat | None] = [None] * workers
        self._deaths_at_start = 0

    def places(self) -> int:
        """Return the number of processes."""
        return len(self._seats)

    def submit(self, chunk: Chunk) -> Future[Solved]:
        """Give a chunk to a process that has none; one that died is replaced here."""
        place = next(i for i, seat in enumerate(self._seats) if seat is None or seat.chunk is None)
        seat = self._seats[place]
        if seat is None:
            seat = self._seats[place] = _Seat(*self._told)
        return seat.submit(self._told[0], chunk)

    def since(self, future: Future[Solved]) -> float | None:
        """Return when the process began: not before it was ready, or ought to have been."""
        seat = self._seat_of(future)[1]
        late = time.monotonic() > seat.made + _START_SECONDS
        return seat.made + _START_SECONDS if seat.since is None and late else seat.since

    def result(self, future: Future[Solved]) -> Solved:
        """Return what came of a chunk, and free the place."""
        place, seat = self._seat_of(future)
        try:
            solved = taken(future)
        except BrokenExecutor as error:
            self._seats[place] = None
            seat.close()
            self._note_death(seat)
            raise WorkerLostError("the worker process died") from error
        except NotPreparedError as error:
            raise cannot_load(seat.begun.exception() or error) from error
        finally:
            seat.chunk = None
        self._deaths_at_start = 0
        return solved

    def give_up(self, future: Future[Solved]) -> None:
        """Kill the process; the next chunk for this place gets a new one."""
        place, seat = self._seat_of(future)
        self._seats[place] = None
        begun = seat.since is not None
        seat.kill()
        if not begun:
            self._note_start_lost()

    def close(self, at_once: bool) -> None:
        """End all processes."""
        for seat in self._seats:
            if seat is not None:
                seat.kill() if at_once else seat.close()
        self._seats = [None] * len(self._seats)

    def _seat_of(self, future: Future[Solved]) -> tuple[int, _Seat]:
        return next((i, seat) for i, seat in enumerate(self._seats) if seat is not None and seat.chunk is future)

    def _note_death(self, seat: _Seat) -> None:
        """Stop where processes die again and again before they have begun: no chunk is at fault."""
        if seat.begun.done() and seat.begun.exception() is None:
            self._deaths_at_start = 0
            return
        self._note_start_lost()

    def _note_start_lost(self) -> None:
        self._deaths_at_start += 1
        if self._deaths_at_start >= _STARTS:
            raise SettingError(
                f"{_STARTS} worker processes in a row died, or did not get ready, as they started. In a script, "
                "call this under if __name__ == '__main__': (each process imports the script); or there is too little "
                "memory for so many workers; or the model hangs."
            )


class _Seat:
    """An executor with one process, which has been told how to search."""

    def __init__(self, key: str, blob: bytes) -> None:
        self.pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
        self.chunk: Future[Solved] | None = None
        self.since: float | None = None
        self.made = time.monotonic()
        with _one_thread_each():
            self.begun = self.pool.submit(worker.begin, key, blob)
        self.begun.add_done_callback(lambda _: setattr(self, "since", time.monotonic()))

    def submit(self, key: str, chunk: Chunk) -> Future[Solved]:
        if self.begun.done():
            self.since = time.monotonic()
        self.chunk = self.pool.submit(worker.work, key, chunk)
        return self.chunk

    def kill(self) -> None:
        """End the process, whatever it is doing."""
        for process in list((self.pool._processes or {}).values()):
            process.kill()
        self.pool.shutdown(wait=True, cancel_futures=True)

    def close(self) -> None:
        self.pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Start processes that compute on one core each: as many of them as cores would get into each other's way."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class Threads:
    """Threads of this process, for models that cannot be sent to another."""

    def __init__(self, workers: int, recourse: Recourse) -> None:
        self.name = f"{workers} thread{'s' if workers > 1 else ''}"
        self._free = [copy.copy(recourse) for _ in range(workers)]
        self._held: dict[Future[Solved], tuple[Recourse, float]] = {}

    def places(self) -> int:
        """Return the number of threads."""
        return len(self._free) + len(self._held)

    def submit(self, chunk: Chunk) -> Future[Solved]:
        """Solve a chunk in a thread that does not keep the process from ending."""
        future: Future[Solved] = Future()
        recourse = self._free.pop()
        self._held[future] = (recourse, time.monotonic())
        future.set_running_or_notify_cancel()
        threading.Thread(target=_into, args=(future, worker.solve, recourse, chunk), daemon=True).start()
        return future

    def since(self, future: Future[Solved]) -> float | None:
        """Return when the thread began."""
        return self._held[future][1]

    def result(self, future: Future[Solved]) -> Solved:
        """Return what came of a chunk, and free the place."""
        self._free.append(self._held.pop(future)[0])
        return taken(future)

    def give_up(self, future: Future[Solved]) -> None:
        """Leave a thread to itself: it cannot be ended, so another takes its place."""
        recourse, _ = self._held.pop(future)
        self._free.append(copy.copy(recourse))

    def close(self, at_once: bool) -> None:
        """Nothing to do: threads end with their chunk, or with the process."""


def _into(future: Future[Solved], function: Callable[..., Solved], *arguments: Any) -> None:
    try:
        future.set_result(function(*arguments))
    except BaseException as error:  # handed to whoever waits for the result
        future.set_exception(error)


class GivenExecutor:
    """An executor that somebody else started, and will end."""

    def __init__(self, executor: Executor, workers: int | None, key: str, blob: bytes) -> None:
        self.name = type(executor).__name__
        self._executor = executor
        self._places = workers or int(getattr(executor, "_max_workers", None) or os.cpu_count() or 1)
        self._told = (key, blob)
        self._held: dict[Future[Solved], float] = {}  # since when
        self._first = self._places  # so many chunks carry the instructions: most likely one for each worker

    def places(self) -> int:
        """Return how many chunks it was said to work on at a time."""
        return self._places

    def submit(self, chunk: Chunk) -> Future[Solved]:
        """Pass a chunk on."""
        key, blob = self._told
        told = blob if self._first > 0 else None
        self._first = max(self._first - 1, 0)  # below 0 a worker that is new later would never be told
        future = self._executor.submit(worker.work, key, chunk, told)
        self._held[future] = time.monotonic()
        return future

    def since(self, future: Future[Solved]) -> float | None:
        """Return when it was passed on; no executor says when it began."""
        return self._held[future]

    def result(self, future: Future[Solved]) -> Solved:
        """Return what came of a chunk; a worker that did not know how to search is told with the next one."""
        del self._held[future]
        try:
            return taken(future)
        except NotPreparedError as error:
            self._first += 1
            raise NewWorkerError("the worker is new") from error
        except BrokenExecutor as error:
            raise SettingError(
                f"the {self.name} that was given broke ({error}); what is done is kept. Start it anew and continue "
                "with --resume (resume=True)."
            ) from error

    def give_up(self, future: Future[Solved]) -> None:
        """Forget a chunk that takes too long; whoever works on it cannot be reached, and is missed until done."""
        self._held.pop(future)
        if future.cancel():
            return
        self._places -= 1
        if self._places == 0:
            raise SettingError(f"all workers of the {self.name} that was given hang; what is done is kept.")
        future.add_done_callback(lambda _: setattr(self, "_places", self._places + 1))

    def close(self, at_once: bool) -> None:
        """Take back what has not begun."""
        for future in self._held:
            future.cancel()


def pickled(recourse: Recourse) -> bytes | None:
    """Return what tells another process how to search; None where the model cannot be sent."""
    dumps = _dumps()
    with suppress(Exception):  # pickling runs the model's own code, which may raise anything
        blob: bytes = dumps(recourse)
        pickle.loads(blob)  # a class may be written and not read
        return blob
    return None


def _dumps() -> Callable[[Any], bytes]:
    """Return a pickler that sends functions of a notebook or a script as code: joblib has one, and Dask."""
    for name in ("cloudpickle", "joblib.externals.cloudpickle"):
        with suppress(ImportError):
            dumps: Callable[[Any], bytes] = import_module(name).dumps
            return dumps
    return pickle.dumps


def cannot_load(error: BaseException) -> SettingError:
    """Say that a worker cannot load what this process can."""
    return SettingError(
        f"a worker cannot load the model: {type(error).__name__}: {error}. Workers must have the packages and modules "
        "that this process has; or work in threads: executor=ThreadPoolExecutor(...)."
    )
