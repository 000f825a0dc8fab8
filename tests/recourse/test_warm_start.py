"""Earlier plans as a start: what they offered is asked first, within the budget, and nothing is lost by it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from leastways import COLS, CostDistribution, Feature, Preferences, Recourse, RecoursePlans, Schema
from leastways._random import keys_of_rows
from leastways.costs.kernels import TIE, objective_costs
from leastways.errors import SettingError
from tests.support.bank_people import SCHEMA, TRAIN, broken, chance, recourse, refused

PEOPLE = refused(8)
OLD = recourse(budget=60).recommend(PEOPLE)


class Watched:
    """The bank's model, and every call it was asked."""

    def __init__(self, harder: float = 0.0) -> None:
        self.harder = harder
        self.calls: list[pd.DataFrame] = []

    def __call__(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        self.calls.append(frame.copy())
        return np.clip(chance(frame) - self.harder, 0, 1)


def states(frame: pd.DataFrame) -> set[tuple[Any, ...]]:
    return set(frame[list(SCHEMA.names)].itertuples(index=False, name=None))


def counted(rec: Recourse, plans: RecoursePlans) -> list[NDArray[np.float64]]:
    """What the samples of `rec` count in the objective for each option of a plan, by person: [options, samples]."""
    encoded = SCHEMA.encode(PEOPLE)
    keys = keys_of_rows(encoded.content(), rec.random_state)
    t = rec.cost_model_.sample(encoded, keys, rec.n_costs, [None] * len(PEOPLE)).tables
    tables = []
    for p, label in enumerate(PEOPLE.index):
        options = plans.options[plans.options["person"] == label]
        codes = SCHEMA.encode_options(options, encoded, np.full(len(options), p)).astype(np.int32)
        out = np.empty((len(codes), rec.n_costs))
        for row, code in zip(out, codes, strict=True):
            objective_costs(t, p, code, row)
        tables.append(out)
    return tables


def test_offered_states_are_evaluated_first() -> None:
    model = Watched()
    plans = recourse(model, budget=30).recommend(PEOPLE, warm_start=OLD)
    assert states(model.calls[0]) == states(PEOPLE)
    assert states(model.calls[1]) == states(OLD.options)
    assert (plans.summary["queries"] <= 30).all()
    assert plans.summary["queries"].sum() == plans.settings["model_rows"] == sum(map(len, model.calls))


def test_warm_start_states_are_not_evaluated_twice() -> None:
    for label in PEOPLE.index:
        model = Watched()
        recourse(model, budget=40).recommend(PEOPLE.loc[[label]], warm_start=OLD)
        asked = pd.concat(model.calls)[list(SCHEMA.names)]
        assert len(asked) > 5
        assert not asked.duplicated().any()


@pytest.mark.parametrize("budget", [3, 4, 20])
def test_warm_start_states_count_towards_the_budget(budget: int) -> None:
    """Also where the earlier plan had far more options than there are questions now."""
    rich = recourse(n_options=900, budget=901, method="random").recommend(PEOPLE)
    assert rich.summary["n_options"].max() > 2 * 20 + 100
    plans = recourse(budget=budget).recommend(PEOPLE, warm_start=rich)
    assert (plans.summary["queries"] <= budget).all()
    assert (plans.summary["status"] == "found").all()


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), budget=st.integers(4, 40), n=st.sampled_from([1, 3]))
def test_no_earlier_option_would_improve_the_plan(seed: int, budget: int, n: int) -> None:
    """All that was offered is in the pool from which options are chosen until no swap helps: one is the best of all.

    With noise a larger change may count as the cheaper one, and is not in the pool where a smaller one was accepted.
    """
    same: dict[str, Any] = {"random_state": seed, "n_options": n, "costs": CostDistribution(noise_std=0.0)}
    old = recourse(budget=25, **same).recommend(PEOPLE)
    rec = recourse(budget=budget, **same)
    new = rec.recommend(PEOPLE, warm_start=old)
    assert (chance(new.options) >= 0.5).all()
    for mine, offered in zip(counted(rec, new), counted(rec, old), strict=True):
        nobody = np.full((n - len(mine), rec.n_costs), 1.5 + TIE)  # what a sample counts that nothing serves
        full = np.concatenate([mine, nobody])
        for option in offered:
            for place in range(n):
                swapped = full.copy()
                swapped[place] = option
                assert full.min(axis=0).mean() <= swapped.min(axis=0).mean() + 1e-9


