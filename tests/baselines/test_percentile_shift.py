from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from leastways._random import keys_of_rows
from leastways.baselines.actionable_recourse import TAIL, PercentileShift
from leastways.costs import CostDistribution, CostModel
from leastways.schema import Schema

FRAME = pd.DataFrame(
    {
        "years": [1, 2, 2, 3, 4, 4, 4, 5],
        "flag": [0, 0, 0, 0, 0, 0, 1, 1],
        "kind": ["x", "x", "x", "y", "y", "z", "z", "z"],
        "pair": ["no", "no", "no", "no", "no", "no", "yes", "yes"],
        "amount": [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0],
    }
)


def shifts(quantile: Literal["cdf", "mid"], row: dict[str, Any] | None = None) -> dict[str, NDArray[np.float64]]:
    """Return the shifts of one person's moves, by feature."""
    schema = Schema.infer(FRAME)
    person = schema.encode(FRAME.iloc[[1]].assign(**(row or {})))
    model = CostModel.fit(schema, CostDistribution(), FRAME)
    t = model.sample(person, keys_of_rows(person.content(), 0), 2, [None]).tables
    cost = PercentileShift.fit(schema, schema.encode(FRAME), quantile).of(t)[0]
    return {
        name: cost[t.space.offsets[f] : t.space.offsets[f] + t.space.used[0, f]] for f, name in enumerate(schema.names)
    }


def test_the_published_shift() -> None:
    got = shifts("cdf")  # from years 2, of which 3 of 8 rows are at or below
    beyond = np.array([7, 5, 4, 1, 8 * TAIL]) / 8
    assert got["years"] == pytest.approx(np.abs(np.log(beyond / (5 / 8))))
    assert got["flag"] == pytest.approx([0.0, np.log(0.25 / TAIL)])


def test_the_mid_rank_stays_finite() -> None:
    got = shifts("mid")
    beyond = 1 - np.array([0.5, 2, 3.5, 5.5, 7.5]) / 8
    assert got["years"] == pytest.approx(np.abs(np.log(beyond / beyond[1])))
    assert got["flag"] == pytest.approx([0.0, np.log((1 + 0.25) / 0.25)])


@pytest.mark.parametrize("quantile", ["cdf", "mid"])
def test_two_categories_cost_what_a_binary_number_costs(quantile: Literal["cdf", "mid"]) -> None:
    for row in ({"flag": 0, "pair": "no"}, {"flag": 1, "pair": "yes"}):
        got = shifts(quantile, row)
        assert got["pair"] == pytest.approx(got["flag"])


def test_more_categories_go_by_pairs() -> None:
    got = shifts("mid", {"kind": "y"})  # 3 x, 2 y, 3 z
    assert got["kind"] == pytest.approx([np.log((1 + 2 / 5) / (2 / 5)), 0.0, np.log((1 + 3 / 5) / (3 / 5))])


def test_a_value_between_grid_points_has_its_own_rank() -> None:
    schema = Schema.infer(FRAME)
    got = shifts("cdf", {"amount": 1.2})["amount"]
    grid = np.insert(schema.by_name["amount"].array, 2, 1.2)
    beyond = np.maximum(1 - np.searchsorted(np.sort(FRAME["amount"]), grid, side="right") / 8, TAIL)
    assert got == pytest.approx(np.abs(np.log(beyond / beyond[2])))
