"""The parts of guided search: regression, knapsack, choice from a pool, and what it never asks."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import leastways as lw
from leastways.costs import CostDistribution
from leastways.costs.kernels import TIE, Tables, objective_costs, reachable, top_of
from leastways.search.guided import knapsack_kernels as parts
from leastways.search.guided.closing_kernels import smallest_changes
from leastways.search.guided.knapsack_kernels import COARSE, Items, knapsack, list_best, list_items, mean_costs
from leastways.search.guided.surrogate_kernels import effect_of, solve
from leastways.search.kernels import choose_from_pool
from tests.support import reference_kernels as reference
from tests.support.small_worlds import evaluator_of, make_problem, make_world, seeds

TOP = 1.5


@given(st.integers(0, 2**32))
def test_ridge_regression_equals_numpys(seed: int) -> None:
    draw = np.random.default_rng(seed)
    D = int(draw.integers(1, 9))
    x, y = draw.normal(size=(12, D)), draw.normal(size=12)
    out = np.empty(D)
    x[:, draw.random(D) < 0.2] = 0.0  # no answer touched these
    solve(x.T @ x, x.T @ y, np.zeros((D, D)), np.empty(D, np.int64), out)
    np.testing.assert_allclose(out, np.linalg.solve(x.T @ x + 0.02 * np.eye(D), x.T @ y), atol=1e-9)


@given(st.integers(0, 2**32))
def test_the_choice_from_a_pool_is_near_the_best_and_no_swap_helps(seed: int) -> None:
    draw = np.random.default_rng(seed)
    A, M, N = int(draw.integers(1, 9)), int(draw.integers(1, 12)), int(draw.integers(1, 4))
    costs = np.minimum(draw.integers(0, 20, (A, M)) / 10, TOP)
    weights = np.full(M, 1 / M)
    chosen = choose_from_pool(costs, weights, N, TOP, True)
    assert len(set(chosen.tolist())) == len(chosen) <= N
    ours = reference.emc(costs[chosen], weights, TOP)
    sets = [list(c) for n in range(min(N, A) + 1) for c in combinations(range(A), n)]
    best = min(reference.emc(costs[c], weights, TOP) for c in sets)
    assert TOP - ours >= (1 - 1 / math.e) * (TOP - best) - 1e-9
    for place in range(len(chosen)):
        for other in set(range(A)) - set(chosen.tolist()):
            assert reference.swap_gain(costs[chosen], place, costs[other], weights, TOP) <= 1e-9


def asks_no_more(t: Tables, p: int, one: NDArray[np.int32], other: NDArray[np.int32]) -> bool:
    """Whether one state changes nothing that the other does not change as much, by the definition."""
    return all(
        a in (b, s)
        or (t.space.ordered[f] and np.isnan(t.draws.given[p, t.space.offsets[f]]) and (s < a < b or b < a < s))
        for f, (s, a, b) in enumerate(zip(t.space.start[p], one, other, strict=True))
    )


@settings(max_examples=20)
@given(seeds)
def test_dominated_states_are_left_out(seed: int) -> None:
    world = make_world(seed % 100, n=6)
    people = world.frame.head(3)
    told = (
        lw.Preferences(costs={"age": {age: 0.5 / (1 + abs(age - 30)) for age in range(19, 40)}}) if seed % 2 else None
    )
    problem, _ = make_problem(world, people, n_samples=3, preferences=told)
    t = problem.samples.tables
    draw = np.random.default_rng(seed)
    for p in range(len(people)):
        near = draw.integers(0, t.space.used[p], (60, t.space.start.shape[1]))
        states = np.unique(np.where(draw.random(near.shape) < 0.6, t.space.start[p], near).astype(np.int32), axis=0)
        draw.shuffle(states)
        kept = smallest_changes(t, p, states)
        wanted = [
            i
            for i, state in enumerate(states)
            if not any(asks_no_more(t, p, other, state) for j, other in enumerate(states) if j != i)
        ]
        assert kept.tolist() == wanted


def test_no_option_dominates_another() -> None:
    """On a fine grid, noise makes many larger changes cheaper under some cost samples."""
    draw = np.random.default_rng(0)
    frame = pd.DataFrame({"income": draw.integers(0, 400, 500), "savings": draw.integers(0, 400, 500)})
    rec = lw.Recourse(lambda f: (f["income"] + f["savings"] > 500).to_numpy(float), lw.Schema.infer(frame), n_costs=200)
    plans = rec.fit(frame).recommend(frame[frame.sum(axis=1) <= 500].head(20))
    assert (plans.summary["n_options"] > 1).any()
    for _, options in plans.options.groupby("person"):
        wide = options[["income", "savings"]].to_numpy()
        smaller = (wide[:, None] <= wide[None]).all(axis=2)  # more is never refused, so nobody lowers anything
        assert smaller.sum() == len(wide)  # each only as large as itself


def satisfied_share(costs: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """The share of samples that some member [n, M] serves below the step of a scale with slope 0.01 and step 1."""
    return float(weights[(costs < 1).any(axis=0)].sum())


@given(st.integers(0, 2**32))
def test_a_choice_by_satisfaction_serves_as_many_as_the_pool_where_all_fit(seed: int) -> None:
    """And adding an option never raises the objective; of two sets, the one that satisfies more has the lower."""
    draw = np.random.default_rng(seed)
    A, M = int(draw.integers(1, 9)), int(draw.integers(1, 40))
    raw = np.where(draw.random((A, M)) < 0.2, np.inf, draw.integers(0, 20, (A, M)) / 10)
    costs = np.array([reference.scaled(row, TOP, 0.01, 1.0, 1.0) for row in raw])
    weights, top = np.full(M, 1 / M), 0.01 * (TOP + TIE) + 1.0
    chosen = choose_from_pool(costs, weights, A, top, True)
    assert satisfied_share(costs[chosen], weights) == satisfied_share(costs, weights)
    values = [reference.emc(costs[:n], weights, top) for n in range(A + 1)]
    assert (np.diff(values) <= 0).all()
    a, b = (costs[draw.random(A) < share] for share in (0.3, 0.7))
    if satisfied_share(a, weights) > satisfied_share(b, weights) + 1e-9:
        assert reference.emc(a, weights, top) < reference.emc(b, weights, top)


@settings(max_examples=10)
@given(seeds)
def test_rough_costs_are_the_costs_without_noise(seed: int) -> None:
    world = make_world(seed % 100, n=8)
    problem, _ = make_problem(world, world.frame, n_samples=30, distribution=CostDistribution(noise_std=0))
    t, draw = problem.samples.tables, np.random.default_rng(seed)
    rough, exact = np.empty(20), np.empty(30)
    for p in range(8):
        codes = np.where(draw.random(6) < 0.5, draw.integers(0, t.space.used[p]), t.space.start[p]).astype(np.int32)
        if reachable(t, p, codes):
            first = int(draw.integers(0, 11))
            mean_costs(t, p, codes, first, rough)
            objective_costs(t, p, codes, exact)
            np.testing.assert_allclose(rough, exact[first : first + 20], atol=8 * TIE)


@settings(max_examples=15)
@given(seeds)
def test_knapsack_cost_is_feasible_and_not_below_the_optimum(seed: int) -> None:
    world = make_world(seed % 100, n=8, rules=False)
    problem, _ = make_problem(world, world.frame, n_samples=10, distribution=CostDistribution(noise_std=0))
    t, draw = problem.samples.tables, np.random.default_rng(seed)
    p, m = seed % 8, seed % 10
    F = t.space.start.shape[1]
    effect = np.asarray(draw.normal(size=t.space.allowed.shape[1]))
    effect[t.space.offsets[:-1] + t.space.start[p]] = 0.0
    items = Items.room(F, len(effect))
    list_items(t, p, effect, items)
    list_best(t, p, effect, items)
    out = np.empty(F, np.int32)
    open_to = [f for f in range(F) if t.space.n_choices[p, f] > 1 and not np.isnan(t.draws.scores[p, f, m])]
    most = sum(
        max(
            0.0,
            *(
                effect[t.space.offsets[f] + j]
                for j in t.space.choices[p, t.space.offsets[f] :][: t.space.n_choices[p, f]]
            ),
        )
        for f in open_to
    )
    need = float(draw.uniform(0.1, 1.2)) * max(most, 0.1)
    if knapsack(t, p, effect, m, need, items, out):
        assert effect_of(t, p, effect, out) >= need - 1e-9
        assert reachable(t, p, out)
        assert all(out[f] == t.space.start[p, f] for f in range(F) if f not in open_to)
    else:
        assert need > most - 1e-9 or max(t.space.n_choices[p]) > COARSE


@settings(max_examples=25)
@given(seeds, st.floats(-2.5, 2.5))
def test_corners_give_the_best_move_of_each_feature_at_any_price(seed: int, exponent: float) -> None:
    """The hull's corners against a look at every move; and what lies between against a walk."""
    world = make_world(seed % 100, n=8, rules=False)
    problem, _ = make_problem(world, world.frame, n_samples=10)
    t, draw = problem.samples.tables, np.random.default_rng(seed)
    p, m, price = seed % 8, seed % 10, 10.0**exponent
    F = t.space.start.shape[1]
    effect = np.round(draw.normal(size=t.space.allowed.shape[1]), int(draw.integers(0, 3)))  # equal ones too
    items = Items.room(F, len(effect))
    list_items(t, p, effect, items)
    list_best(t, p, effect, items)
    parts._find_corners(t, p, m, items)
    out = np.empty(F, np.int32)
    total = parts._take_moves(t.space.start[p], price, items, out)
    n = items.corner_first[F]
    assert parts._effect_at(price, items.slope[:n], items.rise[:n]) == pytest.approx(total)
    for f in range(F):
        listed = items.code[items.first[f] : items.first[f + 1]]
        values = [0.0] + [price * effect[t.space.offsets[f] + j] - parts._mean_cost(t, p, f, j, m) for j in listed]
        if np.isnan(t.draws.scores[p, f, m]):
            values = [0.0]
        chosen = 0.0
        if out[f] != t.space.start[p, f]:
            chosen = price * effect[t.space.offsets[f] + out[f]] - parts._mean_cost(t, p, f, out[f], m)
        assert chosen == pytest.approx(max(values), abs=1e-9 * max(1.0, price))
        v, own = t.space.offsets[f], t.space.start[p, f]
        codes, least = t.space.choices[p, v : v + t.space.n_choices[p, f]], float(draw.normal())
        enough = [k for k, j in enumerate(codes) if effect[v + j] >= least]
        best_to, below = items.best_to[v : v + len(codes)], items.n_below[f]
        assert parts._nearest_below(best_to, below, least) == max((k for k in enough if codes[k] < own), default=-1)
        assert parts._nearest_above(best_to, below, least) == min((k for k in enough if codes[k] > own), default=-1)


