"""FACE as a method: its contract, its promises, its budget and its clock."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from leastways import Preferences
from leastways.baselines import Face
from leastways.baselines.face import PointGraph, build_graph, grid_codes
from leastways.errors import SettingError
from leastways.recourse import Recourse
from leastways.schema import Schema
from leastways.search import Background, Searcher, run_search
from leastways.testing import SEARCHER_CHECKS
from tests.support import face_reference
from tests.support.bank_people import SCHEMA, TRAIN, broken, chance, refused, worlds
from tests.support.small_worlds import World, evaluator_of, make_problem, make_world, seeds

FACES = [Face(), Face(graph="eps"), Face(neighbors=3, density=0.3, confidence=0.6), Face(graph="eps", radius=0.7)]


def ready(world: World, face: Face) -> Searcher:
    rows = world.schema.encode(world.frame)
    return face.prepare(Background(world.schema, rows, None, 0.5, 0))  # type: ignore[arg-type]  # FACE reads no model


def off_grid(frame: pd.DataFrame, schema: Schema, seed: int) -> pd.DataFrame:
    """The same people with some numbers of their own, between the grid points."""
    draw, out = np.random.default_rng(seed), frame.copy()
    for f in schema.features:
        if f.open and f.numeric:
            new = draw.uniform(f.values[0], f.values[-1], len(out))
            new = new.round().clip(f.values[0], f.values[-1]) if f.whole else new
            own = out[f.name].where(draw.random(len(out)) < 0.5, new)
            out[f.name] = own.astype(out[f.name].dtype)
    return out


@pytest.mark.parametrize("check", SEARCHER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("face", FACES, ids=repr)
def test_face_keeps_the_contract(face: Face, check: Any) -> None:
    check(face, 3)


@pytest.mark.parametrize("graph", ["knn", "eps"])
@settings(max_examples=25, deadline=None)
@given(drawn=worlds(), budget=st.integers(2, 40), seed=seeds)
def test_options_are_sound_within_the_budget(graph: Any, drawn: Any, budget: int, seed: int) -> None:
    frame, schema, model = drawn
    people = off_grid(frame, schema, seed)
    rec = Recourse(model, schema, Face(graph, neighbors=5), n_options=2, budget=budget, n_costs=5).fit(frame)
    plans = rec.recommend(people)
    assert (plans.summary["queries"] <= budget).all()
    for _, option in plans.options.iterrows():
        assert broken(schema, dict(people.loc[option["person"]]), dict(option)) == []
    assert (model(plans.options[list(schema.names)]) >= 0.5).all()


@pytest.mark.parametrize("face", FACES, ids=repr)
@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_the_nearest_accepted_targets_are_chosen(face: Face, seed: int) -> None:
    """With room for every question, options are the twin's cheapest accepted, permitted, dense states."""
    world = make_world(seed % 1000, n=25, rules=False, directions=("any", "up", "down"))
    people = world.refused().head(4)
    if people.empty:
        return
    searcher: Any = ready(world, face)
    problem, encoded = make_problem(world, people, budget=500)
    result = run_search(searcher, problem, evaluator_of(world, encoded))
    graph = searcher.graph
    costs, _ = graph.walk(graph.attach(grid_codes(world.schema, encoded)))
    good = world.probability(world.schema.decode(graph.codes)) >= max(0.5, face.confidence or 0.0)
    good &= graph.dense >= np.quantile(graph.dense, face.density)
    for p in range(len(people)):
        expected = graph.codes[good & np.isfinite(costs[p])]
        expected = expected[np.argsort(costs[p][good & np.isfinite(costs[p])], kind="stable")][: problem.n_options]
        found = result.chosen.codes[p, : result.chosen.n[p]]
        assert face_reference.points_of(world.schema, world.schema.decode(found)) == [tuple(c) for c in expected]


