"""An audit's figures against arithmetic by hand and against the metrics; what does not change them; JSON and words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import leastways as lw
from leastways.audit import Audit, audit_plans, comparison
from leastways.audit.comparison import GroupMeasure, Resampling, with_verdicts
from leastways.audit.measures import MEASURES
from leastways.audit.statistics import holm, interval
from leastways.audit.wording import findings
from leastways.errors import DataError, SettingError
from leastways.evaluation import disparate_impact_ratio, fraction_satisfied
from leastways.plans import RecoursePlans
from tests.support.audited_plans import drawn, oracle, plans, row, some, truth

QUICK: dict[str, Any] = {"bootstraps": 60, "permutations": 60}
SIX = ["female", "female", "female", "male", "male", "male"]


def audit(*args: Any, **changes: Any) -> Audit:
    return audit_plans(*args, **(QUICK | changes))


@pytest.fixture(scope="module")
def whole() -> Audit:
    made, truths = drawn()
    best = [oracle([min(c, 0.9) for c in t.costs.values()]) for t in truths]
    return audit(made, ["sex", "age:35"], truth=truths, oracle=best)


def test_accepted_and_unusable_people_are_counted_apart() -> None:
    status = ["found", "none_exists", "already_positive", "found", "invalid_input", "partial"]
    made = plans(SIX, [1, 0, 1, 1, 1, 0.5], options=[2, 0, 0, 1, 0, 1], status=status)
    found = audit(made, "sex", min_group=1)
    women, men = (row(found.by_group, "sex", g) for g in ("female", "male"))
    assert [women[c] for c in ["people", "refused", "accepted", "unusable", "found", "none_exists"]] == [
        3,
        2,
        1,
        0,
        1,
        1,
    ]
    assert [men[c] for c in ["people", "refused", "accepted", "unusable", "found", "partial"]] == [3, 2, 0, 1, 1, 1]
    assert [women[c] for c in ["coverage", "satisfied", "cost", "options", "queries"]] == [0.5, 0.25, 0.5, 1.0, 10.0]
    assert [men[c] for c in ["coverage", "satisfied", "options"]] == [0.75, 0.375, 1.0]
    everybody = found.overall.iloc[0]
    assert everybody["coverage"] == pytest.approx((1 + 0 + 1 + 0.5) / 4)
    assert [everybody[c] for c in ["people", "refused", "accepted", "unusable"]] == [6, 4, 1, 1]
    assert found.unserved.index.tolist() == [1]
    assert list(row(found.unserved, 1).values()) == [
        "female",
        "none_exists",
        "no option exists within what this person may change",
    ]
    assert "Counted apart, in no rate: 1 whom the model accepts as they are and 1 with an unusable row." in str(found)
    assert any("shortened_list short for 1 people" in text for text in found.warnings)


def test_figures_by_hidden_costs_match_a_hand_count() -> None:
    made = plans(SIX, [0.9] * 6)
    first, second = truth([0.2, 1.0, np.inf, 0.4, 0.6, 3]), truth([0.4, np.inf, np.inf, 0.4, 0.2, np.inf])
    found = audit(made, "sex", truth=[first, second], reference={"sex": "female"}, k=0.5)
    women, men = (row(found.by_group, "sex", g) for g in ("female", "male"))
    assert women["coverage"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert men["coverage"] == pytest.approx((1 + 1 + 0.5) / 3)
    assert women["satisfied"] == pytest.approx(1 / 3)
    assert men["satisfied"] == pytest.approx((1 + 0.5) / 3)
    assert women["cost"] == pytest.approx((0.2 + 0.4 + 1.0) / 3)
    ratio = row(found.ratios, "sex", "male", "coverage")
    assert ratio["ratio"] == pytest.approx(2.5 / 1.5)
    assert ratio["reference"] == "female"
    assert some(found.ratios, ("sex", "female", "coverage"), ["ratio", "low", "high"]) == [1, 1, 1]
    assert row(found.ratios, "sex", "female", "coverage")["note"] == "reference"


def test_figures_equal_those_of_evaluation() -> None:
    credit = lw.datasets.load_credit(n=400)
    schema, model = credit.schema(), credit.model
    people = credit.people
    made = lw.Recourse(model, schema, n_options=3, budget=60, n_costs=40).fit(credit.train).recommend(people)
    hidden = lw.simulate_people(people, schema, credit.train, random_state=3)
    found = audit(made, ["sex", "group"], truth=hidden)
    judged = lw.evaluate(made, hidden).iloc[0]
    overall = found.overall.iloc[0]
    assert overall["refused"] == judged["people"]
    assert 100 * overall["satisfied"] == pytest.approx(judged["FS@1"])
    assert 100 * overall["coverage"] == pytest.approx(judged["Cov"])
    assert overall["cost"] == pytest.approx(judged["PAC"])
    per_person = lw.evaluation.evaluate_people(made, hidden)
    satisfied = per_person["satisfied"].groupby(people["sex"]).mean()
    reference = found.settings["references"]["sex"]
    for group, share in satisfied.items():
        ratio = found.ratios.loc[("sex", str(group), "satisfied"), "ratio"]
        assert ratio == pytest.approx(disparate_impact_ratio(share, satisfied[reference]))
    members = per_person[(people["sex"] == "female").reindex(per_person.index)]
    rows = found.curves[found.curves.index.map(lambda keys: keys == ("sex", "female"))]
    curve = dict(zip(rows["k"].tolist(), rows["satisfied"].tolist(), strict=True))
    for k in (0.0, 0.3, 1.0, 1.5):
        assert curve[k] == pytest.approx(fraction_satisfied(members["min_cost"].to_numpy(), k))
    changed = made.changes.merge(people["sex"], left_on="person", right_index=True)
    women = changed[(changed["sex"] == "female") & (changed["feature"] == "savings")]
    n_options = made.options["person"].isin(people.index[people["sex"] == "female"]).sum()
    asked = row(found.changes, "sex", "female", "savings")
    assert asked["options"] == pytest.approx(len(women) / n_options)
    assert "sex" not in found.changes.index.get_level_values("feature")


def test_normal_band_of_many_people_equals_the_resampled_band(monkeypatch: pytest.MonkeyPatch) -> None:
    made, truths = drawn(women=150, men=150)
    slow = audit(made, "sex", truth=truths, bootstraps=500)
    monkeypatch.setattr(comparison, "LARGE", 100)
    quick = audit(made, "sex", truth=truths, bootstraps=500)
    assert quick.curves["satisfied"].to_numpy() == pytest.approx(slow.curves["satisfied"].to_numpy())
    for end in ("low", "high"):
        assert quick.curves[end].to_numpy() == pytest.approx(slow.curves[end].to_numpy(), abs=0.025)
    assert (quick.curves["high"] - quick.curves["low"]).max() > 0.1


@pytest.mark.parametrize("people", [40, 6000])
def test_curve_at_zero_or_one_has_a_band(people: int) -> None:
    """The band equals the interval in the tables, but the share of costs below 0 is exactly 0."""
    grid = np.array([0.0, 0.2, 0.4, 1.0])
    value, low, high = comparison._with_interval(np.full((1, people), 0.3), grid, Resampling(2000, 1, 1, 0), "all")
    assert value.tolist() == [0.0, 0.0, 1.0, 1.0]
    for share, ends in ((value[1], (low[1], high[1])), (value[2], (low[2], high[2]))):
        figures = np.stack([np.full(people, share), np.ones(people)], axis=1)
        member = GroupMeasure.of(figures, True, Resampling(2000, 1, 1, 0), "table")
        assert ends == pytest.approx(interval(member.draws, share), abs=0.002)
    assert (low[0], high[0]) == (0.0, 0.0)


def test_curve_near_one_has_the_interval_of_the_tables() -> None:
    costs = np.array([[0.3] * 29 + [np.inf]])
    _, low, high = comparison._with_interval(costs, np.array([0.0, 0.4]), Resampling(2000, 1, 1, 0), "nearly")
    assert (low[1], high[1]) == pytest.approx(stats.beta.interval(0.95, 29.5, 1.5), abs=0.02)


def test_the_ends_of_a_curve_never_fall() -> None:
    """Also where nearly all are below a cost, and then all."""
    costs = np.linspace(0.2, 1.0, 100)[:, None] + np.zeros((100, 8))
    value, low, high = comparison._with_interval(costs, np.linspace(0.0, 1.18, 60), Resampling(500, 1, 1, 0), "ends")
    assert value[-1] == 1.0
    for ends in (low, high):
        assert (np.diff(ends) >= 0).all()
    assert (low <= value).all()
    assert (value <= high).all()


def test_the_ends_of_a_curve_of_very_many_people_never_fall() -> None:
    """Where one cost function of one person is below a cost, of 20 of 6,000: no more is known than where none is."""
    costs = np.full((20, 6000), 1.1)
    costs[0, 0], costs[1, 1] = 0.5, np.inf
    value, low, high = comparison._with_interval(
        costs, np.array([0.0, 0.4, 0.6, 1.0, 1.2]), Resampling(10, 1, 1, 0), "many"
    )
    assert value == pytest.approx([0, 0, 1 / 120_000, 1 / 120_000, 1 - 1 / 120_000])
    assert high[1] == high[2] == high[3] > 1e-4
    assert low[3] == 0.0
    assert (np.diff(low) >= 0).all()


def test_large_k_widens_the_steps_of_the_curve() -> None:
    found = audit(plans(SIX, [1] * 6), "sex", truth=truth([0.5] * 6), k=1e6)
    line = found.curves[found.curves.index.get_level_values("group") == "male"]
    assert len(line) <= 501
    assert line["k"].max() >= 1e6
    assert row(found.by_group, "sex", "male")["satisfied"] == 1.0


def test_change_shares_match_a_hand_count() -> None:
    found = audit(plans(SIX, [1] * 6, options=[1, 2, 0, 1, 1, 2]), "sex")
    assert some(found.changes, ("sex", "female", "age"), ["people", "options"]) == [1.0, 1.0]
    assert some(found.changes, ("sex", "female", "pay"), ["people", "options"]) == [1 / 2, 1 / 3]
    assert some(found.changes, ("sex", "male", "pay"), ["people", "options"]) == [1 / 3, 1 / 4]


def test_a_true_difference_is_found_and_no_other(whole: Audit) -> None:
    made, truths = drawn(women=200, men=220)
    found = audit(made, "sex", truth=truths, permutations=500, bootstraps=500)
    line = row(found.ratios, "sex", "female", "coverage")
    assert line["note"] == "lower"
    assert line["high"] < 0.8
    assert line["p"] == line["p_adjusted"] == pytest.approx(2 / 501)
    assert row(found.ratios, "sex", "female", "queries")["note"] == "no large difference"
    women = row(found.by_group, "sex", "female")
    assert women["coverage_low"] < women["coverage"] < women["coverage_high"]
    assert "sex, female: coverage" in "\n".join(lw.audit.Audit.to_text(found).split("\n")[4:8])
    assert (whole.ratios["p_adjusted"].dropna() >= whole.ratios["p"].dropna()).all()


def test_p_values_are_adjusted_for_all_groups_of_all_groupings() -> None:
    """The family is a measure's comparisons in the whole audit, not those of one grouping; and verdicts heed it."""
    made, truths = drawn()
    found = audit(made, ["sex", "age:35"], truth=truths, min_group=5)
    assert len(found.groupings) == 3
    for metric in MEASURES:
        rows = found.ratios[found.ratios.index.get_level_values("metric") == metric]
        p, adjusted = (rows[c].dropna().to_numpy() for c in ("p", "p_adjusted"))
        assert len(p) > 2
        assert adjusted == pytest.approx(holm(p))
        assert adjusted.min() == pytest.approx(min(1.0, len(p) * p.min()))
    tested = found.ratios["p"].notna()
    told = with_verdicts(found.ratios.assign(p=found.ratios["p"].where(~tested, 0.02)), 5)
    assert (told["p_adjusted"][tested] > 0.05).all()
    assert not told["note"].str.contains("lower|higher").any()


