"""The figures that every form of the report shows."""

from __future__ import annotations

import json

import pytest

import leastways as lw
from leastways.report import Totals
from leastways.report.totals import SimulatedTotals
from tests.support.plans_with_markup import nobody, plans, truth


def test_totals_equal_those_of_the_summary() -> None:
    totals, summary = Totals.of(plans()), plans().summary
    need = summary[~summary["status"].isin(["already_positive", "invalid_input"])]
    assert totals.people == len(summary) == 40
    assert totals.in_need == len(need) > 5
    assert sum(totals.statuses.values()) == 40
    assert totals.statuses["invalid_input"] == 1
    assert totals.with_options == (summary["n_options"] > 0).sum()
    assert totals.covered == pytest.approx(need["covered"].mean())
    assert totals.satisfied == pytest.approx(need["satisfied"].mean())
    assert totals.cost == pytest.approx(need["emc"].mean())
    assert totals.queries == summary["queries"].sum()
    assert json.loads(json.dumps(totals.to_dict()))["people"] == 40


def test_totals_of_accepted_people_are_undefined() -> None:
    totals = Totals.of(nobody())
    assert totals.in_need == totals.with_options == 0
    assert totals.to_dict()["covered"] is None
    assert dict(totals.rows())["Options per person"] == "–"


def test_simulated_totals_equal_evaluate() -> None:
    judged = SimulatedTotals.of(plans(), truth())
    row = lw.evaluate(plans(), truth()).iloc[0]
    assert judged.satisfied == pytest.approx(row["FS@1"] / 100)
    assert judged.covered == pytest.approx(row["Cov"] / 100)
    assert judged.to_dict()["PAC"] == pytest.approx(row["PAC"])
    assert all("imulated" in what or ":" in what for what, _ in judged.rows())
    assert SimulatedTotals.of(nobody(), truth()).to_dict() == {"people": 0, "FS@1": None, "Cov": None, "PAC": None}
