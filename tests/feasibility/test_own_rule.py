"""A rule type from outside the package: one class, one compile function, and every method keeps it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import leastways as lw
from leastways.errors import SchemaError
from leastways.feasibility import Constraints, Grids, Link, compiles, constraints
from leastways.schema import Rule, check_conditions, conditions_dict, conditions_words, register_rule, rules

FEATURES = (
    lw.Feature("a", "integer", (0, 1, 2, 3), dtype="int64"),
    lw.Feature("b", "category", ("x", "y", "z")),
    lw.Feature("c", "ordinal", ("low", "mid", "high"), direction="up"),
    lw.Feature("d", "integer", (0, 1, 2, 3), dtype="int64"),
)
ORDER = {"low": 0, "mid": 1, "high": 2}
CONDITIONS = {"b": ["y", "z"], "d": {"max": 1}}


@dataclass(frozen=True)
class AtLeastOneOf(Rule):
    """At least one of these conditions must hold."""

    conditions: Mapping[str, Any]
    keys: ClassVar[tuple[str, ...]] = ("at_least_one_of",)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str) -> AtLeastOneOf:
        return cls(data["at_least_one_of"])

    def to_dict(self) -> dict[str, Any]:
        return {"at_least_one_of": conditions_dict(self.conditions)}

    def check(self, features: Mapping[str, lw.Feature], where: str) -> None:
        check_conditions(self.conditions, features, where)

    def words(self, features: Mapping[str, lw.Feature]) -> str:
        return f"at least one of these: {conditions_words(self.conditions, features)}"


def compile_at_least_one_of(rule: AtLeastOneOf, grids: Grids) -> Constraints:
    return Constraints([{name: grids.meets(name, condition) for name, condition in rule.conditions.items()}])


@pytest.fixture(autouse=True)
def own_registries(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten after it."""
    monkeypatch.setattr(rules, "_TYPES", dict(rules._TYPES))
    monkeypatch.setattr(constraints, "_COMPILERS", dict(constraints._COMPILERS))


@pytest.fixture
def registered(own_registries: None) -> None:
    register_rule(AtLeastOneOf)
    compiles(AtLeastOneOf)(compile_at_least_one_of)


def accepts(frame: pd.DataFrame) -> NDArray[np.float64]:
    score = frame["a"].astype(int) + frame["c"].map(ORDER).astype(int) + frame["d"].astype(int)
    return np.where(score >= 5, 0.75, 0.25)


def holds(state: Mapping[Any, Any]) -> bool:
    """Whether a state keeps the rule, in plain words."""
    return state["b"] in ("y", "z") or state["d"] <= 1


def every_state() -> Iterator[dict[str, Any]]:
    for values in itertools.product(*(feature.values for feature in FEATURES)):
        yield dict(zip("abcd", values, strict=True))


PEOPLE = pd.DataFrame(
    {"a": [0, 1, 0, 2], "b": ["x", "x", "y", "x"], "c": ["low", "mid", "low", "low"], "d": [0, 1, 0, 2]}
)
TRAIN = pd.DataFrame(every_state())


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("method", ["guided", "cols", "pcols", "ls", "random"])
def test_no_method_offers_a_state_that_breaks_an_own_rule(method: str) -> None:
    schema = lw.Schema(FEATURES).update(rules=[AtLeastOneOf(CONDITIONS), lw.AtMost(3)])
    options = (
        lw.Recourse(accepts, schema, method=method, n_options=4, n_costs=30, budget=200, random_state=0)
        .fit(TRAIN)
        .recommend(PEOPLE)
        .options
    )
    assert len(options) >= len(PEOPLE)
    assert all(holds(state) for state in options.to_dict("records"))
    free = lw.Recourse(accepts, lw.Schema(FEATURES), method=method, n_options=4, n_costs=30, budget=200, random_state=0)
    assert not all(holds(state) for state in free.fit(TRAIN).recommend(PEOPLE).options.to_dict("records"))


@pytest.mark.usefixtures("registered")
def test_oracle_finds_the_cheapest_state_within_an_own_rule() -> None:
    schema = lw.Schema(FEATURES).update(rules=[AtLeastOneOf(CONDITIONS)])
    unit = {"a": 1.0, "b": 2.5, "c": 1.5, "d": 0.5}

    def cost(feature: str, before: Any, after: Any) -> float:
        return unit[feature] * abs(ORDER.get(after, after) - ORDER.get(before, before)) if feature != "b" else 2.5

    for person in PEOPLE.to_dict("records"):
        costs = [
            sum(cost(name, person[name], state[name]) for name in "abcd" if state[name] != person[name])
            for state in every_state()
            if holds(state) and ORDER[state["c"]] >= ORDER[person["c"]] and accepts(pd.DataFrame([state]))[0] >= 0.5
        ]
        found = lw.oracle(accepts, schema, pd.Series(person), cost)
        assert found.status == "exact"
        assert found.cost == pytest.approx(min(costs))
        assert found.state is not None
        assert holds(found.state)