def test_groups_have_independent_resamples() -> None:
    """Both groups have the same figures: with shared resamples their ratio would seem certain."""
    found = audit(plans(["female", "male"] * 40, np.repeat(np.linspace(0.1, 1, 40), 2)), "sex", bootstraps=400)
    line = row(found.ratios, "sex", "male", "coverage")
    assert line["ratio"] == pytest.approx(1)
    assert line["high"] - line["low"] > 0.2


def test_curve_counts_costs_strictly_below_k() -> None:
    found = audit(plans(SIX, [1] * 6), "sex", truth=truth([0.5] * 3 + [1.0] * 3))
    for group, cost in (("female", 0.5), ("male", 1.0)):
        line = found.curves[found.curves.index.get_level_values("group") == group]
        assert line["satisfied"].tolist() == (line["k"] > cost).astype(float).tolist()
    assert row(found.by_group, "sex", "male")["satisfied"] == 0.0


@pytest.mark.parametrize(("least", "tested"), [(40, True), (41, False)])
def test_group_of_min_group_people_is_tested(least: int, tested: bool) -> None:
    found = audit(plans(["female", "male"] * 40, np.linspace(0.1, 1, 80)), "sex", min_group=least)
    line = row(found.ratios, "sex", "male", "coverage")
    assert (not np.isnan(line["p"])) == tested
    assert (line["note"] != "too few people") == tested
    assert any("fewer than 41" in text for text in found.warnings) != tested


