"""Names of search methods, and how a user registers one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leastways._messages import listed, nearest
from leastways.errors import SettingError
from leastways.search.protocol import Background, Preparing, Searcher

_REGISTRY: dict[str, Callable[[], Searcher | Preparing]] = {}


def register_searcher(name: str, factory: Callable[[], Searcher | Preparing]) -> None:
    """Make a searcher available as ``Recourse(..., method=name)``.

    Check it first with `leastways.testing.check_searcher`.
    """
    if not isinstance(name, str) or not name:
        raise SettingError(f"a searcher's name must be a text, not {name!r}.")
    if not callable(factory):
        raise SettingError(f"the searcher {name!r} must be a class or function that makes one, not {factory!r}.")
    if name in _REGISTRY and _REGISTRY[name] is not factory:
        raise SettingError(f"there is a searcher {name!r} already; choose another name.")
    _REGISTRY[name] = factory


def as_searcher(method: Any) -> Searcher | Preparing:
    """Accept a configured searcher or the name of a registered one; it may still have to be prepared."""
    if isinstance(method, str):
        if method not in _REGISTRY:
            known = sorted(_REGISTRY)
            raise SettingError(f"there is no method {method!r}; known: {listed(known, 40)}." + nearest(method, known))
        return _REGISTRY[method]()
    if isinstance(method, type) or not isinstance(method, Searcher | Preparing):
        hint = " Give an instance, such as COLS()." if isinstance(method, type) else ""
        raise SettingError(
            f"method must be a name ({listed(sorted(_REGISTRY), 40)}) or a searcher, not {method!r}.{hint}"
        )
    return method


def made_ready(method: Searcher | Preparing, background: Callable[[], Background]) -> Searcher:
    """Prepare a method that has to be; the background is made only then."""
    return method.prepare(background()) if isinstance(method, Preparing) else method