def test_states_no_longer_accepted_are_not_offered() -> None:
    model = Watched(harder=0.3)
    plans = recourse(model, budget=60).recommend(PEOPLE, warm_start=OLD)
    refused_now = states(OLD.options[chance(OLD.options) - 0.3 < 0.5])
    assert refused_now
    assert states(model.calls[1]) >= refused_now
    assert not states(plans.options) & refused_now


def test_states_no_longer_permitted_are_not_evaluated() -> None:
    model = Watched()
    moved = OLD.options.merge(PEOPLE, left_on="person", right_index=True, suffixes=("", "_now"))
    by_income = moved[moved["income"] != moved["income_now"]]
    assert 0 < len(by_income) < len(moved)
    schema = SCHEMA.update(income={"direction": "fixed"})
    rec = Recourse(model, schema, n_options=3, budget=30, n_costs=40).fit(TRAIN)
    plans = rec.recommend(PEOPLE, warm_start=OLD)
    assert states(model.calls[1]) == states(moved.drop(by_income.index))
    assert not any(states(call) & states(by_income) for call in model.calls)
    for option in plans.options.to_dict("records"):
        assert broken(schema, PEOPLE.loc[option["person"]].to_dict(), {n: option[n] for n in SCHEMA.names}) == []


def test_preferences_and_new_rows_decide_what_is_permitted() -> None:
    """People's states have changed since the plan was made, and they state preferences."""
    model = Watched()
    older = PEOPLE.assign(age=PEOPLE["age"] + 15)
    rec = recourse(model, budget=30)
    rec.recommend(older, preferences=Preferences(editable=["income", "age"]), warm_start=OLD)
    offered, now = OLD.options, older.loc[OLD.options["person"]].set_axis(OLD.options.index, axis=0)
    fine = (offered[["school", "job"]] == now[["school", "job"]]).all(axis=1) & (offered["age"] >= now["age"])
    assert states(model.calls[1]) == states(offered[fine]) or not fine.any()
    assert not any(states(call) & states(offered[~fine]) for call in model.calls)


def test_plans_may_cover_other_people_than_the_table() -> None:
    people = pd.concat([PEOPLE.head(3), refused(12).tail(4).set_axis(list("wxyz"), axis=0)])
    plans, cold = recourse().recommend(people, warm_start=OLD), recourse().recommend(people)
    assert plans.summary.index.equals(people.index)
    for label in "wxyz":
        assert plans[label] == cold[label]


def test_plans_do_not_depend_on_the_other_people() -> None:
    together = recourse().recommend(PEOPLE, warm_start=OLD)
    for label in PEOPLE.index[::3]:
        assert recourse().recommend(PEOPLE.loc[[label]], warm_start=OLD)[label] == together[label]


def test_plans_read_from_a_file_give_the_same_warm_start() -> None:
    back = RecoursePlans.from_json(OLD.to_json())
    assert recourse().recommend(PEOPLE, warm_start=back) == recourse().recommend(PEOPLE, warm_start=OLD)


@pytest.mark.parametrize("method", ["cols", "pcols", "ls", "random", COLS(gain="paper")])
def test_other_methods_ignore_the_warm_start(method: Any) -> None:
    with pytest.raises(SettingError, match=r'warm_start is for method="guided"; .* makes no use of it'):
        recourse(method=method).recommend(PEOPLE, warm_start=OLD)


@pytest.mark.parametrize("plans", [OLD.options, "plans.json", {}, 3])
def test_warm_start_must_be_plans(plans: Any) -> None:
    with pytest.raises(SettingError, match=f"warm_start must be plans .* not {type(plans).__name__}"):
        recourse().recommend(PEOPLE, warm_start=plans)


