"""What a Dask worker is told when it joins. Dask must be installed to import this."""

from __future__ import annotations

from typing import Any

from distributed import get_worker
from distributed.diagnostics.plugin import WorkerPlugin

from leastways.population.tables import Solved
from leastways.population.worker import Chunk, tell, warm_up, work


class Instructions(WorkerPlugin):
    """How to search: sent to each worker once, also to those that join later."""

    def __init__(self, key: str, blob: bytes) -> None:
        self.key = key
        self.blob = blob

    def setup(self, worker: Any) -> None:
        """Load the model."""
        tell(self.key, self.blob)


def work_and_say(key: str, chunk: Chunk, topic: str, name: str) -> Solved:
    """Solve a chunk in a Dask worker, and say when it was begun: Dask itself tells no client."""
    warm_up(key)
    get_worker().log_event(topic, name)
    return work(key, chunk)
