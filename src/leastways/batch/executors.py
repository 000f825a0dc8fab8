"""Run chunks on processes of this machine, on threads, or on an executor that the user gave.

A `ChunkExecutor` takes a chunk whenever it has capacity, and distinguishes a worker that was lost from a chunk that
failed. What to do about either is decided by the driver.
"""

from __future__ import annotations

import copy
import os
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import import_module
from multiprocessing import get_context
from typing import Any, Protocol

from leastways._extras import require
from leastways._fingerprint import bytes_fingerprint
from leastways.batch import worker
from leastways.batch.parts import ChunkResult
from leastways.batch.worker import Chunk, NotPreparedError
from leastways.errors import SettingError
from leastways.recourse import Recourse

_ONE_THREAD = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
    *("NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"),
)
_STARTS = 3  # worker processes in a row that may die, or hang, before they are ready
_START_SECONDS = 1800.0  # that a process may take to load and try the model: compiling may take minutes


class WorkerLostError(Exception):
    """A worker is gone, and its chunk with it; the chunk may be fine."""


class NewWorkerError(WorkerLostError):
    """A worker joined late and was not prepared yet."""


class ChunkEndedError(Exception):
    """Code in the worker raised SystemExit or KeyboardInterrupt, which must not end the driver."""


class ChunkExecutor(Protocol):
    """The interface that the driver needs of any group of workers."""

    name: str

    def capacity(self) -> int:
        """Return how many chunks can be worked on at the same time, now."""
        ...

    def submit(self, chunk: Chunk) -> Future[ChunkResult]:
        """Give a chunk to a free worker."""
        ...

    def started(self, future: Future[ChunkResult]) -> float | None:
        """Return when a worker began on a chunk, by the monotonic clock; None before that."""
        ...

    def result(self, future: Future[ChunkResult]) -> ChunkResult:
        """Return the result of a chunk; raise `WorkerLostError`, or the chunk's exception."""
        ...

    def abandon(self, future: Future[ChunkResult]) -> None:
        """Drop a chunk whose worker hangs, and the worker too, where possible."""
        ...

    def close(self, at_once: bool) -> None:
        """Release all workers; `at_once` does not wait for the chunks they work on."""
        ...


def executor_for(
    recourse: Recourse, workers: int | None, executor: Executor | None, cluster: str | None
) -> ChunkExecutor:
    """Return the executor that the user asked for: a Dask cluster, their own, processes, or else threads."""
    blob = pickled(recourse)
    key = bytes_fingerprint(blob or b"")
    if cluster is not None:
        require("distributed", "cluster", "A Dask cluster")
        from leastways.batch.cluster import DaskExecutor

        return DaskExecutor(cluster, key, _sendable(blob))
    if executor is not None:
        if isinstance(executor, ThreadPoolExecutor) and blob is None:
            return ThreadExecutor(workers or executor._max_workers, recourse)
        return GivenExecutor(executor, workers, key, _sendable(blob))
    n = workers or _cores()
    return ThreadExecutor(n, recourse) if blob is None else ProcessExecutor(n, key, blob)


def _sendable(blob: bytes | None) -> bytes:
    if blob is None:
        raise SettingError("the model cannot be pickled, so it cannot be sent to other processes; work in threads.")
    return blob


def _cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def pickled(recourse: Recourse) -> bytes | None:
    """Return a fitted recourse as a pickle, or None where it cannot be sent to another process."""
    dumps = _dumps()
    with suppress(Exception):  # pickling runs the model's own code, which may raise anything
        blob: bytes = dumps(recourse)
        pickle.loads(blob)  # some classes can be written and not read
        return blob
    return None


def _dumps() -> Callable[[Any], bytes]:
    """Return a pickler that sends functions of a notebook or a script as code, as joblib and Dask have one."""
    for name in ("cloudpickle", "joblib.externals.cloudpickle"):
        with suppress(ImportError):
            dumps: Callable[[Any], bytes] = import_module(name).dumps
            return dumps
    return pickle.dumps


def result_of(future: Future[ChunkResult]) -> ChunkResult:
    """Return a result, or raise the worker's exception as an error that cannot end the driver."""
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, Exception):
        raise error
    raise ChunkEndedError(f"{type(error).__name__}: {error}") from error


