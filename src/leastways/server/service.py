"""The service itself, without HTTP: answers for people, recorded; and what may be asked about them later."""

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
from leastways.costs import Preferences
from leastways.errors import PreferenceError, SettingError
from leastways.models import load_model
from leastways.recourse import Recourse
from leastways.schema import Schema, read_training
from leastways.server import migrate
from leastways.server.answers import Answer, Applicant, Choice, Issued, JobState, Promised
from leastways.server.batching import Batcher, Ticket
from leastways.server.clock import now
from leastways.server.config import ServiceConfig, read_config
from leastways.server.engine import open_engine
from leastways.server.faults import Busy, FieldError, InputRefused, NotKnown, Overtaken, Spent
from leastways.server.inputs import MAX_TEXT, checked_people, fits_schema, pointer, text_fault
from leastways.server.jobs import JobRunner, JobStore
from leastways.server.keys import KeyStore
from leastways.server.newest import Newest
from leastways.server.origin import Origin, fingerprints
from leastways.server.plan_json import canonical
from leastways.server.served import Served, served
from leastways.server.served_audit import audit_served
from leastways.server.solving import Ask, Solver, origin_settings
from leastways.server.store import NewPerson, Store, token_hash
from leastways.server.upkeep import Upkeep
from leastways.server.wishes_json import preferences_to_record

_AT_ONCE = 16  # people in one search; more gain little, and make the first wait for the last


