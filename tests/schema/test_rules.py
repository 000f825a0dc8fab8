"""Rules of each type are read, checked, compared and worded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leastways.errors import SchemaError
from leastways.schema import AtMost, Feature, Forbidden, IfThen, Linked, Schema, condition_mask, grid_levels
from tests.support.small_schema import FEATURES, with_rules


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
def test_rules_of_the_same_meaning_are_equal(one: Any, other: Any) -> None:
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
        ({"linked": 3}, "rule 1: 'linked' needs the settings feature, requires and at_least, not 3"),
        ({"if": {"a": 1}}, "rule 1: write either 'if' with 'then', 'forbid', 'linked' or 'at_most'; got"),
        ({"at_most": 1, "forbid": {"a": 1, "b": "x"}}, "rule 1: write either 'if' with 'then'"),
    ],
)
def test_mistakes_in_a_rule_are_named(rule: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        with_rules(rule)


@pytest.mark.parametrize("rules", ["at_most", {"at_most": 3}, 3])
def test_rules_must_be_a_list(rules: Any) -> None:
    with pytest.raises(SchemaError, match="rules must be a list"):
        Schema(FEATURES, rules=rules)


@pytest.mark.parametrize(
    ("condition", "met"),
    [((None, 0.1), [True, False, False]), ((0.7, None), [False, False, True]), ([0.1, 0.7], [True, False, True])],
)
def test_conditions_compare_numbers_in_the_precision_of_the_column(condition: Any, met: list[bool]) -> None:
    """In a short column 0.1 is a little more than 0.1, and 0.7 a little less than 0.7."""
    feature = Feature("x", "real", (0.1, 0.4, 0.7), dtype="float32")
    assert condition_mask(feature, condition, grid_levels(feature)[None, :])[0].tolist() == met


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (
            IfThen({"a": (1, None), "c": "low"}, {"b": ["x", "y"]}),
            "if A is at least 1, and c is 'low', then b is 'x' or 'y'",
        ),
        (Forbidden({"a": (0, 1), "d": {"max": 2}}), "not together: A is 0 to 1, and d is at most 2"),
        (Linked("a", "d", -2, by=-1), "a fall of A by 1 requires a fall of d by at least 2"),
        (AtMost(1), "at most 1 feature may change"),
        (AtMost(3), "at most 3 features may change"),
    ],
)
def test_rules_read_as_phrases_with_labels(rule: Any, words: str) -> None:
    schema = with_rules(rule).update(a={"label": "A"})
    assert schema.rules[0].words(schema.by_name) == words
