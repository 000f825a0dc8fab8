"""Bodies of requests, read as files are: a key that stands twice is a fault, and so is nesting without end."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from json import JSONDecodeError
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from leastways.io import json_of


class JsonRoute(APIRoute):
    """A route whose JSON says one thing: of two values of a key FastAPI takes the last, whichever is meant."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Hand the route a request that is read by our reader."""
        handle = super().get_route_handler()

        async def read(request: Request) -> Response:
            return await handle(_JsonRequest(request.scope, request.receive))

        return read


class _JsonRequest(Request):
    async def json(self) -> Any:
        try:
            return json_of(await self.body())
        except JSONDecodeError:
            raise
        except ValueError as error:  # FastAPI names the first kind alone as a fault of the body
            raise JSONDecodeError(str(error), "", 0) from error
