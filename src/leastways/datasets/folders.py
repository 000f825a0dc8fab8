"""Where a data set's files are: a folder the user names, the one in LEASTWAYS_DATA, or the download cache."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from leastways.datasets.download import REMOTES, cache_dir, fetch
from leastways.errors import DataError

ENVIRONMENT = "LEASTWAYS_DATA"


class DataNotFoundError(DataError, FileNotFoundError):
    """The files of a data set are not where they were looked for."""


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
    for folder in (place / name for place in roots):
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
