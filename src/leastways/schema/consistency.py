"""Whether a set of rules can be met at all. Found when the schema is made, not when a person waits for an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from leastways.errors import SchemaError
from leastways.schema.codec import grid_levels
from leastways.schema.conditions import condition_mask
from leastways.schema.feature import Feature
from leastways.schema.rules import Forbidden, IfThen, Linked, Rule, never_moves

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
