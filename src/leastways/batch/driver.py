"""The loop that gives out chunks, takes them back, and sees to those that went wrong: again, elsewhere, in halves.

A chunk whose worker dies or hangs, or that raises, is tried once more. Failing again, it is halved, and so on down to
the people whose rows are at fault: they get the status `invalid_input`, and everybody else is solved.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace

from leastways.batch.executors import ChunkExecutor, NewWorkerError, WorkerLostError
from leastways.batch.parts import Part, Solved, unusable_person
from leastways.batch.worker import Chunk
from leastways.costs import Preferences
from leastways.errors import LeastwaysError, ModelError, SearcherError
from leastways.schema import Schema

_SECONDS = 5.0  # that a chunk should take: long beside handing it over, short beside losing it
_TRIES = 2  # of a chunk that is whole, and of a single person
_SHARES = 4  # chunks that each worker should still get, so that all of them end at about the same time
_LIMIT_LEAST, _LIMIT_TIMES = 300.0, 30.0  # a chunk hangs if it takes so long, and so many times as long as expected
_PATIENCE = 300.0  # seconds without a first chunk before the user is told
_LOOK = 1.0  # seconds between looks at the clock
_FIRST_LOST = 20  # people who may be lost before anybody is solved
_MODEL_PAUSE = 1.0  # seconds before a model that failed on everybody is asked again


class HangingError(Exception):
    """A worker took longer than it may."""


@dataclass(frozen=True)
class Job:
    """Some rows of a part that are to be solved together."""

    part: Part
    first: int
    end: int
    whole: bool = True  # not a half of a chunk that failed
    tries: int = 0
    singly: bool = False
    not_before: float = 0.0

    def __len__(self) -> int:
        return self.end - self.first


@dataclass
class Settings:
    """How a driver works."""

    schema: Schema
    unit: int  # people that a worker searches for in one call
    told: Preferences | None
    time_limit: float | None  # seconds for a chunk; None: by measured speed
    give_up_after: int  # people in a row on whom the model fails before that is taken for a fault of the model
    total: int  # people still to come
    good_before: int = 0  # people whom an earlier try of this run could use


@dataclass
class Driver:
    """Works through parts with a crew."""

    crew: ChunkExecutor
    settings: Settings
    finished: Callable[[Part], None]  # takes a part that is solved
    advanced: Callable[[Solved], None]  # takes what came of some people
    note: Callable[..., None]  # the log
    _running: dict[Future[Solved], Job] = field(default_factory=dict)
    _again: deque[Job] = field(default_factory=deque)
    _part: Part | None = None  # the one that chunks are being cut from
    _speed: float | None = None  # rows a worker solves in a second
    _given: int = 0
    _good: int = 0  # people the model did not fail on
    _bad_in_a_row: int = 0
    _waiting_since: float | None = None  # until the first chunk is back, or the user is told that none is

    def run(self, parts: Iterator[Part]) -> None:
        """Work through all parts; whatever ends this early, the crew does not go on by itself."""
        self._waiting_since = time.monotonic() if self.settings.time_limit is None else None
        self._good = self.settings.good_before  # who is at fault must not depend on where a run was cut short
        try:
            self._fill(parts)
            while self._running or self._again:
                if not self._running:
                    time.sleep(self._pause())
                done, _ = wait(self._running, timeout=self._pause(), return_when=FIRST_COMPLETED)
                results = [(self._running.pop(future), self._outcome(future)) for future in done]
                self._drop_hanging()
                self._tell_of_waiting()
                for job, outcome in results:
                    if isinstance(outcome, Exception):
                        self._failed(job, outcome)
                self._fill(parts)  # before the results are looked at: workers should not wait for that
                for job, outcome in results:
                    if isinstance(outcome, Solved):
                        self._accept(job, outcome)
                self._fill(parts)
        except BaseException:
            self.crew.close(at_once=True)
            raise
        self.crew.close(at_once=False)

    def _outcome(self, future: Future[Solved]) -> Solved | Exception:
        try:
            return self.crew.result(future)
        except (ModelError, WorkerLostError) as error:
            return error
        except LeastwaysError:  # a wrong setting, a searcher that broke its contract: no person's row is at fault
            raise
        except Exception as error:  # whatever a model, a searcher or a worker raises: the driver finds out on whom
            return error

    def _fill(self, parts: Iterator[Part]) -> None:
        """Give out chunks while there are places and people."""
        while len(self._running) < self.crew.places():
            job = self._next(parts)
            if job is None:
                return
            self._running[self.crew.submit(self._chunk(job))] = job

    def _next(self, parts: Iterator[Part]) -> Job | None:
        now = time.monotonic()
        for place, job in enumerate(self._again):
            if job.not_before <= now:
                del self._again[place]
                return job
        while self._part is None or self._part.begun >= len(self._part.frame):
            self._part = next(parts, None)
            if self._part is None:
                return None
            if not len(self._part.frame):
                self.finished(self._part)  # nothing of it can be read
        part, first = self._part, self._part.begun
        end = min(first + self._rows(), len(part.frame))
        part.begun = end
        self._given += end - first
        return Job(part, first, end)

    def _rows(self) -> int:
        """Return how many rows a chunk should have: whole units, by measured speed."""
        if self._speed is None:
            return self.settings.unit
        left = max(self.settings.total - self._given, 0) / (self.crew.places() * _SHARES)
        wanted = min(self._speed * _SECONDS, left)
        return max(1, round(wanted / self.settings.unit)) * self.settings.unit

    def _chunk(self, job: Job) -> Chunk:
        unit = self.settings.unit
        frame = job.part.frame
        cuts = [*range(job.first, job.end, unit), job.end]
        units = tuple(frame.iloc[a:b] for a, b in itertools.pairwise(cuts))
        told = {row: said for row, said in job.part.told_each.items() if job.first <= row < job.end}
        return Chunk(units, self.settings.told, told, job.singly)

    def _accept(self, job: Job, solved: Solved) -> None:
        self._waiting_since = None
        self._watch_the_model(solved)
        if len(job) >= self.settings.unit and solved.seconds > 0:
            speed = len(job) / solved.seconds
            self._speed = speed if self._speed is None else 0.7 * self._speed + 0.3 * speed
        self.note("chunk", part=job.part.number, people=len(job), seconds=round(solved.seconds, 3))
        self._keep(job, solved)

    def _keep(self, job: Job, solved: Solved) -> None:
        job.part.solved[job.first] = solved
        self.advanced(solved)
        if job.part.left == 0:
            self.finished(job.part)

    def _watch_the_model(self, solved: Solved) -> None:
        """Stop where the model fails on everybody: that is no fault of theirs."""
        self._good += solved.good
        self._bad_in_a_row = solved.failed + (0 if solved.good else self._bad_in_a_row)
        everybody = self._good == 0 and solved.failed > 1
        all_failed = solved.failed > 0 and solved.good == 0
        if all_failed and (everybody or self._bad_in_a_row >= self.settings.give_up_after):
            reasons = [text for text in solved.people["reason"].to_pylist() if "the model failed" in text]
            raise ModelError(f"the model failed on {self._bad_in_a_row} people in a row; {reasons[0]}")

    def _watch_the_search(self, error: Exception) -> None:
        """Stop where everybody is lost, one by one: that is no fault of theirs either."""
        self._bad_in_a_row += 1
        if self._bad_in_a_row >= (self.settings.give_up_after if self._good else _FIRST_LOST):
            raise SearcherError(f"the search failed for {self._bad_in_a_row} people in a row; {_reason(error)}")

    def _failed(self, job: Job, error: Exception) -> None:
        """Try again, or in halves, or give up on a single person."""
        tried = replace(job, tries=job.tries + 1)
        what = "lost" if isinstance(error, WorkerLostError) else "hung" if isinstance(error, HangingError) else "raised"
        self.note(what, part=job.part.number, rows=[job.first, job.end], tries=tried.tries, error=_words(error))
        if isinstance(error, NewWorkerError):
            self._again.append(job)  # nothing went wrong: it will have been told by then
        elif tried.tries < (_TRIES if job.whole or len(job) == 1 else 1):
            pause = _MODEL_PAUSE if isinstance(error, ModelError) else 0.0
            self._again.append(replace(tried, not_before=time.monotonic() + pause))
        elif isinstance(error, ModelError) and not job.singly:
            self._again.append(replace(tried, singly=True, tries=0))
        elif len(job) > 1:
            middle = (job.first + job.end) // 2
            halves = (replace(job, end=middle), replace(job, first=middle))
            self._again.extend(replace(half, whole=False, tries=0) for half in halves)
        else:
            self.note("isolated", row=job.part.first + job.first, error=_words(error))
            self._watch_the_search(error)
            row = job.part.frame.iloc[job.first : job.end]
            self._keep(job, unusable_person(self.settings.schema, _reason(error), row))

    def _drop_hanging(self) -> None:
        """Give up on workers that take too long, and have their chunks solved elsewhere."""
        now = time.monotonic()
        for future, job in list(self._running.items()):
            limit, since = self._limit(job), self.crew.since(future)
            if limit is not None and since is not None and now - since > limit and not future.done():
                del self._running[future]
                self.crew.give_up(future)
                self._failed(job, HangingError(f"it took longer than {limit:g} seconds"))

    def _limit(self, job: Job) -> float | None:
        """Return how long a chunk may take: what was said, or many times what it should take."""
        if self.settings.time_limit is not None:
            return self.settings.time_limit
        return None if self._speed is None else max(_LIMIT_LEAST, _LIMIT_TIMES * len(job) / self._speed)

    def _tell_of_waiting(self) -> None:
        """Say once that no chunk is back yet: before a first one nobody knows whether a model is slow or hangs."""
        if self._waiting_since is not None and time.monotonic() - self._waiting_since > _PATIENCE:
            self._waiting_since = None
            self.note("waiting", seconds=_PATIENCE, chunks=len(self._running))
            warnings.warn(
                f"no chunk of people has come back in {_PATIENCE:g} seconds: the model is slow, or it hangs. Workers "
                "that hang are noticed with --time-limit SECONDS (time_limit=...).",
                RuntimeWarning,
                stacklevel=2,
            )

    def _pause(self) -> float:
        """Return how long to wait for results: until a chunk that has to wait may be tried, or the next look."""
        now = time.monotonic()
        return min([_LOOK, *(job.not_before - now for job in self._again if job.not_before > now)])


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _reason(error: Exception) -> str:
    """Say why nobody knows anything about this person."""
    if isinstance(error, WorkerLostError):
        return "the worker died each time that this row was tried, also by itself"
    if isinstance(error, HangingError):
        return "the search did not end in time for this row, also by itself"
    return f"the search failed for this row, also by itself: {_words(error)}"
