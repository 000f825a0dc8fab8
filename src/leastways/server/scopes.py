"""Who may do what: a dependency of each route names the scopes that open it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import Request, Security
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException

from leastways.server.keys import SCOPES, Key

_SCHEME = HTTPBearer(auto_error=False, description="An API key: lw_..., from `leastways keys create`")
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="leastways"'}


def allowed(required: bool, *scopes: str) -> Any:
    """Return a dependency that lets through keys with one of the scopes; and, unless required, no key at all."""
    return Security(_check(required, scopes or SCOPES))


def _check(required: bool, scopes: tuple[str, ...]) -> Callable[..., Coroutine[Any, Any, None]]:
    async def check(request: Request, _: Annotated[Any, Security(_SCHEME)]) -> None:
        key: Key | None = request.state.key
        if key is None and (required or request.state.key_given):
            text = "This key does not work: it is unknown, wrong or revoked." if request.state.key_given else _HOW
            raise HTTPException(401, text, headers=_CHALLENGE)
        if key is not None and not set(scopes) & set(key.scopes):
            raise HTTPException(403, f"This needs a key with the scope {' or '.join(scopes)}; this one lacks it.")

    return check


_HOW = "Send an API key: Authorization: Bearer lw_..."
