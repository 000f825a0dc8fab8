"""The parts by name, in the order they run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, cast

from benchmarks.engine import baselines, growth, latency, memory, models, quality, startup, timing
from benchmarks.engine.sizes import Size
from benchmarks.engine.store import Rows
from benchmarks.engine.tables import Table
from benchmarks.engine.task import Task


class Part(Protocol):
    """What a module of a part offers."""

    def tasks(self, size: Size, seeds: int) -> Iterable[Task]:
        """List the rows to make. Nothing is loaded or run before a row is."""
        ...

    def tables(self, rows: Rows) -> list[Table]:
        """Show the rows that were made; from the file alone."""
        ...


PARTS: dict[str, Part] = {
    "quality": cast(Part, quality),
    "time": cast(Part, timing),
    "latency": cast(Part, latency),
    "models": cast(Part, models),
    "baselines": cast(Part, baselines),
    "growth": cast(Part, growth),
    "memory": cast(Part, memory),
    "startup": cast(Part, startup),
}
