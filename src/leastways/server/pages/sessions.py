"""The auditor's session: after a key was shown once, a signed cookie that runs out soon and names no secret."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time

COOKIE = "leastways_session"
LASTS = 30 * 60  # seconds


class Sessions:
    """Signs sessions with a secret of this process: a restart ends them all."""

    def __init__(self, lasts: float = LASTS) -> None:
        self._secret = secrets.token_bytes(32)
        self._lasts = lasts

    def start(self, key_id: str) -> str:
        """Return the cookie of a new session for the holder of a key."""
        said = f"{key_id}.{int(time.time() + self._lasts)}"
        return f"{said}.{self._sign(said)}"

    def key_of(self, cookie: str | None) -> str | None:
        """Return the id of the key whose session this is; None if it is none of ours, or over."""
        if cookie is None or cookie.count(".") != 2:
            return None
        said, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(self._sign(said).encode(), signature.encode()):
            return None
        key_id, _, ends = said.partition(".")
        return key_id if time.time() < int(ends) else None

    def _sign(self, said: str) -> str:
        return hmac.new(self._secret, said.encode(), hashlib.sha256).hexdigest()
