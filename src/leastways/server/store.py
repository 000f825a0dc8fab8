"""What is kept of people and their answers, and how it is read and erased."""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Engine, Select, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from leastways.costs import Preferences
from leastways.server.answers import Answer, Choice
from leastways.server.clock import now
from leastways.server.engine import forget_erased, reading, try_writing, writing
from leastways.server.faults import NotKnown, NotReady, Stuck
from leastways.server.origin import Origin, rules_of
from leastways.server.plan_json import plan_from_text
from leastways.server.tables import (
    AnswerRow,
    ChoiceRow,
    ErasureRow,
    JobRow,
    OriginRow,
    PersonRow,
    WaitingRow,
)
from leastways.server.wishes_json import preferences_of_record, wishes_of_record

_ERASED_AT_ONCE = 500
_TRIAL_BYTES = 50_000

log = logging.getLogger("leastways.server")


@dataclass(frozen=True)
class NewPerson:
    """Somebody who is not in the database yet."""

    id: str
    created: datetime
    reference: str | None
    token_hash: str
    state: str
    groups: str


@dataclass(frozen=True)
class NewAnswer:
    """An answer to be recorded; with `person` if they are new, else their id is known already.

    `seen` is the latest answer that somebody had when they asked anew, and `created` then the moment when they did.
    """

    id: str
    person_id: str
    created: datetime
    preferences: str | None
    status: str
    plan: str
    person: NewPerson | None = None
    seen: str | None = None


