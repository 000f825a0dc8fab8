"""Majority votes, shares, agreement and tests, against other ways to compute them."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize_scalar
from scipy.stats import binomtest, multinomial, norm

from leastways.errors import DataError, MissingExtraError
from leastways.study import Collected, Study, analyse_study, draw_result, to_markdown
from leastways.study.analyse import Difference, Share, fleiss_kappa, majority_preferred, majority_yes, paired_interval
from leastways.study.show import save_plot, verdict

VOTES = hnp.arrays(np.int64, st.tuples(st.integers(1, 20), st.just(3)), elements=st.integers(0, 4))


def made_study(n_items: int, per_item: int = 3, folder: Path = Path("nowhere")) -> Study:
    items = {f"i{n}": n for n in range(n_items)}
    names = tuple(f"a{n}" for n in range(per_item))
    return Study(
        folder=folder,
        id="0123",
        methods=("ours", "theirs"),
        annotators=names,
        per_item=per_item,
        seed=0,
        people=items,
        tasks=dict.fromkeys(names, tuple(items)),
        shown_first={name: dict.fromkeys(items, "ours") for name in names},
        checksums=dict.fromkeys(names, ""),
        left_out={},
    )


def collected(choices: Sequence[tuple[str, ...]], reasonable: Sequence[tuple[str, str]] | None = None) -> Collected:
    """The answers of three annotators to each item: what they prefer; and what all of them find reasonable."""
    study = made_study(len(choices))
    rows: list[tuple[Any, ...]] = []
    for place, votes in enumerate(choices):
        for who, vote in enumerate(votes):
            side = {"ours": "A", "theirs": "B"}.get(vote, "")
            rows.append((f"a{who}", f"i{place}", place, "preferred", "", vote, side, "f"))
            for method, said in zip(study.methods, (reasonable or [("yes", "no")] * len(choices))[place], strict=True):
                rows.append((f"a{who}", f"i{place}", place, "reasonable", method, said, "A", "f"))
    columns = ["annotator", "item", "person", "question", "about", "answer", "shown_as", "file"]
    return Collected(study, pd.DataFrame(rows, columns=columns), pd.DataFrame(columns=["problem"]))


@given(votes=VOTES)
def test_majority_matches_a_count(votes: Any) -> None:
    for row, verdict_ in zip(votes.tolist(), majority_preferred(votes).tolist(), strict=True):
        leaders = [choice for choice in range(3) if row[choice] == max(row)]
        expected = -1 if sum(row) == 0 else (leaders[0] if len(leaders) == 1 else 2)
        assert verdict_ == expected


def test_a_three_way_tie_is_no_preference() -> None:
    votes = np.array([[1, 1, 1], [2, 1, 0], [0, 2, 1], [1, 1, 0], [0, 0, 1]])
    assert majority_preferred(votes).tolist() == [2, 0, 1, 2, 2]
    assert majority_yes(np.array([[2, 1], [1, 1], [0, 3], [0, 0]])).tolist() == [1, 0, 0, -1]


@given(hnp.arrays(np.int64, (12, 3), elements=st.integers(0, 2)))
def test_kappa_matches_fleiss_formula(ratings: Any) -> None:
    pytest.importorskip("statsmodels")
    votes = np.stack([(ratings == choice).sum(axis=1) for choice in range(3)], axis=1)
    share = votes.sum(axis=0) / votes.sum()
    by_chance = (share**2).sum()
    agree = ((votes * (votes - 1)).sum(axis=1) / (3 * 2)).mean()
    kappa = fleiss_kappa(votes, 3)
    if by_chance == 1:
        assert math.isnan(kappa)
    else:
        assert kappa == pytest.approx((agree - by_chance) / (1 - by_chance))


def test_kappa_leaves_out_items_that_lack_votes() -> None:
    pytest.importorskip("statsmodels")
    votes = np.array([[3, 0, 0], [0, 3, 0], [0, 0, 3], [1, 1, 0]])
    assert fleiss_kappa(votes, 3) == pytest.approx(1.0)
    assert math.isnan(fleiss_kappa(votes, 1))
    assert math.isnan(fleiss_kappa(votes, 5))


@pytest.mark.parametrize(("b", "c"), [(0, 0), (5, 1), (12, 30), (7, 7)])
def test_p_value_is_mcnemars(b: int, c: int) -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    ours = Difference.of_pairs(b, c, 60).p_value
    assert ours == pytest.approx(float(tables.mcnemar([[10, b], [c, 50 - b - c]], exact=True).pvalue))


def test_shares_of_the_paper_are_reproduced() -> None:
    """57, 25 and 18 of 100: a difference of 32 points, and the paper's 16 points to either side."""
    d = Difference.of_pairs(57, 25, 100)
    assert d.value == pytest.approx(0.32)
    assert (d.high - d.low) / 2 == pytest.approx(0.164, abs=5e-4)
    assert d.p_value == pytest.approx(5.3e-4, rel=0.01)
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "run-a-preference-study.md").read_text(encoding="utf-8")
    assert f"{100 * d.value:.0f} points ({100 * d.low:.0f} to {100 * d.high:.0f})" in page
    share = Share.of_counts(57, 100)
    assert (round(share.low, 3), round(share.high, 3)) == (0.472, 0.663)


