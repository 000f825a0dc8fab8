"""Errors as RFC 9457 problem details, one form for all of them: what is wrong, in which field, and what is allowed."""

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

from leastways.errors import LeastwaysError, ModelError
from leastways.server.faults import (
    Busy,
    Closing,
    FieldError,
    InputRefused,
    NotKnown,
    NotReady,
    Overtaken,
    Spent,
    StoreDown,
    TooLate,
    without_contents,
)
from leastways.server.inputs import MOST_FAULTS, pointer

MEDIA_TYPE = "application/problem+json"
_FOR_PROGRAMS = ("/v1/", "/health", "/static/")
_PREFIX = "urn:leastways:problem:"
_LONGEST = 600  # characters of a message, which may quote what was sent
_RETRY_STORE = 5  # seconds after which a database may be back

log = logging.getLogger("leastways.server")


class FieldProblem(BaseModel):
    """A field of the request that is wrong."""

    pointer: str
    field: str
    message: str


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"type": f"{_PREFIX}not-known", "status": 404}]})

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldProblem] = []


_TITLES = {
    "bad-request": "The request cannot be read",
    "key-needed": "An API key is needed",
    "not-allowed": "This key is not good for that",
    "not-known": "There is no such thing",
    "not-ready": "The answer is not ready yet",
    "wrong-method": "This address takes another method",
    "too-large": "The request is too large",
    "wrong-kind": "This takes JSON",
    "too-slow": "The request did not arrive in time",
    "wrong-input": "Some fields are wrong",
    "too-many": "Too many requests",
    "spent": "This person has been answered as often as may be",
    "overtaken": "This person has said something else meanwhile",
    "fault": "A fault in the service",
    "model-failed": "The model failed",
    "busy": "The service is at its limit",
    "closing": "The service is shutting down",
    "store-down": "The database cannot be used just now",
    "too-late": "The answer took too long",
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
    """Return the problem that an error is; what nobody foresaw is a fault of ours, told without its contents."""
    match error:
        case InputRefused():
            named = list(dict.fromkeys(e.field for e in error.errors))
            more = f" and {len(named) - 8} more fields" if len(named) > 8 else ""
            count = len(error.errors) if len(error.errors) <= MOST_FAULTS else f"More than {MOST_FAULTS}"
            text = f"Nothing was stored. {count} wrong: {', '.join(map(_cut, named[:8]))}{more}."
            return problem("wrong-input", 422, text, error.errors)
        case NotReady():
            return problem("not-ready", 404, str(error), headers={"Retry-After": "1"})
        case NotKnown():
            return problem("not-known", 404, str(error))
        case Busy():
            return problem("busy", 503, str(error), headers={"Retry-After": str(error.retry_after)})
        case Spent():
            return problem("spent", 409, f"Nothing was stored, and the latest answer stays: {error}")
        case Overtaken():
            return problem("overtaken", 409, f"Nothing was stored: {error}")
        case Closing():
            return problem("closing", 503, str(error), headers={"Retry-After": "5"})
        case StoreDown():
            return problem("store-down", 503, str(error), headers={"Retry-After": str(_RETRY_STORE)})
        case TooLate():
            return problem("too-late", 504, f"Nothing was stored: {error}")
        case ModelError():
            return problem("model-failed", 502, "The model failed on these people. Nothing was stored.")
        case RequestValidationError():
            return problem_of(InputRefused(_validation_errors(error)))
        case HTTPException():
            return _of_http(error)
        case LeastwaysError():
            return problem("wrong-input", 422, str(error), [FieldError("", "", str(error))])
    log.error("fault: %s", without_contents(error))
    return problem("fault", 500, "This is a fault in the service itself; it was logged.")


def _cut(text: str) -> str:
    """Leave out the middle of a text that is too long; what is wrong stands at its beginning, what is allowed last."""
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]} ... {text[-half:]}"


def add_problems(app: FastAPI) -> None:
    """Answer every error of the app with a problem."""

    async def handle(request: Request, error: Exception) -> Response:
        return readable(request.scope, problem_of(error))

    for kind in (LeastwaysError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, handle)


def readable(scope: Scope, response: Response) -> Response:
    """Return a problem as a page where a browser asks for one outside the API; `add_pages` says how that is made."""
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
    """Return what OpenAPI says of the problems a route may answer with."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": _MEANINGS[status], "content": content} for status in statuses}


_MEANINGS = {
    400: "The request cannot be read",
    401: "An API key is needed, or this one does not work",
    403: "The key lacks the scope",
    404: "There is no such thing, or it is not ready",
    408: "The request did not arrive in time",
    413: "The request is too large",
    415: "The body is not said to be JSON",
    422: "Some fields are wrong; nothing was stored",
    429: "Too many requests; see Retry-After",
    500: "A fault in the service",
    502: "The model failed; nothing was stored",
    503: "At the limit, shutting down or without a database; see Retry-After",
    504: "The answer took too long; nothing was stored",
}


def _of_http(error: HTTPException) -> Response:
    kinds = {400: "bad-request", 401: "key-needed", 403: "not-allowed", 404: "not-known", 405: "wrong-method"}
    kind = kinds.get(error.status_code, "bad-request" if error.status_code < 500 else "fault")
    return problem(kind, error.status_code, str(error.detail), headers=error.headers)


def _validation_errors(error: RequestValidationError) -> list[FieldError]:
    """Name the fields as JSON pointers; FastAPI's places begin with where the field was looked for."""
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
