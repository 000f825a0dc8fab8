"""Rows of the cost tables are dropped and made again where room is short: no figure and no search may tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from leastways.costs import Preferences
from leastways.costs.kernels import Tables, charged, fill_row, may_gain, objective_costs
from leastways.search import COLS, Guided, Problem, Searcher, run_search
from leastways.search.guided.knapsack_kernels import mean_costs
from tests.support.small_worlds import evaluator_of, make_problem, make_world, seeds

SATISFACTION = {"slope": 0.01, "step": 1.0, "step_at": 0.3}


def with_rows(t: Tables, rows: int) -> Tables:
    """The same tables, none of their rows made, and room for so many."""
    cache = t.cache._replace(
        cells=np.full((rows, t.draws.alpha.shape[1]), np.nan),
        place=np.full(t.cache.place.shape, -1, np.int32),
        n_rows=np.zeros(1, np.int64),
    )
    return t._replace(cache=cache)


def states(t: Tables, draw: np.random.Generator, n: int) -> list[tuple[int, NDArray[np.int32]]]:
    """Random people, and random states of theirs: from one change to all."""
    out = []
    for p in draw.integers(0, len(t.space.start), n):
        changed = draw.random(t.space.start.shape[1]) < draw.random()
        out.append((int(p), np.where(changed, draw.integers(0, t.space.used[p]), t.space.start[p]).astype(np.int32)))
    return out


@pytest.mark.parametrize("objective", [{}, SATISFACTION], ids=["emc", "satisfaction"])
@settings(max_examples=20)
@given(seed=seeds, extra=st.integers(0, 6))
def test_figures_do_not_depend_on_the_cache_size(objective: dict[str, float], seed: int, extra: int) -> None:
    world = make_world(seed % 100, n=10)
    table = {"job": {"a": 0.1, "b": 0.2, "c": 0.3}} if seed % 2 else {}
    problem, _ = make_problem(world, world.frame, n_samples=20, preferences=Preferences(costs=table))
    tables = problem.samples.tables
    wide = tables._replace(objective=tables.objective._replace(**objective))  # type: ignore[arg-type]
    narrow = with_rows(wide, wide.space.start.shape[1] + extra)
    draw = np.random.default_rng(seed)
    ours, theirs = np.empty(20), np.empty(20)
    for p, codes in states(wide, draw, 60):
        lowest = draw.uniform(0, 2, 20)
        for figure in (objective_costs, charged):
            figure(narrow, p, codes, ours)
            figure(wide, p, codes, theirs)
            np.testing.assert_array_equal(ours, theirs)
        for room, out in ((narrow, ours), (wide, theirs)):
            mean_costs(room, p, codes, 5, out[5:])
        np.testing.assert_array_equal(ours[5:], theirs[5:])
        assert may_gain(narrow, p, codes, lowest) == may_gain(wide, p, codes, lowest)
    assert narrow.cache.n_rows[0] <= len(narrow.cache.cells) < wide.cache.n_rows[0], (
        "the test must have run out of room"
    )


@settings(max_examples=20)
@given(seeds)
def test_no_two_rows_share_a_slot(seed: int) -> None:
    world = make_world(seed % 100, n=6)
    problem, _ = make_problem(world, world.frame, n_samples=5)
    t = with_rows(problem.samples.tables, 8)
    draw = np.random.default_rng(seed)
    for p, codes in states(t, draw, 30):
        f = int(draw.integers(len(codes)))
        fill_row(t, p, f, int(codes[f]))
        taken = t.cache.place[t.cache.place >= 0]
        assert len(np.unique(taken)) == len(taken) == t.cache.n_rows[0] <= 8
        assert t.cache.place[p, t.space.offsets[f] + codes[f]] >= 0


@pytest.mark.parametrize("searcher", [COLS(), COLS(gain="paper", proposals="paper"), Guided()], ids=repr)
@settings(max_examples=6)
@given(seed=seeds, extra=st.integers(0, 6))
def test_searches_do_not_depend_on_the_cache_size(searcher: Searcher, seed: int, extra: int) -> None:
    world = make_world(seed % 1000, n=20)
    people = world.refused()
    if people.empty:
        return
    problem, encoded = make_problem(world, people, seed=seed)
    t = with_rows(problem.samples.tables, problem.samples.tables.space.start.shape[1] + extra)
    narrow: Problem = replace(problem, samples=replace(problem.samples, tables=t))
    ours, theirs = (run_search(searcher, x, evaluator_of(world, encoded)) for x in (narrow, problem))
    np.testing.assert_array_equal(ours.queries, theirs.queries)
    for a, b in zip(ours.chosen, theirs.chosen, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("objective", [{}, SATISFACTION], ids=["emc", "satisfaction"])
@settings(max_examples=30)
@given(seed=seeds)
def test_states_may_gain_if_they_lower_some_sample(objective: dict[str, float], seed: int) -> None:
    """The check is exact up to four changes; beyond, it has false positives but no false negatives."""
    world = make_world(seed % 100, n=10)
    problem, _ = make_problem(world, world.frame, n_samples=3)  # few: a yes must not be a matter of course
    tables = problem.samples.tables
    t = tables._replace(objective=tables.objective._replace(**objective))  # type: ignore[arg-type]
    draw = np.random.default_rng(seed)
    costs = np.empty(3)
    for p, codes in states(t, draw, 40):
        objective_costs(t, p, codes, costs)
        for lowest in (costs.copy(), costs + draw.choice([-1e-9, 0.0, 1e-9], 3), draw.uniform(0, 1.5, 3)):
            lowers = bool((costs < lowest).any())
            if (codes != t.space.start[p]).sum() <= 4:
                assert may_gain(t, p, codes, lowest) == lowers
            else:
                assert may_gain(t, p, codes, lowest) or not lowers
