"""The paper's measures of plans made by hand, with known hidden costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastways import Preferences, Recourse, RecoursePlans, Schema, evaluate, simulate_people
from leastways.errors import DataError, PreferenceError, SettingError
from leastways.evaluation import SimulatedPeople, evaluate_people, measures
from leastways.evaluation.simulate import as_numbers
from tests.support import bank_people as bank

TRAIN = pd.DataFrame({"hours": [0, 10], "debt": [0.0, 4.0], "job": ["a", "b"]})
SCHEMA = Schema.infer(TRAIN).update(debt={"grid": [0.0, 1.0, 2.0, 3.0, 4.0]})
PEOPLE = pd.DataFrame({"hours": [0, 0, 0, 0], "debt": [0.0, 0.0, 0.0, 0.0], "job": "a"}, index=list("wxyz"))
# costs of changes for all people: an hour 0.05, each unit of debt 0.25, another job infinite
TABLE = {"hours": {h: h / 20 for h in range(11)}, "debt": {d: d / 4 for d in range(5)}, "job": {"a": 0.0}}
TRUTH = simulate_people(PEOPLE, SCHEMA, TRAIN, preferences=Preferences(costs=TABLE))


def made(options: list[tuple[Any, ...]], statuses: list[str] | None = None, n_options: int = 4) -> RecoursePlans:
    """Make plans whose options are (person, hours, debt, job)."""
    table = pd.DataFrame(options, columns=["person", "hours", "debt", "job"])
    counts = table["person"].value_counts().reindex(PEOPLE.index, fill_value=0)
    status = statuses or ["found" if n else "none_found" for n in counts]
    summary = pd.DataFrame({"status": status, "n_options": counts.to_numpy()}, index=PEOPLE.index)
    return RecoursePlans(SCHEMA, PEOPLE, summary, table, table.iloc[:0], {"n_options": n_options})


PLANS = made(
    [
        ("w", 5, 0.0, "a"),  # 0.25
        ("w", 0, 2.0, "a"),  # 0.5
        ("w", 0, 2.0, "a"),  # the same again counts once
        ("x", 10, 4.0, "a"),  # 0.5 + 1.0
        ("y", 5, 0.0, "b"),  # the job cannot be changed
    ]
)


def test_option_costs_are_the_hidden_ones() -> None:
    np.testing.assert_allclose(TRUTH.option_costs(PLANS), [0.25, 0.5, 0.5, 1.5, np.inf])
    np.testing.assert_allclose(TRUTH.min_costs(PLANS), [0.25, 1.5, np.inf, np.inf])


def test_measures_of_each_person() -> None:
    table = evaluate_people(PLANS, TRUTH)
    assert table.index.tolist() == list("wxyz")
    np.testing.assert_allclose(table["min_cost"], [0.25, 1.5, np.inf, np.inf])
    assert table["satisfied"].tolist() == [True, False, False, False]
    np.testing.assert_allclose(table["diversity"], [(0.5 + 0.5) / 3, np.nan, np.nan, np.nan])
    np.testing.assert_allclose(table["proximity"], [1 - 0.5 / 3, 1 - 2 / 3, 1 - 1.5 / 3, np.nan])
    np.testing.assert_allclose(table["sparsity"], [1 - 1 / 3, 1 - 2 / 3, 1 - 2 / 3, np.nan])
    np.testing.assert_allclose(table["validity"], [0.5, 0.25, 0.25, 0.0])


def test_measures_of_all_people() -> None:
    row = evaluate(PLANS, TRUTH)
    assert list(row.columns) == ["people", "FS@1", "PAC", "Cov", "Div", "Prox", "Spars", "Val"]
    expected = [4, 25.0, 0.875, 50.0, 100 / 3, 100 * (3 - 0.5 / 3 - 2 / 3 - 0.5) / 3, 100 * (3 - 5 / 3) / 3, 25.0]
    np.testing.assert_allclose(row.iloc[0].to_numpy(), expected)
    assert evaluate(PLANS, TRUTH, k=2)["FS@2"].item() == 50.0


def test_order_of_options_does_not_matter() -> None:
    options = PLANS.options.iloc[[4, 2, 0, 3, 1]].reset_index(drop=True)
    turned = RecoursePlans(SCHEMA, PEOPLE, PLANS.summary, options, options.iloc[:0], PLANS.settings)
    pd.testing.assert_frame_equal(evaluate(turned, TRUTH), evaluate(PLANS, TRUTH))


def test_people_without_need_do_not_count() -> None:
    plans = made([("w", 5, 0.0, "a")], ["found", "already_positive", "invalid_input", "none_found"])
    row = evaluate(plans, TRUTH)
    assert row["people"].item() == 2
    assert row["FS@1"].item() == 50.0


@pytest.mark.parametrize("statuses", [["already_positive"] * 4, ["none_found"] * 4])
def test_nothing_to_measure_is_nan(statuses: list[str]) -> None:
    row = evaluate(made([], statuses), TRUTH).iloc[0]
    assert row[["PAC", "Div", "Prox", "Spars"]].isna().all()
    if statuses[0] == "already_positive":
        assert row["people"] == 0
        assert row[["FS@1", "Cov", "Val"]].isna().all()
    else:
        assert row[["FS@1", "Cov", "Val"]].tolist() == [0.0, 0.0, 0.0]


def test_value_outside_the_grid_has_a_distance_but_infinite_cost() -> None:
    """Another tool's options need not keep to our grid."""
    plans = made([("w", 5, 0.5, "a"), ("x", 5, 0.0, "c")])
    assert np.isinf(TRUTH.min_costs(plans)).all()
    table = evaluate_people(plans, TRUTH)
    np.testing.assert_allclose(table["proximity"][:2], [1 - (0.5 + 0.125) / 3, 1 - 1.5 / 3])