def test_plans_of_another_table_are_refused() -> None:
    names = ["age", "income"]
    narrow = TRAIN[names]
    model = lambda f: (f["income"] / 9000).to_numpy()  # noqa: E731
    schema = SCHEMA.infer(narrow)
    other = Recourse(model, schema, n_options=3, budget=20, n_costs=10).fit(narrow).recommend(PEOPLE[names])
    lacking = "warm_start: the plans were made with other columns: they have no 'school', 'job', 'sex'"
    with pytest.raises(SettingError, match=lacking):
        recourse().recommend(PEOPLE, warm_start=other)
    less = Recourse(model, schema, n_options=3, budget=20, n_costs=10).fit(narrow)
    with pytest.raises(SettingError, match="other columns: the schema has no 'school', 'job', 'sex'"):
        less.recommend(PEOPLE[names], warm_start=OLD)


def test_columns_may_be_in_another_order() -> None:
    turned = Schema(SCHEMA.features[::-1], SCHEMA.target, SCHEMA.rules)
    watched = Watched()
    rec = Recourse(watched, turned, n_options=3, budget=60, n_costs=40).fit(TRAIN)
    watched.calls.clear()
    plans = rec.recommend(PEOPLE, warm_start=OLD)
    assert states(OLD.options) <= states(pd.concat(watched.calls))
    assert (plans.summary["status"] == "found").all()


def grid(name: str, *values: Any) -> Feature:
    return Feature(name, "category" if isinstance(values[0], str) else "integer", values=values)


@pytest.mark.parametrize(
    ("then", "now", "kept"),
    [
        (grid("x", *range(3, 11)), grid("x", *range(11)), True),  # the same values have other places
        (grid("x", *range(11)), grid("x", *range(3, 11)), True),
        (grid("x", *range(16)), grid("x", *range(11)), False),  # the option is off the grid of today
    ],
    ids=["longer", "shorter", "off"],
)
def test_earlier_plans_may_have_had_other_grids(then: Feature, now: Feature, kept: bool) -> None:
    calls: list[pd.DataFrame] = []

    def model(frame: pd.DataFrame) -> NDArray[np.float64]:
        calls.append(frame.copy())
        return np.asarray(frame["x"] >= needed, np.float64)

    needed = 9 if kept else 12
    y = grid("y", *range(5))
    frame = pd.DataFrame({"x": [5, 6] * 20, "y": [0, 1, 2, 3] * 10})
    person = pd.DataFrame({"x": [5], "y": [2]}, index=["p"])
    old = Recourse(model, Schema((then, y)), n_options=2, budget=40, n_costs=20).fit(frame).recommend(person)
    assert old.options["x"].min() == needed
    calls.clear()
    needed = 9
    Recourse(model, Schema((now, y)), n_options=2, budget=20, n_costs=20).fit(frame).recommend(person, warm_start=old)
    offered = set(old.options[["x", "y"]].itertuples(index=False, name=None))
    asked = set(calls[1][["x", "y"]].itertuples(index=False, name=None))
    assert (offered == asked) == kept


def test_categories_may_be_in_another_order() -> None:
    jobs = ("clerk", "cook", "nurse")
    calls: list[pd.DataFrame] = []
    frame = pd.DataFrame({"job": list(jobs) * 10})

    def model(frame: pd.DataFrame) -> NDArray[np.float64]:
        calls.append(frame.copy())
        return np.asarray(frame["job"] == "nurse", np.float64)

    def ask(order: tuple[str, ...], **given: Any) -> RecoursePlans:
        rec = Recourse(model, Schema((grid("job", *order),)), n_options=1, budget=5, n_costs=10)
        return rec.fit(frame).recommend(pd.DataFrame({"job": ["cook"]}, index=["p"]), **given)

    old = ask(jobs)
    calls.clear()
    ask(jobs[::-1], warm_start=old)
    assert calls[1]["job"].tolist() == ["nurse"]


def test_warm_start_across_kinds_of_a_feature_is_refused() -> None:
    frame = pd.DataFrame({"x": [0, 1] * 10, "y": [0, 1] * 10})
    schemas = [Schema((f, grid("y", 0, 1))) for f in (Feature("x", "category", values=(0, 1)), grid("x", 0, 1))]
    recs = [
        Recourse(lambda f: f["y"].to_numpy(float), s, n_options=1, budget=4, n_costs=10).fit(frame) for s in schemas
    ]
    person = frame.head(1)
    for then, now, what in ((0, 1, "a category, and is a number now"), (1, 0, "a number, and is a category now")):
        with pytest.raises(SettingError, match=f"'x' was {what}"):
            recs[now].recommend(person, warm_start=recs[then].recommend(person))
