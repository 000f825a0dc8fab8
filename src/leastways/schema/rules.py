"""Rules across features. A state that breaks one is never offered.

`IfThen` and `Forbidden` speak of the state itself, `Linked` and `AtMost` of the move that leads to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from leastways._messages import nearest, plain
from leastways._validation import is_number
from leastways.errors import SchemaError
from leastways.schema.conditions import Condition, check_condition, normal, range_of, values_of
from leastways.schema.feature import Feature


@dataclass(frozen=True)
class IfThen:
    """If every condition in `when` holds, every condition in `then` must hold too."""

    when: Mapping[str, Condition]
    then: Mapping[str, Condition]

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as it is written in a schema file."""
        return {"if": _plain(self.when), "then": _plain(self.then)}


@dataclass(frozen=True)
class Forbidden:
    """These values must not occur together."""

    together: Mapping[str, Condition]

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as it is written in a schema file."""
        return {"forbid": _plain(self.together)}


@dataclass(frozen=True)
class Linked:
    """Each move of `feature` by `by` demands that `requires` moves by `at_least` (both signed).

    `Linked("education", requires="age", at_least=2)`: each level of education takes at least two years. Numbers are
    counted in their own units, ordinal features in places of their order.
    """

    feature: str
    requires: str
    at_least: float
    by: float = 1

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as it is written in a schema file."""
        inner = {"feature": self.feature, "by": self.by, "requires": self.requires, "at_least": self.at_least}
        return {"linked": inner}


@dataclass(frozen=True)
class AtMost:
    """At most this many features may change."""

    changes: int

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as it is written in a schema file."""
        return {"at_most": self.changes}


Rule = IfThen | Forbidden | Linked | AtMost
_FORMS = ("if", "then", "forbid", "linked", "at_most")


def as_rules(rules: Sequence[Rule | Mapping[str, Any]], features: Mapping[str, Feature]) -> tuple[Rule, ...]:
    """Read rules (objects, or mappings as in a schema file) and check each against the features."""
    if isinstance(rules, str | Mapping) or not isinstance(rules, Sequence):
        raise SchemaError(f"rules must be a list of rules, not {rules!r}.")
    out = []
    for number, rule in enumerate(rules, start=1):
        where = f"rule {number}"
        read = _from_mapping(rule, where) if isinstance(rule, Mapping) else rule
        if not isinstance(read, Rule):
            raise SchemaError(f"{where}: {rule!r} is not a rule; use IfThen, Forbidden, Linked or AtMost.")
        read = _plain_numbers(read)
        _check(read, features, where)
        out.append(_normal(read))
    return tuple(out)


def _plain_numbers(rule: Rule) -> Rule:
    """Turn numpy numbers into Python's, which a schema file can hold."""
    if isinstance(rule, Linked):
        return replace(rule, at_least=plain(rule.at_least), by=plain(rule.by))
    return replace(rule, changes=plain(rule.changes)) if isinstance(rule, AtMost) else rule


def _normal(rule: Rule) -> Rule:
    """Write a checked rule's conditions in one form, so that rules that say the same are equal."""
    if isinstance(rule, IfThen):
        return IfThen(*({n: normal(c) for n, c in part.items()} for part in (rule.when, rule.then)))
    if isinstance(rule, Forbidden):
        return Forbidden({n: normal(c) for n, c in rule.together.items()})
    return rule


def _from_mapping(rule: Mapping[str, Any], where: str) -> Rule:
    known_keys(rule, _FORMS, where)
    keys = set(rule)
    if keys == {"if", "then"}:
        return IfThen(rule["if"], rule["then"])
    if keys == {"forbid"}:
        return Forbidden(rule["forbid"])
    if keys == {"at_most"}:
        return AtMost(rule["at_most"])
    if keys == {"linked"} and isinstance(rule["linked"], Mapping):
        inner = rule["linked"]
        known_keys(inner, ("feature", "by", "requires", "at_least"), where)
        for key in ("feature", "requires", "at_least"):
            if key not in inner:
                raise SchemaError(f"{where}: a linked move needs {key!r}.")
        return Linked(**inner)
    raise SchemaError(
        f"{where}: write either 'if' with 'then', or 'forbid', or 'linked' with its settings, or 'at_most'; "
        f"got {dict(rule)!r}."
    )


def known_keys(data: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    """Raise where a part of a schema file has a key that means nothing there."""
    for key in data:
        if key not in known:
            raise SchemaError(f"{where}: unknown key {key!r}; known: {', '.join(known)}." + nearest(key, known))


def _check(rule: Rule, features: Mapping[str, Feature], where: str) -> None:
    if isinstance(rule, AtMost):
        if isinstance(rule.changes, bool) or not isinstance(rule.changes, int) or rule.changes < 1:
            raise SchemaError(f"{where}: at_most must be a whole number of 1 or more, not {rule.changes!r}.")
    elif isinstance(rule, Linked):
        _check_linked(rule, features, where)
    else:
        for part in (rule.when, rule.then) if isinstance(rule, IfThen) else (rule.together,):
            if not isinstance(part, Mapping) or not part:
                raise SchemaError(f"{where}: expected a mapping from feature to values, not {part!r}.")
            for name, condition in part.items():
                check_condition(_known(name, features, where), condition, where)
        if isinstance(rule, Forbidden) and len(rule.together) < 2:
            raise SchemaError(f"{where}: name at least two features that must not meet; got {dict(rule.together)!r}.")


def _check_linked(rule: Linked, features: Mapping[str, Feature], where: str) -> None:
    moved, required = (_known(name, features, where) for name in (rule.feature, rule.requires))
    for feature in (moved, required):
        if not feature.ordered:
            raise SchemaError(f"{where}: {feature.name!r} has no order, so it cannot be part of a linked move.")
    for name in ("by", "at_least"):
        value = getattr(rule, name)
        if not is_number(value) or value == 0:
            raise SchemaError(f"{where}: {name!r} must be a number other than 0, not {value!r}.")
    against = {"up": rule.at_least < 0, "down": rule.at_least > 0, "fixed": True, "any": False}[required.direction]
    if against and not never_moves(rule, features):
        raise SchemaError(
            f"{where} is contradictory: moving {moved.name!r} by {rule.by} demands {rule.at_least} of "
            f"{required.name!r}, whose direction is {required.direction!r}."
        )


def never_moves(rule: Linked, features: Mapping[str, Feature]) -> bool:
    """Whether the move that a link speaks of is one nobody can make, so that it demands nothing."""
    return {"up": rule.by < 0, "down": rule.by > 0, "fixed": True, "any": False}[features[rule.feature].direction]


def _known(name: object, features: Mapping[str, Feature], where: str) -> Feature:
    if not isinstance(name, str) or name not in features:
        raise SchemaError(f"{where}: there is no feature {name!r}." + nearest(name, features))
    return features[name]


def _plain(part: Mapping[str, Condition]) -> dict[str, Any]:
    """Write conditions in a form YAML keeps: ranges as min/max, choices as lists."""
    out: dict[str, Any] = {}
    for name, condition in part.items():
        bounds = range_of(condition)
        if bounds is None:
            values = values_of(condition)
            out[name] = values[0] if len(values) == 1 else values
        else:
            out[name] = {k: v for k, v in zip(("min", "max"), bounds, strict=True) if v is not None}
    return out
