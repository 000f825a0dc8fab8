"""What must hold for every searcher, on arbitrary worlds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

import leastways as lw
from leastways.costs.kernels import TIE, Tables, fill_row
from leastways.search import COLS, PCOLS, Guided, LocalSearch, RandomSearch, Searcher, run_search
from leastways.search.cols import ColsRun
from tests.support import reference_kernels as reference
from tests.support.small_worlds import check_options, evaluator_of, make_problem, make_world, seeds

SEARCHERS: list[Searcher] = [
    Guided(),
    COLS(),
    COLS(gain="paper", proposals="paper"),
    PCOLS(runs=3),
    LocalSearch(),
    LocalSearch(objective="sparsity"),
    LocalSearch(objective="proximity", proposals="paper"),
    LocalSearch(objective="diversity"),
    RandomSearch(),
    RandomSearch(proposals="paper"),
]


@pytest.mark.parametrize("searcher", SEARCHERS, ids=repr)
@settings(max_examples=12, deadline=None)
@given(seed=seeds)
def test_options_are_accepted_permitted_distinct_and_within_budget(searcher: Searcher, seed: int) -> None:
    world = make_world(seed % 1000, n=20, directions=("any", "up", "down"))
    people = world.refused()
    if people.empty:
        return
    problem, encoded = make_problem(world, people, seed=seed)
    result = run_search(searcher, problem, evaluator_of(world, encoded))
    assert (result.queries <= problem.budget).all()
    check_options(world, problem, result.chosen)


@pytest.mark.parametrize("gain", ["exact", "paper"])
@pytest.mark.parametrize("runs", [1, 3])
@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_emc_never_rises(gain: str, runs: int, seed: int) -> None:
    world = make_world(seed % 1000, n=20)
    people = world.refused()
    if people.empty:
        return
    problem, encoded = make_problem(world, people, budget=120, seed=seed)
    searcher = PCOLS(runs=runs, gain=gain)  # type: ignore[arg-type]
    run, evaluate = searcher.start(problem), evaluator_of(world, encoded)
    left = np.full(len(people), problem.budget)
    before = run.emc()
    while left.any():
        questions = run.ask(left)
        if not len(questions.people):
            break
        probability, _ = evaluate(questions)
        run.tell(questions, probability, probability >= 0.5)
        left = left - np.bincount(questions.people, minlength=len(left))
        now = run.emc()
        assert (now <= before + 1e-15).all()
        before = now
    check_books(run)


def check_books(run: ColsRun) -> None:
    """The kept costs, lowest, second and EMC are what recomputation from the members gives."""
    t, w = run.problem.samples.tables, run.walkers
    for i, p in enumerate(w.person):
        n = w.n[i]
        costs = np.array([reference.objective_costs(_filled(t, p, c), p, c) for c in w.members[i, :n]])
        costs = costs.reshape(n, t.draws.alpha.shape[1])
        np.testing.assert_allclose(w.costs[i, :n], costs, rtol=1e-12)
        assert run.emc()[i] == pytest.approx(
            reference.emc(costs, t.objective.weights[p], t.objective.uncovered_cost + TIE), abs=1e-12
        )


def _filled(t: Tables, p: int, codes: NDArray[np.int32]) -> Tables:
    for f, code in enumerate(codes):
        fill_row(t, p, f, code)
    return t


@pytest.mark.parametrize("searcher", SEARCHERS, ids=repr)
def test_options_do_not_depend_on_the_other_people(searcher: Searcher) -> None:
    world = make_world(5, n=40)
    people = world.refused()
    assert len(people) > 4
    whole, encoded = make_problem(world, people)
    together = run_search(searcher, whole, evaluator_of(world, encoded))
    for label in people.index[[0, 2, 4]]:
        place = people.index.get_loc(label)
        alone, one = make_problem(world, people.loc[[label]])
        result = run_search(searcher, alone, evaluator_of(world, one))
        assert result.queries[0] == together.queries[place]
        np.testing.assert_array_equal(result.chosen.codes[0], together.chosen.codes[place])


def test_pcols_keeps_its_best_run_and_splits_the_budget_exactly() -> None:
    world = make_world(5, n=40, rules=False)
    people = world.refused()
    problem, encoded = make_problem(world, people, budget=50)
    run, evaluate = PCOLS(runs=4).start(problem), evaluator_of(world, encoded)
    left = np.full(len(people), 50)
    asked = np.zeros(4 * len(people), int)
    for _ in range(100):
        if not left.any():
            break
        questions = run.ask(left)
        asked += np.bincount(run._asked_by, minlength=len(asked))
        probability, _ = evaluate(questions)
        run.tell(questions, probability, probability >= 0.5)
        left = left - np.bincount(questions.people, minlength=len(left))
    np.testing.assert_array_equal(asked.reshape(-1, 4), np.tile([13, 13, 12, 12], (len(people), 1)))
    best = run.emc().reshape(-1, 4).argmin(axis=1)
    for p, r in enumerate(best):
        np.testing.assert_array_equal(run.chosen().codes[p], run.walkers.members[4 * p + r])


def test_random_sets_keep_the_best_by_emc() -> None:
    world = make_world(5, n=40, rules=False)
    people = world.refused()
    problem, encoded = make_problem(world, people, budget=80)
    run, evaluate = RandomSearch().start(problem), evaluator_of(world, encoded)
    left, best = np.full(len(people), 80), np.full(len(people), -np.inf)
    for _ in range(100):
        if not left.any():
            break
        questions = run.ask(left)
        probability, _ = evaluate(questions)
        run.tell(questions, probability, probability >= 0.5)
        left = left - np.bincount(questions.people, minlength=len(left))
        assert (run.states.score >= best).all()
        best = run.states.score.copy()
    t = problem.samples.tables
    for p in range(len(people)):
        chosen = run.chosen().codes[p, : run.chosen().n[p]]
        costs = [reference.objective_costs(_filled(t, p, c), p, c) for c in chosen]
        emc = reference.emc(np.array(costs).reshape(-1, 40), t.objective.weights[p], t.objective.uncovered_cost + TIE)
        assert -best[p] == pytest.approx(emc, abs=1e-12)


@pytest.mark.parametrize("objective", ["emc", "satisfaction"])
def test_of_options_dearer_than_the_ceiling_cheaper_ones_are_still_better(objective: str) -> None:
    """Four of eight things must change, for 3 to 4 in all: each of the options is somebody's cheapest."""
    names = list("abcdefgh")
    train = pd.DataFrame({name: np.tile([0, 1], 50) for name in names})
    person = pd.DataFrame({name: [0] for name in names})
    recourse = lw.Recourse(
        lambda frame: (frame[names].to_numpy().sum(axis=1) >= 4).astype(float),
        lw.Schema.infer(train),
        n_options=10,
        budget=300,
        objective=objective,
        costs=lw.CostDistribution(alpha=1.0, noise_std=0.0),
    ).fit(train)
    plans = recourse.recommend(person, preferences=lw.Preferences(editable=names))
    assert plans.summary["n_options"].tolist() == [10]
    assert plans.summary["emc"].item() < 3.26
