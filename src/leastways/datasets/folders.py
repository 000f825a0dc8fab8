"""Where a data set's files are: a folder the user names, the one in LEASTWAYS_DATA, or the download cache."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from leastways.datasets.download import REMOTES, cache_dir, fetch
from leastways.errors import DataError

ENVIRONMENT = "LEASTWAYS_DATA"


class DataNotFoundError(DataError, FileNotFoundError):
    """The files of a data set are not where they were looked for."""


def find_folder(
    name: str, files: Sequence[str], data_dir: str | os.PathLike[str] | None, download: bool
) -> Path:
    """Return the folder of data set `name` that holds all `files`.

    `data_dir` (or LEASTWAYS_DATA) is a folder with one sub-folder per data set. Without it, earlier downloads
    are used. Only `download=True` ever opens a connection, and only for files that are not there.
    """
    if download and name not in REMOTES:
        raise DataError(
            f"data set {name!r} has no public download in the form used here. It needs the files "
            f"{', '.join(f'{name}/{file}' for file in files)} in a folder: pass it as data_dir=, or set "
            f"{ENVIRONMENT}."
        )
    root = Path(data_dir) if data_dir is not None else _from_environment()
    folder = (cache_dir() if root is None else root) / name
    missing = [file for file in files if not (folder / file).is_file()]
    if not missing:
        return folder
    if download:
        for remote in REMOTES[name]:
            fetch(remote, cache_dir())
        return cache_dir() / name
    raise DataNotFoundError(_message(name, missing, folder, root))


def _from_environment() -> Path | None:
    given = os.environ.get(ENVIRONMENT)
    return Path(given).expanduser() if given else None


def _message(name: str, missing: Sequence[str], folder: Path, root: Path | None) -> str:
    what = ", ".join(f"{name}/{file}" for file in missing)
    if root is None:
        text = f"data set {name!r} needs the files {what}, and no data folder is set."
    else:
        text = f"data set {name!r}: {what} not found; looked in {str(folder)!r}."
    text += f" Pass the folder that holds {name!r} as data_dir=, or set {ENVIRONMENT} to it"
    return text + (", or pass download=True." if name in REMOTES else ".")
