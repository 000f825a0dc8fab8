"""Files that are written whole or not at all, folders to write to, and what a file is known by."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leastways.errors import DataError, SettingError


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


def check_folder(folder: Path, what: str) -> None:
    """Raise, before any work, where `what` ("a report") cannot be written to a folder; it need not be there yet."""
    if folder.exists() and not folder.is_dir():
        raise SettingError(f"{str(folder)!r} is a file; {what} needs a folder.")
    if not folder.exists() and not folder.parent.is_dir():
        raise SettingError(f"there is no folder {str(folder.parent)!r} to make {folder.name!r} in.")
    if not os.access(folder if folder.exists() else folder.parent, os.W_OK):
        raise SettingError(f"the folder {str(folder)!r} cannot be written to.")
