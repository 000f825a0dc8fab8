"""Between the routes and the queue: people read from a request, and waiting for their answers without a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import islice
from typing import Any

from leastways.server.answers import Applicant, Issued
from leastways.server.batching import Ticket
from leastways.server.bodies import RecourseIn
from leastways.server.faults import FieldError, InputRefused, TooLate
from leastways.server.inputs import MOST_FAULTS, pointer
from leastways.server.service import Service
from leastways.server.wishes_json import preference_faults, preferences_from_json


def read_people(body: RecourseIn, service: Service) -> list[Applicant]:
    """Return the people of a request, or raise with every preference that is wrong."""
    faults = (
        FieldError(pointer("people", i, "preferences", *([part] if part else [])), part or "preferences", fault)
        for i, person in enumerate(body.people)
        for part, fault in preference_faults(person.preferences, service.schema)
    )
    errors = list(islice(faults, MOST_FAULTS + 1))
    if errors:
        raise InputRefused(errors)
    return [
        Applicant(p.state, preferences_from_json(p.preferences, service.schema), p.reference, p.groups)
        for p in body.people
    ]


async def answered(service: Service, people: Sequence[Applicant]) -> list[Issued]:
    """Queue a few people and wait for their answers, as long as a request may take.

    Checking and queueing a few takes less time than handing it to another thread, so it is done here.
    """
    return await result(service.submit(people), service.config.limits.request_seconds)


def heard(future: asyncio.Future[Any]) -> None:
    """Take note of an error that comes when nobody waits any more, or asyncio would log it with its contents."""
    if not future.cancelled():
        future.exception()


async def result(ticket: Ticket, seconds: float) -> list[Issued]:
    """Wait for a ticket as `Ticket.result` does, but let others work meanwhile."""
    waiting = asyncio.wrap_future(ticket.future)
    waiting.add_done_callback(heard)
    try:
        issued: list[Issued] = await asyncio.wait_for(asyncio.shield(waiting), seconds)
    except TimeoutError:
        if ticket.abandon():
            raise TooLate(f"no answer within {seconds:g} seconds.") from None
        issued = await waiting
    return issued
