"""Run chunks on the workers of a Dask cluster."""

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

from leastways.batch.executors import NewWorkerError, WorkerLostError, cannot_load, taken
from leastways.batch.manifest import made_with
from leastways.batch.parts import Solved
from leastways.batch.worker import Chunk, NotPreparedError, tell, warm_up, work
from leastways.errors import SettingError

_PATIENCE = 600.0  # seconds that a scheduler, or its last worker, may be away
_TIMEOUT = 10  # seconds for one try to connect
_PLACES_KNOWN = 2.0  # seconds that the number of workers is taken as known


class DaskCluster:
    """The workers of a Dask scheduler."""

    def __init__(self, address: str, key: str, blob: bytes, patience: float = _PATIENCE) -> None:
        self._address = address
        self._told = (key, blob)
        self._patience = patience
        self._count = itertools.count()
        self._held: dict[Future[Solved], str] = {}  # the name of each task
        self._begun: dict[str, float] = {}  # when a worker said that it began
        self._places = (0, 0.0)
        self._client: Any = None
        _check_address(address)
        self._connect(first=True)
        self.name = f"Dask at {address} ({self.places()} threads)"

    @property
    def dashboard(self) -> str:
        """The address of Dask's own pages."""
        return str(self._client.dashboard_link)

    def places(self) -> int:
        """Return how many threads the workers have, now; at least one, so that a chunk waits for a first worker."""
        n, at = self._places
        if time.monotonic() - at > _PLACES_KNOWN:
            with suppress(OSError, TimeoutError):  # away for the moment: its tasks will tell
                n = sum(self._client.nthreads().values())
            self._places = (n, time.monotonic())
        return max(n, 1)

    def submit(self, chunk: Chunk) -> Future[Solved]:
        """Give Dask a task."""
        name = f"leastways-{self._told[0][:12]}-{next(self._count)}"
        try:
            future = self._submit(chunk, name)
        except (OSError, RuntimeError):  # the scheduler went away between two chunks
            self._connect()
            future = self._submit(chunk, name)
        self._held[future] = name
        return future

    def _submit(self, chunk: Chunk, name: str) -> Future[Solved]:

        future: Future[Solved] = self._executor.submit(
            work_and_say, self._told[0], chunk, self._plugin_name, name, key=name
        )
        return future

    def since(self, future: Future[Solved]) -> float | None:
        """Return when a worker said that it began, the last one if several had to."""
        return self._begun.get(self._held[future])

    def result(self, future: Future[Solved]) -> Solved:
        """Return what came of a task. Dask itself has run it again where a worker was lost, up to a point."""
        self._begun.pop(self._held.pop(future), None)
        try:
            return taken(future)
        except KilledWorker as error:
            raise WorkerLostError("several Dask workers died on it") from error
        except NotPreparedError as error:
            self._tell()
            raise NewWorkerError("the worker is new") from error
        except CancelledError as error:
            self._reconnect()
            raise NewWorkerError("the connection to the scheduler was lost") from error

    def give_up(self, future: Future[Solved]) -> None:
        """Restart the worker that hangs, where Dask has a nanny for it; the task is submitted again by the driver."""
        name = self._held.pop(future)
        self._begun.pop(name, None)
        hanging = [address for address, keys in self._client.processing().items() if name in keys]
        future.cancel()
        if hanging:  # which takes a while: a nanny asks politely first
            threading.Thread(target=self._restart, args=(hanging,), daemon=True).start()

    def _restart(self, addresses: list[str]) -> None:
        with suppress(OSError, TimeoutError, ValueError):  # gone by now, or without a nanny: then it hangs on
            self._client.restart_workers(addresses, timeout=30, raise_for_error=False)

    def close(self, at_once: bool) -> None:
        """Leave the cluster; its workers stay."""
        for future in list(self._held):
            future.cancel()
        with suppress(OSError, TimeoutError, ValueError):  # the scheduler, or what it knew of us, may be gone
            self._client.unregister_worker_plugin(self._plugin_name)
        self._client.close()

    @property
    def _plugin_name(self) -> str:
        return f"leastways-{self._told[0][:12]}"

    def _reconnect(self) -> None:
        """Take up the work with the scheduler that came in the place of the lost one."""
        if self._client.status == "running":
            self._tell()  # the client found it by itself; a new scheduler knows nothing of us
        else:
            self._connect()

    def _connect(self, first: bool = False) -> None:
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
        self._tell()

    def _note_begun(self, event: tuple[float, str]) -> None:
        self._begun[event[1]] = time.monotonic()

    def _tell(self) -> None:
        """Tell all workers, and those to come, how to search: once each."""

        self._client.subscribe_topic(self._plugin_name, self._note_begun)
        try:
            self._client.register_plugin(Instructions(*self._told, made_with()), name=self._plugin_name)
        except (OSError, TimeoutError) as error:
            raise SettingError(f"the Dask scheduler at {self._address!r} went away again: {error}") from error
        except SettingError:  # a worker with other packages
            raise
        except Exception as error:  # what a worker raised when it loaded the model
            raise cannot_load(error) from error
        self._places = (0, 0.0)


def _check_address(address: str) -> None:
    """Raise where Dask would not even try to connect; its client would say so late, and with a traceback beside it."""
    try:
        get_address_host_port(normalize_address(address))
    except ValueError as error:
        raise SettingError(
            f"{address!r} is no address of a Dask scheduler ({error}); one is like 'tcp://scheduler:8786'."
        ) from error


class Instructions(WorkerPlugin):
    """How to search: sent to each worker once, also to those that join later."""

    def __init__(self, key: str, blob: bytes, packages: Mapping[str, str]) -> None:
        self.key = key
        self.blob = blob
        self.packages = dict(packages)  # of the driver

    def setup(self, worker: Any) -> None:
        """Load the model, where that means the same as for the driver: who solves what must change no result."""
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
        tell(self.key, self.blob)


def work_and_say(key: str, chunk: Chunk, topic: str, name: str) -> Solved:
    """Solve a chunk in a Dask worker, and say when it was begun: Dask itself tells no client."""
    warm_up(key)
    get_worker().log_event(topic, name)
    return work(key, chunk)
