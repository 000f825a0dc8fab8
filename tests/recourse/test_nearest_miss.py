"""Who gets nothing is told how close they came: the likeliest state asked about that they could have reached."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastways as lw

SCHEMA = lw.Schema(
    (
        lw.Feature("income", "integer", values=tuple(range(0, 101, 10)), direction="up"),
        lw.Feature("debts", "integer", values=tuple(range(0, 101, 10))),
        lw.Feature("home", "category", values=("rents", "owns")),
        lw.Feature("sex", "category", values=("F", "M"), direction="fixed"),
    )
)
TRAIN = pd.DataFrame(
    {
        "income": np.arange(0, 110, 10).repeat(2),
        "debts": np.tile(np.arange(0, 110, 10), 2),
        "home": ["rents", "owns"] * 11,
        "sex": ["F", "F", "M"] * 7 + ["M"],
    }
)
PEOPLE = pd.DataFrame(
    {"income": [20, 40, 0], "debts": [50, 0, 100], "home": ["rents", "owns", "rents"], "sex": ["F", "M", "F"]},
    index=["a", "b", "c"],
)


class Asked:
    """A model of one's own that remembers what it was asked, and accepts those with a chance of `accepts`."""

    def __init__(self, most: float) -> None:
        self.most = most
        self.seen: list[pd.DataFrame] = []

    def __call__(self, X: pd.DataFrame) -> Any:
        chance = 0.1 + (X["income"] - X["debts"] + 100) / 1000 + 0.05 * (X["home"] == "owns") + 0.3 * (X["sex"] == "M")
        chance = np.minimum(chance.to_numpy(float), self.most)
        self.seen.append(X.assign(chance=chance))
        return chance


@pytest.mark.parametrize("method", ["guided", "cols", "random", lw.COLS(proposals="paper"), "pcols"])
def test_nearest_miss_is_the_permitted_evaluated_state_of_highest_probability(method: Any) -> None:
    model = Asked(0.7)
    rec = lw.Recourse(model, SCHEMA, method, threshold=0.9, budget=60, n_costs=20, n_options=2).fit(TRAIN)
    for label in PEOPLE.index:
        model.seen.clear()
        plan = rec.recommend(PEOPLE.loc[[label]])[label]
        now = PEOPLE.loc[label]
        asked = pd.concat(model.seen)
        reachable = asked[(asked["income"] >= now["income"]) & (asked["sex"] == now["sex"])]
        assert plan.status == "none_found"
        assert plan.nearest_miss is not None
        assert plan.nearest_miss.probability == pytest.approx(reachable["chance"].max(), abs=1e-6)
        assert plan.nearest_miss.values["sex"] == now["sex"]
        assert plan.nearest_miss.values["income"] >= now["income"]
        assert {c.feature for c in plan.nearest_miss.changes} <= {"income", "debts", "home"}


def test_nearest_miss_is_independent_of_batch_and_survives_json() -> None:
    rec = lw.Recourse(Asked(0.7), SCHEMA, threshold=0.9, budget=60, n_costs=20, n_options=2).fit(TRAIN)
    together = rec.recommend(PEOPLE)
    assert together.nearest_misses["person"].tolist() == ["a", "b", "c"]
    for label in PEOPLE.index:
        assert rec.recommend(PEOPLE.loc[[label]])[label].nearest_miss == together[label].nearest_miss
    assert lw.RecoursePlans.from_json(together.to_json()) == together
    miss = together["a"].nearest_miss
    assert miss is not None
    assert f"The nearest miss: with these changes the chance is {miss.probability:.0%}." in together["a"].to_text()
    assert all(change.text in together["a"].to_text() for change in miss.changes)


def test_people_with_an_option_or_nothing_to_change_have_no_nearest_miss() -> None:
    rec = lw.Recourse(Asked(0.7), SCHEMA, threshold=0.3, budget=60, n_costs=20, n_options=2).fit(TRAIN)
    plans = rec.recommend(PEOPLE)
    served = plans.summary.index[plans.summary["n_options"] > 0]
    assert "a" in served
    assert all(plans[label].nearest_miss is None for label in served)
    assert lw.RecoursePlans.from_json(plans.to_json()) == plans
    stays = lw.Preferences(editable=["income"], ranges={"income": (20, 20)})
    strict = lw.Recourse(Asked(0.7), SCHEMA, threshold=0.9, budget=60, n_costs=20).fit(TRAIN)
    assert strict.recommend(PEOPLE.loc[["a"]], stays)["a"].nearest_miss is None
