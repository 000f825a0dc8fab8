"""The pages of the service: for the person, for the auditor. Usable without JavaScript, better with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.responses import FileResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.types import Scope

from leastways.server.pages.auditor import AuditorPages
from leastways.server.pages.person import PersonPages
from leastways.server.pages.problems import pages_of_problems
from leastways.server.pages.rendering import OWN_STYLE, STATIC, Renderer

if TYPE_CHECKING:
    from leastways.server.audits import Audits
    from leastways.server.service import Service


class _Static(StaticFiles):
    """Files that a browser may keep, as long as it asks whether they are still the same."""

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
    app.state.page_of_problem = pages_of_problems(renderer)
