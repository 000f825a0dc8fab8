"""From a batch of requests to recorded answers: one search, one transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from leastways.costs import Preferences
from leastways.errors import ModelError
from leastways.plans import RecoursePlan
from leastways.recourse import Recourse
from leastways.recourse.settings import settings_of
from leastways.server.answers import Answer, Issued
from leastways.server.batching import Ticket
from leastways.server.clock import now
from leastways.server.faults import NotKnown, StoreDown
from leastways.server.inputs import frame_of
from leastways.server.origin import Origin
from leastways.server.plan_json import canonical, plan_to_text
from leastways.server.store import NewAnswer, NewPerson, Store
from leastways.server.tables import PersonRow
from leastways.server.wishes_json import preferences_of_record, preferences_to_record


@dataclass(frozen=True)
class Ask:
    """One answer to be found: its id, whose it is, and, for somebody new, what is to be kept of them.

    For somebody who asks anew: when they did, and the id of the answer that was their latest then.
    """

    id: str
    person_id: str
    state: Mapping[str, Any]
    preferences: Preferences | None
    reference: str | None
    person: NewPerson | None = None
    token: str = ""
    asked: datetime | None = None
    seen: str | None = None
    wishes: Mapping[str, Any] | None = None


def origin_settings(recourse: Recourse, distill: int) -> str:
    """Return all settings that decide a plan, as canonical JSON."""
    return canonical({**settings_of(recourse), "distill": distill})


def solve(recourse: Recourse, asks: Sequence[Ask]) -> list[RecoursePlan]:
    """Find the plans of some people; a person on whom the model fails gets a plan that says so."""
    frame = frame_of(recourse.schema, [a.state for a in asks], [a.id for a in asks])
    told = {a.id: a.preferences for a in asks if a.preferences is not None}
    try:
        plans = recourse.recommend(frame, told)
    except ModelError:  # it failed on all of them: ask alone, so that nobody's answer depends on the batch
        if len(asks) == 1:
            raise
        return [solve(recourse, [ask])[0] for ask in asks]
    return [plans[a.id] for a in asks]


def model_failed(plan: RecoursePlan) -> bool:
    """Whether the model failed on a person; their row was checked before, so nothing else makes it unusable."""
    return plan.status == "invalid_input"


class Solver:
    """Answers the tickets of a batch, records them, and tells whoever waits."""

    def __init__(self, recourse: Recourse, store: Store, origin: Origin) -> None:
        self._recourse = recourse
        self._store = store
        self._origin = origin

    def work(self, tickets: list[Ticket]) -> None:
        """Do one batch; where it fails as a whole, each request alone, so that nobody hears of another's fault."""
        try:
            found = solve(self._recourse, [ask for ticket in tickets for ask in ticket.asks])
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
            own = [next(plans) for _ in ticket.asks]
            count = ticket.to_record([model_failed(plan) for plan in own])
            if not count:
                ticket.fail(ModelError(f"the model failed on all {len(own)} people of the request."))
            elif ticket.begin_recording():
                pairs = zip(ticket.asks[:count], own[:count], strict=True)
                solved.append((ticket, [self._written(ask, plan) for ask, plan in pairs]))
        if solved:
            self._record(solved)

    def _record(self, solved: Sequence[tuple[Ticket, list[tuple[Issued, NewAnswer]]]]) -> None:
        """Record the tickets in one transaction; if one of them spoils it, each in its own."""
        try:
            recorded = self._store.record([new for _, pairs in solved for _, new in pairs], self._origin.id)
        except StoreDown as error:
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
                ticket.fail(NotKnown("this person was erased meanwhile."))

    def _written(self, ask: Ask, plan: RecoursePlan) -> tuple[Issued, NewAnswer]:
        """Return an answer as it is handed out, and as it is recorded."""
        created, rules = ask.asked or now(), self._origin.rules
        parent = None if ask.id == ask.person_id else ask.person_id
        said = ask.preferences
        answer = Answer(ask.id, created, ask.reference, ask.state, said, plan, parent, None, rules, ask.wishes)
        new = NewAnswer(
            id=ask.id,
            person_id=ask.person_id,
            created=created,
            preferences=preferences_to_record(said, ask.wishes),
            status=plan.status,
            plan=plan_to_text(plan),
            person=ask.person,
            seen=ask.seen,
        )
        return Issued(answer, ask.token), new


def ask_of_record(person: PersonRow, preferences: str | None) -> Ask:
    """Return what a job still has to answer."""
    said = preferences_of_record(preferences)
    return Ask(person.id, person.id, json.loads(person.state), said, person.reference)
