"""What a Dask worker is told when it joins. Dask must be installed to import this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from distributed import get_worker
from distributed.diagnostics.plugin import WorkerPlugin

from leastways.batch.prints import made_with
from leastways.batch.tables import Solved
from leastways.batch.worker import Chunk, tell, warm_up, work
from leastways.errors import SettingError


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
