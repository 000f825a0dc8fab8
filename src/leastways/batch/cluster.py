"""Run chunks on the workers of a Dask cluster. Dask must be installed to import this.

Dask schedules, moves and retries tasks; this module adds what it leaves to its clients.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Mapping
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any

from distributed import Client, KilledWorker, get_worker
from distributed.comm.addressing import get_address_host_port, normalize_address
from distributed.diagnostics.plugin import WorkerPlugin

from leastways.batch.executors import NewWorkerError, WorkerLostError, cannot_load, result_of
from leastways.batch.manifest import made_with
from leastways.batch.parts import ChunkResult
from leastways.batch.worker import Chunk, NotPreparedError, prepare, warm_up, work
from leastways.errors import SettingError

_PATIENCE = 600.0  # seconds that a scheduler, or its last worker, may be away
_TIMEOUT = 10  # seconds for one try to connect
_CAPACITY_KNOWN = 2.0  # seconds for which the number of threads is taken as known


class DaskExecutor:
    """The workers of a Dask scheduler."""

    def __init__(self, address: str, key: str, blob: bytes, patience: float = _PATIENCE) -> None:
        self._address = address
        self._key, self._blob = key, blob
        self._plugin_name = f"leastways-{key[:12]}"
        self._patience = patience
        self._count = itertools.count()
        self._held: dict[Future[ChunkResult], str] = {}  # the name of each task
        self._started: dict[str, float] = {}  # when a worker reported that it began
        self._capacity = (0, 0.0)  # threads, and when they were counted
        self._client: Any = None
        _check_address(address)
        self._connect(first=True)
        self.name = f"Dask at {address} ({self.capacity()} threads)"

    @property
    def dashboard(self) -> str:
        """The address of Dask's own pages."""
        return str(self._client.dashboard_link)

    def capacity(self) -> int:
        """Return how many threads the workers have, now; at least one, so that a chunk waits for a first worker."""
        n, at = self._capacity
        if time.monotonic() - at > _CAPACITY_KNOWN:
            with suppress(OSError, TimeoutError):  # away for the moment: the tasks will raise
                n = sum(self._client.nthreads().values())
            self._capacity = (n, time.monotonic())
        return max(n, 1)

    def submit(self, chunk: Chunk) -> Future[ChunkResult]:
        """Give Dask a task."""
        name = f"{self._plugin_name}-{next(self._count)}"
        try:
            future = self._submit(chunk, name)
        except (OSError, RuntimeError):  # the scheduler went away between two chunks
            self._connect()
            future = self._submit(chunk, name)
        self._held[future] = name
        return future

    def _submit(self, chunk: Chunk, name: str) -> Future[ChunkResult]:
        future: Future[ChunkResult] = self._executor.submit(
            work_and_report, self._key, chunk, self._plugin_name, name, key=name
        )
        return future

    def started(self, future: Future[ChunkResult]) -> float | None:
        """Return when a worker reported that it began, the last one if there were several."""
        return self._started.get(self._held[future])

    def result(self, future: Future[ChunkResult]) -> ChunkResult:
        """Return the result of a task. Dask itself has run it again where a worker was lost, up to a point."""
        self._started.pop(self._held.pop(future), None)
        try:
            return result_of(future)
        except KilledWorker as error:
            raise WorkerLostError("several Dask workers died on it") from error
        except NotPreparedError as error:
            self._prepare_workers()
            raise NewWorkerError("the worker is new") from error
        except CancelledError as error:
            self._reconnect()
            raise NewWorkerError("the connection to the scheduler was lost") from error

    def abandon(self, future: Future[ChunkResult]) -> None:
        """Restart the worker that hangs, where Dask has a nanny for it; the driver submits the chunk again."""
        name = self._held.pop(future)
        self._started.pop(name, None)
        hanging = [address for address, keys in self._client.processing().items() if name in keys]
        future.cancel()
        if hanging:  # in the background: a nanny first waits for the worker to end by itself
            threading.Thread(target=self._restart, args=(hanging,), daemon=True).start()

    def _restart(self, addresses: list[str]) -> None:
        with suppress(OSError, TimeoutError, ValueError):  # gone by now, or without a nanny: then it hangs on
            self._client.restart_workers(addresses, timeout=30, raise_for_error=False)

    def close(self, at_once: bool) -> None:
        """Leave the cluster; its workers stay."""
        for future in list(self._held):
            future.cancel()
        with suppress(OSError, TimeoutError, ValueError):  # the scheduler, or its record of the plugin, may be gone
            self._client.unregister_worker_plugin(self._plugin_name)
        self._client.close()

    def _reconnect(self) -> None:
        """Continue with the scheduler that replaced the lost one."""
        if self._client.status == "running":
            self._prepare_workers()  # the client found it by itself; a new scheduler has no plugins
        else:
            self._connect()

    def _connect(self, first: bool = False) -> None:
        """Connect to the scheduler: at once for the first time, later for as long as it may be away."""
        deadline = time.monotonic() + (0 if first else self._patience)
        if self._client is not None:
            self._client.close()
        while True:
            try:
                self._client = Client(self._address, timeout=_TIMEOUT, set_as_default=False)  # type: ignore[no-untyped-call]
                break
            except (OSError, TimeoutError) as error:
                if time.monotonic() > deadline:
                    raise SettingError(f"there is no Dask scheduler at {self._address!r}: {error}") from error
                time.sleep(1.0)
        self._executor = self._client.get_executor(pure=False)
        self._prepare_workers()

    def _note_started(self, event: tuple[float, str]) -> None:
        self._started[event[1]] = time.monotonic()

    def _prepare_workers(self) -> None:
        """Prepare all workers, once each, also those that join later."""
        self._client.subscribe_topic(self._plugin_name, self._note_started)
        try:
            plugin = PrepareWorker(self._key, self._blob, made_with())
            self._client.register_plugin(plugin, name=self._plugin_name)
        except (OSError, TimeoutError) as error:
            raise SettingError(f"the Dask scheduler at {self._address!r} went away again: {error}") from error
        except SettingError:  # a worker with other packages
            raise
        except Exception as error:  # what a worker raised when it loaded the model
            raise cannot_load(error) from error
        self._capacity = (0, 0.0)


def _check_address(address: str) -> None:
    """Raise for an address that Dask could not use: its client would fail late, and with a traceback."""
    try:
        get_address_host_port(normalize_address(address))
    except ValueError as error:
        raise SettingError(
            f"{address!r} is no address of a Dask scheduler ({error}); one is like 'tcp://scheduler:8786'."
        ) from error


class PrepareWorker(WorkerPlugin):
    """Prepares each worker for a run, once, as it joins."""

    def __init__(self, key: str, blob: bytes, packages: Mapping[str, str]) -> None:
        self.key = key
        self.blob = blob
        self.packages = dict(packages)  # of the driver

    def setup(self, worker: Any) -> None:
        """Load the recourse, if the worker has the driver's packages: results must not depend on the worker."""
        mine = made_with()
        found = [
            f"{name} {mine.get(name)}, not {theirs}"
            for name, theirs in self.packages.items()
            if mine.get(name) != theirs
        ]
        if found:
            raise SettingError(
                f"the Dask worker at {worker.address!r} has other packages than the driver: {'; '.join(found)}. "
                "Install the same on all machines."
            )
        prepare(self.key, self.blob)


def work_and_report(key: str, chunk: Chunk, topic: str, name: str) -> ChunkResult:
    """Solve a chunk in a Dask worker, and report when it began, which Dask itself does not."""
    warm_up(key)
    get_worker().log_event(topic, name)
    return work(key, chunk)