def test_no_state_is_evaluated_twice_or_without_possible_gain() -> None:
    world = make_world(5, n=40)
    people = world.refused()
    problem, encoded = make_problem(world, people, budget=120)
    run, evaluate = lw.Guided().start(problem), evaluator_of(world, encoded)
    t = problem.samples.tables
    left, rough = np.full(len(people), 120), np.empty(40)
    for _ in range(60):
        questions = run.ask(left)
        if not len(questions.people):
            break
        for p, codes in zip(questions.people, questions.codes, strict=True):
            mean_costs(t, p, codes, 0, rough)
            assert (rough < run.archive.lowest[p]).any()
        probability, _ = evaluate(questions)
        run.tell(questions, probability, probability >= 0.5)
        left = left - np.bincount(questions.people, minlength=len(left))
    for p in range(len(people)):
        asked = run.archive.asked[p, : run.archive.n_asked[p]]
        assert len(np.unique(asked, axis=0)) == len(asked)
        assert not (asked == t.space.start[p]).all(axis=1).any()


@pytest.mark.parametrize("served", [slice(0, 512), slice(256, 600), slice(100, 600), slice(0, 590)])
def test_every_sample_gets_its_turn(served: slice) -> None:
    """A round looks at a window of the samples, but never stops before all of them were looked at."""
    world = make_world(5, n=40)
    people = world.refused()
    problem, encoded = make_problem(world, people, budget=60, n_samples=600)
    run, evaluate = lw.Guided().start(problem), evaluator_of(world, encoded)
    left = np.full(len(people), 60)
    for _ in range(2):
        questions = run.ask(left)
        probability, _ = evaluate(questions)
        run.tell(questions, probability, probability >= 0.5)
        left -= np.bincount(questions.people, minlength=len(left))
    run.archive.lowest[:] = top_of(problem.samples.tables)
    run.archive.lowest[:, served] = 0.0
    assert len(set(run.ask(left).people)) > 0.8 * len(people), "few people have nothing left to ask about"