def test_partial_searches_are_counted_once_in_the_warning() -> None:
    status = ["partial"] * 3 + ["found"] * 77
    made = plans(["female", "male"] * 40, [1.0] * 80, age=[20, 20, 40, 40] * 20, status=status)
    found = audit(made, ["sex", "age:30"])
    assert any("shortened_list short for 3 people (status partial)" in text for text in found.warnings)


def test_small_groups_are_shown_and_not_tested() -> None:
    found = audit(plans(["female"] * 5 + ["male"] * 40, [0.5] * 5 + [1.0] * 40), "sex", min_group=10)
    line = row(found.ratios, "sex", "female", "coverage")
    assert line["ratio"] == 0.5
    assert np.isnan(line["p"])
    assert line["note"] == "too few people"
    assert found.warnings[1] == "By sex: fewer than 10 refused people, too few to compare: female (5)."
    assert "No group is large enough" in found.to_text()
    assert found.to_text().count("  - too few people to compare: female.") == 1
    assert found.to_text().count("female") == 2  # there, and among the warnings


def test_small_reference_group_is_not_compared() -> None:
    made = plans(["female"] * 5 + ["male"] * 40, [0.5] * 5 + [1.0] * 40)
    found = audit(made, "sex", min_group=10, reference={"sex": "female"})
    line = row(found.ratios, "sex", "male", "coverage")
    assert (line["ratio"], line["note"]) == (2.0, "too few people")
    assert np.isnan([line["p"], line["p_adjusted"]]).all()


