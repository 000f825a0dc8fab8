"""Build and run the HTTP application of a service: the routes of the JSON API, their scopes, guards and pages."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from itertools import islice
from json import JSONDecodeError
from typing import Annotated, Any

import uvicorn
from fastapi import FastAPI, Path, Query, Request, Response, Security
from fastapi.concurrency import run_in_threadpool
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException

from leastways import __version__
from leastways.costs import preference_faults, preferences_from_json
from leastways.errors import FieldError, InputRefused, SettingError
from leastways.io import json_of
from leastways.server.answers import Applicant, Issued
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
    describe_people,
    issued_out,
    model_card,
)
from leastways.server.config import ServiceConfig
from leastways.server.guards import Guards
from leastways.server.inputs import MOST_FAULTS, pointer
from leastways.server.keys import SCOPES, Key, KeyStore
from leastways.server.pages import add_pages
from leastways.server.problems import add_problems, documented
from leastways.server.queue import ticket_result
from leastways.server.served import Which
from leastways.server.service import Service

_SCHEME = HTTPBearer(auto_error=False, description="An API key: lw_..., from `leastways keys create`")
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="leastways"'}


def allowed(required: bool, *scopes: str) -> Any:
    """Return a dependency that admits keys with one of the scopes; and requests without a key, unless required."""
    return Security(_check(required, scopes or SCOPES))


def _check(required: bool, scopes: tuple[str, ...]) -> Callable[..., Coroutine[Any, Any, None]]:
    async def check(request: Request, _: Annotated[Any, Security(_SCHEME)]) -> None:
        key: Key | None = request.state.key
        if key is None and (required or request.state.key_given):
            text = "This key is not valid: it is unknown, wrong or revoked." if request.state.key_given else _HOW
            raise HTTPException(401, text, headers=_CHALLENGE)
        if key is not None and not set(scopes) & set(key.scopes):
            raise HTTPException(403, f"This needs a key with the scope {' or '.join(scopes)}; this one lacks it.")

    return check


_HOW = "Send an API key: Authorization: Bearer lw_..."


class JsonRoute(APIRoute):
    """A route that refuses JSON with a key twice, of which FastAPI would take the last."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler whose requests are read by `json_of`."""
        handle = super().get_route_handler()

        async def read(request: Request) -> Response:
            return await handle(_JsonRequest(request.scope, request.receive))

        return read


class _JsonRequest(Request):
    async def json(self) -> Any:
        try:
            return json_of(await self.body())
        except JSONDecodeError:
            raise
        except ValueError as error:  # FastAPI reports only this class as an error of the body
            raise JSONDecodeError(str(error), "", 0) from error


