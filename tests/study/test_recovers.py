"""The whole way, with annotators who follow their true cost functions: the better method must come out."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("statsmodels")

from leastways.study import StudyResult, analyse_study, collect_answers, create_study
from tests.support.study_answers import N_PEOPLE, answered, plans, truth


def whole_way(folder: Path, one: tuple[str, int], two: tuple[str, int], seed: int, **how: float) -> StudyResult:
    offered = {"one": plans(*one), "two": plans(*two)}
    pair = offered["one"], offered["two"]
    study = create_study(*pair, folder / "study", methods=("one", "two"), profiles=truth(), random_state=seed)
    answered(study, offered, folder / "answers", seed=seed, **how)
    collected = collect_answers(study, folder / "answers")
    assert collected.complete
    return analyse_study(collected)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_better_method_is_recovered(tmp_path: Path, seed: int) -> None:
    result = whole_way(tmp_path, ("guided", 0), ("random", 0), seed)
    assert result.preferred["one"].share > result.preferred["two"].share + 0.3
    assert result.preference.p_value < 0.01
    assert result.preference.low > 0
    assert result.reasonable["one"].share > result.reasonable["two"].share
    assert result.reasonableness.p_value < 0.01
    assert result.preference_kappa > 0.4
    assert result.chose_a.low < 0.5 < result.chose_a.high
    assert result.n_items + sum_left_out(tmp_path) == N_PEOPLE


def sum_left_out(folder: Path) -> int:
    from leastways.study import Study

    return sum(Study.read(folder / "study").left_out.values())


def test_the_order_of_methods_does_not_matter(tmp_path: Path) -> None:
    result = whole_way(tmp_path, ("random", 0), ("guided", 0), 0)
    assert result.preference.value < -0.3
    assert result.preference.p_value < 0.01


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("other", [0, 1], ids=["itself", "another seed"])
def test_method_is_not_preferred_to_itself(tmp_path: Path, seed: int, other: int) -> None:
    result = whole_way(tmp_path, ("guided", 0), ("guided", other), seed, noise=0.3)
    assert result.preference.p_value > 0.05
    assert result.reasonableness.p_value > 0.05
    assert result.preference.low < 0 < result.preference.high or result.preference.value == 0


def test_random_answers_give_no_agreement(tmp_path: Path) -> None:
    result = whole_way(tmp_path, ("guided", 0), ("random", 0), 0, noise=1.0)
    assert abs(result.preference_kappa) < 0.2
    assert result.preference.p_value > 0.05
