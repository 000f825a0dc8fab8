"""Fingerprints and texts of values, the same in every process: nothing of addresses, nor of the order of sets."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd

from leastways.errors import plain

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_SHOWN = str | int | float | None  # what a text of settings shows as it is
_DIGITS = 12  # of a print that stands for settings which cannot be shown


def value_print(value: Any) -> str:
    """Return the sha256 of a value made of arrays, tables, records, plain values and objects that hold such."""
    return _print_of(value, ())


def setting_text(value: Any) -> str:
    """Return a setting as plans name it: as it describes itself, or its class and what it holds."""
    if not _is_mute(value):
        return _ADDRESS.sub("", repr(value))
    held = _held(value)
    if all(isinstance(plain(item), _SHOWN) for item in held.values()):
        return f"{type(value).__qualname__}({', '.join(f'{name}={plain(item)!r}' for name, item in held.items())})"
    return f"{type(value).__qualname__}({value_print(held)[:_DIGITS]})"


def _print_of(value: Any, within: tuple[int, ...]) -> str:
    digest = hashlib.sha256()
    for piece in _pieces(value, within):
        digest.update(piece)
    return digest.hexdigest()


def _pieces(value: Any, within: tuple[int, ...]) -> Iterator[bytes]:
    """Yield what makes up a value; `within` says what it is a part of, as an object may hold itself."""
    yield f"<{type(value).__name__}>".encode()
    if id(value) in within:
        return
    inner = (*within, id(value))
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield f"{value.dtype.str}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, pd.DataFrame):
        yield from _pieces([value.index.tolist(), value.columns.tolist(), value.to_numpy().tolist()], inner)
    elif is_dataclass(value):
        for field in fields(value):
            yield field.name.encode()
            yield from _pieces(getattr(value, field.name), inner)
    elif isinstance(value, Mapping):
        for key in sorted(value, key=repr):
            yield from _pieces(key, inner)
            yield from _pieces(value[key], inner)
    elif isinstance(value, list | tuple | np.ndarray):
        for item in value:
            yield from _pieces(item, inner)
    elif isinstance(value, set | frozenset):
        yield "".join(sorted(_print_of(item, inner) for item in value)).encode()
    elif _is_mute(value):
        yield from _pieces(_held(value), inner)
    else:
        text = repr(plain(value))
        yield (text if isinstance(value, str) else _ADDRESS.sub("", text)).encode() + b";"


def _is_mute(value: Any) -> bool:
    """Whether an object does not say what it is: all that is shown of it is where it lies in memory."""
    own: object = type(value).__repr__
    return own is object.__repr__


def _held(value: Any) -> dict[str, Any]:
    return dict(getattr(value, "__dict__", {}))
