"""Rules as constraints: they mean what the rules say, and contradictions among them are found."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastways.errors import SchemaError
from leastways.feasibility import Grids, Link, constraints_of
from leastways.schema import AtMost, Forbidden, IfThen, Linked, Schema, grid_levels
from tests.support.small_schema import with_rules


def grids_of(schema: Schema) -> Grids:
    return Grids(schema.by_name, {f.name: grid_levels(f)[None, :] for f in schema.features})


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
    ([IfThen({"a": 1}, {"b": "x"}), Forbidden({"a": 1, "b": "x"})], {}),  # possible where a is not 1
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
def test_consistent_rules_are_accepted(rules: list[Any], directions: dict[str, str]) -> None:
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
    """Whether a state keeps a rule, by its definition."""
    if isinstance(rule, Forbidden):
        return not holds(state, rule.together)
    return not holds(state, rule.when) or holds(state, rule.then)


@given(st.lists(state_rules, min_size=1, max_size=6))
@settings(max_examples=200)
def test_rules_are_refused_exactly_where_no_state_meets_them(rules: list[Any]) -> None:
    """Against an enumeration of all states."""
    states = [dict(zip("abc", s, strict=True)) for s in itertools.product((0, 1, 2), "xyz", ("low", "mid", "high"))]
    possible = any(all(allows(rule, state) for rule in rules) for state in states)
    if possible:
        with_rules(*rules)
    else:
        with pytest.raises(SchemaError, match="contradictory: no state meets all of them"):
            with_rules(*rules)


@given(state_rules)
def test_clauses_are_equivalent_to_the_rule(rule: Any) -> None:
    """The kernels see rules as clauses: one of the literals of each must hold."""
    schema = with_rules()
    clauses = constraints_of([rule], grids_of(schema)).clauses
    for codes in itertools.product(range(3), repeat=3):
        state = {f.name: f.values[code] for f, code in zip(schema.features[:3], codes, strict=True)}
        at = dict(zip("abc", codes, strict=True))
        assert all(any(mask[0, at[n]] for n, mask in c.items()) for c in clauses) == allows(rule, state)


def test_a_range_in_a_short_float_column_includes_its_ends() -> None:
    frame = pd.DataFrame({"x": np.array([0.1, 0.7, 0.9], dtype=np.float32), "y": ["a", "b", "b"]})
    schema = Schema.infer(frame).update(rules=[Forbidden({"x": (0.1, 0.7), "y": "a"})])
    (clause,) = constraints_of(schema.rules, grids_of(schema)).clauses
    assert clause["x"][0].tolist() == [False, False, True]


def test_constraints_of_all_rules_together() -> None:
    rules = [AtMost(3), Linked("a", "d", 2), Forbidden({"b": "x", "c": "low"}), AtMost(2)]
    schema = with_rules(*rules)
    found = constraints_of(schema.rules, grids_of(schema))
    assert found.links == [Link("a", "d", 2, 1)]
    assert found.most_changes == 2
    assert found.features == {"a", "b", "c", "d"}
    assert constraints_of([], grids_of(schema)).most_changes is None