def cannot_load(error: BaseException) -> SettingError:
    """Return the error for a worker that cannot load what this process can."""
    return SettingError(
        f"a worker cannot load the model: {type(error).__name__}: {error}. Workers must have the packages and modules "
        "that this process has; or work in threads: executor=ThreadPoolExecutor(...)."
    )


class ProcessExecutor:
    """Processes of our own, each in a pool of its own: one that dies takes no other worker's chunk along."""

    def __init__(self, workers: int, key: str, blob: bytes) -> None:
        self.name = f"{workers} process{'es' if workers > 1 else ''}"
        self._key, self._blob = key, blob
        self._processes: list[_Process | None] = [None] * workers
        self._deaths_at_start = 0

    def capacity(self) -> int:
        """Return the number of processes."""
        return len(self._processes)

    def submit(self, chunk: Chunk) -> Future[ChunkResult]:
        """Give a chunk to a free process; one that died is replaced here."""
        slot = next(i for i, process in enumerate(self._processes) if process is None or process.chunk is None)
        process = self._processes[slot]
        if process is None:
            process = self._processes[slot] = _Process(self._key, self._blob)
        return process.submit(self._key, chunk)

    def started(self, future: Future[ChunkResult]) -> float | None:
        """Return when the process began: not before it was ready, or had to be."""
        process = self._process_of(future)[1]
        late = time.monotonic() > process.made + _START_SECONDS
        return process.made + _START_SECONDS if process.started is None and late else process.started

    def result(self, future: Future[ChunkResult]) -> ChunkResult:
        """Return the result of a chunk, and free its process."""
        slot, process = self._process_of(future)
        try:
            found = result_of(future)
        except BrokenExecutor as error:
            self._processes[slot] = None
            process.close()
            self._note_death(process)
            raise WorkerLostError("the worker process died") from error
        except NotPreparedError as error:
            raise cannot_load(process.ready.exception() or error) from error
        finally:
            process.chunk = None
        self._deaths_at_start = 0
        return found

    def abandon(self, future: Future[ChunkResult]) -> None:
        """Kill the process; the next chunk starts a new one."""
        slot, process = self._process_of(future)
        self._processes[slot] = None
        was_ready = process.started is not None
        process.kill()
        if not was_ready:
            self._count_death_at_start()

    def close(self, at_once: bool) -> None:
        """End all processes."""
        for process in self._processes:
            if process is not None:
                process.kill() if at_once else process.close()
        self._processes = [None] * len(self._processes)

    def _process_of(self, future: Future[ChunkResult]) -> tuple[int, _Process]:
        return next((i, p) for i, p in enumerate(self._processes) if p is not None and p.chunk is future)

    def _note_death(self, process: _Process) -> None:
        """Count processes that die in a row before they are ready: then no chunk is at fault."""
        if process.ready.done() and process.ready.exception() is None:
            self._deaths_at_start = 0
            return
        self._count_death_at_start()

    def _count_death_at_start(self) -> None:
        self._deaths_at_start += 1
        if self._deaths_at_start >= _STARTS:
            raise SettingError(
                f"{_STARTS} worker processes in a row died, or did not get ready, as they started. In a script, "
                "call this under if __name__ == '__main__': (each process imports the script); or there is too little "
                "memory for so many workers; or the model hangs."
            )


class _Process:
    """A pool of one process, which is prepared as it starts."""

    def __init__(self, key: str, blob: bytes) -> None:
        self.pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
        self.chunk: Future[ChunkResult] | None = None
        self.started: float | None = None
        self.made = time.monotonic()
        with _one_thread_each():
            self.ready = self.pool.submit(worker.start_process, key, blob)
        self.ready.add_done_callback(lambda _: setattr(self, "started", time.monotonic()))

    def submit(self, key: str, chunk: Chunk) -> Future[ChunkResult]:
        if self.ready.done():
            self.started = time.monotonic()
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
    """Limit processes that start here to one thread each, so that they do not compete for the same cores."""
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


