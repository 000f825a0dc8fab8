"""Where a person can reach few states, guided search ends with nothing only if there is nothing."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import leastways as lw
from leastways import AtMost, Forbidden, Recourse, Schema

VALUES: dict[str, list[Any]] = {"a": [0, 1, 2, 3, 4, 5], "b": ["x", "y", "z"], "c": [0, 1, 2]}
TRAIN = pd.DataFrame(list(product(*VALUES.values())), columns=list(VALUES))
RULES: list[Any] = [Forbidden({"b": ["z"], "c": [2]}), AtMost(2)]
SCHEMA = Schema.infer(TRAIN).update(a={"direction": "up"}, rules=RULES)
KEY = TRAIN["a"] * 100 + TRAIN["b"].map({"x": 0, "y": 10, "z": 20}) + TRAIN["c"]


def key(frame: pd.DataFrame) -> NDArray[np.int64]:
    codes = frame["a"] * 100 + frame["b"].map({"x": 0, "y": 10, "z": 20}) + frame["c"]
    return codes.to_numpy(np.int64)


def reachable(person: Any) -> list[dict[str, Any]]:
    """In plain Python: where this person may be led, by directions and rules."""
    out = []
    for values in product(*VALUES.values()):
        state = dict(zip(VALUES, values, strict=True))
        changed = sum(state[n] != person[n] for n in VALUES)
        if 1 <= changed <= 2 and state["a"] >= person["a"] and (state["b"], state["c"]) != ("z", 2):
            out.append(state)
    return out


@given(
    accepted=st.sets(st.sampled_from(KEY.tolist()), max_size=3),
    seed=st.integers(0, 99),
    extra=st.integers(0, 20),
    company=st.lists(st.sampled_from(range(len(TRAIN))), min_size=1, max_size=6, unique=True),
)
@settings(max_examples=30, deadline=None)
def test_option_is_found_if_an_accepted_state_exists(
    accepted: set[int], seed: int, extra: int, company: list[int]
) -> None:
    people = TRAIN.iloc[company]
    budget = 1 + max(len(reachable(person)) for person in people.to_dict("records")) + extra  # and the present state

    def model(frame: pd.DataFrame) -> NDArray[np.float64]:
        return np.isin(key(frame), list(accepted)).astype(float)

    rec = Recourse(model, SCHEMA, n_options=2, budget=budget, n_costs=10, random_state=seed).fit(TRAIN)
    plans = rec.recommend(people)
    for label, person in people.to_dict("index").items():
        row, states = plans.summary.loc[[label]].iloc[0], pd.DataFrame(reachable(person))
        if key(people.loc[[label]])[0] in accepted:
            assert row["status"] == "already_positive"
        elif set(key(states)) & accepted:
            assert row["status"] == "found"
        else:
            assert row["status"] == "none_exists"
            assert row["reason"] == f"the model refuses all {len(states)} states that this person can reach"
            assert row["queries"] == len(states) + 1  # none twice, and none that breaks a rule
        assert row["queries"] <= budget


def test_option_that_no_sample_permits_is_still_an_option() -> None:
    """Both features must change, and each of the few samples permits a change of one alone."""
    schema = Schema.infer(TRAIN[["a", "b"]])
    rec = Recourse(lambda f: ((f["a"] == 5) & (f["b"] == "z")).astype(float), schema, n_options=2, budget=20, n_costs=3)
    people = pd.DataFrame({"a": [0, 1, 2], "b": ["x", "y", "x"]}, index=["p", "q", "r"])
    for seed in range(20):
        plans = rec.set_params(random_state=seed).fit(TRAIN[["a", "b"]]).recommend(people)
        assert (plans.summary["status"] == "found").all()
        assert (plans.options[["a", "b"]] == [5, "z"]).all(axis=None)
        lonely = plans.summary.index[plans.summary["covered"] == 0]
        if len(lonely):
            break
    else:
        pytest.fail("every sample was open to both")
    text = plans[lonely[0]].to_text()
    assert "Option 1: possible under none of the simulated preferences" in text
    assert "nan" not in text
    assert lw.RecoursePlans.from_json(plans.to_json()) == plans


def test_states_not_evaluated_in_time_are_not_reported_as_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time ends just before the last states are asked about."""
    from leastways.search import protocol as base
    from leastways.search.guided.searcher import GuidedRun

    clock = [0.0]
    monkeypatch.setattr(base, "monotonic", lambda: clock[0])
    with_rest = GuidedRun._with_rest

    def late(self: GuidedRun, questions: Any, left: Any) -> Any:
        out = with_rest(self, questions, left)
        clock[0] = 1000.0 if self.rest_asked.any() else clock[0]
        return out

    monkeypatch.setattr(GuidedRun, "_with_rest", late)
    train = pd.DataFrame({"a": np.arange(51)})
    settings: dict[str, Any] = {"n_options": 1, "budget": 60, "n_costs": 20, "time_limit": 100}
    method = lw.Guided(without=("steps",))  # else it would come upon all of these few by itself
    rec = Recourse(lambda frame: np.zeros(len(frame)), Schema.infer(train), method, **settings)
    row = rec.fit(train).recommend(train.iloc[[10]]).summary.iloc[0]
    assert clock[0] == 1000
    assert "refuses all" not in row["reason"]
    assert row["queries"] < 51


