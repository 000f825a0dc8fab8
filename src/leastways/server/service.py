"""The service without HTTP: it answers people, records the answers, reads, audits and erases them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import pandas as pd

from leastways.audit import Audit
from leastways.costs import Preferences, preferences_to_record
from leastways.errors import (
    Busy,
    FieldError,
    InputRefused,
    NotFound,
    PreferenceError,
    RefinementLimit,
    SettingError,
    Superseded,
)
from leastways.io import canonical_json
from leastways.models import load_model
from leastways.recourse import Recourse
from leastways.schema import Schema, read_training
from leastways.server import database
from leastways.server.answers import Answer, Applicant, Choice, Issued, JobState, Origin, Pending, fingerprints_of
from leastways.server.config import ServiceConfig, read_config
from leastways.server.database import now, open_engine
from leastways.server.inputs import MAX_TEXT, checked_people, fits_schema, pointer, text_fault
from leastways.server.jobs import JobRunner, JobStore, Upkeep
from leastways.server.keys import KeyStore
from leastways.server.queue import Batcher, LatestRequests, Ticket
from leastways.server.served import Served, audit_served, served
from leastways.server.solving import AnswerRequest, Solver, origin_settings
from leastways.server.store import NewPerson, Store, token_hash

_AT_ONCE = 16  # people in one search; more would gain little and delay the first ones


class Service:
    """Answers people, records every answer, and reads answers back. Safe to use from many threads.

    `Service.open(config)` makes one from files, `Service(config, recourse, fingerprints)` from a fitted `Recourse`.
    Close it when done, or use it in a ``with`` block.
    """

    def __init__(self, config: ServiceConfig, recourse: Recourse, fingerprints: dict[str, str]) -> None:
        self.config = config
        self.recourse = recourse
        self.schema: Schema = recourse.schema
        both = sorted(set(config.groups) & set(self.schema.names))
        if both:
            raise SettingError(f"groups: {', '.join(both)} are features of the model already; leave them out.")
        self.engine = open_engine(config.database)
        database.upgrade_database(self.engine)
        self.origin = Origin(fingerprints, origin_settings(recourse, config.distill))
        self.store = Store(self.engine)
        self.store.keep_origin(self.origin)
        self.keys = KeyStore(self.engine)
        self.jobs = JobStore(self.engine)
        self.jobs.requeue_failed()
        threads = config.threads or min(4, os.cpu_count() or 1)
        self._solver = Solver(recourse, self.store, self.origin)
        self._batcher = Batcher(self._solver.work, config.limits.pending_people, _AT_ONCE, threads)
        self._latest = LatestRequests()
        self._runner = JobRunner(self.jobs, self._batcher, self.schema)
        self._upkeep = Upkeep(self.store, config.retention_days)

    @classmethod
    def open(cls, config: ServiceConfig | str | Path) -> Self:
        """Load model, schema and data, fit, migrate the database, and compile the search."""
        if not isinstance(config, ServiceConfig):
            config = read_config(config)
        schema = Schema.from_yaml(config.schema)
        model = load_model(config.model, trust=config.trust)
        train = read_training(config.data, schema)
        recourse = Recourse(model, schema, **config.settings()).fit(train, distill=config.distill)
        _warm_up(recourse, train)
        return cls(config, recourse, fingerprints_of(config, schema.to_yaml()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Finish accepted requests, return running jobs to the queue, and close the database."""
        self._upkeep.close()
        self._runner.stop()
        self._batcher.close(self.config.limits.grace_seconds)
        self._runner.close(self.config.limits.grace_seconds)
        self.engine.dispose()

    @property
    def pending(self) -> int:
        """Number of people in pending requests."""
        return self._batcher.pending

    # Answers

    def answer(self, people: Sequence[Applicant]) -> list[Issued]:
        """Answer people directly; raises `InputRefused` with every wrong field, `Busy` with a time to retry."""
        issued: list[Issued] = self.submit(people).result(self.config.limits.request_seconds)
        return issued

    def submit(self, people: Sequence[Applicant]) -> Ticket:
        """Queue people for a direct answer; the ticket's future holds a list of `Issued`."""
        return self._batcher.submit(Ticket([self._new_request(*pair) for pair in self._checked(people)]))

    def check_room(self, people: int) -> None:
        """Raise `Busy` if `submit` would, before any work is done for the request."""
        self._batcher.check_room(people)

    def check_rows(self, people: int) -> None:
        """Raise `InputRefused` if a request has no people, or too many."""
        most = self.config.limits.rows
        if not 1 <= people <= most:
            raise InputRefused([FieldError("/people", "people", f"has {people} people; allowed: 1 to {most}")])

    def add_job(self, people: Sequence[Applicant]) -> tuple[JobState, list[Pending]]:
        """Add a job: its people are answered one after the other, also if this process ends."""
        if self.jobs.unfinished() >= self.config.limits.pending_jobs:
            raise Busy(f"{self.config.limits.pending_jobs} jobs are pending already.", 30)
        requests = [self._new_request(*pair) for pair in self._checked(people)]
        job = self.jobs.add(
            [(a.person, preferences_to_record(a.preferences)) for a in requests if a.person is not None]
        )
        self._runner.wake()
        return job, [Pending(a.id, a.token, a.reference) for a in requests]

    def _checked(self, people: Sequence[Applicant]) -> list[tuple[Applicant, dict[str, Any]]]:
        """Check people and their preferences; returns each with the state as it is recorded."""
        self.check_rows(len(people))
        states = checked_people(self.schema, self.config.groups, people)
        errors = [
            FieldError(pointer("people", i, "preferences"), "preferences", fault)
            for i, (person, state) in enumerate(zip(people, states, strict=True))
            if (fault := self._preference_fault(person.preferences, state))
        ]
        if errors:
            raise InputRefused(errors)
        return list(zip(people, states, strict=True))

    def _preference_fault(self, preferences: Preferences | None, state: dict[str, Any]) -> str:
        if preferences is None:
            return ""
        try:
            preferences.check(self.schema)
            preferences.check_person(self.schema, state)
            preferences_to_record(preferences)
        except PreferenceError as error:
            return str(error)
        return ""

    def _new_request(self, applicant: Applicant, state: dict[str, Any]) -> AnswerRequest:
        person_id, token = secrets.token_hex(16), secrets.token_urlsafe(32)
        person = NewPerson(
            id=person_id,
            created=now(),
            reference=applicant.reference,
            token_hash=token_hash(token),
            state=canonical_json(state, sort=False),  # in the order of the schema
            groups=canonical_json(dict(applicant.groups)),
        )
        return AnswerRequest(person_id, person_id, state, applicant.preferences, applicant.reference, person, token)

    def read(self, answer_id: str) -> Answer:
        """Return a recorded answer; raises `NotFound` if there is none."""
        return self.store.read(answer_id)

    def read_by_token(self, token: str) -> Answer:
        """Return the latest answer of the person whose page has this token."""
        return self.store.latest_of_token(token)

    def is_current(self, answer: Answer) -> bool:
        """Return whether an answer was made with the current model, schema, target and threshold."""
        return answer.rules == self.origin.rules

    def has_current_schema(self, answer: Answer) -> bool:
        """Return whether an answer was made under the current schema."""
        return answer.rules.schema == self.origin.rules.schema

    def still_fits(self, answer: Answer) -> bool:
        """Return whether the recorded state of a person fits the current schema."""
        return self.has_current_schema(answer) or fits_schema(self.schema, [answer.state])

    def chosen(self, answer: Answer) -> Answer | None:
        """Return the answer with the person's latest choice; None if they made none yet."""
        return self.store.chosen(answer.first)

    def refine(self, token: str, preferences: Preferences | None, entries: Mapping[str, Any] | None = None) -> Answer:
        """Answer the same person again with new preferences; recorded beside their first answer.

        `entries` is what the person entered on their page, plain values that are recorded with the answer; with None,
        the entries of an answer that stays valid are kept. Raises `Superseded` if a newer request of the same person
        arrived before this one was recorded, and `RefinementLimit` if the person has `limits.refinements` answers.
        """
        requested = now()
        with self._latest.ticket(token) as ticket:
            latest = self.read_by_token(token)
            self._check_refinement(latest, preferences)
            same = preferences_to_record(preferences) == preferences_to_record(latest.preferences)
            if same and self.is_current(latest):
                return latest if entries is None else self._with_entries(ticket, latest, entries)
            if self.store.count_answers(latest.first) >= self.config.limits.refinements:
                raise RefinementLimit(f"this person has been answered {self.config.limits.refinements} times already.")
            state, new_id = dict(latest.state), secrets.token_hex(16)
            request = AnswerRequest(new_id, latest.first, state, preferences, latest.reference, entries=entries or None)
            ticket.requests = [replace(request, requested=requested, seen=latest.id)]
            return self._refined(token, ticket)

    def _check_refinement(self, latest: Answer, preferences: Preferences | None) -> None:
        """Raise `InputRefused` if a person cannot be answered again, or not with these preferences."""
        if not self.still_fits(latest):
            raise InputRefused(
                [FieldError("/state", "state", "does not fit the current schema; send this person again")]
            )
        fault = self._preference_fault(preferences, dict(latest.state))
        if fault:
            raise InputRefused([FieldError("/preferences", "preferences", fault)])

    def _refined(self, token: str, ticket: Ticket) -> Answer:
        try:
            issued: list[Issued] = self._batcher.submit(ticket).result(self.config.limits.request_seconds)
        except NotFound:
            self.read_by_token(token)  # raises if the person was erased meanwhile
            raise Superseded("a newer request of this person replaced this one.") from None
        return issued[0].answer

    def set_entries(self, token: str, entries: Mapping[str, Any]) -> Answer:
        """Record entries on a person's page that leave nothing to search; their latest answer stays.

        Raises `Superseded` if a newer request of the same person arrived meanwhile.
        """
        with self._latest.ticket(token) as ticket:
            return self._with_entries(ticket, self.read_by_token(token), entries)

    def _with_entries(self, ticket: Ticket, answer: Answer, entries: Mapping[str, Any]) -> Answer:
        changed = replace(answer, entries=entries or None)
        if changed.entries == answer.entries:
            return answer
        if not ticket.begin_recording():
            raise Superseded("a newer request of this person replaced this one.")
        try:
            self.store.set_entries(answer.id, changed.entries)
        finally:
            ticket.future.set_result(None)  # a newer request waits for the end of this one
        return changed

    def choose(self, answer_id: str, option: int | None, reason: str = "") -> Choice:
        """Record which option a person chose, or with None why none fits; replaces an earlier choice."""
        answer = self.read(answer_id)
        numbers = [o.number for o in answer.plan.options]
        if option is not None and option not in numbers:
            allowed = f"one of {numbers}, or null for none" if numbers else "only null: this answer has no options"
            raise InputRefused([FieldError("/option", "option", f"there is no option {option}; allowed: {allowed}")])
        fault = text_fault(reason, MAX_TEXT)
        if fault:
            raise InputRefused([FieldError("/reason", "reason", fault)])
        choice = Choice(option, reason, now())
        self.store.choose(answer_id, choice)
        return choice

    # Oversight

    def audit(self, by: str | Sequence[str], **filters: Any) -> Audit:
        """Audit the served answers by groups: columns of the schema, or the attributes of `groups`.

        Filters: `since`, `until` (moments), `which` ("first" or "latest" answer of each person), `only` (a column and
        a value: people with it count); all others go to `leastways.audit.audit_plans`, whose `Audit` is returned.
        """
        return audit_served(self, by, filters)

    def served(self, since: datetime | None = None, until: datetime | None = None, which: str = "first") -> Served:
        """Return the answers of a span of time as plans."""
        return served(self.engine, self.schema, self.origin.fingerprints["schema"], since, until, which)

    def erase(self, answer_id: str | None = None, *, reference: str | None = None) -> int:
        """Erase a person by any of their answers, or all people with a reference; returns how many people."""
        if (answer_id is None) == (reference is None):
            raise SettingError("erase by an answer's id or by a reference: give one of them.")
        if reference is not None:
            return self.store.erase_reference(reference)
        return self.store.erase_families([str(answer_id)])


def _warm_up(recourse: Recourse, train: pd.DataFrame) -> None:
    """Find options for some people, so that the search is compiled now and not during a request."""
    for first in range(0, min(len(train), 20 * _AT_ONCE), _AT_ONCE):
        plans = recourse.recommend(train.iloc[first : first + _AT_ONCE])
        if plans.summary["n_options"].any():
            return