def test_queries_are_not_among_the_findings() -> None:
    """The rows that the search asked about may differ: the tables say so, and no sentence denies it."""
    made = plans(["female"] * 40 + ["male"] * 40, [1.0] * 80)
    made.summary["queries"] = [10 + i % 3 for i in range(40)] + [20 + i % 3 for i in range(40)]
    found = audit(made, "sex")
    assert row(found.ratios, "sex", "male", "queries")["note"] == "higher"
    text = "comparisons of what people are offered shows a difference that chance would not explain."
    assert findings(found) == [f"None of 4 {text}"]


def test_single_group_is_reported_as_such() -> None:
    extra = pd.DataFrame({"same": ["z"] * 80})
    made = plans(["female"] * 40 + ["male"] * 40, np.linspace(0.1, 1, 80))
    found = audit(made, "same", groups=extra)
    alone = "all people are in one group ('z'), so there is nothing to compare."
    assert findings(found) == [f"By same: {alone}"]
    assert f"By same (reference: z, 80 refused people)\n  - {alone}\n" in found.to_text()
    assert "large enough" not in found.to_text()
    small = audit(made, ["sex", "same"], groups=extra, min_group=50)
    assert findings(small) == [f"By same: {alone}", "No other group is large enough to be compared with another."]
    tested = audit(made, ["sex", "same"], groups=extra)
    assert f"  - {alone}\n" in tested.to_text()
    assert not any("one group" in line for line in findings(tested))


