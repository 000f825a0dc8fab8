"""Rules across features, and the conditions that they and ranges are made of. No option breaks a rule.

A rule type is one class here, derived from `Rule` and registered by `register_rule`: it reads and writes itself, checks
itself against the features, and words itself for a reader. What it means for the searches is one entry in
`leastways.feasibility`. `IfThen` and `Forbidden` restrict the new state, `Linked` and `AtMost` the change to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._messages import listed, nearest
from leastways._validation import is_number, is_real
from leastways._values import plain
from leastways.errors import SchemaError
from leastways.schema.feature import Feature


class Rule(ABC):
    """Base class of all rule types: the meaning of a rule, without its compiled form.

    A subclass is an immutable value (a frozen dataclass), so that equal rules make equal schemas. It needs `keys` and
    the four abstract methods, `@register_rule` above it, and an entry made with `leastways.feasibility.compiles`.
    """

    keys: ClassVar[tuple[str, ...]] = ()  # the keys of such a rule in a schema file, all of them required

    @classmethod
    @abstractmethod
    def from_dict(cls, data: Mapping[str, Any], where: str) -> Rule:
        """Return the rule that a schema file holds under `keys`.

        Parameters
        ----------
        data
            The rule's mapping; it has exactly `keys`.
        where
            What messages call the rule, such as "rule 2".
        """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the rule as a schema file holds it: a mapping with `keys`, of plain Python values."""

    @abstractmethod
    def check(self, features: Mapping[str, Feature], where: str) -> None:
        """Raise `SchemaError`, beginning with `where`, unless the rule fits the features."""

    @abstractmethod
    def words(self, features: Mapping[str, Feature]) -> str:
        """Return the rule as a phrase for readers, with the features' labels."""

    def normal(self) -> Rule:
        """Return the one form of a checked rule, so that rules with the same meaning are equal; by default itself."""
        return self


_TYPES: dict[tuple[str, ...], type[Rule]] = {}  # by keys, in the order in which messages list them
RuleType = TypeVar("RuleType", bound=type[Rule])


def register_rule(rule_type: RuleType) -> RuleType:
    """Make a subclass of `Rule` known to schemas and schema files; a class decorator.

    A class of the same name and module replaces the one registered before, as when a notebook cell runs again.
    """
    name = getattr(rule_type, "__name__", repr(rule_type))
    if not (isinstance(rule_type, type) and issubclass(rule_type, Rule)):
        raise SchemaError(f"register_rule takes a subclass of Rule, not {name}.")
    absent = sorted(getattr(rule_type, "__abstractmethods__", ()))
    if absent:
        raise SchemaError(f"rule type {name} does not define {', '.join(absent)}.")
    keys = rule_type.keys
    if not isinstance(keys, tuple) or not keys or not all(isinstance(key, str) and key for key in keys):
        raise SchemaError(f"rule type {name}: keys must be a tuple of its keys in a schema file, not {keys!r}.")
    for other_keys, other in list(_TYPES.items()):
        if (other.__module__, other.__qualname__) == (rule_type.__module__, rule_type.__qualname__):
            del _TYPES[other_keys]
        elif set(keys) & set(other_keys):
            shared = next(key for key in keys if key in other_keys)
            raise SchemaError(f"rule type {name}: the key {shared!r} belongs to {other.__name__} already.")
    _TYPES[keys] = rule_type
    return rule_type


