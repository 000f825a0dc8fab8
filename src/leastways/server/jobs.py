"""Jobs, which are long batches kept in the database, and the erasure of people after the retention period.

A process that works on a job holds a lease on it and renews it after every few people. The lease of a process that was
killed expires; a process that is asked to stop returns the job at once. Another process then continues with the people
who are still pending.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from functools import partial

from sqlalchemy import Engine, and_, func, insert, or_, select, update

from leastways.errors import DatabaseDown, ModelError, NotFound, ShuttingDown, without_contents
from leastways.schema import Schema
from leastways.server.answers import JobState
from leastways.server.database import JobRow, PendingRow, PersonRow, days_ago, now, reading, writing
from leastways.server.inputs import fits_schema
from leastways.server.queue import Batcher, Ticket
from leastways.server.solving import AnswerRequest, request_from_record
from leastways.server.store import NewPerson, Store

_LEASE_SECONDS = 10.0
_PART = 16  # people at a time: a lease is renewed and progress seen after each part
_TOO_MANY = 16  # failures in a row: then the model is at fault, not the people's rows
_LOOK_EVERY = 1.0  # seconds between polls of the table, for jobs that another process left

log = logging.getLogger("leastways.server")


class JobStore:
    """Jobs in the database. Each method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, people: Sequence[tuple[NewPerson, str | None]]) -> JobState:
        """Add a job with its people and their preferences, in one transaction."""
        job_id, moment = secrets.token_hex(16), now()
        rows = [
            {"person_id": person.id, "job_id": job_id, "position": position, "preferences": preferences}
            for position, (person, preferences) in enumerate(people)
        ]
        with writing(self._engine) as session:
            session.execute(insert(PersonRow), [asdict(person) for person, _ in people])
            job = {"id": job_id, "created": moment, "state": "queued", "total": len(people), "failed": 0, "error": ""}
            session.execute(insert(JobRow), [job])
            session.execute(insert(PendingRow), rows)
        return JobState(job_id, moment, "queued", len(people), 0, 0, "")

    def read(self, job_id: str) -> JobState:
        """Return the progress of a job."""
        with reading(self._engine) as session:
            job = session.get(JobRow, job_id)
            if job is None:
                raise NotFound(f"there is no job {job_id!r}; it may have been erased.")
            query = select(func.count()).select_from(PendingRow).where(PendingRow.job_id == job_id)
            done = job.total - int(session.scalar(query) or 0)
            return JobState(job.id, job.created, job.state, job.total, done, job.failed, job.error)

    def unfinished(self) -> int:
        """Count the jobs that are not done."""
        with reading(self._engine) as session:
            query = select(func.count()).select_from(JobRow).where(JobRow.state.in_(("queued", "running")))
            return int(session.scalar(query) or 0)

    def requeue_failed(self) -> None:
        """Queue failed jobs again; called when a service starts, since model or schema may have changed."""
        with writing(self._engine) as session:
            session.execute(update(JobRow).where(JobRow.state == "failed").values(state="queued", error=""))

    def claim(self, owner: str) -> str | None:
        """Claim the oldest free job; a job of this owner was left when the database failed."""
        moment = now()
        left = or_(JobRow.lease_until.is_(None), JobRow.lease_until < moment, JobRow.owner == owner)
        free = or_(JobRow.state == "queued", and_(JobRow.state == "running", left))
        with reading(self._engine) as session:
            candidates = list(session.scalars(select(JobRow.id).where(free).order_by(JobRow.created).limit(5)))
        for job_id in candidates:
            with writing(self._engine) as session:
                lease = {"state": "running", "owner": owner, "lease_until": moment + timedelta(seconds=_LEASE_SECONDS)}
                taken = session.execute(update(JobRow).where(JobRow.id == job_id, free).values(**lease))
                if taken.rowcount:  # type: ignore[attr-defined]
                    return job_id
        return None

    def renew(self, job_id: str, owner: str) -> bool:
        """Renew the lease of a job; False if another process has claimed it."""
        until = now() + timedelta(seconds=_LEASE_SECONDS)
        with writing(self._engine) as session:
            mine = update(JobRow).where(JobRow.id == job_id, JobRow.owner == owner, JobRow.state == "running")
            return bool(session.execute(mine.values(lease_until=until)).rowcount)  # type: ignore[attr-defined]

    def end(self, job_id: str, owner: str, state: str, error: str = "") -> None:
        """Release a job: done, failed, or queued again."""
        with writing(self._engine) as session:
            mine = update(JobRow).where(JobRow.id == job_id, JobRow.owner == owner)
            session.execute(mine.values(state=state, error=error, owner=None, lease_until=None))

    def give_back(self, owner: str) -> None:
        """Queue every job of an owner again."""
        with writing(self._engine) as session:
            mine = update(JobRow).where(JobRow.owner == owner, JobRow.state == "running")
            session.execute(mine.values(state="queued", owner=None, lease_until=None))

    def pending(self, job_id: str, most: int) -> list[AnswerRequest]:
        """Return the next pending people of a job."""
        query = (
            select(PendingRow, PersonRow)
            .join(PersonRow, PersonRow.id == PendingRow.person_id)
            .where(PendingRow.job_id == job_id)
            .order_by(PendingRow.position)
            .limit(most)
        )
        with reading(self._engine) as session:
            return [request_from_record(person, row.preferences) for row, person in session.execute(query)]


