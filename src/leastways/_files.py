"""Files that are written whole or not at all."""

from __future__ import annotations

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
