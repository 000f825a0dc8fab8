"""Whose gap is it: a model that is unfair by construction, a search that is, and what the oracle did not settle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastways as lw
from leastways.audit import Audit, audit_plans
from leastways.errors import DataError, SettingError
from tests.support.audited_plans import oracle, plans, row, truth

SEX = ["female"] * 40 + ["male"] * 40
OPEN = [0.5] * 40
HALF = [0.5, np.inf] * 20
QUICK: dict[str, Any] = {"bootstraps": 200, "permutations": 100}


def separated(reached: list[float], best: list[float], **changes: Any) -> Audit:
    made = plans(SEX, np.isfinite(reached).tolist())
    table = oracle(best, **changes)
    return audit_plans(made, "sex", truth=truth(reached), oracle=table, reference={"sex": "male"}, **QUICK)


def row_of(found: Audit, metric: str = "coverage") -> dict[str, Any]:
    return row(found.oracle, "sex", "female", metric)


def test_unfair_model_has_the_whole_gap() -> None:
    """No state of half of the women is accepted, so the search loses nothing against the oracle."""
    found = separated(HALF + OPEN, HALF + OPEN)
    line = row_of(found)
    assert (line["value"], line["oracle"], line["lost"], line["reached"]) == (0.5, 0.5, 0.0, 1.0)
    assert (line["gap"], line["model_gap"], line["search_gap"]) == (-0.5, -0.5, 0.0)
    assert line["model_gap_high"] < -0.3
    assert -0.1 < line["search_gap_low"] <= 0 <= line["search_gap_high"] < 0.1
    assert "coverage −50.0 points from male; the model's −50.0" in found.to_text()


def test_unfair_search_has_the_whole_gap() -> None:
    """Everybody could be accepted: what half of the women lack, the search did not find."""
    line = row_of(separated(HALF + OPEN, OPEN + OPEN))
    assert (line["oracle"], line["lost"], line["reached"]) == (1.0, 0.5, 0.5)
    assert (line["gap"], line["model_gap"], line["search_gap"]) == (-0.5, 0.0, -0.5)
    assert line["search_gap_high"] < -0.3
    assert -0.1 < line["model_gap_low"] <= 0 <= line["model_gap_high"] < 0.1


def test_oracle_counts_costs_strictly_below_k() -> None:
    line = row_of(separated([1.0] * 80, [1.0] * 80), "satisfied")
    assert (line["value"], line["oracle"], line["lost"]) == (0.0, 0.0, 0.0)


def test_parts_add_up_and_the_reference_has_no_gap() -> None:
    random = np.random.default_rng(2)
    best = np.where(random.random(80) < 0.8, random.random(80) * 1.5, np.inf)
    reached = np.where(random.random(80) < 0.8, best * 1.1, np.inf)
    found = separated(reached.tolist(), best.tolist())
    assert found.oracle is not None
    parts = found.oracle["model_gap"] + found.oracle["search_gap"]
    assert parts.to_numpy() == pytest.approx(found.oracle["gap"].to_numpy())
    rest = found.oracle["oracle"] - found.oracle["lost"]
    assert found.oracle["value"].to_numpy() == pytest.approx(rest.to_numpy())
    base = row(found.oracle, "sex", "male", "satisfied")
    assert [value for name, value in base.items() if "gap" in name] == [0.0] * 9
    assert row_of(found, "satisfied")["value"] == pytest.approx((reached[:40] < 1).mean())
    assert (found.curves["oracle"] >= found.curves["satisfied"] - 1e-12).all()


@pytest.mark.parametrize("women", [[0.5, np.inf], [0.5] * 3, [np.inf] * 3, HALF], ids=["half", "all", "none", "forty"])
@pytest.mark.parametrize("found", [True, False], ids=["all found", "all lost"])
def test_intervals_stay_within_possible_shares(women: list[float], found: bool) -> None:
    """A group's share lies between 0 and the oracle's, however small the group is."""
    reached = women if found else [np.inf] * len(women)
    sex = ["female"] * len(women) + ["male"] * 40
    made = plans(sex, np.isfinite(reached + OPEN).tolist())
    settings: dict[str, Any] = {"reference": {"sex": "male"}, "bootstraps": 2000, "permutations": 10}
    line = row_of(audit_plans(made, "sex", truth=truth(reached + OPEN), oracle=oracle(women + OPEN), **settings))
    ends = [line[f"{name}_{end}"] for name in ("gap", "model_gap", "search_gap") for end in ("low", "high")]
    assert min(ends) >= -1
    assert max(ends) <= 1
    assert line["gap_low"] <= line["gap"] <= line["gap_high"]
    most = line["oracle_high"] + 0.12  # what men, all of them served, are thought to lack at most
    assert line["search_gap_low"] >= -most


def test_small_loss_is_no_more_certain_than_none() -> None:
    """The search loses one function of one woman: it is not better known for that what it loses of women's."""
    made = plans(SEX, [1.0] * 80)
    lows = []
    for first in (0.5, np.inf):
        hidden = [truth([cost, *OPEN[1:], *OPEN]) for cost in (first, 0.5, 0.5)]
        settings: dict[str, Any] = {"reference": {"sex": "male"}, "bootstraps": 4000, "permutations": 10}
        line = row_of(audit_plans(made, "sex", truth=hidden, oracle=[oracle(OPEN + OPEN)] * 3, **settings))
        lows.append(line["search_gap_low"])
    assert lows[1] < lows[0]