def test_small_study_matches_a_hand_count() -> None:
    pytest.importorskip("statsmodels")
    none = "no preference"
    choices = [("ours",) * 3, ("ours", "ours", none), ("ours", "theirs", none), ("theirs", "theirs", "ours")]
    result = analyse_study(collected(choices, [("yes", "no"), ("yes", "yes"), ("no", "no"), ("yes", "no")]))
    assert {name: share.count for name, share in result.preferred.items()} == {"ours": 2, "theirs": 1, none: 1}
    assert result.preference.value == pytest.approx(0.25)
    assert result.preference.p_value == 1.0
    assert {name: share.count for name, share in result.reasonable.items()} == {"ours": 3, "theirs": 1}
    assert result.reasonableness.value == pytest.approx(0.5)
    assert result.reasonableness.low < 0.5 < result.reasonableness.high
    assert result.reasonableness.p_value == pytest.approx(0.5)
    assert result.reasonable_kappa == pytest.approx(1.0)
    assert result.items["preferred"].tolist() == ["ours", "ours", none, "theirs"]
    assert result.chose_a.count == 7
    assert result.chose_a.of == 10
    assert (result.n_items, result.n_incomplete, result.n_without_votes) == (4, 0, 0)
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["preferred"]["ours"]["share"] == 0.5


def test_missing_answers_are_counted() -> None:
    pytest.importorskip("statsmodels")
    whole = collected([("ours",) * 3, ("ours", "theirs", "theirs"), ("theirs",) * 3])
    a = whole.answers
    gone = (a["item"] == "i2") | ((a["item"] == "i1") & (a["annotator"] == "a1") & (a["question"] == "preferred"))
    result = analyse_study(Collected(whole.study, a[~gone], whole.problems))
    assert (result.n_incomplete, result.n_without_votes) == (2, 1)
    assert result.items["preferred"].tolist() == ["ours", "no preference", ""]
    assert result.preferred["ours"].of == 2
    assert result.items["reasonable: ours"].isna().tolist() == [False, False, True]
    page = to_markdown(result)
    assert "2 items lack some answer" in page
    assert "1 items have no vote" in page


def test_item_with_one_method_unrated_is_not_compared() -> None:
    """All four items have votes on a preference and on ours; theirs was never judged on the first."""
    pytest.importorskip("statsmodels")
    whole = collected([("ours",) * 3] * 4, [("yes", "no"), ("yes", "no"), ("no", "yes"), ("no", "no")])
    a = whole.answers
    gone = (a["item"] == "i0") & (a["about"] == "theirs")
    result = analyse_study(Collected(whole.study, a[~gone], whole.problems))
    assert [(share.count, share.of) for share in result.reasonable.values()] == [(1, 3), (1, 3)]
    assert (result.reasonableness.value, result.reasonableness.p_value) == (0.0, 1.0)
    assert result.preferred["ours"].count == 4
    assert (result.n_incomplete, result.n_without_votes) == (1, 0)


def test_unanimous_items_still_have_an_interval() -> None:
    pytest.importorskip("statsmodels")
    result = analyse_study(collected([("ours",) * 3] * 6))
    assert "| 100 % | 61 to 100 % |" in to_markdown(result)
    assert "+100 points (+22 to +100)" in to_markdown(result)  # 61 of 100 less the other 39


def test_unanimous_votes_leave_kappa_undefined() -> None:
    result = analyse_study(collected([("no preference",) * 3] * 4, [("yes", "yes")] * 4))
    assert result.preference.p_value == 1.0
    assert math.isnan(result.preference_kappa)
    assert result.to_dict()["preference_kappa"] is None
    assert "no preference between ours and theirs" in verdict(result)
    assert "| – |" in to_markdown(result)


def test_study_without_preference_votes_has_no_verdict() -> None:
    pytest.importorskip("statsmodels")
    whole = collected([("ours",) * 3] * 3)
    result = analyse_study(
        Collected(whole.study, whole.answers[whole.answers["question"] == "reasonable"], whole.problems)
    )
    assert math.isnan(result.preference.p_value)
    assert verdict(result) == "No item has a vote on which set is preferred."
    assert result.reasonable["ours"].share == 1.0


def test_empty_answers_are_refused() -> None:
    whole = collected([("ours",) * 3])
    with pytest.raises(DataError, match="no usable answer"):
        analyse_study(Collected(whole.study, whole.answers[:0], whole.problems))


