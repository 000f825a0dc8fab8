"""Add the pages to an application: the person's and the auditor's, error pages, static files, a demo's first page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.types import Scope

from leastways.plans import option_groups
from leastways.server.pages.auditor import HOME, AuditorPages
from leastways.server.pages.person import PersonPages
from leastways.server.pages.rendering import OWN_STYLE, STATIC, Renderer
from leastways.server.pages.texts import Words

if TYPE_CHECKING:
    from leastways.server.answers import Issued
    from leastways.server.audits import Audits
    from leastways.server.service import Service

_MESSAGES = {404: "not_found", 405: "not_found", 429: "busy", 503: "busy", 504: "busy"}
_KEPT = ("Retry-After", "Allow", "Connection")  # headers of a problem that the page keeps


def problem_pages(renderer: Renderer) -> Callable[[Request, Response], Response]:
    """Return a function that renders a problem as a page, in the visitor's language."""

    def page(request: Request, problem: Response) -> Response:
        status = problem.status_code
        name = _MESSAGES.get(status, "down" if status >= 500 else "bad")
        shown = renderer.message(request, name, status)
        for header in _KEPT:
            if header in problem.headers:
                shown.headers[header] = problem.headers[header]
        return shown

    return page


DEMO_TEXTS = Path(__file__).parent / "demo_texts"


@dataclass(frozen=True)
class Listed:
    """A person on the demo's first page: number, path of their page, some facts, number of options."""

    number: str
    path: str
    facts: str
    options: str


def add_index(app: FastAPI, service: Service, issued: Sequence[Issued], shown: Sequence[str]) -> None:
    """Add the first page of a demo, with a link and some facts for each person."""
    renderer = Renderer(service.config.title, service.config.texts)

    def index(request: Request) -> Response:
        texts = renderer.texts(request)
        words = Words(service.schema, texts)
        people = [_listed(words, one, shown) for one in issued]
        heading = texts("demo.title")
        return renderer.page(request, "index.html", purpose="", heading=heading, people=people, audit=HOME)

    renderer.add_routes(app, [("/", "GET", index)])


def _listed(words: Words, issued: Issued, shown: Sequence[str]) -> Listed:
    answer = issued.answer
    found = len(option_groups(words.schema, answer.state, answer.plan.options))
    facts = [
        f"{words.label(f)}: {words.value(f, answer.state[f.name])}"
        for f in map(words.schema.by_name.__getitem__, shown)
    ]
    return Listed(
        number=words.texts("demo.person", n=answer.reference or answer.id),
        path=f"/p/{issued.token}",
        facts=", ".join(facts),
        options=words.texts.count("options.found", found)
        if found
        else words.texts(f"nothing.{answer.plan.status}.headline"),
    )


class _Static(StaticFiles):
    """Static files that a browser may cache, but must revalidate."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        return response


def _add_file(app: FastAPI, address: str, path: Path) -> None:
    def give() -> Response:
        return FileResponse(path, headers={"Cache-Control": "no-cache"})

    app.add_api_route(address, give, include_in_schema=False, response_model=None)


def add_pages(app: FastAPI, service: Service, audits: Audits) -> None:
    """Add the person's and the auditor's pages to the service's application."""
    renderer = Renderer(service.config.title, service.config.texts)
    app.mount(STATIC, _Static(directory=Path(__file__).parent / "static"), name="static")
    if renderer.own_style is not None:
        _add_file(app, OWN_STYLE, renderer.own_style)
    PersonPages(service, renderer).add_to(app)
    AuditorPages(service, renderer, audits).add_to(app)
    app.state.page_of_problem = problem_pages(renderer)
