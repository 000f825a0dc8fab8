"""What a search aims at: the expected minimum cost, or the share of cost functions that are satisfied."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import leastways as lw
from leastways.errors import SettingError
from tests.support.bank_people import chance, recourse, refused

PEOPLE = refused(8)
METHODS = ["guided", "cols", "pcols", "ls", "random"]


@pytest.mark.parametrize("n_options", [1, 3])
def test_satisfaction_objective_raises_satisfaction(n_options: int) -> None:
    """In the samples searched with, and under hidden functions: of those that decide, at least half."""
    data = lw.datasets.load_credit(n=1500)
    people = data.people[data.model(data.people) < 0.5].head(60)  # type: ignore[misc]
    plans = {}
    for aim in ("satisfaction", "emc"):
        rec = lw.Recourse(data.model, data.schema(), n_options=n_options, budget=100, n_costs=200, objective=aim)
        plans[aim] = rec.fit(data.frame).recommend(people)
    share = {aim: p.summary["satisfied"].mean() for aim, p in plans.items()}
    n = 200 * len(people)
    assert n * share["satisfaction"] >= binom.ppf(0.01, n, share["emc"])
    more = fewer = 0
    for seed in range(1000, 1010):
        truth = lw.simulate_people(people, data.schema(), data.frame, random_state=seed)
        ours, theirs = (truth.min_costs(plans[aim]) < 1.0 for aim in ("satisfaction", "emc"))
        more, fewer = more + int((ours & ~theirs).sum()), fewer + int((theirs & ~ours).sum())
    assert more >= binom.ppf(0.01, more + fewer, 0.5)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_accepts_the_satisfaction_objective(method: str) -> None:
    plans = recourse(method=method, objective="satisfaction", satisfied_below=0.4).recommend(PEOPLE)
    assert (plans.summary["n_options"] > 0).any()
    assert (chance(plans.options) >= 0.5).all()
    found = plans.summary[plans.summary["n_options"] > 0]
    best_for = plans.options.groupby("person")["best_for"].sum().reindex(found.index)
    np.testing.assert_allclose(best_for, found["covered"], atol=1e-9)


def test_satisfaction_bound_changes_the_plans() -> None:
    plans = [recourse(objective="satisfaction", satisfied_below=b, n_options=1).recommend(PEOPLE) for b in (0.1, 1.0)]
    assert not plans[0].options.equals(plans[1].options)


def test_emc_objective_ignores_the_bound() -> None:
    plans = [recourse(satisfied_below=below).recommend(PEOPLE) for below in (0.1, 1.0)]
    assert plans[0].options.equals(plans[1].options)


def test_settings_are_recorded() -> None:
    plans = recourse(objective="satisfaction", satisfied_below=np.float64(0.7)).recommend(PEOPLE)
    assert plans.settings["objective"] == "satisfaction"
    assert plans.settings["satisfied_below"] == 0.7
    assert lw.RecoursePlans.from_json(plans.to_json()) == plans
    usual = recourse().recommend(PEOPLE).settings
    assert (usual["objective"], usual["satisfied_below"]) == ("emc", 1.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"objective": "satisfactoin"},
            "one of 'emc', 'satisfaction', not 'satisfactoin'. Did you mean 'satisfaction'",
        ),
        ({"objective": None}, "objective must be one of 'emc', 'satisfaction', not None"),
        ({"objective": 1}, "objective must be one of 'emc', 'satisfaction', not 1"),
        ({"satisfied_below": -0.5}, "satisfied_below must be a number from 0 to .*, not -0.5"),
        ({"satisfied_below": float("nan")}, "satisfied_below must be a number from 0 to .*, not nan"),
        ({"satisfied_below": "1"}, "satisfied_below must be a number from 0 to .*, not '1'"),
        ({"satisfied_below": True}, "satisfied_below must be a number from 0 to .*, not True"),
    ],
)
def test_invalid_values_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        recourse(**settings)


def test_plans_by_satisfaction_can_be_certified() -> None:
    """The bound is on EMC, so it holds whatever was aimed at."""
    rec = recourse(objective="satisfaction", satisfied_below=0.4)
    certified = rec.certify(rec.recommend(PEOPLE))
    for plan in certified:
        assert plan.certificate is not None
        cost = plan.covered * plan.emc + 1.5 * (1 - plan.covered)
        assert 0 < plan.certificate.bound <= plan.certificate.objective <= cost + 1e-9
