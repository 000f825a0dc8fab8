"""Solve and record a batch of requests; replay a recorded answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, select

from leastways import __version__
from leastways.costs import Preferences, preferences_from_record, preferences_to_record
from leastways.errors import DatabaseDown, ModelError, NotFound, SettingError
from leastways.io import canonical_json
from leastways.models import load_model
from leastways.plans import RecoursePlan, plan_to_json
from leastways.recourse import Recourse
from leastways.schema import Schema, read_training
from leastways.server.answers import FINGERPRINTS, Answer, Issued, Origin, fingerprints_of
from leastways.server.config import ServiceConfig
from leastways.server.database import AnswerRow, OriginRow, PersonRow, now, reading
from leastways.server.inputs import frame_of
from leastways.server.queue import Ticket
from leastways.server.store import NewAnswer, NewPerson, Store, entries_to_text


@dataclass(frozen=True)
class AnswerRequest:
    """A requested answer: its id, its person, and for a new person the row to be recorded.

    For a repeated request of a person: its time, and the id of the answer that was their latest then.
    """

    id: str
    person_id: str
    state: Mapping[str, Any]
    preferences: Preferences | None
    reference: str | None
    person: NewPerson | None = None
    token: str = ""
    requested: datetime | None = None
    seen: str | None = None
    entries: Mapping[str, Any] | None = None


def origin_settings(recourse: Recourse, distill: int) -> str:
    """Return all settings that decide a plan, as canonical JSON."""
    return canonical_json({**recourse.recorded_settings(), "distill": distill})


def solve(recourse: Recourse, requests: Sequence[AnswerRequest]) -> list[RecoursePlan]:
    """Return the plans of some people; if the model fails on a person, the plan states it."""
    frame = frame_of(recourse.schema, [a.state for a in requests], [a.id for a in requests])
    by_person = {a.id: a.preferences for a in requests if a.preferences is not None}
    try:
        plans = recourse.recommend(frame, by_person)
    except ModelError:  # it failed for all of them: solve each alone, so that no answer depends on the batch
        if len(requests) == 1:
            raise
        return [solve(recourse, [request])[0] for request in requests]
    return [plans[a.id] for a in requests]


def model_failed(plan: RecoursePlan) -> bool:
    """Return whether the model failed for a person; their row was checked before, so the plan has no other cause."""
    return plan.status == "invalid_input"


class Solver:
    """Solves the tickets of a batch, records the answers, and sets the futures of the tickets."""

    def __init__(self, recourse: Recourse, store: Store, origin: Origin) -> None:
        self._recourse = recourse
        self._store = store
        self._origin = origin

    def work(self, tickets: list[Ticket]) -> None:
        """Solve one batch; if it fails as a whole, each request alone, so that no caller gets the error of another."""
        try:
            found = solve(self._recourse, [request for ticket in tickets for request in ticket.requests])
        except Exception as error:
            if len(tickets) == 1:
                tickets[0].fail(error)
            else:
                for ticket in tickets:
                    self.work([ticket])
            return
        plans = iter(found)
        solved: list[tuple[Ticket, list[tuple[Issued, NewAnswer]]]] = []
        for ticket in tickets:
            own = [next(plans) for _ in ticket.requests]
            count = ticket.to_record([model_failed(plan) for plan in own])
            if not count:
                ticket.fail(ModelError(f"the model failed on all {len(own)} people of the request."))
            elif ticket.begin_recording():
                pairs = zip(ticket.requests[:count], own[:count], strict=True)
                solved.append((ticket, [self._written(request, plan) for request, plan in pairs]))
        if solved:
            self._record(solved)

    def _record(self, solved: Sequence[tuple[Ticket, list[tuple[Issued, NewAnswer]]]]) -> None:
        """Record the tickets in one transaction; if one of them makes it fail, each in its own."""
        try:
            recorded = self._store.record([new for _, pairs in solved for _, new in pairs], self._origin.id)
        except DatabaseDown as error:
            for ticket, _ in solved:
                ticket.fail(error)
            return
        except Exception as error:
            if len(solved) > 1:
                for one in solved:
                    self._record([one])
                return
            solved[0][0].fail(error)
            return
        for ticket, pairs in solved:
            kept = [issued for issued, new in pairs if new.id in recorded]
            if kept:
                ticket.future.set_result(kept)
            else:
                ticket.fail(NotFound("this person was erased meanwhile."))

    def _written(self, request: AnswerRequest, plan: RecoursePlan) -> tuple[Issued, NewAnswer]:
        """Return an answer as it is issued, and as it is recorded."""
        created, rules = request.requested or now(), self._origin.rules
        parent = None if request.id == request.person_id else request.person_id
        answer = Answer(
            id=request.id,
            created=created,
            reference=request.reference,
            state=request.state,
            preferences=request.preferences,
            plan=plan,
            parent=parent,
            choice=None,
            rules=rules,
            entries=request.entries,
        )
        new = NewAnswer(
            id=request.id,
            person_id=request.person_id,
            created=created,
            preferences=preferences_to_record(request.preferences),
            entries=entries_to_text(request.entries),
            status=plan.status,
            plan=plan_to_json(plan),
            person=request.person,
            seen=request.seen,
        )
        return Issued(answer, request.token), new


def request_from_record(person: PersonRow, preferences: str | None) -> AnswerRequest:
    """Return the request of a pending person of a job."""
    stated = preferences_from_record(preferences)
    return AnswerRequest(person.id, person.id, json.loads(person.state), stated, person.reference)


_DECIDE = (
    *("n_options", "budget", "n_costs", "target", "threshold"),
    *("uncovered_cost", "objective", "satisfied_below", "random_state"),
)


@dataclass(frozen=True)
class Replay:
    """Result of a replay: the same bytes, or every field that differs; and versions that differ."""

    answer_id: str
    same: bool
    differences: list[str]
    notes: list[str]


@dataclass(frozen=True)
class _Record:
    request: AnswerRequest
    plan: str
    origin: OriginRow


def replay(config: ServiceConfig, engine: Engine, answer_id: str) -> Replay:
    """Compute a recorded answer again and compare; raises `SettingError` if the files are not the same."""
    record = _read(engine, answer_id)
    schema = Schema.from_yaml(config.schema)
    fingerprints = fingerprints_of(config, schema.to_yaml())
    _refuse_other_files(record.origin, fingerprints)
    recourse = _recourse(config, schema, json.loads(record.origin.settings))
    today = plan_to_json(solve(recourse, [record.request])[0])
    differences = list(_differences(json.loads(record.plan), json.loads(today)))
    same = today == record.plan
    if not same and not differences:
        differences = ["the bytes differ, but not what they say"]
    return Replay(answer_id, same, differences, _notes(record.origin, fingerprints))


def _read(engine: Engine, answer_id: str) -> _Record:
    query = (
        select(AnswerRow, PersonRow, OriginRow)
        .join(PersonRow, PersonRow.id == AnswerRow.person_id)
        .join(OriginRow, OriginRow.id == AnswerRow.origin_id)
        .where(AnswerRow.id == answer_id)
    )
    with reading(engine) as session:
        found = session.execute(query).first()
        if found is None:
            raise NotFound(f"there is no answer {answer_id!r} in this database; it may have been erased.")
        answer, person, origin = found
        session.expunge_all()
    preferences = preferences_from_record(answer.preferences)
    request = AnswerRequest(answer.id, person.id, json.loads(person.state), preferences, person.reference)
    return _Record(request, answer.plan, origin)


def _refuse_other_files(origin: OriginRow, fingerprints: dict[str, str]) -> None:
    for name in FINGERPRINTS:
        recorded = getattr(origin, f"{name}_fingerprint")
        if recorded != fingerprints[name]:
            raise SettingError(
                f"the {name} is not the one of this answer: recorded sha256 {recorded}, now {fingerprints[name]}. "
                "Name the files of that time in the config."
            )


def _recourse(config: ServiceConfig, schema: Schema, settings: dict[str, Any]) -> Recourse:
    """Build the search from the recorded settings, independently of the current config."""
    chosen = {name: settings[name] for name in _DECIDE}
    recourse = Recourse(load_model(config.model, trust=config.trust), schema, **chosen)
    recourse.fit(read_training(config.data, schema), distill=settings["distill"])
    today = json.loads(origin_settings(recourse, settings["distill"]))
    for name in sorted(settings.keys() | today.keys()):
        if settings.get(name) != today.get(name):
            raise SettingError(
                f"the setting {name!r} of this answer was {settings.get(name)!r}; this release would use "
                f"{today.get(name)!r}."
            )
    return recourse


def _notes(origin: OriginRow, fingerprints: dict[str, str]) -> list[str]:
    notes = [] if origin.version == __version__ else [f"made by leastways {origin.version}, replayed by {__version__}"]
    before, today = json.loads(origin.libraries), json.loads(Origin(fingerprints, "").libraries)
    return notes + [
        f"{name} was {before.get(name)}, is {today.get(name)}" for name in today if before.get(name) != today[name]
    ]


def _differences(before: Any, after: Any, place: str = "") -> Iterator[str]:
    """Yield every field in which two documents differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            yield from _differences(before.get(name), after.get(name), f"{place}/{name}")
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield f"{place or '/'}: {len(before)} entries were recorded, {len(after)} come out"
        for i, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from _differences(one, other, f"{place}/{i}")
    elif before != after or type(before) is not type(after):
        yield f"{place or '/'}: recorded {before!r}, comes out as {after!r}"
