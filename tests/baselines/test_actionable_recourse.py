"""Actionable Recourse as a whole: the contract, exactness against enumeration, surrogates, settings and limits."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from time import monotonic
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import leastways as lw
from leastways._random import keys_of_rows
from leastways.baselines import ActionableRecourse, actionable_recourse
from leastways.baselines.actionable_recourse import TAIL, PercentileShift, fit_surrogate
from leastways.costs import CostDistribution, CostModel
from leastways.errors import MissingExtraError, SettingError
from leastways.feasibility.kernels import meets_rules
from leastways.models import as_model
from leastways.schema import Schema
from leastways.search import Problem, run_search
from leastways.search.protocol import Background
from leastways.testing import check_searcher
from leastways.testing.searchers import SEARCHER_CHECKS
from tests.support.small_worlds import evaluator_of, make_problem, make_world, seeds

LEVELS = ["low", "mid", "high"]


def small(seed: int = 0, rules: bool = True) -> tuple[pd.DataFrame, lw.Schema, Any]:
    """Make a table that can be enumerated, with multi-valued categories, and a fitted linear model."""
    draw = np.random.default_rng(seed)
    n = 120
    frame = pd.DataFrame(
        {
            "years": draw.integers(0, 7, n),
            "amount": draw.choice([1.0, 2.5, 3.0, 4.5, 8.0], n),
            "level": draw.permutation(np.resize(LEVELS, n)),
            "kind": draw.permutation(np.resize(["w", "x", "y", "z"], n)),
            "origin": draw.choice(["here", "there"], n),
        }
    )
    schema = lw.Schema.infer(frame).update(
        years={"direction": "up"}, level={"order": LEVELS}, origin={"direction": "fixed"}
    )
    if rules:
        schema = schema.update(rules=[lw.IfThen({"kind": "z"}, {"level": ["mid", "high"]}), lw.AtMost(3)])
    weights = frame["level"].map({"low": 0, "mid": 1, "high": 2}) + frame["kind"].map(
        {"w": 0, "x": 1, "y": 0.3, "z": 2}
    )
    good = frame["years"] / 3 + weights - frame["amount"] / 4 + draw.normal(0, 0.7, n) > 2.4
    encoder = make_column_transformer(
        (OneHotEncoder(drop="first"), ["level", "kind", "origin"]), (StandardScaler(), ["years", "amount"])
    )
    return frame, schema, make_pipeline(encoder, LogisticRegression()).fit(frame, good.astype(int))


@pytest.mark.parametrize("check", SEARCHER_CHECKS, ids=lambda c: c.__name__)
def test_surrogates_keep_the_contract(check: Any) -> None:
    check(ActionableRecourse(), 0)


@pytest.mark.parametrize(
    "method",
    [
        ActionableRecourse(enumeration="disjoint", quantile="cdf"),
        ActionableRecourse(linear="local", surrogate_rows=10, max_programs=2),
    ],
)
def test_other_settings_keep_the_contract(method: ActionableRecourse) -> None:
    check_searcher(method, 3)


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_first_option_is_the_cheapest_of_all_states(seed: int, threshold: float) -> None:
    frame, schema, model = small(seed)
    people = frame[model.predict_proba(frame)[:, 1] < threshold].head(6)
    rec = lw.Recourse(model, schema, ActionableRecourse(linear="exact"), n_options=3, n_costs=5, threshold=threshold)
    plans = rec.fit(frame).recommend(people)
    encoded = schema.encode(people)
    keys = keys_of_rows(encoded.content(), 0)
    samples = CostModel.fit(schema, CostDistribution(), frame).sample(encoded, keys, 5, [None] * len(people))
    t = samples.tables
    shift = PercentileShift.fit(schema, schema.encode(frame), "mid").of(t.space)
    for p, label in enumerate(people.index):
        allowed = [np.flatnonzero(t.space.allowed[p, t.space.offsets[f] : t.space.offsets[f + 1]]) for f in range(5)]
        states = np.array(list(product(*allowed)), dtype=np.int32)
        kept = [meets_rules(t.space, p, codes) for codes in states]
        states = states[kept]
        yes = model.predict_proba(schema.decode(states, encoded, np.full(len(states), p)))[:, 1] >= threshold
        costs = shift[p, t.space.offsets[:-1] + states].sum(axis=1)
        mine = plans.options[plans.options["person"] == label]
        if not yes.any():
            assert mine.empty
            continue
        codes = schema.encode_options(mine, encoded, np.full(len(mine), p))
        found = shift[p, t.space.offsets[:-1] + codes].sum(axis=1)
        assert found.min() == pytest.approx(costs[yes].min(), abs=1e-4)  # ties are broken at 2e-5 a feature
        assert (mine["probability"] >= threshold).all()


def test_only_options_of_a_linear_model_are_queried() -> None:
    frame, schema, model = small()
    plans = lw.Recourse(model, schema, "ar", n_options=4, budget=50).fit(frame).recommend(frame)
    asked = plans.summary[plans.summary["status"] == "found"]
    assert len(asked) > 20
    assert (asked["queries"] == 1 + asked["n_options"]).all()


def test_label_models_get_options() -> None:
    frame, schema, model = small()
    svm = make_pipeline(model[0], LinearSVC()).fit(frame, model.predict(frame))
    exact = lw.Recourse(svm, schema, ActionableRecourse(linear="exact"), n_options=2).fit(frame).recommend(frame)
    assert (exact.summary["status"] == "found").sum() > 20
    local = lw.Recourse(svm, schema, ActionableRecourse(linear="local"), n_options=2, budget=300, threshold=1.0)
    statuses = local.fit(frame).recommend(frame).summary["status"]
    assert (statuses == "found").sum() > 0.8 * (exact.summary["status"] == "found").sum()


def test_surrogate_recovers_a_logistic_model() -> None:
    frame, schema, model = small(rules=False)
    cost = {}
    for linear, method in {"exact": ActionableRecourse(), "local": ActionableRecourse(linear="local")}.items():
        plans = lw.Recourse(model, schema, method, n_options=5, budget=1500).fit(frame).recommend(frame.head(40))
        cost[linear] = plans.summary["n_options"].sum()
    assert cost["local"] >= 0.9 * cost["exact"]


@settings(max_examples=15)
@given(seeds, st.sampled_from([("any", "up"), ("down", "fixed")]), st.integers(5, 60))
def test_options_respect_budget_directions_and_rules(seed: int, directions: tuple[str, ...], budget: int) -> None:
    world = make_world(seed, directions=directions)
    refused = world.refused().head(4)
    if refused.empty:
        return
    problem, people = make_problem(world, refused, budget=budget)
    background = Background(world.schema, world.schema.encode(world.frame), world, 0.5, seed)
    result = run_search(ActionableRecourse().prepare(background), problem, evaluator_of(world, people))
    t = problem.samples.tables
    assert (result.queries <= budget).all()
    for p in range(len(refused)):
        options = result.chosen.codes[p, : result.chosen.n[p]]
        assert t.space.allowed[p, t.space.offsets[:-1] + options].all()
        assert all(meets_rules(t.space, p, codes) for codes in options)
        assert len({tuple(codes != t.space.start[p]) for codes in options}) == len(
            options
        )  # another set of features each


def test_nonlinear_model_gets_options() -> None:
    frame, schema, model = small()
    forest = make_pipeline(model[0], RandomForestClassifier(20, random_state=0)).fit(frame, model.predict(frame))
    with pytest.raises(SettingError, match=r"RandomForestClassifier.*linear='local'.*method='guided'"):
        lw.Recourse(forest, schema, ActionableRecourse(linear="exact")).fit(frame)
    plans = lw.Recourse(forest, schema, "ar", n_options=3).fit(frame).recommend(frame.head(30))
    assert (plans.summary["status"] == "found").sum() > 5
    assert (plans.options["probability"] >= 0.5).all()


def test_finding_no_option_has_a_reason() -> None:
    frame, schema, model = small()
    stuck = schema.update(kind={"direction": "fixed"}, level={"direction": "fixed"}, amount={"direction": "fixed"})
    for linear, words in (("exact", "no change that is permitted makes LogisticRegression"), ("local", "surrogate")):
        method = ActionableRecourse(linear=linear)  # type: ignore[arg-type]
        summary = lw.Recourse(model, stuck, method, n_options=2).fit(frame).recommend(frame).summary
        none = summary[summary["status"] == "none_found"]
        assert len(none)
        assert none["reason"].str.contains(words).all()


def test_solver_time_limit_is_given_as_reason() -> None:
    frame, schema, model = small()
    plans = lw.Recourse(model, schema, ActionableRecourse(solver_seconds=1e-9)).fit(frame).recommend(frame)
    refused = plans.summary[plans.summary["status"] != "already_positive"]
    assert set(refused["status"]) == {"none_found"}
    assert refused["reason"].str.contains("not solved within solver_seconds=1e-09|no change").all()


@pytest.mark.parametrize("linear", ["exact", "local"])
def test_a_time_limit_is_kept(linear: Any) -> None:
    frame, schema, model = small()
    rec = lw.Recourse(model, schema, ActionableRecourse(linear=linear), budget=2000).fit(frame)
    rec.recommend(frame.head(30))  # compiles
    rec.set_params(time_limit=0.02)
    many = pd.concat([frame] * 4, ignore_index=True)
    began = monotonic()
    plans = rec.recommend(many)
    assert monotonic() - began < 10.0
    cut = plans.summary["reason"] == "the time limit ended the search early"
    assert cut.any()
    assert set(plans.summary["status"][cut]) <= {"partial", "none_found"}


def test_options_found_before_the_deadline_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, schema, model = small()
    rec = lw.Recourse(model, schema, ActionableRecourse(linear="local"), n_options=3, budget=400).fit(frame)
    people = frame[model.predict(frame) == 0].head(40)
    whole = rec.recommend(people)

    clock = [0.0]

    def slow(*args: Any) -> Any:
        clock[0] += 100.0
        return fit_surrogate(*args)

    monkeypatch.setattr(actionable_recourse, "fit_surrogate", slow)
    for module in ("search.protocol", "_progress", "recourse.solve", "baselines.actionable_recourse"):
        monkeypatch.setattr(f"leastways.{module}.monotonic", lambda: clock[0])
    rec.set_params(time_limit=1500.0)  # of 4,000 seconds
    plans = rec.recommend(people)
    assert clock[0] <= 1600.0
    cut = plans.summary["reason"] == "the time limit ended the search early"
    assert 20 < cut.sum() < 40
    assert set(plans.summary["status"][cut]) <= {"partial", "none_found"}
    served = plans.summary.index[~cut]
    pd.testing.assert_frame_equal(plans.summary.loc[served], whole.summary.loc[served])
    pd.testing.assert_frame_equal(
        plans.options[plans.options["person"].isin(served)].reset_index(drop=True),
        whole.options[whole.options["person"].isin(served)].reset_index(drop=True),
    )


def test_changed_threshold_requires_another_fit() -> None:
    frame, schema, model = small()
    rec = lw.Recourse(model, schema, ActionableRecourse(linear="exact"), n_options=3).fit(frame)
    rec.set_params(threshold=0.8)
    with pytest.raises(lw.SettingError, match="threshold was changed after fit"):
        rec.recommend(frame)
    rec.fit(frame)
    fresh = lw.Recourse(model, schema, ActionableRecourse(linear="exact"), n_options=3, threshold=0.8).fit(frame)
    plans = rec.recommend(frame)
    assert (plans.options["probability"] >= 0.8).all()
    pd.testing.assert_frame_equal(plans.options, fresh.recommend(frame).options)


def many_sets() -> tuple[pd.DataFrame, LogisticRegression]:
    """Make people with far more than 40 sets of features to change."""
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(draw.integers(0, 3, (200, 8)), columns=list("abcdefgh"))
    return frame, LogisticRegression().fit(frame, frame.sum(axis=1) > 8)


def test_more_options_than_max_programs() -> None:
    frame, model = many_sets()
    people = frame[model.predict_proba(frame)[:, 1] < 0.3].head(4)
    rec = lw.Recourse(model, lw.Schema.infer(frame), "ar", n_options=40, n_costs=5).fit(frame)
    summary = rec.recommend(people).summary
    assert (summary["n_options"] == 40).all()
    assert (summary["reason"] == "").all()


def test_reaching_max_programs_is_given_as_reason() -> None:
    """A model refuses what its surrogate accepts: the cap ends the search, and is named only where it did."""
    frame, model = many_sets()

    def odd(rows: pd.DataFrame) -> Any:
        return np.where(rows["a"].to_numpy() == 2, 0.2, 1.0) * model.predict_proba(rows)[:, 1]

    people = frame[odd(frame) < 0.3].head(12)
    for most, capped in ((4, True), (1000, False)):
        method = ActionableRecourse(max_programs=most)
        rec = lw.Recourse(odd, lw.Schema.infer(frame), method, n_options=4, n_costs=5, budget=3000).fit(frame)
        summary = rec.recommend(people).summary
        named = summary["reason"].str.contains("the search ended after 4 programs")
        assert named.any() == capped
        assert (summary["n_options"][named] < 4).all()
        assert (summary["reason"][summary["n_options"] == 4] == "").all()


@pytest.mark.parametrize("linear", ["exact", "local"])
@pytest.mark.parametrize("budget", [1, 2, 3, 5])
def test_every_person_without_options_has_a_reason(linear: Any, budget: int) -> None:
    frame, schema, model = small()
    rec = lw.Recourse(model, schema, ActionableRecourse(linear=linear), n_options=1, budget=budget).fit(frame)
    summary = rec.recommend(frame).summary
    none = summary[summary["status"] == "none_found"]
    assert (none["reason"] != "").all()
    if linear == "local" and budget == 2:
        assert none["reason"].str.contains("budget was spent on the linear surrogate").all()
        assert len(none)


def test_people_do_not_depend_on_each_other() -> None:
    frame, schema, model = small()
    forest = make_pipeline(model[0], RandomForestClassifier(10, random_state=0)).fit(frame, model.predict(frame))
    rec = lw.Recourse(forest, schema, "ar", n_options=3, random_state=4).fit(frame)
    together, alone = rec.recommend(frame.head(20)), rec.recommend(frame.iloc[[7]])
    mine = together.options[together.options["person"] == 7].reset_index(drop=True)
    pd.testing.assert_frame_equal(mine, alone.options.reset_index(drop=True))


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"linear": "yes"}, "linear must be one of"),
        ({"quantile": "median"}, "quantile must be one of"),
        ({"enumeration": "all"}, "enumeration must be one of"),
        ({"surrogate_rows": 3}, "surrogate_rows must be a whole number of 10"),
        ({"max_programs": 0}, "max_programs must be"),
        ({"solver_seconds": -1}, "solver_seconds"),
    ],
)
def test_settings_are_checked(setting: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        ActionableRecourse(**setting)


def test_a_missing_solver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, schema, model = small()
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(MissingExtraError, match=r"'highspy'.*pip install 'leastways\[baselines\]'"):
        lw.Recourse(model, schema, "ar").fit(frame)


def test_importing_loads_no_solver() -> None:
    code = "import sys, leastways.baselines; print('highspy' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


def test_costs_never_fall_from_one_option_to_the_next() -> None:
    frame, schema, model = small()
    people = frame[model.predict(frame) == 0].head(8)
    encoded = schema.encode(people)
    ready = ActionableRecourse().prepare(Background(schema, schema.encode(frame), as_model(model, 1), 0.5, 0))
    assert ready.score is not None
    keys = keys_of_rows(encoded.content(), 0)
    samples = CostModel.fit(schema, CostDistribution(), frame).sample(encoded, keys, 5, [None] * len(people))
    present = model.predict_proba(people)[:, 1]
    run = ready.start(Problem(samples, encoded, keys, 6, 50, present, 0.5))
    questions = run.ask(np.full(len(people), 50))
    t = samples.tables
    costs = run.cost[questions.people[:, None], t.space.offsets[:-1] + questions.codes]
    total = np.where(questions.codes != t.space.start[questions.people], costs, 0.0).sum(axis=1)
    same = questions.people[1:] == questions.people[:-1]
    assert same.any()
    assert (np.diff(total)[same] >= -1e-6).all()


FRAME = pd.DataFrame(
    {
        "years": [1, 2, 2, 3, 4, 4, 4, 5],
        "flag": [0, 0, 0, 0, 0, 0, 1, 1],
        "kind": ["x", "x", "x", "y", "y", "z", "z", "z"],
        "pair": ["no", "no", "no", "no", "no", "no", "yes", "yes"],
        "amount": [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0],
    }
)


def shifts(quantile: Literal["cdf", "mid"], row: dict[str, Any] | None = None) -> dict[str, NDArray[np.float64]]:
    """Return the shifts of one person's moves, by feature."""
    schema = Schema.infer(FRAME)
    person = schema.encode(FRAME.iloc[[1]].assign(**(row or {})))
    model = CostModel.fit(schema, CostDistribution(), FRAME)
    space = model.sample(person, keys_of_rows(person.content(), 0), 2, [None]).space
    cost = PercentileShift.fit(schema, schema.encode(FRAME), quantile).of(space)[0]
    return {name: cost[space.offsets[f] : space.offsets[f] + space.used[0, f]] for f, name in enumerate(schema.names)}


