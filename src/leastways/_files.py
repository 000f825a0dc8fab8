"""Files that are written whole or not at all, and what a file is known by."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leastways.errors import DataError


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """Yield a file beside `path` to write to; at the end it takes its place, or is gone if anything failed."""
    draft = path.with_name(f".{path.stem}-{secrets.token_hex(4)}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield draft
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"cannot write {str(path)!r}: {error}") from error


def file_print(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