def test_one_person_alone_has_no_interval() -> None:
    """The person is served under one of two cost functions, which gives no estimate of variance."""
    made = plans(["female"] + ["male"] * 40, [1.0] * 41)
    hidden, best = [truth([c, *OPEN]) for c in (0.5, np.inf)], [oracle([c, *OPEN]) for c in (0.5, np.inf)]
    line = row_of(audit_plans(made, "sex", truth=hidden, oracle=best, **QUICK))
    assert line["oracle"] == 0.5
    assert np.isnan([line["oracle_low"], line["model_gap_low"], line["gap_high"]]).all()


def test_real_model_that_refuses_women_has_a_model_gap() -> None:
    """This model accepts no state of the women; a tiny budget then affects men and women alike."""
    credit = lw.datasets.load_credit(n=400)
    schema, base = credit.schema(), credit.model
    assert base is not None

    def model(rows: pd.DataFrame) -> Any:
        return np.where(rows["sex"] == "female", np.minimum(base(rows), 0.4), base(rows))

    people = credit.people[model(credit.people) < 0.5].head(50)
    made = lw.Recourse(model, schema, n_options=3, budget=40, n_costs=30).fit(credit.train).recommend(people)
    hidden = lw.simulate_people(people, schema, credit.train, random_state=1)
    best = lw.evaluation.oracle_people(model, hidden, max_queries=300)
    found = audit_plans(made, "sex", truth=hidden, oracle=best, reference={"sex": "male"}, min_group=5, **QUICK)
    line = row_of(found)
    assert (line["value"], line["oracle"]) == (0.0, 0.0)
    assert line["model_gap_high"] < 0
    assert line["search_gap"] >= 0  # the search loses something of men's, nothing of women's: there was nothing
    assert row(found.ratios, "sex", "female", "coverage")["note"] == "lower"
    assert len(found.unserved) >= (people["sex"] == "female").sum()


def test_unsettled_oracle_counts_as_what_was_reached() -> None:
    """Unsettled people count as the search's result, with a warning."""
    status = pd.Series(["bounded"] * 40 + ["exact"] * 40, dtype="str")
    found = separated(HALF + OPEN, [np.inf] * 40 + OPEN, status=status, bound=[0.7] * 40 + OPEN)
    assert row_of(found)["lost"] == 0.0
    assert row_of(found)["unsettled"] == 0.5  # the twenty women who have no option
    assert row(found.oracle, "sex", "male", "coverage")["unsettled"] == 0.0
    assert any("before it was sure of coverage in 20 cases" in t for t in found.warnings)
    assert any("sure of FS@1 in 20 cases" in t for t in found.warnings)
    made, tables = plans(SEX, np.isfinite(HALF + OPEN)), [oracle([np.inf] * 40 + OPEN, status=status), oracle(OPEN * 2)]
    twice = audit_plans(made, "sex", truth=[truth(HALF + OPEN)] * 2, oracle=tables, reference={"sex": "male"}, **QUICK)
    assert row_of(twice)["unsettled"] == 0.25  # of the cases: people times hidden cost functions
    beyond = separated(HALF + OPEN, [np.inf] * 40 + OPEN, status=status, bound=[1.0] * 40 + OPEN)
    assert not any("FS@1 in" in t for t in beyond.warnings)  # a bound of 1 settles FS@1


def test_oracle_is_matched_by_labels() -> None:
    made, best = plans(SEX, np.isfinite(HALF + OPEN)), oracle(HALF + OPEN)
    others = oracle([0.1] * 5).set_axis(range(100, 105), axis=0)
    settings: dict[str, Any] = {"truth": truth(HALF + OPEN), "reference": {"sex": "male"}, **QUICK}
    found = audit_plans(made, "sex", oracle=best, **settings)
    assert audit_plans(made, "sex", oracle=pd.concat([others, best[::-1]]), **settings) == found


def test_mismatched_oracles_are_refused() -> None:
    made = plans(SEX, [1.0] * 80)
    with pytest.raises(SettingError, match="give the same ones as truth"):
        audit_plans(made, "sex", oracle=oracle(OPEN + OPEN))
    with pytest.raises(DataError, match=r"0, 1, 2.* cost.* less than the least"):
        separated(OPEN + OPEN, [0.6] * 80)
    with pytest.raises(DataError, match="accepts 0 as they are"):
        separated(OPEN + OPEN, OPEN + OPEN, status=["already_positive"] + ["exact"] * 79)
    with pytest.raises(SettingError, match="a table for each of the 1 truths, not 2"):
        audit_plans(made, "sex", truth=truth(OPEN + OPEN), oracle=[oracle(OPEN + OPEN)] * 2)
    with pytest.raises(DataError, match="the oracle lacks 79"):
        audit_plans(made, "sex", truth=truth(OPEN + OPEN), oracle=oracle([0.5] * 79))
    with pytest.raises(SettingError, match=r"oracle_people returns.*'bound'"):
        audit_plans(made, "sex", truth=truth(OPEN + OPEN), oracle=oracle(OPEN + OPEN).drop(columns="bound"))
