"""Rules across features. A state that breaks one is never offered.

`IfThen` and `Forbidden` speak of the state itself, `Linked` and `AtMost` of the move that leads to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._messages import listed, nearest, plain
from leastways._validation import is_number, is_real
from leastways.errors import SchemaError
from leastways.schema.encoding import grid_levels
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


Condition = Any  # a value | a list or set of values | (low, high) or {"min": low, "max": high} for numbers


def check_condition(feature: Feature, condition: Condition, where: str) -> None:
    """Raise where a condition names a value the feature cannot have."""
    bounds = range_of(condition, f"{where}: the range of {feature.name!r}")
    if bounds is not None:
        _check_range(feature, bounds, where)
        return
    values = values_of(condition)
    if not values:
        raise SchemaError(f"{where}: no value given for {feature.name!r}.")
    for value in values:
        known = _in_number_range(feature, value) if feature.numeric else value in feature.values
        if not known:
            raise SchemaError(
                f"{where}: {plain(value)!r} is not a value of {feature.name!r}; allowed: {feature.allowed_text()}"
                f"{feature.valid_range_text()}." + ("" if feature.numeric else nearest(value, feature.values))
            )


def _check_range(feature: Feature, bounds: tuple[Any, Any], where: str) -> None:
    if not feature.numeric:
        raise SchemaError(
            f"{where}: {feature.name!r} is not a number, so list the values instead of a range: "
            f"{listed(feature.values, 12)}."
        )
    for bound in bounds:
        if bound is not None and (not is_real(bound) or bound != bound):
            raise SchemaError(f"{where}: the range of {feature.name!r} must be two numbers, not {bounds!r}.")
    low, high = bounds
    if low is None and high is None:
        raise SchemaError(f"{where}: the range of {feature.name!r} has neither end; give at least one.")
    if low is not None and high is not None and low > high:
        raise SchemaError(f"{where}: the range of {feature.name!r} runs from {low!r} down to {high!r}.")


def _in_number_range(feature: Feature, value: Any) -> bool:
    if not is_real(value):
        return False
    least, most = feature.valid_range  # without a valid range, a number beyond the grid may be a slip
    low, high = (feature.values[0] if least is None else least), (feature.values[-1] if most is None else most)
    return bool(low <= value <= high)


def range_of(condition: Condition, where: str = "a range") -> tuple[Any, Any] | None:
    """Return (low, high) where the condition is a range: a pair in a tuple, or a mapping with min and max."""
    if isinstance(condition, Mapping):
        extra = [k for k in condition if k not in ("min", "max")]
        if extra or not condition:
            hint = nearest(extra[0], ("min", "max")) if extra else ""
            raise SchemaError(f"{where} is written {{min: .., max: ..}}; got {dict(condition)!r}.{hint}")
        return plain(condition.get("min")), plain(condition.get("max"))
    if isinstance(condition, tuple):
        if len(condition) != 2:
            raise SchemaError(f"{where} is (low, high); got {condition!r}. Use a list for a choice of values.")
        return plain(condition[0]), plain(condition[1])
    return None


def values_of(condition: Condition) -> list[Any]:
    """Return the values that a condition lists; a set in an order of its own, so that a schema reads the same."""
    if isinstance(condition, Set):
        return sorted((plain(v) for v in condition), key=lambda v: (str(type(v)), v))
    if isinstance(condition, list | np.ndarray):
        return [plain(v) for v in condition]
    return [plain(condition)]


def normal(condition: Condition) -> Condition:
    """Return the one form of a checked condition: a pair for a range, else a list."""
    bounds = range_of(condition)
    return values_of(condition) if bounds is None else bounds


def condition_mask(feature: Feature, condition: Condition, levels: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark the slots that meet the condition: levels [P, slots] in, booleans [P, slots] out."""
    bounds = range_of(condition)
    if bounds is not None:
        low, high = bounds
        mask = np.ones(levels.shape, dtype=np.bool_)
        if low is not None:
            mask &= levels >= feature.as_held(low)
        if high is not None:
            mask &= levels <= feature.as_held(high)
        return mask
    values = values_of(condition)
    if feature.numeric:
        return np.isin(levels, feature.as_held(values))
    positions = feature.index.get_indexer(pd.Index(values, dtype=object)).astype(np.float64)
    return np.isin(levels, positions[positions >= 0])


