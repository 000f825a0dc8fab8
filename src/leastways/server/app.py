"""Build the HTTP application of a service, and run it."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from leastways import __version__
from leastways.errors import SettingError
from leastways.server.audits import Audits
from leastways.server.bodies import describe_people
from leastways.server.config import ServiceConfig
from leastways.server.guards import Guards
from leastways.server.keys import KeyStore
from leastways.server.pages import add_pages
from leastways.server.problems import add_problems
from leastways.server.routes import JsonRoute, add_routes
from leastways.server.service import Service


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
