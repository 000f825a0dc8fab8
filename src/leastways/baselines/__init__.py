"""Published methods to compare with, behind the same interface as our own.

A method is imported when it is first used, and what it needs (dice-ml, torch, highspy) when it is prepared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from leastways._lazy import lazy_names
from leastways.search import Preparing, register_searcher

if TYPE_CHECKING:
    from leastways.baselines.actionable_recourse import ActionableRecourse
    from leastways.baselines.dice import Dice
    from leastways.baselines.face import Face

_HOMES = {"actionable_recourse": ("ActionableRecourse",), "dice": ("Dice",), "face": ("Face",)}

__all__ = ["ActionableRecourse", "Dice", "Face"]


__getattr__ = lazy_names(__name__, _HOMES)


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
