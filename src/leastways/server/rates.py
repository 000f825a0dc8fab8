"""How often somebody may ask: a bucket of tokens each, filled at a steady rate."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

_MOST_BUCKETS = 20_000  # of those who asked last; older ones are full again anyway


class Rates:
    """Token buckets by name."""

    def __init__(self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._burst = float(burst)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # name: tokens, as of when
        self._lock = threading.Lock()

    def take(self, name: str) -> int:
        """Take a token; returns 0, or the seconds to wait where there is none."""
        with self._lock:
            moment = self._clock()
            tokens, since = self._buckets.pop(name, (self._burst, moment))
            tokens = min(self._burst, tokens + (moment - since) * self._per_second)
            wait = 0 if tokens >= 1 else max(1, math.ceil((1 - tokens) / self._per_second))
            self._buckets[name] = (tokens if wait else tokens - 1, moment)
            if len(self._buckets) > _MOST_BUCKETS:
                self._buckets.popitem(last=False)
            return wait
