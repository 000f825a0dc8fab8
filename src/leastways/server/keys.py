"""API keys: shown once, stored as a salted hash; each has scopes and can be revoked."""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, func, select

from leastways._fingerprint import text_fingerprint
from leastways._messages import listed, nearest
from leastways.errors import NotFound, SettingError
from leastways.server.database import KeyRow, now, reading, writing

SCOPES = ("apply", "read", "audit")
_REMEMBERED = 5.0  # seconds until a checked key is looked up again; a revoked key may work that long
_MOST_REMEMBERED = 1000


@dataclass(frozen=True)
class Key:
    """An API key without its secret."""

    id: str
    name: str
    scopes: tuple[str, ...]
    created: datetime
    revoked: datetime | None = None


class KeyStore:
    """The keys in the database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[str, tuple[float, Key]] = {}
        self._lock = threading.Lock()

    def create(self, name: str, scopes: Sequence[str]) -> tuple[Key, str]:
        """Make a key; its text is returned only here."""
        if not name.strip() or len(name) > 200:
            raise SettingError(f"a key needs a name of 1 to 200 characters, not {name!r}.")
        wrong = [s for s in scopes if s not in SCOPES]
        if wrong or not scopes:
            hint = nearest(wrong[0], SCOPES) if wrong else ""
            raise SettingError(f"scopes must be some of {listed(SCOPES)}, not {list(scopes)!r}.{hint}")
        kept = tuple(s for s in SCOPES if s in scopes)
        key = Key(secrets.token_hex(6), name, kept, now())
        secret, salt = secrets.token_urlsafe(32), secrets.token_hex(16)
        row = KeyRow(
            id=key.id,
            name=name,
            created=key.created,
            revoked=None,
            salt=salt,
            secret_hash=_hash(salt, secret),
            scopes=" ".join(kept),
        )
        with writing(self._engine) as session:
            session.add(row)
        return key, f"lw_{key.id}_{secret}"

    def all(self) -> list[Key]:
        """Return every key, oldest first, including revoked ones."""
        with reading(self._engine) as session:
            return [_as_key(row) for row in session.scalars(select(KeyRow).order_by(KeyRow.created))]

    def any_valid(self) -> bool:
        """Return whether there is a valid key."""
        with reading(self._engine) as session:
            return bool(session.scalar(select(func.count()).select_from(KeyRow).where(KeyRow.revoked.is_(None))))

    def revoke(self, key_id: str) -> Key:
        """Revoke a key."""
        with writing(self._engine) as session:
            row = session.get(KeyRow, key_id)
            if row is None:
                known = list(session.scalars(select(KeyRow.id)))
                raise NotFound(f"there is no key {key_id!r}.{nearest(key_id, known)}")
            row.revoked = row.revoked or now()
            key = _as_key(row)
        with self._lock:
            self._known.clear()
        return key

    def remembered(self, text: str) -> tuple[Key | None, bool]:
        """Return a key that was valid when last checked, and whether that check is recent enough to count."""
        with self._lock:
            known = self._known.get(text_fingerprint(text))
        return (None, False) if known is None else (known[1], time.monotonic() - known[0] < _REMEMBERED)

    def check(self, text: str) -> Key | None:
        """Return the key of a text, None if there is no such key or it was revoked."""
        key = self._look_up(text)
        with self._lock:
            self._known.pop(text_fingerprint(text), None)
            if key is not None:
                if len(self._known) >= _MOST_REMEMBERED:
                    self._known.clear()
                self._known[text_fingerprint(text)] = (time.monotonic(), key)
        return key

    def _look_up(self, text: str) -> Key | None:
        kind, _, rest = text.partition("_")
        key_id, _, secret = rest.partition("_")
        if kind != "lw" or not key_id.isalnum() or not key_id.isascii() or len(key_id) > 16 or not secret:
            return None
        with reading(self._engine) as session:
            row = session.get(KeyRow, key_id)
            if row is None:
                hmac.compare_digest(_hash("", secret), _hash("-", secret))  # as slow as for a wrong secret
                return None
            right = hmac.compare_digest(_hash(row.salt, secret), row.secret_hash)
            return _as_key(row) if right and row.revoked is None else None


def _hash(salt: str, secret: str) -> str:
    """Hash a secret of 256 random bits, which cannot be guessed, so a fast hash is enough."""
    return text_fingerprint(f"{salt}:{secret}")


def _as_key(row: KeyRow) -> Key:
    return Key(row.id, row.name, tuple(row.scopes.split()), row.created, row.revoked)