@pytest.mark.usefixtures("registered")
def test_own_rule_comes_through_yaml_and_reads_as_words() -> None:
    schema = lw.Schema(FEATURES).update(rules=[{"at_least_one_of": CONDITIONS}])
    assert schema.rules == (AtLeastOneOf(CONDITIONS),)
    assert "- {at_least_one_of: {b: [y, z], d: {max: 1}}}" in schema.to_yaml()
    assert lw.Schema.from_yaml(schema.to_yaml()) == schema
    assert "at least one of these: b is &#39;y&#39; or &#39;z&#39;, and d is at most 1" in schema._repr_html_()
    with pytest.raises(SchemaError, match=r"rule 1: there is no feature 'bb'\. Did you mean 'b'\?"):
        lw.Schema(FEATURES).update(rules=[AtLeastOneOf({"bb": "x"})])
    with pytest.raises(SchemaError, match=r"unknown key 'at_least_one'.*Did you mean 'at_least_one_of'\?"):
        lw.Schema(FEATURES).update(rules=[{"at_least_one": CONDITIONS}])


@pytest.mark.usefixtures("registered")
def test_contradictions_of_own_rules_are_found_when_the_schema_is_made() -> None:
    with pytest.raises(SchemaError, match="contradictory: no state meets all of them"):
        lw.Schema(FEATURES).update(rules=[AtLeastOneOf({"a": 1}), lw.IfThen({"a": 1}, {"a": 2})])


def test_a_rule_type_that_is_not_registered_is_named() -> None:
    compiles(AtLeastOneOf)(compile_at_least_one_of)
    with pytest.raises(SchemaError, match="rule 1: rule type AtLeastOneOf is not registered; put @register_rule above"):
        lw.Schema(FEATURES).update(rules=[AtLeastOneOf(CONDITIONS)])
    with pytest.raises(SchemaError, match="rule 1: unknown key 'at_least_one_of'; known: if, then, forbid"):
        lw.Schema(FEATURES).update(rules=[{"at_least_one_of": CONDITIONS}])


def test_a_rule_type_without_a_compile_function_is_named() -> None:
    register_rule(AtLeastOneOf)
    for given in (AtLeastOneOf(CONDITIONS), {"at_least_one_of": CONDITIONS}):
        with pytest.raises(SchemaError, match=r"rule type AtLeastOneOf has no entry in leastways\.feasibility"):
            lw.Schema(FEATURES).update(rules=[given])


def test_a_class_that_lacks_a_method_or_keys_is_not_registered() -> None:
    class Silent(Rule):
        """It cannot be worded, nor read."""

        def to_dict(self) -> dict[str, Any]:
            return {}

        def check(self, features: Mapping[str, lw.Feature], where: str) -> None:
            pass

    class Nameless(AtLeastOneOf):
        """It has no place in a schema file."""

        keys: ClassVar[tuple[str, ...]] = ()

    class Double(AtLeastOneOf):
        """Its key belongs to another type."""

        keys: ClassVar[tuple[str, ...]] = ("forbid",)

    for rule_type, message in [
        (Silent, "rule type Silent does not define from_dict, words"),
        (Nameless, "rule type Nameless: keys must be a tuple"),
        (Double, "rule type Double: the key 'forbid' belongs to Forbidden already"),
        (dict, "register_rule takes a subclass of Rule, not dict"),
    ]:
        with pytest.raises(SchemaError, match=message):
            register_rule(rule_type)  # type: ignore[type-var]
    with pytest.raises(SchemaError, match="compiles takes a rule type"):
        compiles(dict)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (None, "rule type AtLeastOneOf: its compile function must return Constraints, not None"),
        (Constraints([{"e": np.ones((1, 1), np.bool_)}]), "its compile function names 'e', which is no feature"),
        (Constraints(links=[Link("a", "e", 1.0)]), "its compile function names 'e', which is no feature"),
        (Constraints(links=[Link("a", "d", 0.0)]), "a link needs numbers other than 0"),
        (Constraints(most_changes=0), "most_changes must be a whole number of 1 or more, not 0"),
    ],
)
def test_what_a_compile_function_returns_is_checked(made: Any, message: str) -> None:
    register_rule(AtLeastOneOf)
    compiles(AtLeastOneOf)(lambda rule, grids: made)
    with pytest.raises(SchemaError, match=message):
        lw.Schema(FEATURES).update(rules=[AtLeastOneOf(CONDITIONS)])


def test_a_normal_form_of_another_type_is_refused() -> None:
    class Lossy(AtLeastOneOf):
        """Its normal form would not keep its meaning."""

        keys: ClassVar[tuple[str, ...]] = ("lossy",)

        def normal(self) -> Rule:
            return lw.AtMost(1)

    register_rule(Lossy)
    with pytest.raises(SchemaError, match=r"rule type Lossy: normal\(\) must return a Lossy, not AtMost"):
        lw.Schema(FEATURES).update(rules=[Lossy(CONDITIONS)])


@pytest.mark.usefixtures("registered")
def test_a_class_that_is_defined_again_replaces_the_first() -> None:
    again = type("AtLeastOneOf", (AtLeastOneOf,), {"__module__": __name__, "__qualname__": "AtLeastOneOf"})
    register_rule(again)
    assert [t for t in rules._TYPES.values() if t.__name__ == "AtLeastOneOf"] == [again]