class Service:
    """Answers people, records every answer, and reads them back. Safe to use from many threads.

    `Service.open(config)` makes one from files; `Service(config, recourse, prints)` from a fitted `Recourse`. Close it
    when done, or use it in a ``with`` block.
    """

    def __init__(self, config: ServiceConfig, recourse: Recourse, prints: dict[str, str]) -> None:
        self.config = config
        self.recourse = recourse
        self.schema: Schema = recourse.schema
        both = sorted(set(config.groups) & set(self.schema.names))
        if both:
            raise SettingError(f"groups: {', '.join(both)} are features of the model already; leave them out.")
        self.engine = open_engine(config.database)
        migrate.upgrade(self.engine)
        self.origin = Origin(prints, origin_settings(recourse, config.distill))
        self.store = Store(self.engine)
        self.store.keep_origin(self.origin)
        self.keys = KeyStore(self.engine)
        self.jobs = JobStore(self.engine)
        self.jobs.requeue_failed()
        threads = config.threads or min(4, os.cpu_count() or 1)
        self._solver = Solver(recourse, self.store, self.origin)
        self._batcher = Batcher(self._solver.work, config.limits.waiting_people, _AT_ONCE, threads)
        self._newest = Newest()
        self._runner = JobRunner(self.jobs, self._batcher, self.schema)
        self._upkeep = Upkeep(self.store, config.retention_days)

    @classmethod
    def open(cls, config: ServiceConfig | str | Path) -> Self:
        """Load model, schema and data, fit, bring the database up to date, and compile what has to be."""
        if not isinstance(config, ServiceConfig):
            config = read_config(config)
        schema = Schema.from_yaml(config.schema)
        model = load_model(config.model, trust=config.trust)
        train = read_training(config.data, schema)
        recourse = Recourse(model, schema, **config.settings()).fit(train, distill=config.distill)
        _warm_up(recourse, train)
        return cls(config, recourse, fingerprints(config, schema.to_yaml()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Finish what was accepted, give running jobs back to the queue, and let go of the database."""
        self._upkeep.close()
        self._runner.stop()
        self._batcher.close(self.config.limits.grace_seconds)
        self._runner.close(self.config.limits.grace_seconds)
        self.engine.dispose()

    @property
    def waiting(self) -> int:
        """How many people of requests are waiting."""
        return self._batcher.waiting

    # Answers

    def answer(self, people: Sequence[Applicant]) -> list[Issued]:
        """Answer people at once; `InputRefused` names every wrong field, `Busy` says when to come back."""
        issued: list[Issued] = self.submit(people).result(self.config.limits.request_seconds)
        return issued

    def submit(self, people: Sequence[Applicant]) -> Ticket:
        """Queue people who are to be answered at once; the ticket's future holds a list of `Issued`."""
        return self._batcher.submit(Ticket([self._new_ask(*pair) for pair in self._checked(people)]))

    def check_room(self, people: int) -> None:
        """Raise `Busy` where `submit` would: before any work is done for somebody who has to be sent away."""
        self._batcher.check_room(people)

    def check_rows(self, people: int) -> None:
        """Raise `InputRefused` where a request has nobody in it, or too many."""
        most = self.config.limits.rows
        if not 1 <= people <= most:
            raise InputRefused([FieldError("/people", "people", f"has {people} people; allowed: 1 to {most}")])

    def promise(self, people: Sequence[Applicant]) -> tuple[JobState, list[Promised]]:
        """Take up a long batch: its people get their answers one after the other, whatever happens to this process."""
        if self.jobs.unfinished() >= self.config.limits.waiting_jobs:
            raise Busy(f"{self.config.limits.waiting_jobs} jobs are waiting already.", 30)
        asks = [self._new_ask(*pair) for pair in self._checked(people)]
        job = self.jobs.add([(a.person, preferences_to_record(a.preferences)) for a in asks if a.person is not None])
        self._runner.wake()
        return job, [Promised(a.id, a.token, a.reference) for a in asks]

    def _checked(self, people: Sequence[Applicant]) -> list[tuple[Applicant, dict[str, Any]]]:
        """Check people and what they want; returns each with the state as it is kept."""
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

    def _preference_fault(self, said: Preferences | None, state: dict[str, Any]) -> str:
        if said is None:
            return ""
        try:
            said.check(self.schema)
            said.check_person(self.schema, state)
            preferences_to_record(said)
        except PreferenceError as error:
            return str(error)
        return ""

    def _new_ask(self, applicant: Applicant, state: dict[str, Any]) -> Ask:
        person_id, token = secrets.token_hex(16), secrets.token_urlsafe(32)
        person = NewPerson(
            id=person_id,
            created=now(),
            reference=applicant.reference,
            token_hash=token_hash(token),
            state=canonical(state, sort=False),  # in the order of the schema
            groups=canonical(dict(applicant.groups)),
        )
        return Ask(person_id, person_id, state, applicant.preferences, applicant.reference, person, token)

    def read(self, answer_id: str) -> Answer:
        """Return a recorded answer; `NotKnown` where there is none."""
        return self.store.read(answer_id)

    def read_by_token(self, token: str) -> Answer:
        """Return the latest answer of the person whose page has this token."""
        return self.store.latest_of_token(token)

    def is_current(self, answer: Answer) -> bool:
        """Whether model, schema and threshold are still those by which an answer was made."""
        return answer.rules == self.origin.rules

    def has_current_schema(self, answer: Answer) -> bool:
        """Whether the schema is still the one by which an answer was made."""
        return answer.rules.schema == self.origin.rules.schema

    def still_fits(self, answer: Answer) -> bool:
        """Whether what was said of a person fits the schema of today."""
        return self.has_current_schema(answer) or fits_schema(self.schema, [answer.state])

    def chosen(self, answer: Answer) -> Answer | None:
        """Return the answer to which this person last said what they would do; None if they have not said so yet."""
        return self.store.chosen(answer.first)

    def refine(self, token: str, preferences: Preferences | None, wishes: Mapping[str, Any] | None = None) -> Answer:
        """Answer the same person anew, with what they want now; recorded beside their first answer.

        `wishes` are the same in the words of the page, plain values that are kept with the answer; None leaves those of
        an answer that stays as they are.
        `Overtaken` means that they have asked for something else before this answer was there, which counts instead;
        `Spent`, that they have been answered as often as `limits.refinements` says, and their latest answer stays.
        """
        asked = now()
        with self._newest.ticket(token) as ticket:
            latest = self.read_by_token(token)
            self._check_refinement(latest, preferences)
            same = preferences_to_record(preferences) == preferences_to_record(latest.preferences)
            if same and self.is_current(latest):
                return latest if wishes is None else self._reworded(ticket, latest, wishes)
            if self.store.count_answers(latest.first) >= self.config.limits.refinements:
                raise Spent(f"this person has been answered {self.config.limits.refinements} times already.")
            state, new_id = dict(latest.state), secrets.token_hex(16)
            ask = Ask(new_id, latest.first, state, preferences, latest.reference, wishes=wishes or None)
            ticket.asks = [replace(ask, asked=asked, seen=latest.id)]
            return self._refined(token, ticket)

    def _check_refinement(self, latest: Answer, preferences: Preferences | None) -> None:
        """Raise `InputRefused` where somebody cannot be answered anew, or not with these preferences."""
        if not self.still_fits(latest):
            raise InputRefused(
                [FieldError("/state", "state", "does not fit the schema of today; send this person anew")]
            )
        fault = self._preference_fault(preferences, dict(latest.state))
        if fault:
            raise InputRefused([FieldError("/preferences", "preferences", fault)])

    def _refined(self, token: str, ticket: Ticket) -> Answer:
        try:
            issued: list[Issued] = self._batcher.submit(ticket).result(self.config.limits.request_seconds)
        except NotKnown:
            self.read_by_token(token)  # raises where the person was erased meanwhile
            raise Overtaken("this person has said something else meanwhile.") from None
        return issued[0].answer

    def reword(self, token: str, wishes: Mapping[str, Any]) -> Answer:
        """Keep what a person says on their page that leaves nothing to look for: their latest answer stays.

        `Overtaken` means that they have said something else meanwhile, which counts instead.
        """
        with self._newest.ticket(token) as ticket:
            return self._reworded(ticket, self.read_by_token(token), wishes)

    def _reworded(self, ticket: Ticket, answer: Answer, wishes: Mapping[str, Any]) -> Answer:
        reworded = replace(answer, wishes=wishes or None)
        if reworded.wishes == answer.wishes:
            return answer
        if not ticket.begin_recording():
            raise Overtaken("this person has said something else meanwhile.")
        try:
            self.store.reword(answer.id, preferences_to_record(answer.preferences, reworded.wishes))
        finally:
            ticket.future.set_result(None)  # a newer one waits for the end of this, whatever it is
        return reworded

    def choose(self, answer_id: str, option: int | None, reason: str = "") -> Choice:
        """Record which option a person took, or with None why none fits; replaces what they said before."""
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

    # The other side of the desk

    def audit(self, by: str | Sequence[str], **filters: Any) -> Audit:
        """Audit what was served, by groups: columns of the schema, or the attributes of `groups`.

        Filters: `since`, `until` (moments), `which` ("first" or "latest" answer of each person), `only` (a column and
        the value of those who count); all others go to `leastways.audit.audit_plans`, whose `Audit` is returned.
        """
        return audit_served(self, by, filters)

    def served(self, since: datetime | None = None, until: datetime | None = None, which: str = "first") -> Served:
        """Return what was served in a span of time, as plans."""
        return served(self.engine, self.schema, self.origin.prints["schema"], since, until, which)

    def erase(self, answer_id: str | None = None, *, reference: str | None = None) -> int:
        """Erase a person by any of their answers, or everyone with a reference; returns how many people."""
        if (answer_id is None) == (reference is None):
            raise SettingError("erase by an answer's id or by a reference: give one of them.")
        if reference is not None:
            return self.store.erase_reference(reference)
        return self.store.erase_families([str(answer_id)])


def _warm_up(recourse: Recourse, train: pd.DataFrame) -> None:
    """Find options for somebody, so that what compiles on first use does so now, and not on a request."""
    for first in range(0, min(len(train), 20 * _AT_ONCE), _AT_ONCE):
        plans = recourse.recommend(train.iloc[first : first + _AT_ONCE])
        if plans.summary["n_options"].any():
            return
