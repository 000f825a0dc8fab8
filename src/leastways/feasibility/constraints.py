"""Rules compiled into constraints for the searches: one compile function for each rule type.

Every rule comes down to clauses (one of several conditions must hold), links (a move demands another) and a largest
number of changed features. A user's own rule type is compiled by a function that is registered with `compiles`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from leastways._validation import is_number
from leastways.errors import SchemaError
from leastways.schema import AtMost, Feature, Forbidden, IfThen, Linked, Rule, condition_mask, grid_levels

Slots = NDArray[np.bool_]  # [P, slots] of one feature; combine them with ~, & and |
Clause = Mapping[str, Slots]  # by feature; the clause holds in a state if one of its features is in its slots
_MOST_NODES = 20_000


class Link(NamedTuple):
    """Each move of `feature` by `by` demands a move of `requires` by `at_least`, both signed."""

    feature: str
    requires: str
    at_least: float
    by: float = 1.0


@dataclass(frozen=True)
class Constraints:
    """The constraints of a rule. A state is permitted if it meets all of them.

    Parameters
    ----------
    clauses
        Mappings from features to slots, which `Grids.meets` returns. In each clause, at least one of its features must
        have a value in its slots.
    links
        Moves that demand other moves.
    most_changes
        The largest number of features that may change; None for any number.
    """

    clauses: Sequence[Clause] = field(default_factory=tuple)
    links: Sequence[Link] = field(default_factory=tuple)
    most_changes: int | None = None

    @property
    def features(self) -> frozenset[str]:
        """The features that clauses and links name; a largest number of changes concerns them all."""
        linked = {name for link in self.links for name in (link.feature, link.requires)}
        return frozenset(linked.union(*self.clauses))


@dataclass(frozen=True)
class Grids:
    """The values of each feature for a chunk of people, in which a rule's conditions are looked up.

    Parameters
    ----------
    features
        The features by name.
    levels
        Their values as numbers by name, [P, slots]; positions for categories, NaN where a value is missing.
    """

    features: Mapping[str, Feature]
    levels: Mapping[str, NDArray[np.float64]]

    def meets(self, name: str, condition: Any) -> Slots:
        """Return which slots of a feature meet a condition, as it is written in a rule.

        A missing value meets none. For a condition that must not hold, use ``~grids.meets(...)``.
        """
        return condition_mask(self.features[name], condition, self.levels[name])


Compiler = Callable[[Any, Grids], Constraints]
AnyCompiler = TypeVar("AnyCompiler", bound=Compiler)
_COMPILERS: dict[type[Rule], Compiler] = {}


def compiles(rule_type: type[Rule]) -> Callable[[AnyCompiler], AnyCompiler]:
    """Register the function that compiles rules of this type; a decorator.

    The function is given a checked rule and the `Grids` of a chunk of people, and returns `Constraints`.
    """
    if not (isinstance(rule_type, type) and issubclass(rule_type, Rule)):
        raise SchemaError(f"compiles takes a rule type, which is a subclass of Rule, not {rule_type!r}.")

    def register(function: AnyCompiler) -> AnyCompiler:
        _COMPILERS[rule_type] = function
        return function

    return register


@compiles(IfThen)
def _if_then(rule: IfThen, grids: Grids) -> Constraints:
    """One clause for each conclusion: a premise does not hold, or the conclusion does."""
    fails = {name: ~grids.meets(name, condition) for name, condition in rule.when.items()}
    clauses = []
    for name, condition in rule.then.items():
        meets = grids.meets(name, condition)
        clauses.append({**fails, name: fails[name] | meets if name in fails else meets})
    return Constraints(clauses)


@compiles(Forbidden)
def _forbidden(rule: Forbidden, grids: Grids) -> Constraints:
    """One clause: one of the conditions does not hold."""
    return Constraints([{name: ~grids.meets(name, condition) for name, condition in rule.together.items()}])


@compiles(Linked)
def _linked(rule: Linked, grids: Grids) -> Constraints:
    return Constraints(links=[Link(rule.feature, rule.requires, rule.at_least, rule.by)])


@compiles(AtMost)
def _at_most(rule: AtMost, grids: Grids) -> Constraints:
    return Constraints(most_changes=rule.changes)


def constraints_of(rules: Iterable[Rule], grids: Grids) -> Constraints:
    """Compile rules into the constraints that all of them together demand.

    Raises
    ------
    SchemaError
        If a rule type has no compile function, or its function returns something else or names an unknown feature.
    """
    clauses: list[Clause] = []
    links: list[Link] = []
    most: list[int] = []
    for rule in rules:
        one = _compiled(rule, grids)
        clauses.extend(one.clauses)
        links.extend(one.links)
        most.extend([] if one.most_changes is None else [one.most_changes])
    return Constraints(clauses, links, min(most, default=None))


def _compiled(rule: Rule, grids: Grids) -> Constraints:
    name = type(rule).__name__
    if type(rule) not in _COMPILERS:
        raise SchemaError(
            f"rule type {name} has no entry in leastways.feasibility, so no search could keep the rule; put "
            f"@compiles({name}) above the function that compiles it."
        )
    one = _COMPILERS[type(rule)](rule, grids)
    if not isinstance(one, Constraints):
        raise SchemaError(f"rule type {name}: its compile function must return Constraints, not {one!r:.100}.")
    unknown = sorted(one.features - set(grids.features))
    if unknown:
        raise SchemaError(f"rule type {name}: its compile function names {unknown[0]!r}, which is no feature.")
    if not all(is_number(number) and number for link in one.links for number in (link.at_least, link.by)):
        raise SchemaError(f"rule type {name}: a link needs numbers other than 0, not {list(one.links)!r:.200}.")
    most = one.most_changes
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
        raise SchemaError(f"rule type {name}: most_changes must be a whole number of 1 or more, not {most!r}.")
    return one


def check_consistent(rules: Sequence[Rule], features: Mapping[str, Feature]) -> None:
    """Raise `SchemaError` if no state meets all rules, or if linked moves demand ever more of each other."""
    grids = Grids(features, {name: grid_levels(feature)[None, :] for name, feature in features.items()})
    found = constraints_of(rules, grids)
    every = {name: np.ones(level.shape[1], np.bool_) for name, level in grids.levels.items()}
    if found.clauses and not _satisfiable(found.clauses, every):
        raise SchemaError("the rules are contradictory: no state meets all of them. Leave one out, or widen it.")
    _check_links([link for link in found.links if features[link.feature].may_move(link.by)])


def _satisfiable(clauses: Sequence[Clause], left: dict[str, NDArray[np.bool_]]) -> bool:
    """Search for one state that meets every clause; past a limit on nodes assume that there is one."""
    names = sorted({n for clause in clauses for n in clause})
    nodes = 0

    def possible(domain: dict[str, NDArray[np.bool_]]) -> bool:
        return all(any((mask[0] & domain[n]).any() for n, mask in clause.items()) for clause in clauses)

    def extend(depth: int, domain: dict[str, NDArray[np.bool_]]) -> bool:
        nonlocal nodes
        nodes += 1
        if nodes > _MOST_NODES:
            return True
        if not possible(domain):
            return False
        if depth == len(names):
            return True
        name = names[depth]
        patterns = np.stack([c[name][0] for c in clauses if name in c], axis=1)
        _, firsts = np.unique(patterns, axis=0, return_index=True)  # one of the values that all clauses treat alike
        for first in firsts:
            one = np.zeros_like(domain[name])
            one[first] = True
            if extend(depth + 1, {**domain, name: one}):
                return True
        return False

    return extend(0, left)


def _check_links(links: Sequence[Link]) -> None:
    """Raise if a chain of linked moves comes back to its beginning and demands more of it, or its opposite."""

    def follow(link: Link, start: Link, ratio: float, path: tuple[str, ...]) -> None:
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
