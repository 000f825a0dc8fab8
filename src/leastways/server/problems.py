"""Errors as RFC 9457 problem details: what is wrong, in which field, and what is allowed."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Scope

from leastways.errors import (
    FAULTS,
    Busy,
    DatabaseDown,
    FieldError,
    InputRefused,
    LeastwaysError,
    ModelError,
    NotReady,
    RefinementLimit,
    ShuttingDown,
    Superseded,
    TimedOut,
    fault_of,
    without_contents,
)
from leastways.server.inputs import MOST_FAULTS, pointer

MEDIA_TYPE = "application/problem+json"
_FOR_PROGRAMS = ("/v1/", "/health", "/static/")
_PREFIX = "urn:leastways:problem:"
_LONGEST = 600  # characters of a message, which may quote the request
_RETRY_SECONDS = 5  # after which a database, or the service, may be back

log = logging.getLogger("leastways.server")


class FieldProblem(BaseModel):
    """A field of the request that is wrong."""

    pointer: str
    field: str
    message: str


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"type": f"{_PREFIX}not-found", "status": 404}]})

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldProblem] = []


_TITLES = {fault.kind: fault.title for fault in FAULTS.values()} | {  # and those of other faults
    "fault": "A fault in the service",
    "bad-request": "The request cannot be read",
    "key-needed": "An API key is needed",
    "not-allowed": "This key lacks the scope",
    "wrong-method": "This address takes another method",
    "too-large": "The request is too large",
    "wrong-kind": "This takes JSON",
    "too-slow": "The request did not arrive in time",
    "too-many": "Too many requests",
}


def problem(
    kind: str,
    status: int,
    detail: str,
    errors: Sequence[FieldError] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a problem as a response."""
    body: dict[str, Any] = {"type": _PREFIX + kind, "title": _TITLES[kind], "status": status, "detail": detail}
    body["errors"] = [{k: _cut(v) for k, v in vars(e).items()} for e in errors[:MOST_FAULTS]]
    text = json.dumps(body)  # ASCII: a message may quote half of a surrogate pair, which UTF-8 cannot hold
    return Response(text, status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def problem_of(error: Exception) -> Response:
    """Return an error as a problem; an unexpected one is logged and reported without its contents."""
    if isinstance(error, HTTPException):
        return _of_http(error)
    if isinstance(error, RequestValidationError):
        error = InputRefused(_validation_errors(error))
    fault = fault_of(error)
    if fault is None:
        log.error("fault: %s", without_contents(error))
        return problem("fault", 500, "This is a fault in the service itself; it was logged.")
    errors: Sequence[FieldError] = ()
    if isinstance(error, InputRefused):
        errors = error.errors
    elif fault.kind == "wrong-input":
        errors = [FieldError("", "", str(error))]
    return problem(fault.kind, fault.status, _detail(error), errors, _retry_after(error))


def _detail(error: Exception) -> str:
    """Describe the fault in a sentence."""
    match error:
        case InputRefused():
            named = list(dict.fromkeys(e.field for e in error.errors))
            more = f" and {len(named) - 8} more fields" if len(named) > 8 else ""
            count = len(error.errors) if len(error.errors) <= MOST_FAULTS else f"More than {MOST_FAULTS}"
            return f"Nothing was stored. {count} wrong: {', '.join(map(_cut, named[:8]))}{more}."
        case RefinementLimit():
            return f"Nothing was stored, and the latest answer stays: {error}"
        case Superseded() | TimedOut():
            return f"Nothing was stored: {error}"
        case ModelError():
            return "The model failed on these people. Nothing was stored."
    return str(error)


def _retry_after(error: Exception) -> dict[str, str]:
    """Return the header that says when to try again, where that helps."""
    match error:
        case NotReady():
            seconds = 1
        case Busy():
            seconds = error.retry_after
        case ShuttingDown() | DatabaseDown():
            seconds = _RETRY_SECONDS
        case _:
            return {}
    return {"Retry-After": str(seconds)}


def _cut(text: str) -> str:
    """Cut the middle out of a long text: it begins with the fault and ends with the allowed values."""
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]} ... {text[-half:]}"


def add_problems(app: FastAPI) -> None:
    """Answer every error of the application with a problem."""

    async def handle(request: Request, error: Exception) -> Response:
        return readable(request.scope, problem_of(error))

    for kind in (LeastwaysError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, handle)


def readable(scope: Scope, response: Response) -> Response:
    """Return a problem as a page if a browser requests one outside the API; `add_pages` supplies the page."""
    page = getattr(getattr(scope.get("app"), "state", None), "page_of_problem", None)
    if (
        page is None
        or scope["path"].startswith(_FOR_PROGRAMS)
        or "text/html" not in Headers(scope=scope).get("accept", "")
    ):
        return response
    shown: Response = page(Request(scope), response)
    return shown


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of the problems that a route may answer with."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": _MEANINGS[status], "content": content} for status in statuses}


_MEANINGS = {
    400: "The request cannot be read",
    401: "An API key is needed, or this key is not valid",
    403: "The key lacks the scope",
    404: "There is no such thing, or it is not ready",
    408: "The request did not arrive in time",
    413: "The request is too large",
    415: "The body is not declared as JSON",
    422: "Some fields are wrong; nothing was stored",
    429: "Too many requests; see Retry-After",
    500: "A fault in the service",
    502: "The model failed; nothing was stored",
    503: "At the limit, shutting down or without a database; see Retry-After",
    504: "The answer took too long; nothing was stored",
}


def _of_http(error: HTTPException) -> Response:
    kinds = {400: "bad-request", 401: "key-needed", 403: "not-allowed", 404: "not-found", 405: "wrong-method"}
    kind = kinds.get(error.status_code, "bad-request" if error.status_code < 500 else "fault")
    return problem(kind, error.status_code, str(error.detail), headers=error.headers)


def _validation_errors(error: RequestValidationError) -> list[FieldError]:
    """Return field errors with JSON pointers; FastAPI's locations begin with the source of the field."""
    found = []
    for fault in error.errors():
        source, *place = fault["loc"] or ("body",)
        if fault["type"] == "json_invalid":
            place = []
        field = next((str(step) for step in reversed(place) if isinstance(step, str)), str(source))
        where = pointer(*place) if source == "body" else pointer(source, *place)
        found.append(FieldError(where, field, _sentence(fault)))
    return found


def _sentence(fault: Mapping[str, Any]) -> str:
    if fault["type"] == "missing":
        return "is missing"
    if fault["type"] == "extra_forbidden":
        return "is not a field of this request"
    if fault["type"] == "json_invalid":
        return f"is not valid JSON: {fault.get('ctx', {}).get('error', 'it cannot be read')}"
    return str(fault["msg"])
