"""What has to be done from time to time: erasing people who have been kept as long as they may."""

from __future__ import annotations

import logging
import threading

from leastways.server.clock import days_ago
from leastways.server.faults import StoreDown, without_contents
from leastways.server.store import Store

_EVERY = 3600.0  # seconds

log = logging.getLogger("leastways.server")


class Upkeep:
    """A thread that erases what is too old, at the start and every hour."""

    def __init__(self, store: Store, retention_days: int | None) -> None:
        self._store = store
        self._days = retention_days
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="leastways-upkeep", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while self._days is not None:
            try:
                erased = self._store.erase_before(days_ago(self._days), whole=False)
                if erased:
                    log.info("retention: %d people erased", erased)
            except StoreDown as error:
                log.warning("retention: %s", error)  # tried again next time
            except Exception as error:  # a fault of ours must not end it for good
                log.error("retention: fault: %s", without_contents(error))
            if self._stopping.wait(_EVERY):
                return