def test_refused_people_of_a_single_group_are_reported_as_such() -> None:
    status = ["already_positive"] * 3 + ["found"] * 40
    found = audit(plans(["female"] * 3 + ["male"] * 40, [1.0] * 43, options=[0] * 3 + [1] * 40, status=status), "sex")
    assert findings(found) == ["By sex: all refused people are in one group ('male'), so there is nothing to compare."]


def test_column_without_values_gives_a_warning() -> None:
    made = plans(["female", "male"] * 20, np.linspace(0.1, 1, 40))
    for nothing in ([None] * 40, [np.nan] * 40):
        found = audit(made, ["sex", "origin"], groups=pd.DataFrame({"origin": nothing}))
        told = [text for text in found.warnings if "no person has a value" in text]
        assert told == ["By origin: no person has a value in this column. If it was joined to them, check the labels."]
    partly = audit(made, "origin", groups=pd.DataFrame({"origin": ["north"] * 20 + [None] * 20}))
    assert not any("no person has a value" in text for text in partly.warnings)


def test_groups_that_are_too_small_share_a_line() -> None:
    sex, age = ["female", "male"] * 30, [20, 30, 40, 50, 60, 70] * 10
    found = audit(plans(sex, np.linspace(0.1, 1, 60), age=age), ["sex", "age:25,35,45,55,65"], min_group=25)
    lines = [line for line in found.to_text().splitlines() if line.startswith("  - too few people")]
    assert len(lines) == 2  # by age, and by both
    assert lines[0].count(",") == 4


def test_group_without_refused_people_is_listed_with_the_small_ones() -> None:
    status = ["already_positive"] * 5 + ["found"] * 40
    text = audit(plans(["female"] * 5 + ["male"] * 40, [1.0] * 45, status=status), "sex", min_group=10).to_text()
    assert "  - too few people to compare: female." in text
    assert "undefined" not in text


def test_cost_of_few_people_is_not_tested() -> None:
    """Fifty women were refused, and two of them have an option: their costs do not represent the group."""
    served = [0.0] * 48 + [1.0] * 2 + [1.0] * 60
    made = plans(["female"] * 50 + ["male"] * 60, served, emc=[np.nan] * 48 + [0.5, 0.51] + [0.5] * 60)
    found = audit(made, "sex", reference={"sex": "male"}, permutations=400)
    line = row(found.ratios, "sex", "female", "cost")
    assert (line["people"], line["reference_people"], line["note"]) == (2, 60, "too few people")
    assert np.isnan(line["p"])
    assert "By sex: cost is of fewer than 30 people, too few to compare: female (2)." in found.warnings
    coverage = row(found.ratios, "sex", "female", "coverage")
    assert (coverage["people"], coverage["note"]) == (50, "lower")


def test_wide_interval_gives_no_verdict() -> None:
    random = np.random.default_rng(0)
    found = audit(
        plans(["female", "male"] * 20, random.random(40)), "sex", reference={"sex": "male"}, min_group=5, bootstraps=500
    )
    assert row(found.ratios, "sex", "female", "coverage")["note"] == "cannot say"
    assert any(t.startswith("By sex: too few people") and "coverage of female" in t for t in found.warnings)