def _to_record(failed: Sequence[bool], ends: bool) -> int:
    """Return how many answers of a part are recorded: all but the failures at its end, unless the job ends.

    People in such a run of failures are tried again together with the next people, which shows whether the model is
    at fault.
    """
    run = next((n for n, one in enumerate(reversed(failed)) if not one), len(failed))
    return len(failed) if ends and run < _TOO_MANY else len(failed) - run


class JobRunner:
    """A thread that works on one job after the other, through the same queue as other requests."""

    def __init__(self, jobs: JobStore, batcher: Batcher, schema: Schema) -> None:
        self._jobs = jobs
        self._batcher = batcher
        self._schema = schema
        self._owner = secrets.token_hex(8)
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="leastways-jobs", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Signal that there is a new job."""
        self._wake.set()

    def stop(self) -> None:
        """Start no new job."""
        self._stopping.set()
        self._wake.set()

    def close(self, seconds: float) -> None:
        """Wait until the running job is back in the queue; after `seconds`, return it as it is."""
        self.stop()
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._jobs.give_back(self._owner)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                job_id = self._jobs.claim(self._owner)
                if job_id is not None:
                    self._work_on(job_id)
                    continue
            except DatabaseDown as error:
                log.warning("jobs: %s", error)  # jobs stay as they are; the database may be back at the next poll
            except Exception as error:  # an unexpected error must not stop other jobs
                log.error("jobs: fault: %s", without_contents(error))
            self._wake.wait(_LOOK_EVERY)
            self._wake.clear()

    def _work_on(self, job_id: str) -> None:
        size = _PART
        while not self._stopping.is_set():
            requests = self._jobs.pending(job_id, size + 1)
            part, ends = requests[:size], len(requests) <= size
            if not part:
                self._jobs.end(job_id, self._owner, "done")
                return
            if not fits_schema(self._schema, [request.state for request in part]):
                text = "the schema has changed since this job was added, and its people no longer fit it."
                self._jobs.end(job_id, self._owner, "failed", text)
                return
            try:
                self._batcher.submit(Ticket(part, partial(_to_record, ends=ends)), patient=True).future.result()
                size = _PART
            except ShuttingDown:
                break
            except NotFound:
                continue  # all of them were erased or answered by another process
            except ModelError:
                if ends or len(part) >= _TOO_MANY:
                    text = f"the model failed on {len(part)} people in a row; earlier answers are kept."
                    self._jobs.end(job_id, self._owner, "failed", text)
                    return
                size = _TOO_MANY  # as many as it takes to decide
            except DatabaseDown:
                raise
            except Exception:
                self._jobs.end(job_id, self._owner, "failed", "a fault in the service; it was logged.")
                raise
            if not self._jobs.renew(job_id, self._owner):
                return  # it took longer than the lease, and another process continues
        self._jobs.end(job_id, self._owner, "queued")


_EVERY = 3600.0  # seconds


class Upkeep:
    """A thread that erases people after the retention period, at the start and every hour."""

    def __init__(self, store: Store, retention_days: int | None) -> None:
        self._store = store
        self._days = retention_days
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="leastways-upkeep", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while self._days is not None:
            try:
                erased = self._store.erase_before(days_ago(self._days), whole=False)
                if erased:
                    log.info("retention: %d people erased", erased)
            except DatabaseDown as error:
                log.warning("retention: %s", error)  # tried again next time
            except Exception as error:  # an unexpected error must not stop it
                log.error("retention: fault: %s", without_contents(error))
            if self._stopping.wait(_EVERY):
                return