def test_plans_are_independent_of_chunks_order_and_pickling(monkeypatch: pytest.MonkeyPatch) -> None:
    people = off_grid(refused(30), SCHEMA, 1)
    rec = Recourse(chance, SCHEMA, "face-knn", n_options=4, budget=60, n_costs=20).fit(TRAIN)
    plans = rec.recommend(people)
    assert plans.summary["n_options"].sum() > 20
    again = pickle.loads(pickle.dumps(rec)).recommend(people)
    monkeypatch.setattr("leastways.recourse.settings._CHUNK_BYTES", 1)  # a chunk per person
    single = rec.recommend(people.iloc[::-1])
    pd.testing.assert_frame_equal(plans.options, again.options)
    pd.testing.assert_frame_equal(plans.summary, single.summary.loc[plans.summary.index])
    for person in people.index:
        mine, theirs = (x.options[x.options["person"] == person].reset_index(drop=True) for x in (plans, single))
        pd.testing.assert_frame_equal(mine, theirs)


def test_group_size_does_not_change_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_world(5, n=60)
    people = world.refused()
    problem, encoded = make_problem(world, people)
    searcher = ready(world, Face())
    whole = run_search(searcher, problem, evaluator_of(world, encoded))
    monkeypatch.setattr("leastways.baselines.face._MOST_AT_A_TIME", 3)
    parts = run_search(searcher, problem, evaluator_of(world, encoded))
    np.testing.assert_array_equal(whole.chosen.codes, parts.chosen.codes)
    np.testing.assert_array_equal(whole.queries, parts.queries)
    assert whole.reasons == parts.reasons


def test_personal_ranges_hold_along_the_whole_path() -> None:
    frame = pd.DataFrame({"x": np.arange(20), "y": np.resize(["a", "b"], 20)})
    schema = Schema.infer(frame)
    rec = Recourse(lambda rows: (rows["x"] > 12) * 1.0, schema, Face(neighbors=4), n_options=3, budget=30, n_costs=5)
    people = frame.head(1)
    assert rec.fit(frame).recommend(people).summary["n_options"].tolist() == [3]
    preferences = Preferences(ranges={"y": ["a"]})
    options = rec.recommend(people, preferences).options
    assert set(options["y"]) == {"a"}
    stuck = rec.recommend(people, Preferences(ranges={"x": (0, 6)})).summary.iloc[0]
    assert stuck["status"] == "none_found"
    assert "the model accepts none" in stuck["reason"]


def test_reasons_state_what_is_missing() -> None:
    frame = pd.DataFrame({"x": [0, 1, 2, 3, 4], "g": ["a", "a", "a", "a", "b"]})
    schema = Schema.infer(frame).update(g={"direction": "fixed"})
    rec = Recourse(lambda rows: (rows["x"] >= 3) * 1.0, schema, Face(density=0), n_options=2, budget=2, n_costs=5)
    people = pd.DataFrame({"x": [0, 2], "g": ["b", "a"]})
    reasons = rec.fit(frame).recommend(people).summary["reason"]
    assert reasons[0] == "of 1 training rows within reach the model accepts 1; there are no more"
    assert "the budget ended before the other 2" in reasons[1]
    down = rec.set_params(schema=schema.update(x={"direction": "down"})).fit(frame)
    alone = down.recommend(pd.DataFrame({"x": [2, 0], "g": ["b", "a"]})).summary
    assert "no training row can be reached" in alone["reason"].iloc[0]
    assert alone["status"].iloc[1] == "none_exists"  # the lowest already: that is the reason then, not the rows
    assert "nothing this person may change" in alone["reason"].iloc[1]


