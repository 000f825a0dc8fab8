"""One measurement of a part: what it is called, the settings that make it, and how to make it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Result = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """A row to be made. `settings` must hold all that the result depends on: a resumed run compares them."""

    key: str
    settings: Mapping[str, Any]
    run: Callable[[], Result]
