"""Published methods to compare with, behind the same interface as our own.

A method is imported when it is first used, and what it needs (dice-ml, torch, highspy) when it is prepared.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from leastways.search import Preparing, register_searcher

if TYPE_CHECKING:
    from leastways.baselines.actionable_recourse import ActionableRecourse
    from leastways.baselines.dice import Dice
    from leastways.baselines.face import Face

_HOME_OF = {"ActionableRecourse": "actionable_recourse", "Dice": "dice", "Face": "face"}

__all__ = ["ActionableRecourse", "Dice", "Face"]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def _factory(name: str, **settings: str) -> Callable[[], Preparing]:
    """Return a function that makes a method with these settings, and imports it only then."""

    def make() -> Preparing:
        method: Preparing = __getattr__(name)(**settings)
        return method

    return make


register_searcher("ar", _factory("ActionableRecourse"))
register_searcher("dice", _factory("Dice"))
register_searcher("dice-random", _factory("Dice", method="random"))
register_searcher("dice-genetic", _factory("Dice", method="genetic"))
register_searcher("dice-kdtree", _factory("Dice", method="kdtree"))
register_searcher("face-knn", _factory("Face"))
register_searcher("face-eps", _factory("Face", graph="eps"))
