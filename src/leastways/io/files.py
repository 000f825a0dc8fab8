"""Write files atomically, to paths that are checked before the work begins."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from leastways._extras import require
from leastways.errors import DataError, SettingError


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """Yield a draft beside `path` to write to; it replaces `path` at the end, and is deleted if anything failed."""
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


@dataclass(frozen=True)
class OutputFile:
    """A file that can be written: `check` makes one before the work begins, `write` replaces it in one step."""

    path: Path

    @classmethod
    def check(cls, path: Path, suffixes: Sequence[str], force: bool, inputs: Iterable[Path] = ()) -> OutputFile:
        """Raise, before any work, where writing would fail later or destroy something.

        Parameters
        ----------
        path
            The file to write.
        suffixes
            The endings that its name may have.
        force
            Whether an existing file may be replaced.
        inputs
            Files that are read, and must not be replaced even with `force`.

        """
        if path.suffix.lower() not in suffixes:
            raise SettingError(f"cannot tell how to write {str(path)!r}: it must end in {', '.join(suffixes)}.")
        if path.suffix.lower() == ".parquet":
            require("pyarrow", "parquet", "Writing a Parquet file")
        folder = path.parent
        if not folder.is_dir():
            raise SettingError(f"there is no folder {str(folder)!r} to write {path.name!r} into.")
        if path.is_dir():
            raise SettingError(f"{str(path)!r} is a folder.")
        if any(other.exists() and path.exists() and path.samefile(other) for other in inputs):
            raise SettingError(f"{str(path)!r} is one of the files read; choose another name for the result.")
        if path.exists() and not force:
            raise SettingError(f"{str(path)!r} is there already; --force replaces it.")
        _check_writable(folder)
        return cls(path)

    def write(self, content: Callable[[Path], object]) -> None:
        """Let `content` write a draft, then rename it in one step."""
        with draft_of(self.path) as draft:
            content(draft)


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    with draft_of(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="")


def check_folder(folder: Path, what: str) -> None:
    """Raise, before any work, where `what` ("a report") cannot be written to a folder; it need not exist yet."""
    if folder.exists() and not folder.is_dir():
        raise SettingError(f"{str(folder)!r} is a file; {what} needs a folder.")
    if not folder.exists() and not folder.parent.is_dir():
        raise SettingError(f"there is no folder {str(folder.parent)!r} to make {folder.name!r} in.")
    _check_writable(folder if folder.exists() else folder.parent)


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, or raise a SettingError with the reason."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError(f"cannot make the folder {str(folder)!r}: {error}") from error


def _check_writable(folder: Path) -> None:
    if not os.access(folder, os.W_OK):
        raise SettingError(f"the folder {str(folder)!r} cannot be written to.")
