"""The yardstick for sets of options: states against a plain search of the grid, bounds against every set there is."""

from __future__ import annotations

import os
from itertools import combinations, product

import numpy as np
import pytest
from benchmarks.best_sets.bounds import best_sets, share_served
from benchmarks.best_sets.measure import Asked, measure
from benchmarks.best_sets.states import Axis, minimal_states
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

seeds = st.integers(0, 2**32 - 1)


def some_axes(rng: np.random.Generator) -> list[Axis]:
    """An axis of numbers on both sides of the present code, one above it, and a category."""
    up, down = rng.integers(0, 3, 2)
    both = Axis(
        np.array([5, *range(6, 6 + up), *range(4, 4 - down, -1)]), np.array([0, *_steps(up), *_steps(down, up)])
    )
    return [both, Axis(np.array([0, 1, 2]), np.array([0, 0, 1])), Axis(np.array([1, 0, 2]), np.zeros(3, np.int64))]


def _steps(n: int, passed: int = 0) -> list[int]:
    return [0 if step == 0 else passed + step for step in range(n)]


def on_the_way(near: tuple[int, ...], far: tuple[int, ...], present: tuple[int, ...]) -> bool:
    """Whether a state makes some of another's changes, none larger; the last feature is a category."""
    numbers = all(min(a, s) <= n <= max(a, s) for n, a, s in zip(near[:-1], far[:-1], present[:-1], strict=True))
    return near != far and numbers and near[-1] in (far[-1], present[-1])


@given(seeds)
def test_minimal_states_have_no_smaller_accepted_change(seed: int) -> None:
    rng = np.random.default_rng(seed)
    axes = some_axes(rng)
    states = list(product(*(axis.codes.tolist() for axis in axes)))
    accepted = {state: bool(rng.random() < 0.3) for state in states}
    asked: list[tuple[int, ...]] = []

    def ask(codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        asked.extend(map(tuple, codes.tolist()))
        return np.array([accepted[tuple(c)] for c in codes.tolist()], np.bool_)

    found = set(map(tuple, minimal_states(ask, axes).tolist()))
    present = tuple(int(axis.codes[0]) for axis in axes)
    wanted = {
        state
        for state in states
        if accepted[state] and not any(accepted[near] and on_the_way(near, state, present) for near in states)
    }
    assert found == wanted
    assert len(asked) == len(set(asked)), "no state is asked about twice"


@given(seeds, st.integers(1, 4))
def test_the_best_set_is_the_best_of_all_sets(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    serves = rng.random((9, 40)) < rng.uniform(0.02, 0.4, (9, 1))
    most = max(serves[list(chosen)].any(axis=0).mean() for chosen in combinations(range(9), size))
    (best,) = best_sets(serves, [size])
    assert len(best.states) <= size
    assert share_served(serves, best.states) == pytest.approx(most)
    assert best.bound == pytest.approx(most, abs=1e-5)


def test_exchanges_of_single_states_are_not_the_end() -> None:
    """Exchanging two states for two others serves all samples; either exchange alone does not help."""
    serves = np.zeros((4, 24), np.bool_)
    serves[0, :13] = serves[1, 13:23] = True
    serves[2, ::2] = serves[3, 1::2] = True
    (best,) = best_sets(serves, [2])
    assert set(best.states.tolist()) == {2, 3}
    assert best.bound == pytest.approx(1.0)


def test_a_bound_is_reached_where_states_serve_different_samples() -> None:
    serves = np.repeat(np.eye(6, dtype=np.bool_), 5, axis=1)
    bounds = [best.bound for best in best_sets(serves, [1, 3, 6])]
    np.testing.assert_allclose(bounds, [1 / 6, 1 / 2, 1], atol=1e-5)


@pytest.mark.real_data
@pytest.mark.skipif(
    not os.environ.get("LEASTWAYS_DATA"), reason="needs the public data: set LEASTWAYS_DATA to its folder"
)
def test_guided_search_is_near_the_best_ten_and_never_above() -> None:
    rows = measure(Asked("adult_binary", samples=1000, options=(10,), noise=0.0, budget=1000), 48, 54)
    gaps = [[row["best 10, at most"] - share for name, share in row.items() if "guided" in name] for row in rows]
    assert np.min(gaps) >= -1e-6
    assert np.mean(gaps) < 0.015
    assert all(row["best 10"] <= row["best 10, at most"] <= row["all"] + 1e-6 for row in rows)
    assert all(row["best 10, at most"] - row["best 10"] < 1e-4 for row in rows)  # proven, within 60 seconds
