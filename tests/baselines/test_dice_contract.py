"""DICE behind the seam: the contract of searchers, for all four methods."""

from __future__ import annotations

from typing import Any

import pytest

from leastways.baselines import Dice
from leastways.testing import SEARCHER_CHECKS

pytest.importorskip("dice_ml")
pytest.importorskip("torch")


@pytest.mark.parametrize("check", SEARCHER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("method", ["gradient", "random", "genetic", "kdtree"])
def test_dice_keeps_the_contract(method: Any, check: Any) -> None:
    check(Dice(method), 3, method == "gradient")
