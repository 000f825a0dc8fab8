"""People, answers and choices in the database: recorded, read and erased."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Engine, Select, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from leastways._fingerprint import text_fingerprint
from leastways.costs import preferences_from_record
from leastways.errors import JobFailed, NotFound, NotReady
from leastways.io import canonical_json
from leastways.plans import plan_from_json
from leastways.server.answers import Answer, Choice, Origin, rules_of
from leastways.server.database import (
    AnswerRow,
    ChoiceRow,
    ErasureRow,
    JobRow,
    OriginRow,
    PendingRow,
    PersonRow,
    forget_erased,
    now,
    reading,
    try_writing,
    writing,
)

_ERASED_AT_ONCE = 500
_TRIAL_BYTES = 50_000

log = logging.getLogger("leastways.server")


@dataclass(frozen=True)
class NewPerson:
    """A person who is not in the database yet."""

    id: str
    created: datetime
    reference: str | None
    token_hash: str
    state: str
    groups: str


@dataclass(frozen=True)
class NewAnswer:
    """An answer to be recorded, with `person` if the person is new.

    For a repeated request of a person, `seen` is their latest answer then, and `created` the time of the request.
    """

    id: str
    person_id: str
    created: datetime
    preferences: str | None
    status: str
    plan: str
    person: NewPerson | None = None
    seen: str | None = None
    entries: str | None = None


def entries_to_text(entries: Mapping[str, Any] | None) -> str | None:
    """Write what a person entered on their page as one line; None where they entered nothing."""
    return canonical_json(entries) if entries else None


def token_hash(token: str) -> str:
    """Hash a token of 256 random bits, which cannot be guessed, so no salt is needed."""
    return text_fingerprint(token)


class Store:
    """People, answers and choices in the database. Each method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._log_unclean = False  # whether the log may still hold erased rows

    def check(self) -> None:
        """Raise `DatabaseDown` if the database cannot be read, or cannot be written since an earlier write failed."""
        with reading(self.engine) as session:
            session.scalar(select(func.count()).select_from(JobRow))
        try_writing(self.engine, _trial)

    def keep_origin(self, origin: Origin) -> None:
        """Record an origin, once."""
        row = {
            "id": origin.id,
            "created": now(),
            "version": origin.version,
            "schema_fingerprint": origin.fingerprints["schema"],
            "model_fingerprint": origin.fingerprints["model"],
            "data_fingerprint": origin.fingerprints["data"],
            "settings": origin.settings,
            "libraries": origin.libraries,
        }
        try:
            with writing(self.engine) as session:
                if session.get(OriginRow, origin.id) is None:
                    session.execute(insert(OriginRow), [row])
        except IntegrityError:  # another process recorded it at the same moment
            return

    def record(self, answers: Sequence[NewAnswer], origin_id: str) -> set[str]:
        """Record answers, all or none; people of a job are removed from the pending ones in the same transaction.

        Returns the recorded ids: without people who were erased meanwhile, people of a job whom another process
        answered, and requests that were superseded.
        """
        people = [a.person for a in answers if a.person is not None]
        with writing(self.engine) as session:
            if people:
                session.execute(insert(PersonRow), [vars(p) for p in people])
            new = _numbered(session, answers)
            if new:
                session.execute(insert(AnswerRow), [_answer_row(a, number, origin_id) for a, number in new])
            _remove_pending(session, [a for a, _ in new if a.person is None and a.id == a.person_id])
        return {a.id for a, _ in new}

    def read(self, answer_id: str) -> Answer:
        """Return an answer."""
        with reading(self.engine) as session:
            found = _latest(session, AnswerRow.id == answer_id)
            if found is not None:
                return found
            pending = session.get(PendingRow, answer_id)
            if pending is not None:
                job = session.get_one(JobRow, pending.job_id)
                why = f"failed: {job.error}" if job.state == "failed" else "has not come to it."
                raise NotReady(f"answer {answer_id!r} is not ready yet: job {job.id} {why}")
        raise _no_answer(answer_id)

    def latest_of_token(self, token: str) -> Answer:
        """Return the latest answer of the person whose page has this token."""
        with reading(self.engine) as session:
            found = _latest(session, PersonRow.token_hash == token_hash(token))
            if found is not None:
                return found
            pending = select(JobRow.state).join(PendingRow, PendingRow.job_id == JobRow.id)
            pending = pending.join(PersonRow, PersonRow.id == PendingRow.person_id)
            job = session.scalar(pending.where(PersonRow.token_hash == token_hash(token)))
            if job == "failed":
                raise JobFailed("this person is in a job that failed.")
            if job is not None:
                raise NotReady("this person is in a job that has not come to them yet.")
        raise NotFound("there is no such page.")

    def chosen(self, person_id: str) -> Answer | None:
        """Return the answer of a person with their latest choice."""
        chosen = _ANSWERS.join(ChoiceRow, ChoiceRow.answer_id == AnswerRow.id).where(PersonRow.id == person_id)
        with reading(self.engine) as session:
            return _first(session, chosen.order_by(ChoiceRow.created.desc(), AnswerRow.number.desc()))

    def count_answers(self, person_id: str) -> int:
        """Count the answers of a person."""
        with reading(self.engine) as session:
            query = select(func.count()).select_from(AnswerRow).where(AnswerRow.person_id == person_id)
            return int(session.scalar(query) or 0)

    def choose(self, answer_id: str, choice: Choice) -> None:
        """Record a person's choice for an answer; replaces an earlier one."""
        row = {"option": choice.option, "reason": choice.reason, "created": choice.when}
        for attempt in (1, 2):
            try:
                with writing(self.engine) as session:
                    kept = session.get(ChoiceRow, answer_id)
                    if kept is None:
                        session.add(ChoiceRow(answer_id=answer_id, **row))
                    else:
                        kept.option, kept.reason, kept.created = choice.option, choice.reason, choice.when
                return
            except (IntegrityError, StaleDataError):
                # Recorded twice at the same moment: this one replaces the other. Or the answer is gone.
                if attempt == 2:
                    raise _no_answer(answer_id) from None

    def set_entries(self, answer_id: str, entries: Mapping[str, Any] | None) -> None:
        """Replace what is recorded as entered on the page for an answer; its preferences stay."""
        text = entries_to_text(entries)
        with writing(self.engine) as session:
            changed = update(AnswerRow).where(AnswerRow.id == answer_id).values(entries=text)
            if not session.scalar(changed.returning(AnswerRow.id)):
                raise _no_answer(answer_id)

    def erase_families(self, answer_ids: Iterable[str]) -> int:
        """Erase people, each by any of their answers; returns how many were erased."""
        people = sorted(set(self.people_of(answer_ids).values()))
        erased = sum(self._erase_all(PersonRow.id == person, "asked") for person in people)
        self._forget(whole=True)
        return erased

    def people_of(self, answer_ids: Iterable[str]) -> dict[str, str]:
        """Return the person of each answer, recorded or pending; unknown ids are left out."""
        people = {}
        for answer_id in answer_ids:
            with reading(self.engine) as session:
                person = session.scalar(select(AnswerRow.person_id).where(AnswerRow.id == answer_id))
                person = person or session.scalar(select(PersonRow.id).where(PersonRow.id == answer_id))
            if person is not None:
                people[answer_id] = person
        return people

    def erase_reference(self, reference: str) -> int:
        """Erase everyone whom a caller gave this label."""
        erased = self._erase_all(PersonRow.reference == reference, "asked")
        self._forget(whole=True)
        return erased

    def erase_before(self, moment: datetime, whole: bool = True) -> int:
        """Erase people who were recorded before a moment, and jobs that ended before it.

        Without `whole` a SQLite file is not rewritten, which would block other requests.
        """
        erased = self._erase_all(PersonRow.created < moment, "retention")
        with writing(self.engine) as session:
            session.execute(delete(JobRow).where(JobRow.created < moment, JobRow.state == "done"))
        if erased or whole or self._log_unclean:
            self._forget(whole)
        return erased

    def _erase_all(self, condition: ColumnElement[bool], why: str) -> int:
        """Erase all people who meet a condition, in parts, so that other requests are not blocked for long."""
        erased = 0
        while True:
            with writing(self.engine) as session:
                ids = list(session.scalars(select(PersonRow.id).where(condition).limit(_ERASED_AT_ONCE)))
                if not ids:
                    return erased
                erased += _erase(session, ids, why)

    def _forget(self, whole: bool) -> None:
        """Remove traces of erased people from the database's files, also those left by an earlier failure."""
        self._log_unclean = not forget_erased(self.engine, whole)
        if self._log_unclean:
            log.warning(
                "erased rows may remain in the log or in unused parts of the database file: it was in use all the "
                "time, or there is no space to rewrite it; the next erasure tries again, even if it erases no one"
            )

    def erased(self) -> dict[str, int]:
        """Return how many people were erased in total, by cause."""
        with reading(self.engine) as session:
            query = select(ErasureRow.why, func.sum(ErasureRow.people)).group_by(ErasureRow.why)
            return {why: int(count) for why, count in session.execute(query)}


