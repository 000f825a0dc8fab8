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

from leastways.errors import DataError, MissingExtraError
from leastways.study import Collected, Study, analyse_study, draw_result, to_markdown
from leastways.study.analyse import Difference, Share, fleiss_kappa, majority_preferred, majority_yes
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
def test_majority_is_what_a_count_says(votes: Any) -> None:
    for row, verdict_ in zip(votes.tolist(), majority_preferred(votes).tolist(), strict=True):
        leaders = [choice for choice in range(3) if row[choice] == max(row)]
        expected = -1 if sum(row) == 0 else (leaders[0] if len(leaders) == 1 else 2)
        assert verdict_ == expected


def test_a_three_way_tie_is_no_preference() -> None:
    votes = np.array([[1, 1, 1], [2, 1, 0], [0, 2, 1], [1, 1, 0], [0, 0, 1]])
    assert majority_preferred(votes).tolist() == [2, 0, 1, 2, 2]
    assert majority_yes(np.array([[2, 1], [1, 1], [0, 3], [0, 0]])).tolist() == [1, 0, 0, -1]


@given(hnp.arrays(np.int64, (12, 3), elements=st.integers(0, 2)))
def test_kappa_is_fleiss_formula(ratings: Any) -> None:
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
def test_the_test_is_mcnemars(b: int, c: int) -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    ours = Difference.of_pairs(b, c, 60).p_value
    assert ours == pytest.approx(float(tables.mcnemar([[10, b], [c, 50 - b - c]], exact=True).pvalue))


def test_figures_of_the_paper() -> None:
    """57, 25 and 18 of 100: a difference of 32 points, and the paper's 16 points to either side."""
    d = Difference.of_pairs(57, 25, 100)
    assert d.value == pytest.approx(0.32)
    assert (d.high - d.low) / 2 == pytest.approx(0.164, abs=5e-4)
    assert d.p_value == pytest.approx(5.3e-4, rel=0.01)
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "run-a-preference-study.md").read_text(encoding="utf-8")
    assert f"{100 * d.value:.0f} points ({100 * d.low:.0f} to {100 * d.high:.0f})" in page
    share = Share.of_counts(57, 100)
    assert (round(share.low, 3), round(share.high, 3)) == (0.472, 0.663)


def test_a_small_study_by_hand() -> None:
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
    assert (result.n_items, result.n_incomplete, result.n_unjudged) == (4, 0, 0)
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["preferred"]["ours"]["share"] == 0.5


def test_answers_that_are_missing() -> None:
    pytest.importorskip("statsmodels")
    whole = collected([("ours",) * 3, ("ours", "theirs", "theirs"), ("theirs",) * 3])
    a = whole.answers
    gone = (a["item"] == "i2") | ((a["item"] == "i1") & (a["annotator"] == "a1") & (a["question"] == "preferred"))
    result = analyse_study(Collected(whole.study, a[~gone], whole.problems))
    assert (result.n_incomplete, result.n_unjudged) == (2, 1)
    assert result.items["preferred"].tolist() == ["ours", "no preference", ""]
    assert result.preferred["ours"].of == 2
    assert result.items["reasonable: ours"].isna().tolist() == [False, False, True]
    page = to_markdown(result)
    assert "2 items lack some answer" in page
    assert "1 items have no vote" in page


def test_an_item_on_which_one_method_was_not_judged_compares_nothing() -> None:
    """All four items have votes on a preference and on ours; theirs was never judged on the first."""
    pytest.importorskip("statsmodels")
    whole = collected([("ours",) * 3] * 4, [("yes", "no"), ("yes", "no"), ("no", "yes"), ("no", "no")])
    a = whole.answers
    gone = (a["item"] == "i0") & (a["about"] == "theirs")
    result = analyse_study(Collected(whole.study, a[~gone], whole.problems))
    assert [(share.count, share.of) for share in result.reasonable.values()] == [(1, 3), (1, 3)]
    assert (result.reasonableness.value, result.reasonableness.p_value) == (0.0, 1.0)
    assert result.preferred["ours"].count == 4
    assert (result.n_incomplete, result.n_unjudged) == (1, 0)


def test_all_items_for_one_method_prove_no_more_than_their_number() -> None:
    pytest.importorskip("statsmodels")
    result = analyse_study(collected([("ours",) * 3] * 6))
    assert "| 100 % | 61 to 100 % |" in to_markdown(result)
    assert "+100 points (+22 to +100)" in to_markdown(result)  # 61 of 100 less the other 39


def test_all_of_one_mind() -> None:
    result = analyse_study(collected([("no preference",) * 3] * 4, [("yes", "yes")] * 4))
    assert result.preference.p_value == 1.0
    assert math.isnan(result.preference_kappa)
    assert result.to_dict()["preference_kappa"] is None
    assert "no preference between ours and theirs" in verdict(result)
    assert "| – |" in to_markdown(result)


def test_only_the_second_question() -> None:
    pytest.importorskip("statsmodels")
    whole = collected([("ours",) * 3] * 3)
    result = analyse_study(
        Collected(whole.study, whole.answers[whole.answers["question"] == "reasonable"], whole.problems)
    )
    assert math.isnan(result.preference.p_value)
    assert verdict(result) == "No item has a vote on which set is preferred."
    assert result.reasonable["ours"].share == 1.0


def test_nothing_at_all() -> None:
    whole = collected([("ours",) * 3])
    with pytest.raises(DataError, match="no usable answer"):
        analyse_study(Collected(whole.study, whole.answers[:0], whole.problems))


def test_without_statsmodels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "statsmodels.stats.inter_rater", None)
    with pytest.raises(MissingExtraError, match=r"leastways\[study\]"):
        analyse_study(collected([("ours",) * 3, ("theirs",) * 3]))


def test_verdict_names_the_better_one() -> None:
    pytest.importorskip("statsmodels")
    better = analyse_study(collected([("theirs",) * 3] * 9 + [("ours",) * 3]))
    assert verdict(better) == "theirs is preferred to ours: 90 % against 10 % of the items (p = 0.021)."


def test_pictures(tmp_path: Path) -> None:
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
