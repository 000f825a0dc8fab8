"""COLS as in the paper, on its people and networks: FS@1 and Cov within 4 points of its main table, or above."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

import leastways as lw
from leastways.datasets import Dataset

# The paper's Table 1, rows COLS: FS@1, Cov.
PAPER = {"adult_binary": (72.57, 76.07), "compas_binary": (82.23, 82.23)}
# FS@1 for the hidden functions of seed 1000: without noise, as the first version of the oracle found, person by person;
# and with it. (With the noise of that first version, 0.05 apart at most, one person in each set was decided otherwise.)
ORACLE = {("adult_binary", 0.0): 86.11, ("compas_binary", 0.0): 84.11}
ORACLE |= {("adult_binary", 0.01): 86.11, ("compas_binary", 0.01): 84.11}


@pytest.mark.real_data
@pytest.mark.parametrize("noise_std", [0.0, 0.01])
@pytest.mark.parametrize("load", [lw.datasets.load_adult_binary, lw.datasets.load_compas_binary])
def test_best_possible_figures_are_the_papers(load: Callable[[], Dataset], noise_std: float) -> None:
    if not os.environ.get("LEASTWAYS_DATA"):
        pytest.skip("needs the public data: set LEASTWAYS_DATA to its folder")
    data = load()
    costs = lw.CostDistribution(noise_std=noise_std)
    truth = lw.simulate_people(data.people, data.schema(), data.frame, costs=costs, random_state=1000)
    least = lw.evaluation.oracle_people(data.model, truth, max_cost=1)
    satisfied = 100 * lw.evaluation.fraction_satisfied(least["cost"].to_numpy())
    assert satisfied == pytest.approx(ORACLE[data.name, noise_std], abs=0.01)


@pytest.mark.real_data
@pytest.mark.parametrize("load", [lw.datasets.load_adult_binary, lw.datasets.load_compas_binary])
def test_cols_reaches_the_papers_figures(load: Callable[[], Dataset]) -> None:
    if not os.environ.get("LEASTWAYS_DATA"):
        pytest.skip("needs the public data: set LEASTWAYS_DATA to its folder")
    data = load()
    method = lw.COLS(gain="paper", proposals="paper")
    rec = lw.Recourse(data.model, data.schema(), method, n_options=10, budget=5000, n_costs=1000).fit(data.frame)
    plans = rec.recommend(data.people)
    truth = lw.simulate_people(data.people, data.schema(), data.frame, random_state=1000)
    row = lw.evaluate(plans, truth).iloc[0]
    satisfied, covered = PAPER[data.name]
    assert row["people"] == len(data.people)
    assert row["FS@1"] >= satisfied - 4
    assert row["Cov"] >= covered - 4
    assert (plans.summary["queries"] == 5000).all()