@register_rule
@dataclass(frozen=True)
class IfThen(Rule):
    """If every condition in `when` holds, every condition in `then` must hold too.

    Parameters
    ----------
    when, then
        Conditions by feature: a value, a list of values, or for numbers a range, ``(low, high)`` or
        ``{"min": low, "max": high}``, where either end may be left out.

    Examples
    --------
    >>> from leastways import IfThen
    >>> IfThen({"job": "professional"}, {"education": ["bachelor", "master"]}).to_dict()
    {'if': {'job': 'professional'}, 'then': {'education': ['bachelor', 'master']}}
    """

    when: Mapping[str, Condition]
    then: Mapping[str, Condition]
    keys: ClassVar[tuple[str, ...]] = ("if", "then")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str) -> IfThen:
        """Return the rule that a schema file holds."""
        return cls(data["if"], data["then"])

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as a schema file holds it."""
        return {"if": conditions_dict(self.when), "then": conditions_dict(self.then)}

    def check(self, features: Mapping[str, Feature], where: str) -> None:
        """Raise unless all conditions fit the features."""
        check_conditions(self.when, features, where)
        check_conditions(self.then, features, where)

    def words(self, features: Mapping[str, Feature]) -> str:
        """Return the rule as a phrase for readers."""
        return f"if {conditions_words(self.when, features)}, then {conditions_words(self.then, features)}"

    def normal(self) -> IfThen:
        """Return the rule with its conditions in one form."""
        return IfThen(normal_conditions(self.when), normal_conditions(self.then))


@register_rule
@dataclass(frozen=True)
class Forbidden(Rule):
    """These values must not occur together.

    Parameters
    ----------
    together
        Conditions by feature, as in `IfThen`, at least two; a state in which all of them hold is not permitted.

    Examples
    --------
    >>> from leastways import Forbidden
    >>> Forbidden({"job": "self-employed", "hours": {"max": 20}}).to_dict()
    {'forbid': {'job': 'self-employed', 'hours': {'max': 20}}}
    """

    together: Mapping[str, Condition]
    keys: ClassVar[tuple[str, ...]] = ("forbid",)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str) -> Forbidden:
        """Return the rule that a schema file holds."""
        return cls(data["forbid"])

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as a schema file holds it."""
        return {"forbid": conditions_dict(self.together)}

    def check(self, features: Mapping[str, Feature], where: str) -> None:
        """Raise unless all conditions fit the features, and there are at least two."""
        check_conditions(self.together, features, where)
        if len(self.together) < 2:
            raise SchemaError(f"{where}: name at least two features that must not meet; got {dict(self.together)!r}.")

    def words(self, features: Mapping[str, Feature]) -> str:
        """Return the rule as a phrase for readers."""
        return f"not together: {conditions_words(self.together, features)}"

    def normal(self) -> Forbidden:
        """Return the rule with its conditions in one form."""
        return Forbidden(normal_conditions(self.together))


@register_rule
@dataclass(frozen=True)
class Linked(Rule):
    """Each move of `feature` by `by` demands that `requires` moves by `at_least`, both signed.

    Parameters
    ----------
    feature, requires
        Ordered features. Numbers count in their own units, ordinal features in positions of their order.
    at_least, by
        The least move of `requires` for each move of `feature` by `by`; negative numbers are moves down.

    Examples
    --------
    Each level of education takes at least two years:

    >>> from leastways import Linked
    >>> Linked("education", requires="age", at_least=2).to_dict()
    {'linked': {'feature': 'education', 'by': 1, 'requires': 'age', 'at_least': 2}}
    """

    feature: str
    requires: str
    at_least: float
    by: float = 1
    keys: ClassVar[tuple[str, ...]] = ("linked",)

    def __post_init__(self) -> None:
        for name in ("at_least", "by"):
            object.__setattr__(self, name, plain(getattr(self, name)))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str) -> Linked:
        """Return the rule that a schema file holds."""
        inner = data["linked"]
        if not isinstance(inner, Mapping):
            raise SchemaError(f"{where}: 'linked' needs the settings feature, requires and at_least, not {inner!r}.")
        known_keys(inner, ("feature", "by", "requires", "at_least"), where)
        for key in ("feature", "requires", "at_least"):
            if key not in inner:
                raise SchemaError(f"{where}: a linked move needs {key!r}.")
        return cls(**inner)

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as a schema file holds it."""
        inner = {"feature": self.feature, "by": self.by, "requires": self.requires, "at_least": self.at_least}
        return {"linked": inner}

    def check(self, features: Mapping[str, Feature], where: str) -> None:
        """Raise unless both features have an order and the required move is in their direction."""
        moved, required = (known_feature(name, features, where) for name in (self.feature, self.requires))
        for feature in (moved, required):
            if not feature.ordered:
                raise SchemaError(f"{where}: {feature.name!r} has no order, so it cannot be part of a linked move.")
        for name in ("by", "at_least"):
            value = getattr(self, name)
            if not is_number(value) or value == 0:
                raise SchemaError(f"{where}: {name!r} must be a number other than 0, not {value!r}.")
        if moved.may_move(self.by) and not required.may_move(self.at_least):
            raise SchemaError(
                f"{where} is contradictory: moving {moved.name!r} by {self.by} demands {self.at_least} of "
                f"{required.name!r}, whose direction is {required.direction!r}."
            )

    def words(self, features: Mapping[str, Feature]) -> str:
        """Return the rule as a phrase for readers."""
        moves = ["a rise" if number > 0 else "a fall" for number in (self.by, self.at_least)]
        return (
            f"{moves[0]} of {features[self.feature].wording} by {abs(self.by)} requires {moves[1]} of "
            f"{features[self.requires].wording} by at least {abs(self.at_least)}"
        )


@register_rule
@dataclass(frozen=True)
class AtMost(Rule):
    """At most this many features may change.

    Parameters
    ----------
    changes
        A whole number of 1 or more.

    Examples
    --------
    >>> from leastways import AtMost
    >>> AtMost(3).to_dict()
    {'at_most': 3}
    """

    changes: int
    keys: ClassVar[tuple[str, ...]] = ("at_most",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "changes", plain(self.changes))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str) -> AtMost:
        """Return the rule that a schema file holds."""
        return cls(data["at_most"])

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as a schema file holds it."""
        return {"at_most": self.changes}

    def check(self, features: Mapping[str, Feature], where: str) -> None:
        """Raise unless the number is 1 or more."""
        if isinstance(self.changes, bool) or not isinstance(self.changes, int) or self.changes < 1:
            raise SchemaError(f"{where}: at_most must be a whole number of 1 or more, not {self.changes!r}.")

    def words(self, features: Mapping[str, Feature]) -> str:
        """Return the rule as a phrase for readers."""
        return f"at most {self.changes} feature{'' if self.changes == 1 else 's'} may change"