def test_missing_statsmodels_is_a_named_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "statsmodels.stats.inter_rater", None)
    with pytest.raises(MissingExtraError, match=r"leastways\[study\]"):
        analyse_study(collected([("ours",) * 3, ("theirs",) * 3]))


def test_verdict_names_the_preferred_method() -> None:
    pytest.importorskip("statsmodels")
    better = analyse_study(collected([("theirs",) * 3] * 9 + [("ours",) * 3]))
    assert verdict(better) == "theirs is preferred to ours: 90 % against 10 % of the items (p = 0.021)."


def test_picture_shows_shares_and_is_saved(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("statsmodels")
    result = analyse_study(collected([("theirs",) * 3] * 9 + [("ours",) * 3]))
    left, right = draw_result(result).axes
    assert [tick.get_text() for tick in left.get_xticklabels()] == ["ours", "theirs", "no preference"]
    assert [bar.get_height() for bar in left.patches] == pytest.approx([10, 90, 0])
    assert [bar.get_hatch() or "" for bar in right.patches] == ["", "////"]
    png, svg = save_plot(result, tmp_path)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "theirs" in svg.read_text()
    before = svg.read_bytes()
    save_plot(result, tmp_path)
    assert svg.read_bytes() == before


COUNTS = st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60)).filter(any)


def test_paired_interval_equals_that_of_contingencytables() -> None:
    """Its Tango_asymptotic_score_CI_paired_2x2 on cavo_2012 (59, 6, 16, 80), as its own tests have it."""
    assert paired_interval(6, 16, 161, 0.95) == pytest.approx((-0.1240, -0.0054), abs=5e-5)


@pytest.mark.parametrize("n", [1, 6, 30, 1000])
def test_paired_interval_of_unanimous_items_is_wilsons(n: int) -> None:
    share = binomtest(n, n).proportion_ci(0.95, method="wilson")
    assert paired_interval(n, 0, n, 0.95) == pytest.approx((2 * share.low - 1, 1))
    assert paired_interval(0, n, n, 0.95) == pytest.approx((-1, 1 - 2 * share.low))
    nobody = binomtest(0, n).proportion_ci(0.95, method="wilson")
    assert paired_interval(0, 0, n, 0.95) == pytest.approx((-nobody.high, nobody.high))


@given(COUNTS)
def test_paired_interval_holds_the_estimate_and_has_a_width(counts: tuple[int, int, int]) -> None:
    b, c, neither = counts
    n = b + c + neither
    low, high = paired_interval(b, c, n, 0.95)
    assert -1 <= low <= (b - c) / n <= high <= 1
    assert high - low > 1 / n
    assert paired_interval(c, b, n, 0.95) == pytest.approx((-high, -low), abs=1e-9)
    inner = paired_interval(b, c, n, 0.8)
    assert low <= inner[0] <= inner[1] <= high


@pytest.mark.parametrize(("b", "c", "n"), [(5, 1, 60), (12, 30, 60), (3, 0, 10), (1, 1, 9)])
def test_paired_interval_ends_where_the_score_test_rejects(b: int, c: int, n: int) -> None:
    """The likelihood under a given difference is maximised by search here, not by a formula."""
    for end in paired_interval(b, c, n, 0.95):

        def unlikely(second: float, end: float = end) -> float:
            shares = np.array([second + end, second, 1 - 2 * second - end])
            counts = np.array([b, c, n - b - c])
            return -float((counts * np.log(np.maximum(shares, 1e-300))).sum())

        second = minimize_scalar(unlikely, bounds=(max(0.0, -end), (1 - end) / 2), options={"xatol": 1e-12}).x
        error = np.sqrt((2 * second + end - end**2) / n)
        assert abs((b - c) / n - end) / error == pytest.approx(norm.ppf(0.975), rel=1e-4)


@pytest.mark.parametrize(("n", "least"), [(5, 0.92), (10, 0.935), (30, 0.93)])
def test_paired_interval_has_nominal_coverage(n: int, least: float) -> None:
    """By the exact probability of every outcome; the normal approximation covers 18, 33 and 70 % at its worst here."""
    outcomes = np.array([(b, c, n - b - c) for b in range(n + 1) for c in range(n + 1 - b)])
    ends = np.array([paired_interval(b, c, n, 0.95) for b, c, _ in outcomes.tolist()])
    covered = []
    for first in np.arange(0.01, 1, 0.05):
        for second in np.arange(0.01, 1 - first, 0.05):
            chance = multinomial.pmf(outcomes, n, [first, second, 1 - first - second])
            true = first - second
            covered.append(chance[(ends[:, 0] - 1e-9 <= true) & (true <= ends[:, 1] + 1e-9)].sum())
    assert min(covered) > least
    assert 0.95 < np.mean(covered) < 0.975
