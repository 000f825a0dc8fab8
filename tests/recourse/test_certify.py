"""Certificates: the bound holds for whatever any search finds, and is what full enumeration gives."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from leastways.costs import Preferences
from leastways.errors import DataError, SettingError
from leastways.plans import Certificate, RecoursePlans
from leastways.recourse import Recourse
from tests.search.test_oracle import minima
from tests.support.bank_people import chance, recourse, refused
from tests.support.small_worlds import World, make_problem, make_world, seeds


def certified(world: World, people: pd.DataFrame, seed: int, method: str, told: Preferences, **limit: Any) -> Any:
    rec = Recourse(world.probability, world.schema, method, 2, 40, n_costs=5, random_state=seed).fit(world.frame)
    return rec.certify(rec.recommend(people, told), preferences=told, **limit)


@settings(max_examples=8)
@given(seeds)
def test_bound_equals_full_enumeration_and_no_search_is_below_it(seed: int) -> None:
    world = make_world(seed % 200, n=5)
    people = world.refused().head(2)
    if people.empty:
        return
    youngest = int(world.frame["age"].min())
    told = Preferences(ranges={"age": (youngest, youngest + 6)})  # small enough to try every state
    problem, encoded = make_problem(world, people, n_samples=5, seed=seed, preferences=told)
    best = np.minimum(minima(world, problem, encoded), 1.5).mean(axis=1)
    for method in ("cols", "pcols", "ls", "random", "guided"):
        plans = certified(world, people, seed, method, told)
        table = plans.certificates
        np.testing.assert_allclose(table["bound"], best, atol=1e-9)
        assert (table["solved"] == 1).all()
        assert (table["bound"] <= table["objective"]).all()
        np.testing.assert_allclose(table["gap"], table["objective"] - table["bound"], atol=1e-12)
        summary = plans.summary.loc[table.index]
        costly = summary["covered"] * summary["emc"].fillna(0) + (1 - summary["covered"]) * 1.5
        assert (table["objective"] <= costly + 1e-9).all()  # the same but for covered samples above the ceiling
        limited = certified(world, people, seed, method, told, max_queries=4).certificates
        assert (limited["queries"] <= 4).all()
        assert (limited["bound"] <= best + 1e-9).all()


def test_plans_hold_their_certificates() -> None:
    rec = recourse(method="guided")
    bare = rec.recommend(refused())
    shares: list[float] = []
    plans = rec.certify(bare, progress=shares.append)
    assert bare.certificates.empty
    assert bare["c0"].certificate is None
    assert shares[-1] == 1.0
    assert shares == sorted(shares)
    assert plans != bare
    pd.testing.assert_frame_equal(plans.summary, bare.summary)  # what it asked is not the plan's
    assert plans.settings == bare.settings
    certificate = plans["c0"].certificate
    assert isinstance(certificate, Certificate)
    assert plans.certificates.loc["c0", "queries"] == certificate.queries > 0
    assert str(certificate) in plans["c0"].to_text()
    assert str(certificate).startswith(f"No set of options could cost less than {certificate.bound:.2f} on average;")


def test_counts_may_be_short_integers() -> None:
    bare = recourse(method="guided", n_costs=40).recommend(refused(2))
    rec = recourse(method="guided", n_costs=np.int16(40))
    short = rec.certify(bare, max_queries=np.int16(32_000))  # type: ignore[arg-type]
    assert short.certificates.equals(
        recourse(method="guided", n_costs=40).certify(bare, max_queries=32_000).certificates
    )


def test_certificates_are_kept_in_files_and_older_files_are_read() -> None:
    rec = recourse(method="guided")
    bare = rec.recommend(refused(3))
    plans = rec.certify(bare)
    assert RecoursePlans.from_json(plans.to_json()) == plans
    assert "certificates" not in json.loads(bare.to_json())
    back = RecoursePlans.from_json(bare.to_json())
    assert back == bare
    assert rec.certify(back) == plans


def test_certifying_one_by_one_equals_all_together() -> None:
    rec = recourse(method="cols", n_costs=30)
    plans = rec.recommend(refused(4))
    for limit in (60, 20_000):
        together = rec.certify(plans, max_queries=limit)
        apart = plans
        for label in ["c2", "c0", "c3", "c1"]:
            apart = rec.certify(apart, people=[label], max_queries=limit)
        assert apart == together
    assert list(rec.certify(plans, people=["c3", "c1"]).certificates.index) == ["c1", "c3"]
    assert rec.certify(plans, people=[]) == plans


def test_only_refused_people_are_certified() -> None:
    people = pd.concat([refused(2), refused(1, "rich").assign(income=9000.0), refused(1, "odd").assign(job="king")])
    rec = recourse(n_options=2)
    plans = rec.certify(rec.recommend(people))
    assert list(plans.certificates.index) == ["c0", "c1"]


def test_people_without_an_option_can_be_certified() -> None:
    rec = recourse(model=lambda frame: np.zeros(len(frame)), method="random")
    plans = rec.certify(rec.recommend(refused(1)), max_queries=100)
    certificate = plans["c0"].certificate
    assert certificate is not None
    assert certificate.objective == pytest.approx(1.5)
    assert certificate.bound < 1.5
    assert "where preferences that no option serves count 1.50" in plans["c0"].to_text()


def test_certify_requires_the_arguments_of_recommend() -> None:
    told = {"c1": Preferences(editable=["income"])}
    rec = recourse()
    plans = rec.recommend(refused(3), told)
    assert len(rec.certify(plans, preferences=told).certificates) == 3
    with pytest.raises(SettingError, match=r"'c1' do not come out as in the plans\. Give the preferences"):
        rec.certify(plans)
    with pytest.raises(SettingError, match="made with random_state=0, this Recourse has 1"):
        recourse(random_state=1).certify(plans)
    with pytest.raises(SettingError, match="n_costs=40"):
        recourse(n_costs=41).certify(plans)
    with pytest.raises(SettingError, match="another schema"):
        recourse(schema=rec.schema.update(age={"direction": "fixed"})).certify(plans)
    with pytest.raises(DataError, match="the plans lack 'c9'"):
        rec.certify(plans, people=["c9"], preferences=told)
    with pytest.raises(SettingError, match="max_queries"):
        rec.certify(plans, max_queries=0)
    for one in ("c1", 3):
        with pytest.raises(SettingError, match=f"a list of labels, not {one!r}"):
            rec.certify(plans, people=one)  # type: ignore[arg-type]


def test_a_model_that_fails_leaves_a_lower_bound() -> None:
    asked = []

    def tired(frame: pd.DataFrame) -> NDArray[np.float64]:
        asked.append(len(frame))
        return np.full(len(frame), np.nan) if sum(asked) > tired_after else chance(frame)

    tired_after = 10**9
    rec = recourse(model=tired, method="guided")
    plans = rec.recommend(refused(2))
    whole = rec.certify(plans).certificates
    tired_after = sum(asked) - int(whole["queries"].sum()) // 2
    asked[:] = [tired_after - 1 - int(whole["queries"].min()) // 4]
    before = sum(asked)
    with pytest.warns(RuntimeWarning, match="the model failed on"):
        less = rec.certify(plans).certificates
    assert (less["bound"] <= whole["bound"] + 1e-12).all()
    assert (less["solved"] < whole["solved"]).any()
    assert less["queries"].sum() <= sum(asked) - before


def test_labels_may_be_booleans() -> None:
    people = refused(2).set_axis(pd.Index([True, False]), axis=0)
    rec = recourse(n_costs=10)
    assert rec.certify(rec.recommend(people), people=[True]).certificates.index.tolist() == [True]
