"""Rules of every form: read, compared, refused where they contradict each other or the schema."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastways.errors import SchemaError
from leastways.schema import AtMost, Feature, Forbidden, IfThen, Linked, Schema
from leastways.schema.encoding import grid_levels
from leastways.schema.rules import clauses_of, condition_mask

FEATURES = (
    Feature("a", "integer", (0, 1, 2), dtype="int64"),
    Feature("b", "category", ("x", "y", "z")),
    Feature("c", "ordinal", ("low", "mid", "high")),
    Feature("d", "integer", (0, 1, 2, 3), dtype="int64"),
)


def with_rules(*rules: Any, **directions: str) -> Schema:
    schema = Schema(FEATURES).update({name: {"direction": d} for name, d in directions.items()})
    return schema.update(rules=list(rules))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Forbidden({"a": 1, "b": "x"}), {"forbid": {"a": [1], "b": ["x"]}}),
        (Forbidden({"a": (1, 2), "b": {"y", "x"}}), {"forbid": {"a": {"min": 1, "max": 2}, "b": ["x", "y"]}}),
        (Forbidden({"a": np.int64(1), "b": np.array(["x"])}), {"forbid": {"a": 1, "b": "x"}}),
        (IfThen({"a": (None, 1)}, {"b": "x"}), {"if": {"a": {"max": 1}}, "then": {"b": "x"}}),
        (Linked("a", "d", np.float64(2.0)), {"linked": {"feature": "a", "requires": "d", "at_least": 2}}),
        (Linked("a", "d", 2, by=3), {"linked": {"feature": "a", "requires": "d", "at_least": 2, "by": 3}}),
        (AtMost(np.int64(2)), {"at_most": 2}),  # type: ignore[arg-type]
    ],
)
def test_rules_that_say_the_same_are_equal(one: Any, other: Any) -> None:
    schema = with_rules(one)
    assert schema == with_rules(other)
    assert schema == Schema.from_yaml(schema.to_yaml())


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (Forbidden({"a": 1, "bb": "x"}), "rule 1: there is no feature 'bb'. Did you mean 'b'?"),
        (Forbidden({"a": 1}), "rule 1: name at least two features"),
        (Forbidden({}), "rule 1: expected a mapping from feature to values"),
        (Forbidden({"a": 9, "b": "x"}), "rule 1: 9 is not a value of 'a'; allowed: a whole number from 0 to 2"),
        (Forbidden({"a": True, "b": "x"}), "rule 1: True is not a value of 'a'"),
        (Forbidden({"a": 1, "b": "w"}), "rule 1: 'w' is not a value of 'b'; allowed: one of 'x', 'y', 'z'"),
        (Forbidden({"a": 1, "b": []}), "rule 1: no value given for 'b'"),
        (Forbidden({"a": 1, "b": [["x"]]}), r"rule 1: \['x'\] is not a value of 'b'"),
        (Forbidden({"a": (2, 1), "b": "x"}), "rule 1: the range of 'a' runs from 2 down to 1"),
        (Forbidden({"a": (None, None), "b": "x"}), "rule 1: the range of 'a' has neither end"),
        (Forbidden({"a": (float("nan"), 1), "b": "x"}), "rule 1: the range of 'a' must be two numbers"),
        (Forbidden({"a": (0, 1, 2), "b": "x"}), r"rule 1: the range of 'a' is \(low, high\)"),
        (Forbidden({"a": ("0", 1), "b": "x"}), "rule 1: the range of 'a' must be two numbers"),
        (Forbidden({"a": {}, "b": "x"}), "rule 1: the range of 'a' is written"),
        (Forbidden({"a": 1, "b": ("x", "y")}), "rule 1: 'b' is not a number, so list the values"),
        (IfThen({"a": 1}, {}), "rule 1: expected a mapping from feature to values, not {}"),
        (IfThen({"a": 1}, ["b"]), "rule 1: expected a mapping"),  # type: ignore[arg-type]
        (Linked("b", "a", 1), "rule 1: 'b' has no order"),
        (Linked("a", "d", 0), "'at_least' must be a number other than 0, not 0"),
        (Linked("a", "d", float("inf")), "'at_least' must be a number other than 0, not inf"),
        (Linked("a", "d", 1, by="1"), "'by' must be a number other than 0, not '1'"),  # type: ignore[arg-type]
        (Linked(["a"], "d", 1), r"rule 1: there is no feature \['a'\]"),  # type: ignore[arg-type]
        (AtMost(0), "rule 1: at_most must be a whole number of 1 or more, not 0"),
        (AtMost(True), "at_most must be a whole number of 1 or more, not True"),
        (AtMost(1.5), "not 1.5"),  # type: ignore[arg-type]
        ("at most 3", "rule 1: 'at most 3' is not a rule; use IfThen, Forbidden, Linked or AtMost"),
        ({"linked": 3}, "rule 1: write either 'if' with 'then'"),
        ({"at_most": 1, "forbid": {"a": 1, "b": "x"}}, "rule 1: write either 'if' with 'then'"),
    ],
)
def test_mistakes_in_a_rule_are_named(rule: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        with_rules(rule)


@pytest.mark.parametrize("rules", ["at_most", {"at_most": 3}, 3])
def test_rules_come_in_a_list(rules: Any) -> None:
    with pytest.raises(SchemaError, match="rules must be a list"):
        Schema(FEATURES, rules=rules)


CONTRADICTORY: list[tuple[list[Any], dict[str, str]]] = [
    ([IfThen({"a": (0, 2)}, {"b": "x"}), Forbidden({"a": (0, 2), "b": "x"})], {}),
    ([IfThen({"b": b}, {"a": 0}) for b in "xyz"] + [Forbidden({"a": 0, "b": ["x", "y", "z"]})], {}),
    ([IfThen({"a": (0, 2)}, {"b": "x"}), IfThen({"b": "x"}, {"b": "y"})], {}),
    ([Linked("a", "d", 1)], {"d": "fixed"}),
    ([Linked("a", "d", 1)], {"d": "down"}),
    ([Linked("a", "d", -1)], {"d": "up"}),
    ([Linked("a", "d", 2), Linked("d", "a", 1)], {}),
    ([Linked("a", "d", 1), Linked("d", "c", 1), Linked("c", "a", 2)], {}),
    ([Linked("a", "a", 2)], {}),
    ([Linked("a", "d", 0.5, by=0.25), Linked("d", "a", 0.75)], {}),
    ([Linked("a", "a", -1)], {}),
    ([Linked("a", "d", 1), Linked("d", "a", -1)], {}),
]
CONSISTENT: list[tuple[list[Any], dict[str, str]]] = [
    ([IfThen({"a": 1}, {"b": "x"}), Forbidden({"a": 1, "b": "x"})], {}),  # a is never 1, which is possible
    ([Linked("a", "d", 1), Linked("d", "a", 1)], {}),  # together, step by step
    ([Linked("a", "d", 2), Linked("d", "a", 0.5)], {}),
    ([Linked("a", "d", 2, by=2), Linked("d", "a", 3, by=3)], {}),
    ([Linked("a", "d", 1)], {"a": "fixed", "d": "fixed"}),  # nothing moves, so nothing is demanded
    ([Linked("a", "d", 1)], {"a": "down", "d": "fixed"}),
    ([Linked("a", "d", 2), Linked("d", "a", 1)], {"a": "down", "d": "down"}),
    ([Linked("a", "d", 1), Linked("d", "a", -1)], {"d": "any", "a": "down"}),
    ([Linked("a", "d", 2), Linked("d", "a", -1, by=-1)], {}),  # one speaks of rising, the other of falling
    ([AtMost(1), Linked("a", "d", 1)], {}),
]


@pytest.mark.parametrize(("rules", "directions"), CONTRADICTORY)
def test_contradictory_rules_are_refused(rules: list[Any], directions: dict[str, str]) -> None:
    with pytest.raises(SchemaError, match="contradictory"):
        with_rules(*rules, **directions)


@pytest.mark.parametrize(("rules", "directions"), CONSISTENT)
def test_consistent_rules_are_not(rules: list[Any], directions: dict[str, str]) -> None:
    assert len(with_rules(*rules, **directions).rules) == len(rules)


conditions = st.fixed_dictionaries(
    {},
    optional={
        "a": st.sets(st.integers(0, 2), min_size=1) | st.tuples(st.integers(0, 1), st.integers(1, 2)),
        "b": st.sets(st.sampled_from("xyz"), min_size=1),
        "c": st.sets(st.sampled_from(["low", "mid", "high"]), min_size=1),
    },
)
state_rules = st.builds(IfThen, conditions.filter(bool), conditions.filter(bool)) | st.builds(
    Forbidden, conditions.filter(lambda c: len(c) > 1)
)


def holds(state: dict[str, Any], part: Any) -> bool:
    def meets(value: Any, condition: Any) -> bool:
        return condition[0] <= value <= condition[1] if isinstance(condition, tuple) else value in condition

    return all(meets(state[name], condition) for name, condition in part.items())


def allows(rule: Any, state: dict[str, Any]) -> bool:
    """What a rule means, in plain words."""
    if isinstance(rule, Forbidden):
        return not holds(state, rule.together)
    return not holds(state, rule.when) or holds(state, rule.then)


@given(st.lists(state_rules, min_size=1, max_size=6))
@settings(max_examples=200)
def test_rules_are_refused_exactly_where_no_state_meets_them(rules: list[Any]) -> None:
    """Against trying every state there is."""
    states = [dict(zip("abc", s, strict=True)) for s in itertools.product((0, 1, 2), "xyz", ("low", "mid", "high"))]
    possible = any(all(allows(rule, state) for rule in rules) for state in states)
    if possible:
        with_rules(*rules)
    else:
        with pytest.raises(SchemaError, match="contradictory: no state meets all of them"):
            with_rules(*rules)


@given(state_rules)
def test_clauses_mean_what_the_rule_says(rule: Any) -> None:
    """The kernels see rules as clauses: one of the literals of each must hold."""
    schema = with_rules()
    levels = {f.name: grid_levels(f)[None, :] for f in schema.features}
    clauses = clauses_of(rule, schema.by_name, levels)
    for codes in itertools.product(range(3), repeat=3):
        state = {f.name: f.values[code] for f, code in zip(FEATURES[:3], codes, strict=True)}
        at = dict(zip("abc", codes, strict=True))
        assert all(any(mask[0, at[n]] for n, mask in c.items()) for c in clauses) == allows(rule, state)


def test_a_range_in_a_short_float_column_includes_its_ends() -> None:
    frame = pd.DataFrame({"x": np.array([0.1, 0.7, 0.9], dtype=np.float32), "y": ["a", "b", "b"]})
    schema = Schema.infer(frame).update(rules=[Forbidden({"x": (0.1, 0.7), "y": "a"})])
    levels = {f.name: grid_levels(f)[None, :] for f in schema.features}
    (clause,) = clauses_of(schema.rules[0], schema.by_name, levels)
    assert clause["x"][0].tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("condition", "met"),
    [((None, 0.1), [True, False, False]), ((0.7, None), [False, False, True]), ([0.1, 0.7], [True, False, True])],
)
def test_a_condition_speaks_of_numbers_as_the_column_holds_them(condition: Any, met: list[bool]) -> None:
    """In a short column 0.1 is a little more than 0.1, and 0.7 a little less than 0.7."""
    feature = Feature("x", "real", (0.1, 0.4, 0.7), dtype="float32")
    assert condition_mask(feature, condition, grid_levels(feature)[None, :])[0].tolist() == met
