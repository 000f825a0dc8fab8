"""A limit on time: the search stops, says so, and what it hands back is sound. Nothing here measures time."""

from __future__ import annotations

from typing import Any

import pytest

from leastways import RecoursePlans
from leastways.errors import SettingError
from leastways.search import protocol as base
from tests.support.bank_people import SCHEMA, broken, chance, recourse, refused

PEOPLE = refused(8)
METHODS = ["guided", "cols", "pcols", "ls", "random"]
REASON = "the time limit ended the search early"


def check_sound(plans: RecoursePlans) -> None:
    assert (chance(plans.options) >= 0.5).all()
    for option in plans.options.to_dict("records"):
        assert broken(SCHEMA, PEOPLE.loc[option["person"]].to_dict(), {n: option[n] for n in SCHEMA.names}) == []
    for plan in plans:
        assert plan.status == ("partial" if plan.options else "none_found")
        assert plan.reason == REASON
    assert plans.summary["queries"].sum() == plans.settings["model_rows"]
    assert RecoursePlans.from_json(plans.to_json()) == plans


@pytest.mark.parametrize("method", METHODS)
def test_zero_time_limit_gives_no_options(method: str) -> None:
    seen: list[float] = []
    plans = recourse(method=method, time_limit=0).recommend(PEOPLE, progress=seen.append)
    check_sound(plans)
    assert (plans.summary["status"] == "none_found").all()
    assert (plans.summary["queries"] == 1).all()
    assert plans.settings["time_limit"] == 0
    assert seen[-1] == 1.0


@pytest.mark.parametrize("method", METHODS)
def test_time_limit_during_a_search_keeps_results(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that moves on a second whenever it is looked at."""
    ticks = iter(range(1000))
    monkeypatch.setattr(base, "monotonic", lambda: float(next(ticks)))
    seen: list[float] = []
    plans = recourse(method=method, time_limit=2.5).recommend(PEOPLE, progress=seen.append)
    whole = recourse(method=method).recommend(PEOPLE)
    check_sound(plans)
    assert "partial" in set(plans.summary["status"])
    assert (plans.summary["queries"] > 1).all()
    assert (plans.summary["queries"] < whole.summary["queries"]).all()
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_people_already_accepted_or_stuck_are_not_cut_short() -> None:
    fixed = SCHEMA.update({name: {"direction": "fixed"} for name in SCHEMA.names})
    stuck = recourse(schema=fixed, time_limit=0).recommend(PEOPLE)
    assert set(stuck.summary["status"]) == {"none_exists"}
    fine = recourse(threshold=1e-9, time_limit=0).recommend(PEOPLE)
    assert set(fine.summary["status"]) == {"already_positive"}


@pytest.mark.parametrize("method", METHODS)
def test_sufficient_time_limit_does_not_change_plans(method: str) -> None:
    without, ample = (recourse(method=method, time_limit=t).recommend(PEOPLE) for t in (None, 1e6))
    assert ample.options.equals(without.options)
    assert ample.summary.equals(without.summary)
    assert "time_limit" not in without.settings
    assert ample.settings["time_limit"] == 1e6


@pytest.mark.parametrize("limit", [-1, -0.001, "soon", True, float("nan")])
def test_invalid_time_limits_are_refused(limit: Any) -> None:
    with pytest.raises(SettingError, match=r"time_limit must be a number from 0 to .*, not "):
        recourse(time_limit=limit)