Clause = dict[str, NDArray[np.bool_]]  # feature -> slots that satisfy the clause; one feature is enough
_MAX_NODES = 20_000


def clauses_of(rule: Rule, features: Mapping[str, Feature], levels: Mapping[str, NDArray[np.float64]]) -> list[Clause]:
    """Rewrite a rule about states as clauses "one of these literals holds"; levels [P, slots] per feature."""
    if isinstance(rule, Forbidden):
        return [{n: ~condition_mask(features[n], c, levels[n]) for n, c in rule.together.items()}]
    if isinstance(rule, IfThen):
        no = {n: ~condition_mask(features[n], c, levels[n]) for n, c in rule.when.items()}
        return [_with(no, n, condition_mask(features[n], c, levels[n])) for n, c in rule.then.items()]
    return []


def _with(clause: Clause, name: str, mask: NDArray[np.bool_]) -> Clause:
    return {**clause, name: clause[name] | mask if name in clause else mask}


def check_consistent(rules: Sequence[Rule], features: Mapping[str, Feature]) -> None:
    """Raise if no state meets all rules, or if linked moves demand ever more of each other."""
    levels = {n: grid_levels(f)[None, :] for n, f in features.items()}
    clauses = [c for rule in rules for c in clauses_of(rule, features, levels)]
    if clauses and not _satisfiable(clauses, {n: np.ones(levels[n].shape[1], np.bool_) for n in features}):
        raise SchemaError("the rules are contradictory: no state meets all of them. Leave one out, or widen it.")
    _check_links([r for r in rules if isinstance(r, Linked) and not never_moves(r, features)])


def _satisfiable(clauses: list[Clause], left: dict[str, NDArray[np.bool_]]) -> bool:
    """Search for one state that meets every clause; past a node limit assume there is one."""
    names = sorted({n for clause in clauses for n in clause})
    nodes = 0

    def possible(domain: dict[str, NDArray[np.bool_]]) -> bool:
        return all(any((mask[0] & domain[n]).any() for n, mask in clause.items()) for clause in clauses)

    def extend(depth: int, domain: dict[str, NDArray[np.bool_]]) -> bool:
        nonlocal nodes
        nodes += 1
        if nodes > _MAX_NODES:
            return True
        if not possible(domain):
            return False
        if depth == len(names):
            return True
        name = names[depth]
        patterns = np.stack([c[name][0] for c in clauses if name in c], axis=1)
        _, firsts = np.unique(patterns, axis=0, return_index=True)  # values that look alike to every clause
        for first in firsts:
            one = np.zeros_like(domain[name])
            one[first] = True
            if extend(depth + 1, {**domain, name: one}):
                return True
        return False

    return extend(0, left)


def _check_links(links: list[Linked]) -> None:
    """Follow each chain of linked moves; one that comes back asking for more, or for less, can never be met."""

    def follow(link: Linked, start: Linked, ratio: float, path: tuple[str, ...]) -> None:
        if link.requires == start.feature and (link.at_least > 0) != (start.by > 0):
            names = " -> ".join((*path, link.requires))
            raise SchemaError(f"the linked moves {names} are contradictory: a move comes to demand its opposite.")
        for after in links:
            if after.feature != link.requires or (after.by > 0) != (link.at_least > 0):
                continue
            grown = ratio * abs(link.at_least / link.by)
            if after is start:
                if grown > 1 + 1e-9:
                    names = " -> ".join((*path, link.requires))
                    raise SchemaError(f"the linked moves {names} are contradictory: each round demands more of itself.")
            elif after.feature not in path:
                follow(after, start, grown, (*path, after.feature))

    for link in links:
        follow(link, link, 1.0, (link.feature,))
