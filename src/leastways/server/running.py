"""`leastways serve`: a socket, uvicorn, and an orderly end."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from leastways.errors import SettingError
from leastways.server.config import ServiceConfig
from leastways.server.keys import KeyStore

_EVERYWHERE = ("0.0.0.0", "::")


def check_exposure(config: ServiceConfig, keys: KeyStore) -> None:
    """Refuse to be reached from elsewhere without keys, or under any name at all."""
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
    """Listen on the address of the config; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    try:
        listening = socket.create_server((config.host, config.port), family=family, backlog=2048)
    except OSError as error:
        raise SettingError(f"cannot listen on {config.host} port {config.port}: {error.strerror}.") from error
    # Every connection inherits this. Head and body are sent one after the other, and without it the body waits for
    # the caller to acknowledge the head, which takes 40 ms. asyncio sets it only where a socket names its protocol.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def run(app: FastAPI, config: ServiceConfig, listening: socket.socket, started: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT; then take nothing new, and give running requests their grace."""
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
    # uvicorn sends itself the signal again when it has ended; by then there is nothing left to interrupt.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    # Searches release the lock of the interpreter for most of their time, and take it back for a moment; with
    # Python's 5 ms a request would wait that long for each of its own moments.
    sys.setswitchinterval(0.0005)
    started()
    server.run(sockets=[listening])