def test_people_and_schemas_must_match() -> None:
    few = simulate_people(PEOPLE.iloc[:2], SCHEMA, TRAIN)
    with pytest.raises(DataError, match="the simulated people lack 'y', 'z', who are in the plans"):
        evaluate(PLANS, few)
    other = SCHEMA.update(hours={"direction": "up"})
    with pytest.raises(DataError, match="different schemas"):
        evaluate(PLANS, simulate_people(PEOPLE, other, TRAIN))


def test_plans_from_a_file_have_the_same_measures() -> None:
    schema = SCHEMA.update(rules=[{"forbid": {"job": ["b"], "hours": (9, None)}}])
    rec = Recourse(lambda f: (f["hours"] + f["debt"] > 6).to_numpy(float), schema, budget=40, n_options=3, n_costs=20)
    plans = rec.fit(TRAIN).recommend(PEOPLE)
    truth = simulate_people(PEOPLE, schema, TRAIN, random_state=3)
    back = RecoursePlans.from_json(plans.to_json())
    pd.testing.assert_frame_equal(evaluate(back, truth), evaluate(plans, truth))


def hidden(people: pd.DataFrame, **settings: Any) -> SimulatedPeople:
    return simulate_people(people, SCHEMA, TRAIN, **settings)


def test_a_hidden_function_depends_on_seed_and_label_alone() -> None:
    whole = hidden(PEOPLE).preferences
    assert hidden(PEOPLE.iloc[::-1]).preferences == whole
    assert hidden(PEOPLE.iloc[[2]]).preferences == {"y": whole["y"]}
    assert len({str(stated) for stated in whole.values()}) == 4  # the same row, four different people
    assert hidden(PEOPLE, random_state=1).preferences != whole
    assert hidden(PEOPLE.set_axis([1, 2, 3, 4], axis=0)).preferences[1] != whole["w"]
    np.testing.assert_array_equal(hidden(PEOPLE).option_costs(PLANS), hidden(PEOPLE).option_costs(PLANS))


def test_hidden_preferences_reproduce_the_hidden_costs() -> None:
    """Given to the search, they make its samples share the hidden editable features, scores and weight."""
    truth = hidden(PEOPLE)
    for stated in truth.preferences.values():
        stated.check(SCHEMA)
    again = hidden(PEOPLE, preferences=truth.preferences)
    np.testing.assert_array_equal(again.samples.tables.draws.scores, truth.samples.tables.draws.scores)
    np.testing.assert_array_equal(again.samples.tables.draws.alpha, truth.samples.tables.draws.alpha)