def test_cdf_shift_equals_the_published_one() -> None:
    got = shifts("cdf")  # from years 2, of which 3 of 8 rows are at or below
    beyond = np.array([7, 5, 4, 1, 8 * TAIL]) / 8
    assert got["years"] == pytest.approx(np.abs(np.log(beyond / (5 / 8))))
    assert got["flag"] == pytest.approx([0.0, np.log(0.25 / TAIL)])


def test_the_mid_rank_stays_finite() -> None:
    got = shifts("mid")
    beyond = 1 - np.array([0.5, 2, 3.5, 5.5, 7.5]) / 8
    assert got["years"] == pytest.approx(np.abs(np.log(beyond / beyond[1])))
    assert got["flag"] == pytest.approx([0.0, np.log((1 + 0.25) / 0.25)])


@pytest.mark.parametrize("quantile", ["cdf", "mid"])
def test_two_categories_cost_the_same_as_a_binary_number(quantile: Literal["cdf", "mid"]) -> None:
    for row in ({"flag": 0, "pair": "no"}, {"flag": 1, "pair": "yes"}):
        got = shifts(quantile, row)
        assert got["pair"] == pytest.approx(got["flag"])


def test_categories_are_compared_in_pairs() -> None:
    got = shifts("mid", {"kind": "y"})  # 3 x, 2 y, 3 z
    assert got["kind"] == pytest.approx([np.log((1 + 2 / 5) / (2 / 5)), 0.0, np.log((1 + 3 / 5) / (3 / 5))])


def test_a_value_between_grid_points_has_its_own_rank() -> None:
    schema = Schema.infer(FRAME)
    got = shifts("cdf", {"amount": 1.2})["amount"]
    grid = np.insert(schema.by_name["amount"].array, 2, 1.2)
    beyond = np.maximum(1 - np.searchsorted(np.sort(FRAME["amount"]), grid, side="right") / 8, TAIL)
    assert got == pytest.approx(np.abs(np.log(beyond / beyond[2])))
