"""What a Dask worker is told when it joins. Dask must be installed to import this."""

from __future__ import annotations

from typing import Any

from distributed.diagnostics.plugin import WorkerPlugin

from leastways.population.worker import tell


class Instructions(WorkerPlugin):
    """How to search: sent to each worker once, also to those that join later."""

    def __init__(self, key: str, blob: bytes) -> None:
        self.key = key
        self.blob = blob

    def setup(self, worker: Any) -> None:
        """Load the model."""
        tell(self.key, self.blob)