def test_deadline_is_checked_between_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leastways.baselines.face._MOST_AT_A_TIME", 1)
    people = refused(6)
    now = iter(np.arange(0.0, 1e6, 1.0))
    rec = Recourse(chance, SCHEMA, "face-eps", n_options=2, budget=60, n_costs=20, time_limit=0.0).fit(TRAIN)
    none = rec.recommend(people).summary
    assert set(none["status"]) == {"none_found"}
    assert set(none["reason"]) == {"the time limit ended the search early"}
    monkeypatch.setattr("leastways.search.protocol.monotonic", lambda: next(now))
    some = rec.set_params(time_limit=12.0).recommend(people).summary
    assert some["status"].iloc[0] == "found"
    assert some["status"].iloc[-1] == "none_found"
    assert some["reason"].iloc[-1] == "the time limit ended the search early"


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"graph": "kn"}, "graph must be one of .*Did you mean 'knn'"),
        ({"neighbors": 0}, "neighbors must be a whole number of 1 or more, not 0"),
        ({"radius": 0.5}, 'radius=0.5 is for graph="eps"'),
        ({"graph": "eps", "radius": -1.0}, "radius"),
        ({"confidence": 1.5}, "confidence"),
        ({"density": "high"}, "density"),
        ({"max_points": 1}, "max_points must be a whole number of 2 or more"),
    ],
)
def test_settings_are_checked(wrong: dict[str, Any], text: str) -> None:
    with pytest.raises(SettingError, match=text):
        Face(**wrong)


def test_importing_the_methods_loads_nothing_optional() -> None:
    code = "import sys, leastways.baselines; print([m for m in ('torch', 'dice_ml', 'highspy') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


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


def check_against_reference(world: World, kind: str, neighbors: int, radius: float | None, seed: int) -> None:
    graph, one = graph_of(world, kind, neighbors, radius), newcomer(world, seed)
    costs, _ = graph.walk(graph.attach(grid_codes(world.schema, world.schema.encode(one))))
    expected = face_reference.path_costs(world.schema, world.frame, one, kind, neighbors, radius)
    reached = {tuple(map(int, c)): float(d) for c, d in zip(graph.codes, costs[0], strict=True) if np.isfinite(d)}
    assert reached.keys() == expected.keys()
    for point, cost in expected.items():
        assert reached[point] == pytest.approx(cost, rel=1e-6, abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(seed=seeds)
def test_paths_in_a_knn_graph_are_the_shortest(seed: int) -> None:
    check_against_reference(reals(seed % 5000), "knn", 1 + seed % 9, None, seed)


@settings(max_examples=25, deadline=None)
@given(seed=seeds)
def test_paths_in_an_eps_graph_are_the_shortest(seed: int) -> None:
    world = make_world(seed % 5000, n=20, directions=("any", "up", "down"))
    check_against_reference(world, "eps", 6, [None, 0.4, 1.2, 3.0][seed % 4], seed)


@pytest.mark.parametrize("kind", ["knn", "eps"])
def test_path_steps_are_permitted_and_costs_add_up(kind: str) -> None:
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
                assert face_reference.may_step(world.schema, tuple(start), tuple(graph.codes[at]))
                total += float(attached[p, at] if last >= graph.n_points else graph.arcs[last, at])
                walked, at = walked + 1, last
            assert at == graph.n_points + p
            assert total == pytest.approx(costs[p, point])
    assert walked > 100


def test_neighbours_are_the_nearest_points_despite_ties() -> None:
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


def test_paths_avoid_points_outside_personal_ranges() -> None:
    frame = pd.DataFrame({"x": [0, 1, 2, 3, 4]})
    world = World(frame, Schema.infer(frame), np.ones(1), 0.0)
    graph = graph_of(world, "knn", 1, None)
    attached = graph.attach(np.array([[0]], dtype=np.int32))
    assert np.isfinite(graph.walk(attached)[0]).all()
    costs, _ = graph.walk(attached, np.array([True, True, False, True, True]))
    np.testing.assert_array_equal(np.isfinite(costs[0]), [True, True, False, False, False])


def test_equal_rows_are_merged_and_large_tables_sampled_by_seed() -> None:
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