def test_reference_value_of_zero_leaves_the_ratio_undefined() -> None:
    found = audit(plans(["female"] * 20 + ["male"] * 25, [1.0] * 20 + [0.0] * 25), "sex", min_group=5)
    line = row(found.ratios, "sex", "female", "coverage")
    assert np.isnan(line["ratio"])
    assert line["note"] == "higher"  # the test does not need the ratio
    assert row(found.ratios, "sex", "female", "cost")["note"] == "undefined"
    assert Audit.from_json(found.to_json()) == found


def test_missing_truth_is_stated_in_the_warnings() -> None:
    made, _ = drawn()
    found = audit(made, "sex", k=0.5)
    assert found.curves.empty
    assert found.oracle is None
    assert np.isnan(found.by_group["satisfied"]).all()
    assert "no curve" in found.warnings[0]
    assert "FS@0.5 is not known" in found.warnings[1]
    assert not np.isnan(audit(made, "sex").by_group["satisfied"]).any()


def test_too_few_permutations_give_a_warning() -> None:
    made, truths = drawn()
    assert any(
        "permutations or more" in text for text in audit(made, ["sex", "age"], truth=truths, min_group=5).warnings
    )
    assert not any("permutations or more" in t for t in audit(made, "sex", truth=truths, permutations=400).warnings)


@settings(max_examples=8)
@given(order=st.permutations(range(30)), seed=st.integers(0, 5))
def test_order_and_labels_of_people_do_not_matter(order: list[int], seed: int) -> None:
    made, truths = drawn(seed, women=12, men=18)
    first = audit(made, ["sex", "age:40"], truth=truths, min_group=3, random_state=seed)
    label = [f"p{n}" for n in range(30)]
    sex, age = (made.people[c].tolist() for c in ("sex", "age"))
    moved = plans(
        [sex[i] for i in order],
        [made.summary["covered"][i] for i in order],
        age=[age[i] for i in order],
        options=[int(made.summary["n_options"][i]) for i in order],
        index=[label[i] for i in order],
    )
    renamed = [truth([t.costs[i] for i in order], moved.people.index) for t in truths]
    second = audit(moved, ["sex", "age:40"], truth=renamed, min_group=3, random_state=seed)
    for name in ("by_group", "ratios", "curves", "changes"):
        pd.testing.assert_frame_equal(getattr(first, name), getattr(second, name))


def test_other_names_of_groups_change_no_figure() -> None:
    made, truths = drawn()
    names = pd.DataFrame({"sex": made.people["sex"].map({"female": "x", "male": "a"})})
    first = audit(made, "sex", truth=truths, bootstraps=3000)
    second = audit(made, "sex", truth=truths, groups=names, bootstraps=3000)
    for one, two in (("female", "x"), ("male", "a")):
        for measure in MEASURES:
            assert row(first.by_group, "sex", one)[measure] == row(second.by_group, "sex", two)[measure]
            ends = [row(a.by_group, "sex", g)[f"{measure}_low"] for a, g in ((first, one), (second, two))]
            assert ends[0] == pytest.approx(ends[1], rel=0.1)  # other resamples of the same people


def test_the_same_seed_gives_the_same_audit(whole: Audit) -> None:
    made, truths = drawn()
    best = [oracle([min(c, 0.9) for c in t.costs.values()]) for t in truths]
    shares: list[float] = []
    again = audit(made, ["sex", "age:35"], truth=truths, oracle=best, progress=shares.append)
    assert again == whole
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    other = audit(made, ["sex", "age:35"], truth=truths, oracle=best, random_state=1)
    assert other != whole
    assert other.by_group["coverage"].equals(whole.by_group["coverage"])


