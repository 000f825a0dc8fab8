"""FACE's graph and its shortest paths against a slow, plain twin."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from leastways.baselines.face import PointGraph, build_graph, grid_codes
from leastways.schema import Schema
from tests.baselines import face_twin
from tests.worlds import World, make_world, seeds


def graph_of(world: World, kind: str, neighbors: int, radius: float | None, max_points: int = 1000) -> PointGraph:
    return build_graph(world.schema, world.schema.encode(world.frame), kind, neighbors, radius, max_points, 0)


def reals(seed: int, n: int = 25) -> World:
    """A world without ties: two directed reals, one free, and a group that no one leaves."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame({name: draw.normal(size=n) for name in "abc"} | {"group": draw.choice(["x", "y"], n)})
    frame.loc[:1, "group"] = ["x", "y"]
    schema = Schema.infer(frame).update(a={"direction": "up"}, b={"direction": "down"}, group={"direction": "fixed"})
    return World(frame, schema, np.ones(4), 0.0)


def newcomer(world: World, seed: int) -> pd.DataFrame:
    """Someone between the training rows."""
    draw = np.random.default_rng(seed)
    one = world.frame.iloc[[int(draw.integers(len(world.frame)))]].copy()
    for feature in world.schema.features:
        if feature.kind == "real" and draw.random() < 0.7:
            one[feature.name] = draw.uniform(feature.values[0], feature.values[-1])
    return one


def check_against_twin(world: World, kind: str, neighbors: int, radius: float | None, seed: int) -> None:
    graph, one = graph_of(world, kind, neighbors, radius), newcomer(world, seed)
    costs, _ = graph.walk(graph.attach(grid_codes(world.schema, world.schema.encode(one))))
    expected = face_twin.path_costs(world.schema, world.frame, one, kind, neighbors, radius)
    reached = {tuple(map(int, c)): float(d) for c, d in zip(graph.codes, costs[0], strict=True) if np.isfinite(d)}
    assert reached.keys() == expected.keys()
    for point, cost in expected.items():
        assert reached[point] == pytest.approx(cost, rel=1e-6, abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(seed=seeds)
def test_paths_in_a_knn_graph_are_the_shortest(seed: int) -> None:
    check_against_twin(reals(seed % 5000), "knn", 1 + seed % 9, None, seed)


@settings(max_examples=25, deadline=None)
@given(seed=seeds)
def test_paths_in_an_eps_graph_are_the_shortest(seed: int) -> None:
    world = make_world(seed % 5000, n=20, directions=("any", "up", "down"))
    check_against_twin(world, "eps", 6, [None, 0.4, 1.2, 3.0][seed % 4], seed)


@pytest.mark.parametrize("kind", ["knn", "eps"])
def test_every_step_of_every_path_may_be_walked_and_costs_add_up(kind: str) -> None:
    world = make_world(4, n=150, directions=("any", "up", "down"))
    graph = graph_of(world, kind, 8, None)
    people = grid_codes(world.schema, world.schema.encode(world.frame.head(30)))
    attached = graph.attach(people)
    costs, before = graph.walk(attached)
    walked = 0
    for p in range(len(people)):
        for point in np.flatnonzero(np.isfinite(costs[p])):
            total, at = 0.0, int(point)
            while at < graph.n_points:
                last = int(before[p, at])
                start = people[p] if last >= graph.n_points else graph.codes[last]
                assert face_twin.may_step(world.schema, tuple(start), tuple(graph.codes[at]))
                total += float(attached[p, at] if last >= graph.n_points else graph.arcs[last, at])
                walked, at = walked + 1, last
            assert at == graph.n_points + p
            assert total == pytest.approx(costs[p, point])
    assert walked > 100


def test_each_point_has_its_nearest_as_neighbours_ties_or_not() -> None:
    world = make_world(7, n=60)
    free = World(
        world.frame, world.schema.update({n: {"direction": "any"} for n in world.schema.names}), world.weights, 0
    )
    graph = graph_of(free, "knn", 5, None)
    joined = graph.arcs.toarray() > 0
    assert (joined == joined.T).all()
    lengths: NDArray[np.float64] = graph.space.distances(graph.codes, graph.codes)
    np.fill_diagonal(lengths, np.inf)
    fifth = np.sort(lengths, axis=1)[:, 4]
    assert (joined.sum(axis=1) >= 5).all()
    assert (joined | (lengths >= np.minimum.outer(fifth, fifth))).all(), "a nearer point is left out"
    assert (~joined | (lengths <= np.maximum.outer(fifth, fifth))).all(), "a point is joined to one too far"


def test_points_that_a_person_rules_out_are_walked_around() -> None:
    frame = pd.DataFrame({"x": [0, 1, 2, 3, 4]})
    world = World(frame, Schema.infer(frame), np.ones(1), 0.0)
    graph = graph_of(world, "knn", 1, None)
    attached = graph.attach(np.array([[0]], dtype=np.int32))
    assert np.isfinite(graph.walk(attached)[0]).all()
    costs, _ = graph.walk(attached, np.array([True, True, False, True, True]))
    np.testing.assert_array_equal(np.isfinite(costs[0]), [True, True, False, False, False])


def test_equal_rows_are_one_point_and_a_large_table_is_sampled_by_the_seed() -> None:
    world = make_world(2, n=60)
    twice = World(pd.concat([world.frame, world.frame], ignore_index=True), world.schema, world.weights, world.cut)
    one, two = graph_of(world, "knn", 5, None), graph_of(twice, "knn", 5, None)
    np.testing.assert_array_equal(one.codes, two.codes)
    np.testing.assert_array_equal(2 * one.rows, two.rows)
    np.testing.assert_allclose(one.dense, two.dense, rtol=1e-9)
    some, again = (graph_of(world, "knn", 5, None, max_points=10) for _ in range(2))
    assert some.n_points == 10
    np.testing.assert_array_equal(some.codes, again.codes)
    shuffled = World(world.frame.sample(frac=1, random_state=1), world.schema, world.weights, world.cut)
    np.testing.assert_array_equal(graph_of(shuffled, "knn", 5, None, max_points=10).codes, some.codes)


@pytest.mark.parametrize("kind", ["knn", "eps"])
def test_a_single_row_makes_a_graph(kind: str) -> None:
    frame = pd.DataFrame({"x": [3, 3], "y": ["a", "a"]})
    world = World(frame, Schema.infer(frame), np.ones(2), 0.0)
    graph = graph_of(world, kind, 5, None)
    assert (graph.n_points, graph.arcs.nnz) == (1, 0)
    assert np.isfinite(graph.walk(graph.attach(graph.codes))[0]).all()