def test_the_search_never_sees_the_hidden_function() -> None:
    """With the same seed for both, none of the search's samples equals a hidden function."""
    people = PEOPLE.assign(hours=[0, 1, 2, 3]).set_axis([0, 1, 2, 3], axis=0)
    truth = simulate_people(people, SCHEMA, TRAIN, random_state=0)
    seen: list[Any] = []

    class Watcher:
        def start(self, problem: Any) -> Any:
            seen.append(problem.samples.tables.draws.alpha)
            from leastways import COLS

            return COLS().start(problem)

    Recourse(lambda f: np.zeros(len(f)), SCHEMA, Watcher(), budget=10, n_costs=500).fit(TRAIN).recommend(people)
    (alphas,) = seen
    assert alphas.shape == (4, 500)
    assert not np.isin(truth.samples.tables.draws.alpha, alphas).any()


def test_distributions_are_known_by_name() -> None:
    assert (hidden(PEOPLE, costs="linear").samples.tables.draws.alpha == 1).all()
    assert (hidden(PEOPLE, costs="percentile").samples.tables.draws.alpha == 0).all()


@pytest.mark.parametrize(
    ("people", "settings", "error", "message"),
    [
        (
            PEOPLE.assign(hours=2**60),
            {},
            DataError,
            "row 'w', column 'hours': 1152921504606846976 is beyond what can be worked with",
        ),
        (PEOPLE, {"costs": "lineer"}, SettingError, "Did you mean 'linear'"),
        (PEOPLE, {"random_state": -1}, SettingError, "random_state must be an integer"),
        (PEOPLE, {"preferences": {"q": Preferences()}}, PreferenceError, "name a person 'q' who is not in the table"),
        (PEOPLE, {"preferences": {"w": 3}}, PreferenceError, "the preferences of 'w' must be"),
        (PEOPLE, {"preferences": Preferences(alpha=2)}, PreferenceError, "alpha must be"),
    ],
)
def test_faulty_people_are_named(people: Any, settings: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        hidden(people, **settings)


@pytest.mark.parametrize(
    ("data", "message"), [(TRAIN.drop(columns="job"), "missing columns: 'job'"), (None, "expected a pandas DataFrame")]
)
def test_bad_data_for_the_percentiles(data: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        simulate_people(PEOPLE, SCHEMA, data)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, TRUTH), "plans must be RecoursePlans, not NoneType"),
        ((PLANS, PLANS), "truth must be what simulate_people returns, not RecoursePlans"),
        ((PLANS, TRUTH, np.nan), "k must be a number from 0 to 1000000.0, not nan"),
        ((PLANS, TRUTH, -1), "k must be a number from 0 to 1000000.0, not -1"),
        ((PLANS, TRUTH, "a"), "k must be a number from 0 to 1000000.0, not 'a'"),
    ],
)
def test_wrong_arguments_are_named(arguments: Any, message: str) -> None:
    for measure in (evaluate, evaluate_people):
        with pytest.raises(SettingError, match=message):
            measure(*arguments)


def test_a_schema_must_be_one() -> None:
    with pytest.raises(SettingError, match="schema must be a leastways Schema, not NoneType"):
        simulate_people(PEOPLE, None, TRAIN)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("moved", "message"),
    [
        ({"hours": 3}, "the simulated person 'x' is in another state: 'hours' is 3 there, 0 here"),
        ({"debt": 0.5}, "'debt' is 0.5 there, 0.0 here"),
        ({"job": "b"}, "'job' is 'b' there, 'a' here"),
    ],
)
def test_people_must_be_in_the_same_state(moved: dict[str, Any], message: str) -> None:
    """The same labels and other values: the hidden functions are of other people."""
    others = PEOPLE.copy()
    for name, value in moved.items():
        others.loc["x", name] = value
    with pytest.raises(DataError, match=message):
        evaluate(PLANS, simulate_people(others, SCHEMA, TRAIN))
    unsolved = made([], ["none_found", "invalid_input", "none_found", "already_positive"])
    assert evaluate(unsolved, simulate_people(others, SCHEMA, TRAIN))["people"].item() == 2  # x does not count