def read_people(body: RecourseIn, service: Service) -> list[Applicant]:
    """Return the people of a request; raises `InputRefused` with every wrong preference."""
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

    Checking and queueing them takes less time than a change of thread, so it is done here.
    """
    return await ticket_result(service.submit(people), service.config.limits.request_seconds)


_Id = Annotated[str, Path(description="An id that the service gave", pattern="^[0-9A-Za-z]{1,64}$")]
_By = Annotated[list[str], Query(description="Features or audit attributes; a number may have bins: age:25,40")]
_Since = Annotated[datetime | None, Query(description="From this moment on: ISO 8601, UTC unless it names a zone")]
_Until = Annotated[
    datetime | None,
    Query(description="Before this moment; a day alone means its beginning, so name the day after the last one"),
]
_COMMON = (400, 401, 403, 408, 413, 422, 429, 500, 503)


def add_routes(app: FastAPI, service: Service, audits: Audits) -> None:
    """Add every route of the API to an app."""
    required = service.config.keys_required
    add_open_routes(app, service)
    add_answer_routes(app, service, required)
    add_oversight_routes(app, service, audits, required)


def add_open_routes(app: FastAPI, service: Service) -> None:
    """Add the routes that need no key."""

    @app.head("/health", include_in_schema=False)  # used by monitors
    @app.get("/health", response_model=HealthOut, tags=["health"], responses=documented(400, 429, 500, 503))
    def health() -> dict[str, Any]:
        """Return whether the service and its database work."""
        service.store.check()
        return {"status": "ok", "version": __version__, "pending": service.pending}


def add_answer_routes(app: FastAPI, service: Service, required: bool) -> None:
    """Add the routes for the system that sends refused people."""
    base = (service.config.public_url or "").rstrip("/")
    apply, read_ = allowed(required, "apply"), allowed(required, "read")
    either = allowed(required, "apply", "read")

    @app.post(
        "/v1/recourse",
        response_model=AnswersOut,
        responses=documented(*_COMMON, 415, 502, 504)
        | {202: {"model": AcceptedOut, "description": "A job was accepted"}},
        dependencies=[apply],
        tags=["answers"],
    )
    async def recourse(body: RecourseIn) -> Any:
        """Answer one or many people; more than `inline_rows` become a job, whose answers are read by their ids."""
        service.check_rows(len(body.people))  # before any work per person
        if len(body.people) > service.config.limits.inline_rows:
            people = await run_in_threadpool(read_people, body, service)
            taken = AcceptedOut(**accepted_out(*await run_in_threadpool(service.add_job, people), base))
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
        """Record which option a person chose, or why none fits; replaces an earlier choice."""
        return vars(service.choose(answer_id, body.option, body.reason))

    @app.get(
        "/v1/jobs/{job_id}",
        response_model=JobOut,
        responses=documented(*_COMMON, 404),
        dependencies=[either],
        tags=["answers"],
    )
    def job(job_id: _Id) -> dict[str, Any]:
        """Return the progress of a job."""
        return vars(service.jobs.read(job_id))


def add_oversight_routes(app: FastAPI, service: Service, audits: Audits, required: bool) -> None:
    """Add the routes about the service itself: model card, audit, OpenAPI."""

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
        """Audit the served answers by groups; see `leastways audit`."""
        return await audit_as_json(audits, by, since, until, which)

    @app.get("/v1/openapi.json", include_in_schema=False, dependencies=[allowed(required)])
    def openapi() -> dict[str, Any]:
        """Return the OpenAPI document of this API."""
        return app.openapi()


def create_app(service: Service) -> FastAPI:
    """Return the application of a service. Closing the service remains the caller's task."""
    app = FastAPI(
        title=service.config.title,
        version=__version__,
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
        openapi_url=None,
    )
    app.router.route_class = JsonRoute
    add_problems(app)
    audits = Audits(service)  # one for the API and the pages: one audit at a time in all
    add_routes(app, service, audits)
    describe_people(app, service)
    add_pages(app, service, audits)
    app.add_middleware(Guards, service=service)  # last, so that it is the outermost
    return app


_EVERYWHERE = ("0.0.0.0", "::")


def check_exposure(config: ServiceConfig, keys: KeyStore) -> None:
    """Refuse to listen for other machines without an API key, or without allowed host names."""
    if config.on_loopback:
        return
    if not keys.any_valid():
        raise SettingError(
            f"host {config.host!r} can be reached from other machines, and there is no API key yet. Make one: "
            "leastways keys create --name NAME --scope apply --scope read"
        )
    if config.host in _EVERYWHERE and not config.allowed_hosts and not config.public_url:
        raise SettingError(
            f"host {config.host!r}: say by which names callers know this service, under allowed_hosts or public_url."
        )


def open_socket(config: ServiceConfig) -> socket.socket:
    """Listen on the address of the config; port 0 takes any free port."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    try:
        listening = socket.create_server((config.host, config.port), family=family, backlog=2048)
    except OSError as error:
        raise SettingError(f"cannot listen on {config.host} port {config.port}: {error.strerror}.") from error
    # Every connection inherits this. Head and body are sent one after the other; without this option the body waits
    # until the caller acknowledges the head, which takes 40 ms. asyncio sets it only where a socket names its protocol.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def run(app: FastAPI, config: ServiceConfig, listening: socket.socket, started: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT; then accept nothing new and finish running requests within the grace period."""
    settings = uvicorn.Config(
        app,
        access_log=False,  # ours has no paths in it
        log_config=None,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=max(1, round(config.limits.grace_seconds)),
    )
    server = uvicorn.Server(settings)
    # uvicorn raises the signal again after it has ended; then there is nothing left to interrupt.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    # Searches release the GIL most of the time and take it back briefly. With Python's default of 5 ms, a request
    # would wait that long each time it needs the GIL.
    sys.setswitchinterval(0.0005)
    started()
    server.run(sockets=[listening])
