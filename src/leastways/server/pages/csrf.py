"""Forms that only our own pages can send: a random cookie, and in each form a proof made from it.

Another site can make a browser send a form here, but not read the cookie (it is `HttpOnly` and `SameSite=Lax`, so it
is not even sent then), and so cannot make the proof. Nothing is kept on the server, so a restart breaks no open page.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

COOKIE = "leastways_form"
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")


def secret_of(cookie: str | None) -> str:
    """Return the secret of a browser: the one it has, or a new one if that is none of ours."""
    return cookie if cookie is not None and _SECRET.fullmatch(cookie) else secrets.token_urlsafe(32)


def proof(secret: str, purpose: str) -> str:
    """Return what a form for this purpose carries: the path of a person's page, say."""
    return hmac.new(secret.encode(), purpose.encode(), hashlib.sha256).hexdigest()


def is_genuine(cookie: str | None, purpose: str, sent: str) -> bool:
    """Whether a form was made by a page of ours, for this browser and this purpose."""
    if cookie is None or not _SECRET.fullmatch(cookie):
        return False
    return hmac.compare_digest(proof(cookie, purpose).encode(), sent.encode("utf-8", "replace"))
