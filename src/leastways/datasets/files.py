"""Find the files of a data set: in the user's folder, in LEASTWAYS_DATA, or in the cache of downloads.

A download is written under a temporary name, checked against its known checksum, and only then renamed, so that an
interrupted or altered file is never taken for the data. Only files with a stable public address are offered.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import urllib.request
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

import pandas as pd

from leastways._fingerprint import file_fingerprint
from leastways.errors import DataError, LeastwaysError

ENVIRONMENT = "LEASTWAYS_DATA"


class DataNotFoundError(DataError, FileNotFoundError):
    """The files of a data set were not found."""


def find_folder(name: str, files: Sequence[str], data_dir: str | os.PathLike[str] | None, download: bool) -> Path:
    """Return the folder of data set `name` that holds all `files`.

    `data_dir` (or LEASTWAYS_DATA) is a folder with one sub-folder per data set. Without `data_dir`, earlier
    downloads count too. Only `download=True` ever opens a connection, and only for files that are not there.
    """
    if download and name not in REMOTES:
        raise DataError(
            f"data set {name!r} has no public download in the form used here. It needs the files "
            f"{', '.join(f'{name}/{file}' for file in files)} in a folder: pass it as data_dir=, or set "
            f"{ENVIRONMENT}."
        )
    given = data_dir if data_dir is not None else os.environ.get(ENVIRONMENT)
    root = Path(given).expanduser() if given else None
    roots = [root] if root is not None else []
    if data_dir is None or download:
        roots.append(cache_dir())
    for folder in (base / name for base in roots):
        if all((folder / file).is_file() for file in files):
            return folder
    if download:
        for remote in REMOTES[name]:
            fetch(remote, cache_dir())
        return cache_dir() / name
    raise DataNotFoundError(_message(name, files, root))


def require_columns(path: Path, frame: pd.DataFrame, names: Iterable[str]) -> None:
    """Raise where a file lacks a column that its data set has."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise DataError(f"{str(path)!r} lacks the columns {', '.join(missing)}.")


def _message(name: str, files: Sequence[str], root: Path | None) -> str:
    what = ", ".join(f"{name}/{file}" for file in files if root is None or not (root / name / file).is_file())
    if root is None:
        text = f"data set {name!r} needs the files {what}, and no data folder is set."
    else:
        text = f"data set {name!r}: {what} not found in {str(root)!r}."
    text += f" Pass the folder that holds {name!r} as data_dir=, or set {ENVIRONMENT} to it"
    return text + (", or pass download=True." if name in REMOTES else ".")


TIMEOUT_S = 30.0
_CHUNK = 1 << 16


class DownloadError(LeastwaysError, OSError):
    """A file could not be downloaded, or is not the expected one."""


@dataclass(frozen=True)
class Remote:
    """A public file: its address, path in a data folder, checksum and size."""

    url: str
    path: str  # within a data folder, such as "adult/adult.data"
    sha256: str
    size: int


REMOTES: dict[str, tuple[Remote, ...]] = {
    "adult": (
        Remote(
            url="https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.data",
            path="adult/adult.data",
            sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            size=3_974_305,
        ),
    ),
}


def cache_dir() -> Path:
    """Return the folder of downloads: LEASTWAYS_CACHE, else `leastways` in the user's cache folder."""
    own = os.environ.get("LEASTWAYS_CACHE")
    if own:
        return Path(own).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "leastways"


def fetch(remote: Remote, folder: Path, timeout: float = TIMEOUT_S) -> Path:
    """Return the path of a file in `folder`; download it if it is missing or differs from the expected one."""
    target = folder / remote.path
    if target.is_file() and file_fingerprint(target) == remote.sha256:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            found = _download(remote, out.write, timeout)
        if found != remote.sha256:
            raise DownloadError(
                f"{remote.url} is not the file it should be: its SHA-256 is {found}, "
                f"expected {remote.sha256}. Nothing was kept. Try again, or put the right file into a "
                f"folder as {remote.path!r} and pass data_dir=."
            )
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return target


def _download(remote: Remote, write: Callable[[bytes], int], timeout: float) -> str:
    """Stream the file into `write`, at most one chunk beyond its known size; return its SHA-256."""
    digest, length = hashlib.sha256(), 0
    request = urllib.request.Request(remote.url, headers={"User-Agent": "leastways"})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            while length <= remote.size and (chunk := response.read(_CHUNK)):
                write(chunk)
                digest.update(chunk)
                length += len(chunk)
    except (OSError, HTTPException) as error:  # URLError and timeouts are OSErrors
        raise DownloadError(
            f"could not download {remote.url}: {error}. Check the connection, or put the file into a "
            f"folder as {remote.path!r} and pass data_dir=."
        ) from error
    return digest.hexdigest()
