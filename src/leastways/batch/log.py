"""How far a run is: a line of JSON for each thing that happens, and figures for whoever watches."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from leastways.errors import DataError, SettingError


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes
    ----------
    done
        People who are solved, those of an earlier try included.
    total
        All people.
    found
        The share of those done, in this try, who have an option.
    people_per_second
        Since this try began.
    seconds_left
        At this speed; NaN before there is one.
    """

    done: int
    total: int
    found: float
    people_per_second: float
    seconds_left: float


class Watch:
    """Counts people as they are solved, and tells whoever watches."""

    def __init__(self, total: int, done: int, show: Callable[[Progress], None] | None) -> None:
        self._total, self._done, self._before = total, done, done
        self._found = 0
        self._show = show
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since this try began."""
        return time.perf_counter() - self._began

    def add(self, people: int, found: int) -> None:
        """Count some people."""
        self._done += people
        self._found += found
        if self._show is not None:
            self._show(self.progress())

    def progress(self) -> Progress:
        """Return how far it is."""
        new = self._done - self._before
        speed = new / self.seconds if new else float("nan")
        share = self._found / new if new else float("nan")
        return Progress(self._done, self._total, share, speed, (self._total - self._done) / speed)


class Log:
    """A file of JSON lines; a run that is taken up again writes on in it."""

    def __init__(self, path: Path) -> None:
        try:
            self._stream: TextIO = path.open("a", encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise SettingError(f"cannot write the log {str(path)!r}: {error}") from error

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):  # what could not be written was told when it was tried
            self._stream.close()

    def write(self, event: str, **facts: Any) -> None:
        """Write what happened, and when."""
        line = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **facts}
        try:
            self._stream.write(json.dumps(line, ensure_ascii=False) + "\n")
            self._stream.flush()
        except OSError as error:
            raise DataError(
                f"cannot write the log {self._stream.name!r}: {error}. The parts that are done are kept; mend this and "
                "continue the run with --resume (resume=True)."
            ) from error