def token_hash(token: str) -> str:
    """Hash a token; it is 256 random bits, so no salt is needed to keep it from being guessed."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


class Store:
    """People, answers and choices in the database. Each method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._owed = False  # whether erased people may be in its log

    def check(self) -> None:
        """Raise `StoreDown` where the database cannot be read, or answers could not be recorded and still cannot."""
        with reading(self.engine) as session:
            session.scalar(select(func.count()).select_from(JobRow))
        try_writing(self.engine, _trial)

    def keep_origin(self, origin: Origin) -> None:
        """Record by what answers are made, once."""
        row = {
            "id": origin.id,
            "created": now(),
            "version": origin.version,
            "schema_print": origin.prints["schema"],
            "model_print": origin.prints["model"],
            "data_print": origin.prints["data"],
            "settings": origin.settings,
            "libraries": origin.libraries,
        }
        try:
            with writing(self.engine) as session:
                if session.get(OriginRow, origin.id) is None:
                    session.execute(insert(OriginRow), [row])
        except IntegrityError:  # another process started at the same moment, and was first
            return

    def record(self, answers: Sequence[NewAnswer], origin_id: str) -> set[str]:
        """Record answers, all or none; people of a job leave the list of the waiting in the same step.

        Returns the ids that were recorded: not those of people who were erased meanwhile, nor of those in a job who
        were answered by another process, nor of those who have said something else since.
        """
        people = [a.person for a in answers if a.person is not None]
        with writing(self.engine) as session:
            if people:
                session.execute(insert(PersonRow), [vars(p) for p in people])
            new = _numbered(session, answers)
            if new:
                session.execute(insert(AnswerRow), [_answer_row(a, number, origin_id) for a, number in new])
            _stop_waiting(session, [a for a, _ in new if a.person is None and a.id == a.person_id])
        return {a.id for a, _ in new}

    def read(self, answer_id: str) -> Answer:
        """Return an answer."""
        with reading(self.engine) as session:
            found = _latest(session, AnswerRow.id == answer_id)
            if found is not None:
                return found
            waiting = session.get(WaitingRow, answer_id)
            if waiting is not None:
                job = session.get_one(JobRow, waiting.job_id)
                why = f"failed: {job.error}" if job.state == "failed" else "has not come to it."
                raise NotReady(f"answer {answer_id!r} is not ready yet: job {job.id} {why}")
        raise _no_answer(answer_id)

    def latest_of_token(self, token: str) -> Answer:
        """Return the latest answer of the person whose page has this token."""
        with reading(self.engine) as session:
            found = _latest(session, PersonRow.token_hash == token_hash(token))
            if found is not None:
                return found
            promised = select(JobRow.state).join(WaitingRow, WaitingRow.job_id == JobRow.id)
            promised = promised.join(PersonRow, PersonRow.id == WaitingRow.person_id)
            job = session.scalar(promised.where(PersonRow.token_hash == token_hash(token)))
            if job == "failed":
                raise Stuck("this person is in a job that failed.")
            if job is not None:
                raise NotReady("this person is in a job that has not come to them yet.")
        raise NotKnown("there is no such page.")

    def chosen(self, person_id: str) -> Answer | None:
        """Return the answer of a person to which they last said what they would do."""
        said = _ANSWERS.join(ChoiceRow, ChoiceRow.answer_id == AnswerRow.id).where(PersonRow.id == person_id)
        with reading(self.engine) as session:
            return _first(session, said.order_by(ChoiceRow.created.desc(), AnswerRow.number.desc()))

    def count_answers(self, person_id: str) -> int:
        """Count the answers of a person."""
        with reading(self.engine) as session:
            query = select(func.count()).select_from(AnswerRow).where(AnswerRow.person_id == person_id)
            return int(session.scalar(query) or 0)

    def choose(self, answer_id: str, choice: Choice) -> None:
        """Record what a person said to an answer, in place of what they said before."""
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
                # Said twice at the same moment: the other was first, so this one replaces it. Or the answer is gone.
                if attempt == 2:
                    raise _no_answer(answer_id) from None

    def reword(self, answer_id: str, preferences: str | None) -> None:
        """Record the same preferences of an answer in other words."""
        with writing(self.engine) as session:
            changed = update(AnswerRow).where(AnswerRow.id == answer_id).values(preferences=preferences)
            if not session.scalar(changed.returning(AnswerRow.id)):
                raise _no_answer(answer_id)

    def erase_families(self, answer_ids: Iterable[str]) -> int:
        """Erase people, each by any of their answers; returns how many were erased."""
        people = sorted(set(self.people_of(answer_ids).values()))
        erased = sum(self._erase_all(PersonRow.id == person, "asked") for person in people)
        self._forget(whole=True)
        return erased

    def people_of(self, answer_ids: Iterable[str]) -> dict[str, str]:
        """Return whose each answer is, be it only promised; what is of nobody is left out."""
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
        """Erase everyone who came before a moment, and jobs that ended before it.

        Without `whole` a SQLite file is not written anew, which would hold up everybody else.
        """
        erased = self._erase_all(PersonRow.created < moment, "retention")
        with writing(self.engine) as session:
            session.execute(delete(JobRow).where(JobRow.created < moment, JobRow.state == "done"))
        if erased or whole or self._owed:
            self._forget(whole)
        return erased

    def _erase_all(self, condition: ColumnElement[bool], why: str) -> int:
        """Erase everyone who meets a condition, some at a time: others go on meanwhile, and statements stay short."""
        erased = 0
        while True:
            with writing(self.engine) as session:
                ids = list(session.scalars(select(PersonRow.id).where(condition).limit(_ERASED_AT_ONCE)))
                if not ids:
                    return erased
                erased += _erase(session, ids, why)

    def _forget(self, whole: bool) -> None:
        """Leave nothing of erased people in the database's files; also of those erased before, if it failed then."""
        self._owed = not forget_erased(self.engine, whole)
        if self._owed:
            log.warning(
                "erased people may be still in the log or in unused parts of the database's file: it was in use all "
                "the time, or there is no room to write it anew; the next erasure tries again, also of nobody"
            )

    def erased(self) -> dict[str, int]:
        """Return how many people were erased in all, by why."""
        with reading(self.engine) as session:
            query = select(ErasureRow.why, func.sum(ErasureRow.people)).group_by(ErasureRow.why)
            return {why: int(count) for why, count in session.execute(query)}


_ANSWERS = (
    select(AnswerRow, PersonRow, OriginRow, ChoiceRow)
    .join(PersonRow, PersonRow.id == AnswerRow.person_id)
    .join(OriginRow, OriginRow.id == AnswerRow.origin_id)
)


def _latest(session: Session, condition: ColumnElement[bool]) -> Answer | None:
    """Return the latest answer that meets a condition, with what was said to it, if anything was."""
    query = _ANSWERS.outerjoin(ChoiceRow, ChoiceRow.answer_id == AnswerRow.id).where(condition)
    return _first(session, query.order_by(AnswerRow.number.desc()))


def _first(session: Session, query: Select[AnswerRow, PersonRow, OriginRow, ChoiceRow]) -> Answer | None:
    found = session.execute(query.limit(1)).first()
    return None if found is None else as_answer(*found)


def _no_answer(answer_id: str) -> NotKnown:
    return NotKnown(f"there is no answer {answer_id!r}; it may have been erased.")


