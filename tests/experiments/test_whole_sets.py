"""The paper's searches with the paper's sets: always full, of anything accepted, within the budget."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from experiments.methods import WHOLE_OF, method_of
from experiments.places import chosen_people, place
from experiments.whole_sets import WholeSets, _SwapWalk

import leastways as lw

WHERE = place("credit", "logistic")
PEOPLE = chosen_people(WHERE, 4)


def plans_of(method: Any) -> lw.RecoursePlans:
    rec = lw.Recourse(WHERE.model, WHERE.schema, method, n_options=5, budget=300, n_costs=30).fit(WHERE.frame)
    return rec.recommend(PEOPLE)


@pytest.mark.parametrize("name", [*WHOLE_OF.values(), "cols-whole-released"])
def test_sets_hold_what_the_model_accepts_permitted_or_not(name: str) -> None:
    plans = plans_of(method_of(name))
    assert (plans.summary["queries"] <= 300).all()
    assert len(plans.options)
    assert (plans.options["probability"] >= 0.5).all()
    assert not plans.options.duplicated(["person", *WHERE.schema.names]).any()
    if not name.startswith("ls-emc"):  # the one objective that leaves no room for what serves nobody
        fixed = {f.name for f in WHERE.schema.features if f.direction == "fixed"}
        assert set(plans.changes["feature"]) & fixed  # what leastways itself never offers


def test_sets_are_full_where_those_of_the_paper_are() -> None:
    assert (plans_of(WholeSets("cols")).summary["n_options"] == 5).all()


class TestGains:
    """Two members, three samples; the second member holds two of the minima."""

    def walk(self) -> _SwapWalk:
        walk = _SwapWalk.__new__(_SwapWalk)
        walk.n_samples = 3
        walk.table = np.array([[1.0, 5.0, 9.0], [2.0, 3.0, 4.0]])
        return walk

    def test_only_samples_that_the_replaced_member_holds_count(self) -> None:
        gains = self.walk().gains(np.array([[0.5, 3.5, 1.0]]))
        np.testing.assert_allclose(gains, [[0.5, (3.0 - 3.5) + (4.0 - 1.0)]])
