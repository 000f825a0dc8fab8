"""The driver: submit chunks to workers, collect the results, and retry what fails.

A chunk whose worker dies or hangs, or that raises, is tried once more. If it fails again it is halved, and so on down
to the people whose rows are at fault: they get the status `invalid_input`, and all others are result.
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
from leastways.batch.parts import ChunkResult, Part, unusable_person
from leastways.batch.worker import Chunk
from leastways.costs import Preferences
from leastways.errors import LeastwaysError, ModelError, SearcherError
from leastways.schema import Schema

_SECONDS = 5.0  # that a chunk should take: long beside handing it over, short beside losing it
_TRIES = 2  # of a chunk that is whole, and of a single person
_SHARES = 4  # chunks that each worker should still get, so that all workers end at about the same time
_LIMIT_LEAST, _LIMIT_TIMES = 300.0, 30.0  # a chunk hangs if it takes so long, and so many times as long as expected
_PATIENCE = 300.0  # seconds without a first result before the user is warned
_LOOK = 1.0  # seconds between looks at the clock
_FIRST_LOST = 20  # people for whom the search may fail before it has worked for anyone
_MODEL_PAUSE = 1.0  # seconds before a model that failed on a whole chunk is queried again


class HangingError(Exception):
    """A worker took longer than it may."""


@dataclass(frozen=True)
class Job:
    """Rows of a part that are to be solved together."""

    part: Part
    first: int
    end: int
    whole: bool = True  # not a half of a chunk that failed
    tries: int = 0
    singly: bool = False
    not_before: float = 0.0

    def __len__(self) -> int:
        return self.end - self.first


@dataclass(frozen=True)
class DriverSettings:
    """Settings of a driver."""

    schema: Schema
    unit: int  # people that a worker searches for in one call
    preferences: Preferences | None  # the same for all
    time_limit: float | None  # seconds for a chunk; None: by measured speed
    give_up_after: int  # people in a row on whom the model fails before that is taken for a fault of the model
    total: int  # people still to come
    answered_before: int = 0  # people for whom the model answered before this run was interrupted


@dataclass
class Driver:
    """Solves all parts with an executor, and yields each as soon as it is solved."""

    executor: ChunkExecutor
    settings: DriverSettings
    on_part: Callable[[Part], None]  # takes a part that is solved
    on_result: Callable[[ChunkResult], None]  # takes the result of a chunk
    log: Callable[..., None]
    _running: dict[Future[ChunkResult], Job] = field(default_factory=dict)
    _retries: deque[Job] = field(default_factory=deque)
    _part: Part | None = None  # the one that chunks are cut from
    _speed: float | None = None  # rows a worker solves in a second
    _submitted: int = 0
    _answered: int = 0  # people on whom the model did not fail
    _failed_in_a_row: int = 0
    _pending_since: float | None = None  # None once a first chunk is back, or the user was warned

    def run(self, parts: Iterator[Part]) -> None:
        """Solve all parts; the executor is closed at the end, also after an error or an interruption."""
        self._pending_since = time.monotonic() if self.settings.time_limit is None else None
        self._answered = self.settings.answered_before  # whose fault it is must not depend on interruptions
        try:
            self._fill(parts)
            while self._running or self._retries:
                if not self._running:
                    time.sleep(self._pause())
                done, _ = wait(self._running, timeout=self._pause(), return_when=FIRST_COMPLETED)
                results = [(self._running.pop(future), self._outcome(future)) for future in done]
                self._drop_hanging()
                self._warn_if_pending()
                for job, outcome in results:
                    if isinstance(outcome, Exception):
                        self._failed(job, outcome)
                self._fill(parts)  # before the results are looked at, so that workers need not wait for that
                for job, outcome in results:
                    if isinstance(outcome, ChunkResult):
                        self._accept(job, outcome)
                self._fill(parts)
        except BaseException:
            self.executor.close(at_once=True)
            raise
        self.executor.close(at_once=False)

    def _outcome(self, future: Future[ChunkResult]) -> ChunkResult | Exception:
        try:
            return self.executor.result(future)
        except (ModelError, WorkerLostError) as error:
            return error
        except LeastwaysError:  # a wrong setting, a searcher that broke its contract: no person's row is at fault
            raise
        except Exception as error:  # raised by a model, a searcher or a worker: retries find out for whom
            return error

    def _fill(self, parts: Iterator[Part]) -> None:
        """Submit chunks while there are free workers and people left."""
        while len(self._running) < self.executor.capacity():
            job = self._next(parts)
            if job is None:
                return
            self._running[self.executor.submit(self._chunk(job))] = job

    def _next(self, parts: Iterator[Part]) -> Job | None:
        """Return the next chunk to submit: one to retry, or the next rows of the input."""
        now = time.monotonic()
        for position, job in enumerate(self._retries):
            if job.not_before <= now:
                del self._retries[position]
                return job
        while self._part is None or self._part.submitted >= len(self._part.frame):
            self._part = next(parts, None)
            if self._part is None:
                return None
            if not len(self._part.frame):
                self.on_part(self._part)  # none of its rows can be read
        part, first = self._part, self._part.submitted
        end = min(first + self._rows(), len(part.frame))
        part.submitted = end
        self._submitted += end - first
        return Job(part, first, end)

    def _rows(self) -> int:
        """Return how many rows the next chunk should have: whole units, by the measured speed."""
        if self._speed is None:
            return self.settings.unit
        left = max(self.settings.total - self._submitted, 0) / (self.executor.capacity() * _SHARES)
        wanted = min(self._speed * _SECONDS, left)
        return max(1, round(wanted / self.settings.unit)) * self.settings.unit

    def _chunk(self, job: Job) -> Chunk:
        unit = self.settings.unit
        frame = job.part.frame
        cuts = [*range(job.first, job.end, unit), job.end]
        units = tuple(frame.iloc[a:b] for a, b in itertools.pairwise(cuts))
        own = {row: given for row, given in job.part.preferences.items() if job.first <= row < job.end}
        return Chunk(units, self.settings.preferences, own, job.singly)

    def _accept(self, job: Job, result: ChunkResult) -> None:
        self._pending_since = None
        self._watch_the_model(result)
        if len(job) >= self.settings.unit and result.seconds > 0:
            speed = len(job) / result.seconds
            self._speed = speed if self._speed is None else 0.7 * self._speed + 0.3 * speed
        self.log("chunk", part=job.part.number, people=len(job), seconds=round(result.seconds, 3))
        self._keep(job, result)

    def _keep(self, job: Job, result: ChunkResult) -> None:
        job.part.results[job.first] = result
        self.on_result(result)
        if job.part.left == 0:
            self.on_part(job.part)

    def _watch_the_model(self, result: ChunkResult) -> None:
        """Stop where the model fails on everyone, or on too many in a row: then no row is at fault."""
        self._answered += result.answered
        self._failed_in_a_row = result.failed + (0 if result.answered else self._failed_in_a_row)
        never_answered = self._answered == 0 and result.failed > 1
        all_failed = result.failed > 0 and result.answered == 0
        if all_failed and (never_answered or self._failed_in_a_row >= self.settings.give_up_after):
            reasons = [text for text in result.people["reason"].to_pylist() if "the model failed" in text]
            raise ModelError(f"the model failed on {self._failed_in_a_row} people in a row; {reasons[0]}")

    def _watch_the_search(self, error: Exception) -> None:
        """Stop where the search fails for too many people in a row: then no row is at fault either."""
        self._failed_in_a_row += 1
        if self._failed_in_a_row >= (self.settings.give_up_after if self._answered else _FIRST_LOST):
            raise SearcherError(f"the search failed for {self._failed_in_a_row} people in a row; {_reason(error)}")

    def _failed(self, job: Job, error: Exception) -> None:
        """Retry a chunk that failed, as a whole or in halves; a single person gets the status `invalid_input`."""
        tried = replace(job, tries=job.tries + 1)
        what = "lost" if isinstance(error, WorkerLostError) else "hung" if isinstance(error, HangingError) else "raised"
        self.log(what, part=job.part.number, rows=[job.first, job.end], tries=tried.tries, error=_text_of(error))
        if isinstance(error, NewWorkerError):
            self._retries.append(job)  # nothing went wrong: the worker will be prepared by then
        elif tried.tries < (_TRIES if job.whole or len(job) == 1 else 1):
            pause = _MODEL_PAUSE if isinstance(error, ModelError) else 0.0
            self._retries.append(replace(tried, not_before=time.monotonic() + pause))
        elif isinstance(error, ModelError) and not job.singly:
            self._retries.append(replace(tried, singly=True, tries=0))
        elif len(job) > 1:
            middle = (job.first + job.end) // 2
            halves = (replace(job, end=middle), replace(job, first=middle))
            self._retries.extend(replace(half, whole=False, tries=0) for half in halves)
        else:
            self.log("isolated", row=job.part.first + job.first, error=_text_of(error))
            self._watch_the_search(error)
            row = job.part.frame.iloc[job.first : job.end]
            self._keep(job, unusable_person(self.settings.schema, _reason(error), row))

    def _drop_hanging(self) -> None:
        """Abandon chunks that take too long, and retry them with other workers."""
        now = time.monotonic()
        for future, job in list(self._running.items()):
            limit, since = self._limit(job), self.executor.started(future)
            if limit is not None and since is not None and now - since > limit and not future.done():
                del self._running[future]
                self.executor.abandon(future)
                self._failed(job, HangingError(f"it took longer than {limit:g} seconds"))

    def _limit(self, job: Job) -> float | None:
        """Return how many seconds a chunk may take: the user's limit, or many times what it should take."""
        if self.settings.time_limit is not None:
            return self.settings.time_limit
        return None if self._speed is None else max(_LIMIT_LEAST, _LIMIT_TIMES * len(job) / self._speed)

    def _warn_if_pending(self) -> None:
        """Warn once if no chunk has come back yet: the model may be slow, or hang."""
        if self._pending_since is not None and time.monotonic() - self._pending_since > _PATIENCE:
            self._pending_since = None
            self.log("pending", seconds=_PATIENCE, chunks=len(self._running))
            warnings.warn(
                f"no chunk of people has come back in {_PATIENCE:g} seconds: the model is slow, or it hangs. Workers "
                "that hang are noticed with --time-limit SECONDS (time_limit=...).",
                RuntimeWarning,
                stacklevel=2,
            )

    def _pause(self) -> float:
        """Return how many seconds to wait for results: until the next retry is due, or the next look at the clock."""
        now = time.monotonic()
        return min([_LOOK, *(job.not_before - now for job in self._retries if job.not_before > now)])


def _text_of(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _reason(error: Exception) -> str:
    """Return the reason for the status `invalid_input`, as the person's plan has it."""
    if isinstance(error, WorkerLostError):
        return "the worker died each time that this row was tried, also by itself"
    if isinstance(error, HangingError):
        return "the search did not end in time for this row, also by itself"
    return f"the search failed for this row, also by itself: {_text_of(error)}"
