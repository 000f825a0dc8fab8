"""Checks that every request passes before a route sees it: host, key, rate, size; and headers of every response.

One ASGI middleware, so that the order is written down in one place. Nothing it logs is personal: it logs the pattern of
the route instead of the path, and no query, body or token.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leastways.server.config import ServiceConfig
from leastways.server.problems import problem, problem_of, readable
from leastways.server.service import Service

_MOST_BUCKETS = 20_000  # the most recently used; older ones are full again anyway


class Rates:
    """Token buckets by name: each is filled at a steady rate, and a request takes a token."""

    def __init__(self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._burst = float(burst)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # name: tokens, as of when
        self._lock = threading.Lock()

    def take(self, name: str) -> int:
        """Take a token; returns 0, or the seconds to wait until there is one."""
        with self._lock:
            moment = self._clock()
            tokens, since = self._buckets.pop(name, (self._burst, moment))
            tokens = min(self._burst, tokens + (moment - since) * self._per_second)
            wait = 0 if tokens >= 1 else max(1, math.ceil((1 - tokens) / self._per_second))
            self._buckets[name] = (tokens if wait else tokens - 1, moment)
            if len(self._buckets) > _MOST_BUCKETS:
                self._buckets.popitem(last=False)
            return wait


API = "/v1/"
_QUEUED_PATH = f"{API}recourse"  # the route whose requests are queued

access = logging.getLogger("leastways.access")

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


class Guards:
    """Passes a request on, or answers it with a problem."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._keys = service.keys
        self._limits = service.config.limits
        self._rates = Rates(self._limits.requests_per_second, self._limits.burst)
        self._hosts = allowed_hosts(service.config)
        public = urlsplit(service.config.public_url or "")
        self._outside = public.hostname if public.scheme == "https" else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._handle(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        seen: dict[str, Any] = {"status": 0}

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen["status"] = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            refusal, receive = await self._admit(scope, receive)
            if refusal is None:
                await self._app(scope, receive, sending)
            else:
                await readable(scope, refusal)(scope, receive, sending)
        except _BrokenOff:
            pass  # an incomplete form is not used, and the caller is gone
        except Exception as error:
            response = problem_of(error)  # logs unexpected errors
            if seen["status"]:
                raise _HalfAnswered from None  # the status is sent already: cut the connection
            await readable(scope, response)(scope, receive, sending)
        finally:
            _log(scope, seen["status"], time.perf_counter() - began)

    async def _admit(self, scope: Scope, receive: Receive) -> tuple[Response | None, Receive]:
        headers = Headers(scope=scope)
        host = host_name(headers.get("host", ""))
        if "*" not in self._hosts and host not in self._hosts:
            return problem(
                "bad-request", 400, "The Host header names a host that this service is not known by."
            ), receive
        if host == self._outside:
            scope["scheme"] = "https"  # as between browser and proxy, so that cookies are sent over https only
        refusal = await self._identify(scope, headers)
        if refusal is not None:
            return refusal, receive
        refusal, receive = await self._read_body(headers, receive)
        if refusal is None and scope["method"] == "POST":
            if scope["path"] == _QUEUED_PATH:
                self._service.check_room(1)  # raises `Busy`; refusing must cost less than answering
            refusal = _wrong_kind(scope["path"], headers.get("content-type", ""))
        return refusal, receive

    async def _identify(self, scope: Scope, headers: Headers) -> Response | None:
        """Identify the caller, and count the request against their rate."""
        text = bearer(headers.get("authorization", ""))
        # A key checked recently has a rate of its own, which callers without a key cannot use up.
        key, fresh = (None, False) if text is None else self._keys.remembered(text)
        address = (scope.get("client") or ("-", 0))[0]
        wait = self._rates.take(f"ip {address}" if key is None else f"key {key.id}")
        if wait:
            text = f"At most {self._limits.requests_per_second:g} requests a second, and {self._limits.burst} at once."
            return problem("too-many", 429, text, headers={"Retry-After": str(wait)})
        if text is not None and not fresh:
            key = await run_in_threadpool(self._keys.check, text)
        state: MutableMapping[str, Any] = scope.setdefault("state", {})
        state["key"], state["key_given"] = key, "authorization" in headers
        return None

    async def _read_body(self, headers: Headers, receive: Receive) -> tuple[Response | None, Receive]:
        """Read the whole body first, so that no route receives one that is too large or never ends."""
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._limits.body_bytes:
            return self._too_large(), receive
        try:
            body = await asyncio.wait_for(self._collect(receive), self._limits.body_seconds)
        except TimeoutError:
            text = f"The body did not arrive within {self._limits.body_seconds:g} seconds."
            return problem("too-slow", 408, text, headers={"Connection": "close"}), receive
        if body is None:
            return self._too_large(), receive
        sent = False

        async def again() -> Message:
            nonlocal sent
            if sent:
                return await receive()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        return None, again

    async def _collect(self, receive: Receive) -> bytes | None:
        """Return the whole body, None if it is too large; raises if the connection ends before."""
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _BrokenOff
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._limits.body_bytes:
                return None
            if not message.get("more_body", False):
                return b"".join(parts)

    def _too_large(self) -> Response:
        text = f"A request may have at most {self._limits.body_bytes:,} bytes."
        return problem("too-large", 413, text, headers={"Connection": "close"})


class _BrokenOff(Exception):  # noqa: N818
    """The connection ended before the request was complete."""


class _HalfAnswered(Exception):  # noqa: N818
    """An error after the beginning of the response was sent."""


def bearer(header: str) -> str | None:
    """Return the key of an Authorization header, None without a header, empty if it is not a bearer token."""
    if not header:
        return None
    kind, _, text = header.partition(" ")
    return text.strip() if kind.lower() == "bearer" else ""


def host_name(header: str) -> str:
    """Return the name in a Host header, without the port."""
    name = header.rsplit("]", 1)[0] + "]" if header.startswith("[") else header.partition(":")[0]
    return name.lower()


def _wrong_kind(path: str, kind: str) -> Response | None:
    """Refuse bodies that are not declared as JSON: pages of other sites can make a browser send any other type."""
    name = kind.partition(";")[0].strip().lower()
    if (
        not path.startswith(API)
        or name == "application/json"
        or (name.startswith("application/") and name.endswith("+json"))
    ):
        return None
    return problem("wrong-kind", 415, f"The body must be application/json, not {name[:60] or 'of no type'!r}.")


def allowed_hosts(config: ServiceConfig) -> frozenset[str]:
    """Return the names that a request may call this service by; a page elsewhere cannot make a browser use another."""
    own = {"localhost", "127.0.0.1", "[::1]"} if config.on_loopback else set()
    named = {f"[{config.host}]" if ":" in config.host else config.host, *config.allowed_hosts}
    public = urlsplit(config.public_url).hostname if config.public_url else None
    return frozenset(name.lower() for name in own | named | ({public} if public else set()))


def _log(scope: Scope, status: int, seconds: float) -> None:
    """Write one line without anything personal."""
    route = scope.get("route")
    pattern = getattr(route, "path", "-")
    key = scope.get("state", {}).get("key")
    who = "" if key is None else f" key={key.id}"
    access.info("%s %s %d %.0fms%s", scope["method"], pattern, status, seconds * 1000, who)