_ANSWERS = (
    select(AnswerRow, PersonRow, OriginRow, ChoiceRow)
    .join(PersonRow, PersonRow.id == AnswerRow.person_id)
    .join(OriginRow, OriginRow.id == AnswerRow.origin_id)
)


def _latest(session: Session, condition: ColumnElement[bool]) -> Answer | None:
    """Return the latest answer that meets a condition, with its choice if there is one."""
    query = _ANSWERS.outerjoin(ChoiceRow, ChoiceRow.answer_id == AnswerRow.id).where(condition)
    return _first(session, query.order_by(AnswerRow.number.desc()))


def _first(session: Session, query: Select[AnswerRow, PersonRow, OriginRow, ChoiceRow]) -> Answer | None:
    found = session.execute(query.limit(1)).first()
    return None if found is None else as_answer(*found)


def _no_answer(answer_id: str) -> NotFound:
    return NotFound(f"there is no answer {answer_id!r}; it may have been erased.")


def _trial(session: Session) -> None:
    """Write as much as a few answers take, and delete it in the same transaction."""
    name = f"trial {secrets.token_hex(16)}"
    empty = dict.fromkeys(("version", "schema_fingerprint", "model_fingerprint", "data_fingerprint", "libraries"), "")
    # random, since PostgreSQL compresses anything else
    row = {"id": name, "created": now(), "settings": secrets.token_hex(_TRIAL_BYTES // 2), **empty}
    session.execute(insert(OriginRow), [row])
    session.execute(delete(OriginRow).where(OriginRow.id == name))


def as_answer(answer: AnswerRow, person: PersonRow, origin: OriginRow, choice: ChoiceRow | None) -> Answer:
    """Return an answer from its rows."""
    state: dict[str, Any] = json.loads(person.state)
    return Answer(
        id=answer.id,
        created=answer.created,
        reference=person.reference,
        state=state,
        preferences=preferences_from_record(answer.preferences),
        plan=plan_from_json(answer.plan, answer.id, state),
        parent=None if answer.id == person.id else person.id,
        choice=None if choice is None else Choice(choice.option, choice.reason, choice.created),
        rules=rules_of(origin.schema_fingerprint, origin.model_fingerprint, origin.settings),
        entries=None if answer.entries is None else json.loads(answer.entries),
    )


def _numbered(session: Session, answers: Sequence[NewAnswer]) -> list[tuple[NewAnswer, int]]:
    """Number the answers of each person; drop those that were erased, answered or superseded meanwhile."""
    known = [a for a in answers if a.person is None]
    new = [(a, 1) for a in answers if a.person is not None]
    if not known:
        return new
    ids = {a.person_id for a in known}
    _lock(session, ids)
    query = (
        select(PersonRow.id, func.max(AnswerRow.number))
        .outerjoin(AnswerRow, AnswerRow.person_id == PersonRow.id)
        .where(PersonRow.id.in_(ids))
        .group_by(PersonRow.id)
    )
    numbers: dict[str, int] = {person: int(last or 0) for person, last in session.execute(query)}
    for a in known:
        if a.person_id not in numbers or (a.id == a.person_id and numbers[a.person_id]) or _superseded(session, a):
            continue
        numbers[a.person_id] += 1
        new.append((a, numbers[a.person_id]))
    return new


def _lock(session: Session, ids: Iterable[str]) -> list[str]:
    """Lock people against other transactions; returns those who still exist.

    For PostgreSQL; SQLite has one writer at a time. All transactions lock people in one order, which avoids deadlocks.
    """
    query = select(PersonRow.id).where(PersonRow.id.in_(ids)).order_by(PersonRow.id)
    return list(session.scalars(query.with_for_update()))


def _superseded(session: Session, answer: NewAnswer) -> bool:
    """Return whether another process has recorded a newer request of this person already.

    Only answers recorded since the request are compared by time, so that a clock that was set back does not block a
    person for long. Two processes cannot know which request came first if their clocks differ by more than the time
    between the two, nor that a person undid a change, which records nothing (`LatestRequests` knows it in one process).
    """
    if answer.seen is None:
        return False
    seen = select(AnswerRow.number).where(AnswerRow.id == answer.seen).scalar_subquery()
    since = select(AnswerRow.id).where(AnswerRow.person_id == answer.person_id, AnswerRow.number > seen)
    return session.scalar(since.where(AnswerRow.created > answer.created).limit(1)) is not None


def _answer_row(answer: NewAnswer, number: int, origin_id: str) -> dict[str, Any]:
    return {
        "id": answer.id,
        "person_id": answer.person_id,
        "number": number,
        "created": answer.created,
        "origin_id": origin_id,
        "preferences": answer.preferences,
        "entries": answer.entries,
        "status": answer.status,
        "plan": answer.plan,
    }


def _remove_pending(session: Session, answers: Sequence[NewAnswer]) -> None:
    """Remove answered people from the pending ones, and count in their jobs for whom the model failed."""
    if not answers:
        return
    for job_id, count in _pending_by_job(session, [a.id for a in answers if a.status == "invalid_input"]):
        session.execute(update(JobRow).where(JobRow.id == job_id).values(failed=JobRow.failed + count))
    session.execute(delete(PendingRow).where(PendingRow.person_id.in_([a.id for a in answers])))


def _erase(session: Session, ids: Sequence[str], why: str) -> int:
    """Delete people with all their rows, and record their number."""
    ids = _lock(session, ids)
    if not ids:
        return 0
    answers = session.scalar(select(func.count()).select_from(AnswerRow).where(AnswerRow.person_id.in_(ids)))
    _leave_jobs(session, ids)
    session.execute(delete(PersonRow).where(PersonRow.id.in_(ids)))
    session.add(ErasureRow(created=now(), why=why, people=len(ids), answers=int(answers or 0)))
    return len(ids)


def _leave_jobs(session: Session, ids: Sequence[str]) -> None:
    """Remove pending people from their jobs."""
    for job_id, count in _pending_by_job(session, ids):
        session.execute(update(JobRow).where(JobRow.id == job_id).values(total=JobRow.total - count))


def _pending_by_job(session: Session, ids: Sequence[str]) -> list[tuple[str, int]]:
    """Count the pending people of each job; jobs are locked in one order, as in `_lock`."""
    query = select(PendingRow.job_id, func.count()).where(PendingRow.person_id.in_(ids)).group_by(PendingRow.job_id)
    return [(job_id, count) for job_id, count in session.execute(query.order_by(PendingRow.job_id))]
