"""The routes of the JSON API."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Response
from fastapi.concurrency import run_in_threadpool

from leastways import __version__
from leastways.server.audits import Audits, audit_as_json
from leastways.server.bodies import (
    AcceptedOut,
    AnswerOut,
    AnswersOut,
    CardOut,
    ChoiceIn,
    ChoiceOut,
    HealthOut,
    JobOut,
    RecourseIn,
    accepted_out,
    answer_out,
    issued_out,
)
from leastways.server.card import model_card
from leastways.server.problems import documented
from leastways.server.scopes import allowed
from leastways.server.served import Which
from leastways.server.service import Service
from leastways.server.waiting import answered, read_people

_Id = Annotated[str, Path(description="An id that the service gave", pattern="^[0-9A-Za-z]{1,64}$")]
_By = Annotated[list[str], Query(description="Features or audit attributes; a number may have bins: age:25,40")]
_Since = Annotated[datetime | None, Query(description="From this moment on: ISO 8601, UTC where it names no zone")]
_Until = Annotated[
    datetime | None,
    Query(description="Before this moment; a day alone is its beginning, so name the day after the last"),
]
_COMMON = (400, 401, 403, 408, 413, 422, 429, 500, 503)


def add_routes(app: FastAPI, service: Service, audits: Audits) -> None:
    """Add every route of the API to an app."""
    required = service.config.keys_required
    add_open_routes(app, service)
    add_answer_routes(app, service, required)
    add_oversight_routes(app, service, audits, required)


def add_open_routes(app: FastAPI, service: Service) -> None:
    """Add what needs no key."""

    @app.head("/health", include_in_schema=False)  # as many a monitor asks
    @app.get("/health", response_model=HealthOut, tags=["health"], responses=documented(400, 429, 500, 503))
    def health() -> dict[str, Any]:
        """Say whether the service works, its database included."""
        service.store.check()
        return {"status": "ok", "version": __version__, "waiting": service.waiting}


def add_answer_routes(app: FastAPI, service: Service, required: bool) -> None:
    """Add what the system that refuses people uses."""
    base = (service.config.public_url or "").rstrip("/")
    apply, read_ = allowed(required, "apply"), allowed(required, "read")
    either = allowed(required, "apply", "read")

    @app.post(
        "/v1/recourse",
        response_model=AnswersOut,
        responses=documented(*_COMMON, 415, 502, 504)
        | {202: {"model": AcceptedOut, "description": "A long batch was taken up"}},
        dependencies=[apply],
        tags=["answers"],
    )
    async def recourse(body: RecourseIn) -> Any:
        """Answer one or many people; more than `inline_rows` become a job, whose answers are found by their ids."""
        service.check_rows(len(body.people))  # before anything is done for each of them
        if len(body.people) > service.config.limits.inline_rows:
            people = await run_in_threadpool(read_people, body, service)
            taken = AcceptedOut(**accepted_out(*await run_in_threadpool(service.promise, people), base))
            where = {"Location": f"/v1/jobs/{taken.job.id}"}
            return Response(taken.model_dump_json(), 202, where, media_type="application/json")
        service.check_room(len(body.people))
        issued = await answered(service, read_people(body, service))
        return {"answers": [issued_out(i, base) for i in issued]}

    @app.get(
        "/v1/recourse/{answer_id}",
        response_model=AnswerOut,
        responses=documented(*_COMMON, 404),
        dependencies=[read_],
        tags=["answers"],
    )
    def read(answer_id: _Id) -> dict[str, Any]:
        """Return a recorded answer."""
        return answer_out(service.read(answer_id))

    @app.post(
        "/v1/recourse/{answer_id}/choice",
        response_model=ChoiceOut,
        responses=documented(*_COMMON, 404, 415),
        dependencies=[apply],
        tags=["answers"],
    )
    def choose(answer_id: _Id, body: ChoiceIn) -> dict[str, Any]:
        """Record which option a person took, or why none fits; replaces what was said before."""
        return vars(service.choose(answer_id, body.option, body.reason))

    @app.get(
        "/v1/jobs/{job_id}",
        response_model=JobOut,
        responses=documented(*_COMMON, 404),
        dependencies=[either],
        tags=["answers"],
    )
    def job(job_id: _Id) -> dict[str, Any]:
        """Say how far a long batch is."""
        return vars(service.jobs.read(job_id))


def add_oversight_routes(app: FastAPI, service: Service, audits: Audits, required: bool) -> None:
    """Add what tells about the service itself."""

    @app.get(
        "/v1/model",
        response_model=CardOut,
        responses=documented(*_COMMON),
        dependencies=[allowed(required)],
        tags=["oversight"],
    )
    def model() -> dict[str, Any]:
        """Return the model card: features, versions, fingerprints, what is recorded and for how long."""
        return model_card(service)

    @app.get(
        "/v1/audit",
        response_model=dict[str, Any],
        responses=documented(*_COMMON, 404, 504),
        dependencies=[allowed(required, "audit")],
        tags=["oversight"],
    )
    async def audit(by: _By, since: _Since = None, until: _Until = None, which: Which = "first") -> Any:
        """Audit what was served, by groups; see `leastways audit`."""
        return await audit_as_json(audits, by, since, until, which)

    @app.get("/v1/openapi.json", include_in_schema=False, dependencies=[allowed(required)])
    def openapi() -> dict[str, Any]:
        """Describe this API."""
        return app.openapi()