def test_one_person_takes_at_most_twelve_rounds() -> None:
    """One call for the present state, twelve rounds, and one more for an earlier plan."""
    data = lw.datasets.load_credit(n=1500)
    people = data.people[data.model(data.people) < 0.5].head(30)  # type: ignore[misc]
    rec = lw.Recourse(data.model, data.schema(), n_costs=100).fit(data.frame)
    assert rec.budget == 200
    spent, calls = [], []
    for label in people.index:
        plans = rec.recommend(people.loc[[label]])
        again = rec.recommend(people.loc[[label]], warm_start=plans)
        assert plans.settings["model_calls"] <= 13
        assert again.settings["model_calls"] <= 14
        calls.append(plans.settings["model_calls"])
        spent.append(plans.summary["queries"].iloc[0])
    assert max(calls) == 13
    assert np.median(spent) > 150, "few rounds must not mean that the budget is left unused"


@pytest.mark.parametrize("budget", [60, 200])
def test_guided_beats_cols_at_the_same_budget(budget: int) -> None:
    data = lw.datasets.load_credit(n=1500)
    people = data.people[data.model(data.people) < 0.5].head(60)  # type: ignore[misc]
    emc = {}
    for method in (lw.Guided(), lw.COLS()):
        rec = lw.Recourse(data.model, data.schema(), method, n_options=5, budget=budget, n_costs=200).fit(data.frame)
        summary = rec.recommend(people).summary
        served = summary["covered"] * summary["emc"].fillna(0)
        emc[type(method).__name__] = float((served + 1.5 * (1 - summary["covered"])).mean())
    assert emc["Guided"] < emc["COLS"]