def _trial(session: Session) -> None:
    """Write as much as a few answers take, and take it back: nothing of it is ever seen."""
    name = f"trial {secrets.token_hex(16)}"
    empty = dict.fromkeys(("version", "schema_print", "model_print", "data_print", "libraries"), "")
    # by chance, or PostgreSQL would press it into nothing
    row = {"id": name, "created": now(), "settings": secrets.token_hex(_TRIAL_BYTES // 2), **empty}
    session.execute(insert(OriginRow), [row])
    session.execute(delete(OriginRow).where(OriginRow.id == name))


def as_answer(answer: AnswerRow, person: PersonRow, origin: OriginRow, choice: ChoiceRow | None) -> Answer:
    """Put the rows of an answer together."""
    state: dict[str, Any] = json.loads(person.state)
    said: Preferences | None = preferences_of_record(answer.preferences)
    return Answer(
        id=answer.id,
        created=answer.created,
        reference=person.reference,
        state=state,
        preferences=said,
        plan=plan_from_text(answer.plan, answer.id, state),
        parent=None if answer.id == person.id else person.id,
        choice=None if choice is None else Choice(choice.option, choice.reason, choice.created),
        rules=rules_of(origin.schema_print, origin.model_print, origin.settings),
        wishes=wishes_of_record(answer.preferences),
    )


def _numbered(session: Session, answers: Sequence[NewAnswer]) -> list[tuple[NewAnswer, int]]:
    """Number the answers of each person; leave out those that were erased, answered or overtaken meanwhile."""
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
        if a.person_id not in numbers or (a.id == a.person_id and numbers[a.person_id]) or _overtaken(session, a):
            continue
        numbers[a.person_id] += 1
        new.append((a, numbers[a.person_id]))
    return new


def _lock(session: Session, ids: Iterable[str]) -> list[str]:
    """Let nobody else erase or answer these people in this transaction; returns those who are still there.

    For PostgreSQL; SQLite has one writer at a time anyway. All take people in one order, so that none waits for ever.
    """
    query = select(PersonRow.id).where(PersonRow.id.in_(ids)).order_by(PersonRow.id)
    return list(session.scalars(query.with_for_update()))


def _overtaken(session: Session, answer: NewAnswer) -> bool:
    """Whether something that this person asked for later is recorded already, by another process.

    Only what came in since they asked is compared by time, so that a clock that was set back holds up nobody for long.
    What two processes cannot know: which came first where their clocks differ by more than the time between the two;
    and that somebody took back what they had said, which leaves nothing to record (see `Newest` for one process).
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
        "status": answer.status,
        "plan": answer.plan,
    }


def _stop_waiting(session: Session, answers: Sequence[NewAnswer]) -> None:
    """Take answered people off the list of the waiting, and count in their job those on whom the model failed."""
    if not answers:
        return
    for job_id, count in _waiting_by_job(session, [a.id for a in answers if a.status == "invalid_input"]):
        session.execute(update(JobRow).where(JobRow.id == job_id).values(failed=JobRow.failed + count))
    session.execute(delete(WaitingRow).where(WaitingRow.person_id.in_([a.id for a in answers])))


def _erase(session: Session, ids: Sequence[str], why: str) -> int:
    """Delete people with all that hangs on them, and keep their number."""
    ids = _lock(session, ids)
    if not ids:
        return 0
    answers = session.scalar(select(func.count()).select_from(AnswerRow).where(AnswerRow.person_id.in_(ids)))
    _leave_jobs(session, ids)
    session.execute(delete(PersonRow).where(PersonRow.id.in_(ids)))
    session.add(ErasureRow(created=now(), why=why, people=len(ids), answers=int(answers or 0)))
    return len(ids)


def _leave_jobs(session: Session, ids: Sequence[str]) -> None:
    """Take people out of the jobs that have not come to them yet."""
    for job_id, count in _waiting_by_job(session, ids):
        session.execute(update(JobRow).where(JobRow.id == job_id).values(total=JobRow.total - count))


def _waiting_by_job(session: Session, ids: Sequence[str]) -> list[tuple[str, int]]:
    """Count those of these people who wait for an answer, job by job; all take jobs in one order, as in `_lock`."""
    query = select(WaitingRow.job_id, func.count()).where(WaitingRow.person_id.in_(ids)).group_by(WaitingRow.job_id)
    return [(job_id, count) for job_id, count in session.execute(query.order_by(WaitingRow.job_id))]
