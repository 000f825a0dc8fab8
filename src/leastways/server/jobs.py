"""Long batches: kept in the database from the moment they are taken up, worked on a few people at a time.

A process that works on a job holds a lease on it, renewed with every few people. One that is killed holds it no longer
than that; one that is asked to stop gives it back at once. Either way somebody else, or the next process, goes on with
those who are still waiting.
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

from leastways.errors import ModelError
from leastways.schema import Schema
from leastways.server.answers import JobState
from leastways.server.batching import Batcher, Ticket
from leastways.server.clock import now
from leastways.server.engine import reading, writing
from leastways.server.faults import Closing, NotKnown, StoreDown, without_contents
from leastways.server.inputs import fits_schema
from leastways.server.solving import Ask, ask_of_record
from leastways.server.store import NewPerson
from leastways.server.tables import JobRow, PersonRow, WaitingRow

_LEASE_SECONDS = 10.0
_PART = 16  # people at a time: a lease is renewed and progress seen after each part
_TOO_MANY = 16  # people in a row on whom the model fails: then it is the model that is at fault, and not their rows
_LOOK_EVERY = 1.0  # seconds between looks at the table: another process may have left a job

log = logging.getLogger("leastways.server")


class JobStore:
    """Jobs in the database. Each method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, people: Sequence[tuple[NewPerson, str | None]]) -> JobState:
        """Take up a job, its people and what they want, in one step."""
        job_id, moment = secrets.token_hex(16), now()
        rows = [
            {"person_id": person.id, "job_id": job_id, "position": place, "preferences": said}
            for place, (person, said) in enumerate(people)
        ]
        with writing(self._engine) as session:
            session.execute(insert(PersonRow), [asdict(person) for person, _ in people])
            job = {"id": job_id, "created": moment, "state": "queued", "total": len(people), "failed": 0, "error": ""}
            session.execute(insert(JobRow), [job])
            session.execute(insert(WaitingRow), rows)
        return JobState(job_id, moment, "queued", len(people), 0, 0, "")

    def read(self, job_id: str) -> JobState:
        """Return how far a job is."""
        with reading(self._engine) as session:
            job = session.get(JobRow, job_id)
            if job is None:
                raise NotKnown(f"there is no job {job_id!r}; it may have been erased.")
            query = select(func.count()).select_from(WaitingRow).where(WaitingRow.job_id == job_id)
            waiting = int(session.scalar(query) or 0)
            done = job.total - waiting
            return JobState(job.id, job.created, job.state, job.total, done, job.failed, job.error)

    def unfinished(self) -> int:
        """Count the jobs that are not done."""
        with reading(self._engine) as session:
            query = select(func.count()).select_from(JobRow).where(JobRow.state.in_(("queued", "running")))
            return int(session.scalar(query) or 0)

    def requeue_failed(self) -> None:
        """Give jobs that failed another try; called once, when a service starts: model or schema may be others now."""
        with writing(self._engine) as session:
            session.execute(update(JobRow).where(JobRow.state == "failed").values(state="queued", error=""))

    def claim(self, owner: str) -> str | None:
        """Take the oldest job that nobody works on; one that is ours was left when the database went away."""
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
        """Hold on to a job; False where somebody else has it by now."""
        until = now() + timedelta(seconds=_LEASE_SECONDS)
        with writing(self._engine) as session:
            mine = update(JobRow).where(JobRow.id == job_id, JobRow.owner == owner, JobRow.state == "running")
            return bool(session.execute(mine.values(lease_until=until)).rowcount)  # type: ignore[attr-defined]

    def end(self, job_id: str, owner: str, state: str, error: str = "") -> None:
        """Let go of a job: done, failed, or queued again."""
        with writing(self._engine) as session:
            mine = update(JobRow).where(JobRow.id == job_id, JobRow.owner == owner)
            session.execute(mine.values(state=state, error=error, owner=None, lease_until=None))

    def give_back(self, owner: str) -> None:
        """Put back whatever somebody works on."""
        with writing(self._engine) as session:
            mine = update(JobRow).where(JobRow.owner == owner, JobRow.state == "running")
            session.execute(mine.values(state="queued", owner=None, lease_until=None))

    def waiting(self, job_id: str, most: int) -> list[Ask]:
        """Return the next people of a job who have no answer."""
        query = (
            select(WaitingRow, PersonRow)
            .join(PersonRow, PersonRow.id == WaitingRow.person_id)
            .where(WaitingRow.job_id == job_id)
            .order_by(WaitingRow.position)
            .limit(most)
        )
        with reading(self._engine) as session:
            return [ask_of_record(person, row.preferences) for row, person in session.execute(query)]


def _to_record(failed: Sequence[bool], ends: bool) -> int:
    """Return how many answers of a part are recorded: not yet those of a run of failures that may go on after it.

    Whoever is in such a run is asked about again, with those who come next, who show whether the model is at fault.
    """
    run = next((place for place, one in enumerate(reversed(failed)) if not one), len(failed))
    return len(failed) if ends and run < _TOO_MANY else len(failed) - run


class JobRunner:
    """A thread that works on one job after the other, through the same queue as everybody else."""

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
        """Say that there is a new job."""
        self._wake.set()

    def stop(self) -> None:
        """Begin nothing new."""
        self._stopping.set()
        self._wake.set()

    def close(self, seconds: float) -> None:
        """Wait until the job at hand is back in the queue; one that takes too long is put back as it is."""
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
            except StoreDown as error:
                log.warning("jobs: %s", error)  # they are where they were; the next look may find the database back
            except Exception as error:  # a fault of ours: others still get their turn
                log.error("jobs: fault: %s", without_contents(error))
            self._wake.wait(_LOOK_EVERY)
            self._wake.clear()

    def _work_on(self, job_id: str) -> None:
        size = _PART
        while not self._stopping.is_set():
            asks = self._jobs.waiting(job_id, size + 1)
            part, ends = asks[:size], len(asks) <= size
            if not part:
                self._jobs.end(job_id, self._owner, "done")
                return
            if not fits_schema(self._schema, [ask.state for ask in part]):
                text = "the schema has changed since this job was taken up, and its people do not fit any more."
                self._jobs.end(job_id, self._owner, "failed", text)
                return
            try:
                self._batcher.submit(Ticket(part, partial(_to_record, ends=ends)), patient=True).future.result()
                size = _PART
            except Closing:
                break
            except NotKnown:
                continue  # all of them were erased, or another process was faster
            except ModelError:
                if ends or len(part) >= _TOO_MANY:
                    text = f"the model failed on {len(part)} people in a row; those answered before are kept."
                    self._jobs.end(job_id, self._owner, "failed", text)
                    return
                size = _TOO_MANY  # as many as it takes to know
            except StoreDown:
                raise
            except Exception:
                self._jobs.end(job_id, self._owner, "failed", "a fault in the service; it was logged.")
                raise
            if not self._jobs.renew(job_id, self._owner):
                return  # it took longer than the lease, and somebody else went on
        self._jobs.end(job_id, self._owner, "queued")
