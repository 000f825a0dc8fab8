"""Fingerprints and texts of values, the same in every process: independent of addresses and of set order."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import pandas as pd

from leastways._values import plain

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_UNSTEADY = re.compile(rf"{_ADDRESS.pattern}|[{{]")  # addresses, and sets, which have another order in each process
_SHOWN = str | int | float | None  # what a text of settings shows as it is
_DIGITS = 12  # of a fingerprint that stands for settings which cannot be shown


def value_fingerprint(value: Any) -> str:
    """Return the sha256 of a value made of arrays, tables, records, plain values and objects of these."""
    return _fingerprint_of(value, ())


def text_fingerprint(text: str) -> str:
    """Return the sha256 of a text."""
    return bytes_fingerprint(text.encode("utf-8", "surrogatepass"))


def bytes_fingerprint(content: bytes) -> str:
    """Return the sha256 of bytes."""
    return hashlib.sha256(content).hexdigest()


def file_fingerprint(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def setting_text(value: Any) -> str:
    """Return a setting as plans name it: as it describes itself, if that is the same in every process.

    Else by its class and what it holds, or a fingerprint of that.
    """
    text = repr(value)
    if not _UNSTEADY.search(text):
        return text
    held = _held(value)
    if _is_mute(value) and all(isinstance(plain(item), _SHOWN) for item in held.values()):
        return f"{type(value).__qualname__}({', '.join(f'{name}={plain(item)!r}' for name, item in held.items())})"
    return f"{type(value).__qualname__}({value_fingerprint(value)[:_DIGITS]})"


def _fingerprint_of(value: Any, within: tuple[int, ...]) -> str:
    digest = hashlib.sha256()
    for piece in _pieces(value, within):
        digest.update(piece)
    return digest.hexdigest()


def _pieces(value: Any, within: tuple[int, ...]) -> Iterator[bytes]:
    """Yield the parts of a value; `within` holds the enclosing objects, to detect cycles."""
    yield f"<{type(value).__name__}>".encode()
    if id(value) in within:
        return
    inner = (*within, id(value))
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield f"{value.dtype.str}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, pd.DataFrame | pd.Series | pd.Index):
        yield from _pieces_of_table(value, inner)
    elif isinstance(value, FunctionType):
        yield f"{value.__module__}.{value.__qualname__}".encode()
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        yield from _pieces([value.__code__, value.__defaults__, value.__kwdefaults__, cells], inner)
    elif isinstance(value, CodeType):
        yield value.co_code
        yield from _pieces([value.co_names, value.co_consts], inner)
    elif is_dataclass(value) and not isinstance(value, type):
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
        yield "".join(sorted(_fingerprint_of(item, inner) for item in value)).encode()
    else:
        text = repr(plain(value))
        if isinstance(value, str) or not _ADDRESS.search(text):
            yield text.encode() + b";"
        else:
            yield from _pieces(_held(value) or _reduced(value), inner)


def _pieces_of_table(value: Any, within: tuple[int, ...]) -> Iterator[bytes]:
    """Yield the parts of a pandas table."""
    if isinstance(value, pd.DataFrame):
        yield from _pieces([value.columns.tolist(), [str(dtype) for dtype in value.dtypes]], within)
    try:
        yield pd.util.hash_pandas_object(value).to_numpy().tobytes()
    except TypeError:  # lists and the like in its cells
        yield from _pieces([value.to_numpy().tolist(), getattr(value, "index", [])], within)


def _is_mute(value: Any) -> bool:
    """Whether an object's repr shows only its memory address."""
    own: object = type(value).__repr__
    return own is object.__repr__


def _held(value: Any) -> dict[str, Any]:
    """Return the attributes of an object, wherever it keeps them."""
    slots = [name for kind in type(value).__mro__ for name in _names(getattr(kind, "__slots__", ()))]
    return {name: getattr(value, name) for name in slots if hasattr(value, name)} | dict(getattr(value, "__dict__", {}))


def _reduced(value: Any) -> Any:
    """Return pickle's reduction of an object without attributes: a partial function, a bound method."""
    try:
        return value.__reduce_ex__(2)
    except TypeError:  # then its class is all that is known of it
        return ()


def _names(slots: str | Iterable[str]) -> list[str]:
    names = [slots] if isinstance(slots, str) else list(slots)
    return [name for name in names if not name.startswith("__")]