def test_missing_values_are_equal() -> None:
    train = TRAIN.assign(debt=[0.0, np.nan], job=pd.Series(["a", np.nan], dtype=object))
    schema = Schema.infer(train).update(debt={"max": 4.0})
    people = pd.DataFrame({"hours": 0, "debt": np.nan, "job": pd.Series([np.nan] * 2, dtype=object)}, index=[0, 1])
    plans = Recourse(lambda f: (f["hours"] > 6).to_numpy(float), schema, budget=20, n_options=2, n_costs=20).fit(train)
    truth = simulate_people(people, schema, train)
    assert evaluate(plans.recommend(people), truth)["people"].item() == 2
    with pytest.raises(DataError, match=r"'debt' is None there, 0\.0 here"):
        evaluate(plans.recommend(people.assign(debt=0.0)), truth)


GIVEN = Preferences(ranges={"hours": (2, 8)}, costs={"job": {"a": 0.0, "b": 0.3}})


@pytest.mark.parametrize(
    "given",
    [
        GIVEN,
        Preferences(ranges={"hours": (2, 8)}),
        Preferences(editable=["hours", "job"], costs={"job": {"b": 0.3}}, alpha=0.5),
        Preferences(scores={"hours": 0.25, "debt": 0.75}, costs={"job": {"b": 0.3}}),
        {"x": GIVEN, "z": Preferences(editable=["debt"])},
    ],
)
def test_given_parts_are_in_the_hidden_preferences(given: Any) -> None:
    """Fed back, they are the same function: all of it, for every change there is."""
    truth = hidden(PEOPLE, preferences=given)
    whole = truth.preferences
    for label, stated in whole.items():
        one = given if isinstance(given, Preferences) else given.get(label, Preferences())
        assert (stated.ranges, stated.costs) == (one.ranges, one.costs)
        stated.check(SCHEMA)
    every = [(p, h, d, j) for p in PEOPLE.index for h in range(11) for d in (0.0, 1.0, 4.0) for j in "ab"]
    again = hidden(PEOPLE, preferences=whole)
    plans = made(every)
    assert np.isfinite(truth.option_costs(plans)).sum() > len(PEOPLE)
    np.testing.assert_array_equal(again.option_costs(plans), truth.option_costs(plans))


def test_given_scores_of_missing_features_are_kept() -> None:
    train = TRAIN.assign(debt=[0.0, np.nan])
    schema = Schema.infer(train).update(debt={"max": 4.0})
    given = Preferences(scores={"hours": 0.25, "debt": 0.75})
    people = PEOPLE.assign(debt=[np.nan, 0.0, 0.0, 0.0])
    truth = simulate_people(people, schema, train, preferences=given)
    assert truth.preferences["w"].scores == given.scores  # else they would not sum to 1
    truth.preferences["w"].check(schema)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), n_options=st.integers(1, 6))
def test_distances_in_groups_equal_those_of_each_person(seed: int, n_options: int) -> None:
    """All at once against one person at a time, with duplicate options and people without any."""
    draw = np.random.default_rng(seed)
    rec = bank.recourse(method="random", n_options=n_options, budget=8, n_costs=5, random_state=seed)
    found = rec.recommend(bank.TRAIN.sample(25, random_state=seed % 1000))
    options = found.options.iloc[draw.integers(0, len(found.options), 2 * len(found.options))].reset_index(drop=True)
    plans = RecoursePlans(found.schema, found.people, found.summary, options, found.failed_rows, found.settings)
    truth = simulate_people(found.people, bank.SCHEMA, bank.TRAIN, random_state=seed)
    table, span = evaluate_people(plans, truth), truth.samples.tables.space.span
    numbers, states = as_numbers(bank.SCHEMA, options), as_numbers(bank.SCHEMA, found.people)
    for person, row in table.iterrows():
        mine = np.unique(numbers[(options["person"] == person).to_numpy()], axis=0)
        state = states[found.people.index.get_loc(person)]
        slow = [measures.diversity(mine, span), measures.proximity(state, mine, span), measures.sparsity(state, mine)]
        assert row[["diversity", "proximity", "sparsity"]].astype(float).tolist() == pytest.approx(slow, nan_ok=True)
        assert row["validity"] == measures.validity(len(mine), n_options)