@given(
    accepted=st.sets(st.sampled_from(KEY.tolist()), min_size=1),
    seed=st.integers(0, 99),
    objective=st.sampled_from(["emc", "satisfaction"]),
    company=st.lists(st.sampled_from(range(len(TRAIN))), min_size=1, max_size=6, unique=True),
)
@settings(max_examples=30, deadline=None)
def test_no_cheaper_accepted_state_remains(accepted: set[int], seed: int, objective: Any, company: list[int]) -> None:
    """With a budget for all states and room for all options, every sample has its cheapest accepted state.

    Without noise: with it a larger change is now and then the cheaper one by luck, and is not offered beside a smaller.
    """
    people = TRAIN.iloc[company]

    def model(frame: pd.DataFrame) -> NDArray[np.float64]:
        return np.isin(key(frame), list(accepted)).astype(float)

    few: dict[str, Any] = {"n_options": 54, "budget": 60, "n_costs": 10, "random_state": seed, "objective": objective}
    rec = Recourse(model, SCHEMA, costs=lw.CostDistribution(noise_std=0.0), **few)
    plans = rec.fit(TRAIN).recommend(people)
    found = plans.summary.index[plans.summary["status"] == "found"]
    certificates = rec.certify(plans, people=found).certificates if len(found) else pd.DataFrame({"gap": [0.0]})
    assert certificates["gap"].abs().max() < 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_only_states_permitted_by_rules_are_counted(seed: int) -> None:
    """One change at most: 35 of 32,767 states, and a budget for these."""
    names = list("abcde")
    train = pd.DataFrame({name: np.arange(8) for name in names})
    schema = Schema.infer(train).update(rules=[AtMost(1)])
    person = pd.DataFrame({name: [3] for name in names})
    for way, status in (([3, 3, 3, 3, 7], "found"), ([3, 3, 3, 4, 7], "none_exists")):
        rec = Recourse(
            lambda frame, way=way: (frame[names] == way).all(axis=1).to_numpy(float),
            schema,
            n_options=2,
            budget=36,
            n_costs=20,
            random_state=seed,
        )
        plans = rec.fit(train).recommend(person)
        assert plans.summary["status"].tolist() == [status]


def test_rule_that_cannot_be_repaired_permits_no_state() -> None:
    schema = Schema.infer(TRAIN).update(b={"direction": "fixed"}, c={"direction": "fixed"}, rules=[RULES[0]])
    person = pd.DataFrame({"a": [2], "b": ["z"], "c": [2]})
    plans = Recourse(lambda frame: np.zeros(len(frame)), schema, budget=20, n_costs=5).fit(TRAIN).recommend(person)
    assert plans.summary[["status", "reason"]].to_numpy().tolist() == [
        ["none_exists", "every change that this person could make breaks a rule"]
    ]


def test_budget_may_exceed_the_number_of_states() -> None:
    plans = Recourse(lambda frame: np.zeros(len(frame)), SCHEMA, budget=10**12, n_costs=5).fit(TRAIN)
    assert plans.recommend(TRAIN.head(2)).summary["status"].tolist() == ["none_exists"] * 2


def test_number_of_states_may_exceed_a_float() -> None:
    """The product of 200 columns with 101 values each must not overflow with a warning (an error here)."""
    train = pd.DataFrame({f"x{i}": [0, 100, 50] for i in range(200)})
    rec = Recourse(lambda f: (f["x7"] > 60).astype(float), Schema.infer(train), n_options=2, budget=60, n_costs=5)
    plans = rec.fit(train).recommend(train.iloc[[0]])
    assert plans.summary["queries"].iloc[0] <= 60