def test_json_round_trip_is_equal(whole: Audit, tmp_path: Path) -> None:
    text = whole.to_json(tmp_path / "a.json")
    assert Audit.from_json(text) == whole
    assert Audit.from_json(tmp_path / "a.json") == whole
    assert Audit.from_json(str(tmp_path / "a.json")).to_text() == whole.to_text()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    plain = audit(drawn()[0], "sex")
    assert Audit.from_json(plain.to_json()) == plain


@pytest.mark.parametrize(
    "text", ["{}", "{", '{"format": "leastways audit", "version": 9}', '{"format": "leastways audit", "version": 1}']
)
def test_other_json_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the text"):
        Audit.from_json(text)
    with pytest.raises(DataError, match="no file"):
        Audit.from_json(tmp_path / "none.json")


def test_frames_have_the_documented_columns_and_dtypes(whole: Audit) -> None:
    assert list(whole.by_group.index.names) == ["grouping", "group"]
    assert list(whole.ratios.index.names) == ["grouping", "group", "metric"]
    assert {"ratio", "low", "high", "p", "p_adjusted", "note"} <= set(whole.ratios.columns)
    assert whole.groupings == ["sex", "age", "sex × age"]
    assert whole.grouping("sex").index.tolist() == ["female", "male"]
    with pytest.raises(SettingError, match=r"no grouping 'sx'.*Did you mean 'sex'"):
        whole.grouping("sx")
    with pytest.raises(AttributeError):
        whole.by_group = whole.overall  # type: ignore[misc]
    low, value, high = (whole.by_group[f"cost{end}"] for end in ("_low", "", "_high"))
    assert ((low <= value) & (value <= high)).all()
    assert (whole.curves.groupby(level=["grouping", "group"])["satisfied"].diff().dropna() >= -1e-12).all()
    assert "140 refused people" in repr(whole)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"k": -1}, "k must be a number"),
        ({"bootstraps": 0}, "bootstraps"),
        ({"permutations": 1.5}, "permutations"),
        ({"min_group": 0}, "min_group"),
        ({"random_state": -1}, "random_state"),
        ({"truth": ["x"]}, "truth must be what simulate_people returns"),
    ],
)
def test_invalid_settings_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        audit(plans(SIX, [1] * 6), "sex", **changes)


def test_a_group_of_any_name_can_be_read_from_the_table_of_the_unserved() -> None:
    served = plans(SIX, [1] * 6, options=[0] * 6, status=["none_found"] * 6)
    names = ["person", "status", "reason"]
    groups = pd.DataFrame({name: ["a", "b"] * 3 for name in names}, index=served.summary.index)
    table = audit(served, names, groups=groups).unserved.reset_index()
    assert list(table) == ["person", "person (group)", "status (group)", "reason (group)", "status", "reason"]


def test_invalid_plans_are_refused() -> None:
    wrong: Any = {"plans": 1}
    with pytest.raises(SettingError, match="must be RecoursePlans"):
        audit(wrong, "sex")
    with pytest.raises(DataError, match="none of the 6 people in the plans was refused"):
        audit(plans(SIX, [1] * 6, options=[0] * 6, status=["already_positive"] * 6), "sex")


def test_people_unknown_to_the_truth_are_refused() -> None:
    credit = lw.datasets.load_credit(n=200)
    hidden = lw.simulate_people(credit.people.head(3), credit.schema(), credit.train)
    with pytest.raises(DataError, match="different schemas"):
        audit(plans(SIX, [1] * 6), "sex", truth=hidden)
    made = lw.Recourse(credit.model, credit.schema(), n_options=2, budget=20, n_costs=10).fit(credit.train)
    all_plans: RecoursePlans = made.recommend(credit.people)
    with pytest.raises(DataError, match="the simulated people lack"):
        audit(all_plans, "sex", truth=hidden)
    moved = credit.people.assign(loan_months=96 - credit.people["loan_months"])
    with pytest.raises(DataError, match="is in another state: 'loan_months' is"):
        audit(all_plans, "sex", truth=lw.simulate_people(moved, credit.schema(), credit.train))