class ThreadExecutor:
    """Threads of this process, for models that cannot be sent to another."""

    def __init__(self, workers: int, recourse: Recourse) -> None:
        self.name = f"{workers} thread{'s' if workers > 1 else ''}"
        self._free = [copy.copy(recourse) for _ in range(workers)]
        self._held: dict[Future[ChunkResult], tuple[Recourse, float]] = {}

    def capacity(self) -> int:
        """Return the number of threads."""
        return len(self._free) + len(self._held)

    def submit(self, chunk: Chunk) -> Future[ChunkResult]:
        """Solve a chunk in a daemon thread, which does not keep the process from ending."""
        future: Future[ChunkResult] = Future()
        recourse = self._free.pop()
        self._held[future] = (recourse, time.monotonic())
        future.set_running_or_notify_cancel()
        threading.Thread(target=_run_into, args=(future, worker.solve, recourse, chunk), daemon=True).start()
        return future

    def started(self, future: Future[ChunkResult]) -> float | None:
        """Return when the thread began."""
        return self._held[future][1]

    def result(self, future: Future[ChunkResult]) -> ChunkResult:
        """Return the result of a chunk, and free its thread."""
        self._free.append(self._held.pop(future)[0])
        return result_of(future)

    def abandon(self, future: Future[ChunkResult]) -> None:
        """Replace a thread that hangs by another: it cannot be ended."""
        recourse, _ = self._held.pop(future)
        self._free.append(copy.copy(recourse))

    def close(self, at_once: bool) -> None:
        """Do nothing: threads end with their chunk, or with the process."""


def _run_into(future: Future[ChunkResult], function: Callable[..., ChunkResult], *arguments: Any) -> None:
    """Call a function and store its result or exception in a future."""
    try:
        future.set_result(function(*arguments))
    except BaseException as error:
        future.set_exception(error)


class GivenExecutor:
    """An executor that the user started and will end."""

    def __init__(self, executor: Executor, workers: int | None, key: str, blob: bytes) -> None:
        self.name = type(executor).__name__
        self._executor = executor
        self._capacity = workers or int(getattr(executor, "_max_workers", None) or os.cpu_count() or 1)
        self._key, self._blob = key, blob
        self._held: dict[Future[ChunkResult], float] = {}  # since when
        self._to_prepare = self._capacity  # so many chunks carry the pickle: most likely one for each worker

    def capacity(self) -> int:
        """Return how many chunks the executor works on at a time, if known."""
        return self._capacity

    def submit(self, chunk: Chunk) -> Future[ChunkResult]:
        """Pass a chunk on, with the pickle where a worker may need it."""
        blob = self._blob if self._to_prepare > 0 else None
        self._to_prepare = max(self._to_prepare - 1, 0)  # below 0 a worker that joins later would never be prepared
        future = self._executor.submit(worker.work, self._key, chunk, blob)
        self._held[future] = time.monotonic()
        return future

    def started(self, future: Future[ChunkResult]) -> float | None:
        """Return when a chunk was submitted; executors do not report when work on it began."""
        return self._held[future]

    def result(self, future: Future[ChunkResult]) -> ChunkResult:
        """Return the result of a chunk; a worker that was not prepared is with the next one."""
        del self._held[future]
        try:
            return result_of(future)
        except NotPreparedError as error:
            self._to_prepare += 1
            raise NewWorkerError("the worker is new") from error
        except BrokenExecutor as error:
            raise SettingError(
                f"the {self.name} that was given broke ({error}); what is done is kept. Start it again and continue "
                "with --resume (resume=True)."
            ) from error

    def abandon(self, future: Future[ChunkResult]) -> None:
        """Forget a chunk that takes too long; its worker cannot be reached and does not count until it is done."""
        self._held.pop(future)
        if future.cancel():
            return
        self._capacity -= 1
        if self._capacity == 0:
            raise SettingError(f"all workers of the {self.name} that was given hang; what is done is kept.")
        future.add_done_callback(lambda _: setattr(self, "_capacity", self._capacity + 1))

    def close(self, at_once: bool) -> None:
        """Cancel chunks that no worker has begun."""
        for future in self._held:
            future.cancel()
