"""The HTTP side: `create_app` puts routes, problems, guards and pages around a `Service`."""

from __future__ import annotations

from fastapi import FastAPI

from leastways import __version__
from leastways.server.audits import Audits
from leastways.server.guards import Guards
from leastways.server.json_requests import JsonRoute
from leastways.server.openapi import describe_people
from leastways.server.pages import add_pages
from leastways.server.problems import add_problems
from leastways.server.routes import add_routes
from leastways.server.service import Service


def create_app(service: Service) -> FastAPI:
    """Return the app of a service. It does not close the service: whoever opened it does."""
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
