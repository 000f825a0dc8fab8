"""What a person asks for last is what counts: a newer question takes the place of those that are not answered yet."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from leastways.server.batching import Ticket


class Newest:
    """The questions on their way, by person, in the order in which they came to this process.

    What other processes are working on is not known here; the store compares times where it records an answer.
    """

    def __init__(self) -> None:
        self._open: dict[str, list[Ticket]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def ticket(self, person: str) -> Iterator[Ticket]:
        """Give a ticket for a new question, once no earlier one can be recorded after it.

        Earlier ones end as `Overtaken`, unless they are being recorded just now: that is waited for.
        """
        mine = Ticket([])
        with self._lock:
            earlier = self._open.get(person, [])
            self._open[person] = [*earlier, mine]
        try:
            for ticket in earlier:
                ticket.give_way()
            yield mine
        finally:
            with self._lock:
                self._open[person] = [ticket for ticket in self._open[person] if ticket is not mine]
                if not self._open[person]:
                    del self._open[person]
