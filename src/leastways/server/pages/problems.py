"""Problems for people: what the API says as problem details, a browser is told on a page, in words."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import Request
from fastapi.responses import Response

from leastways.server.pages.rendering import Renderer

_MESSAGES = {404: "not_found", 405: "not_found", 429: "busy", 503: "busy", 504: "busy"}
_KEPT = ("Retry-After", "Allow", "Connection")  # what a problem says in its head


def pages_of_problems(renderer: Renderer) -> Callable[[Request, Response], Response]:
    """Return what makes a page of a problem, in the visitor's language."""

    def page(request: Request, problem: Response) -> Response:
        status = problem.status_code
        name = _MESSAGES.get(status, "down" if status >= 500 else "bad")
        shown = renderer.message(request, name, status)
        for header in _KEPT:
            if header in problem.headers:
                shown.headers[header] = problem.headers[header]
        return shown

    return page
