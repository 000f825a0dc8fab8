"""Load the public names of a room on first use, so that importing the room costs next to nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(room: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a room that imports a name from its module when it is first asked for.

    Parameters
    ----------
    room
        The room's `__name__`.
    homes
        The names that each module of the room holds: ``{"tables": ("read_table", ...)}``.

    Examples
    --------
    >>> load = lazy_names("leastways.io", {"strict": ("json_of",)})
    >>> load("json_of")("[1, 2]")
    [1, 2]

    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def load(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        value = getattr(import_module(f"{room}.{home_of[name]}"), name)
        setattr(sys.modules[room], name, value)
        return value

    return load