def as_rules(rules: Sequence[Rule | Mapping[str, Any]], features: Mapping[str, Feature]) -> tuple[Rule, ...]:
    """Return rules, given as objects or as mappings of a schema file, checked against the features."""
    if isinstance(rules, str | Mapping) or not isinstance(rules, Sequence):
        raise SchemaError(f"rules must be a list of rules, not {rules!r}.")
    out = []
    for number, given in enumerate(rules, start=1):
        where = f"rule {number}"
        rule = _from_mapping(given, where) if isinstance(given, Mapping) else given
        if not isinstance(rule, Rule):
            raise SchemaError(f"{where}: {rule!r} is not a rule; use {_either([t.__name__ for t in _TYPES.values()])}.")
        name = type(rule).__name__
        if type(rule) not in _TYPES.values():
            raise SchemaError(f"{where}: rule type {name} is not registered; put @register_rule above its class.")
        rule.check(features, where)
        normalized = rule.normal()
        if type(normalized) is not type(rule):
            raise SchemaError(f"rule type {name}: normal() must return a {name}, not {normalized!r}.")
        out.append(normalized)
    return tuple(out)


def _from_mapping(data: Mapping[str, Any], where: str) -> Rule:
    """Read a rule by the type that has its keys."""
    known_keys(data, [key for keys in _TYPES for key in keys], where)
    for keys, rule_type in _TYPES.items():
        if set(keys) == set(data):
            return rule_type.from_dict(data, where)
    forms = _either([" with ".join(map(repr, keys)) for keys in _TYPES])
    raise SchemaError(f"{where}: write either {forms}; got {dict(data)!r}.")


def _either(words: Sequence[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]])


def known_keys(data: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    """Raise if a part of a schema file has an unknown key."""
    for key in data:
        if key not in known:
            raise SchemaError(f"{where}: unknown key {key!r}; known: {', '.join(known)}." + nearest(key, known))


def known_feature(name: object, features: Mapping[str, Feature], where: str) -> Feature:
    """Return the feature of this name, or raise and suggest the nearest."""
    if not isinstance(name, str) or name not in features:
        raise SchemaError(f"{where}: there is no feature {name!r}." + nearest(name, features))
    return features[name]


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


def check_conditions(conditions: object, features: Mapping[str, Feature], where: str) -> None:
    """Raise unless this is a mapping from features to conditions that fit them."""
    if not isinstance(conditions, Mapping) or not conditions:
        raise SchemaError(f"{where}: expected a mapping from feature to values, not {conditions!r}.")
    for name, condition in conditions.items():
        check_condition(known_feature(name, features, where), condition, where)


def normal_conditions(conditions: Mapping[str, Condition]) -> dict[str, Condition]:
    """Return checked conditions in one form."""
    return {name: normal(condition) for name, condition in conditions.items()}


def conditions_dict(conditions: Mapping[str, Condition]) -> dict[str, Any]:
    """Return conditions in a form that YAML keeps: ranges as min and max, choices as lists."""
    out: dict[str, Any] = {}
    for name, condition in conditions.items():
        bounds = range_of(condition)
        if bounds is None:
            values = values_of(condition)
            out[name] = values[0] if len(values) == 1 else values
        else:
            out[name] = {k: v for k, v in zip(("min", "max"), bounds, strict=True) if v is not None}
    return out


def conditions_words(conditions: Mapping[str, Condition], features: Mapping[str, Feature]) -> str:
    """Return conditions as a phrase for readers: "job is 'cook' or 'nurse', and age is at least 20"."""
    phrases = []
    for name, condition in conditions.items():
        bounds = range_of(condition)
        if bounds is None:
            words = " or ".join(repr(value) for value in values_of(condition))
        else:
            low, high = bounds
            words = f"at least {low}" if high is None else f"at most {high}" if low is None else f"{low} to {high}"
        phrases.append(f"{features[name].wording} is {words}")
    return ", and ".join(phrases)


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
