"""The pages of the service: for the person, for the auditor. Usable without JavaScript, better with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from leastways.server.pages.person import PersonPages
from leastways.server.pages.rendering import STATIC, Renderer

if TYPE_CHECKING:
    from leastways.server.service import Service


def add_pages(app: FastAPI, service: Service) -> None:
    """Add the person's and the auditor's pages to the service's application."""
    renderer = Renderer(service.config.title, service.config.texts)
    app.mount(STATIC, StaticFiles(directory=Path(__file__).parent / "static"), name="static")
    PersonPages(service, renderer).add_to(app)
