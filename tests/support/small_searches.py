"""Searches small enough to try every state, with rules or without: some of the people break them as they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastways.feasibility.kernels import RuleTables, Space
from leastways.search.exact.bound_kernels import Alternatives, Searches, sort_alternatives


def space_without_rules(start: NDArray[np.int32], offsets: NDArray[np.int64], most_changes: int = 99) -> Space:
    """Make a space of ordered features in which every slot is permitted, with no rule but how many may change."""
    (P, F), V, sizes = start.shape, int(offsets[-1]), np.diff(offsets)
    none, nothing = np.zeros(0, np.int64), np.zeros(0)
    return Space(
        start=np.ascontiguousarray(start),
        offsets=offsets,
        used=np.tile(sizes.astype(np.int32), (P, 1)),
        ordered=np.ones(F, np.bool_),
        levels=np.tile(np.concatenate([np.arange(n, dtype=np.float64) for n in sizes]), (P, 1)),
        span=np.zeros(F),
        allowed=np.ones((P, V), np.bool_),
        choices=np.tile(np.concatenate([np.arange(n, dtype=np.int32) for n in sizes]), (P, 1)),
        n_choices=np.tile(sizes.astype(np.int32), (P, 1)),
        rules=RuleTables(
            np.zeros((0, F), np.bool_), np.zeros((P, 0, V), np.bool_), none, none, nothing, nothing, most_changes
        ),
        picked=np.empty(F, np.int64),
    )


def with_rule_tables(q: Searches, **tables: object) -> Searches:
    """Return the searches with some of their rule tables replaced."""
    return q._replace(space=q.space._replace(rules=q.space.rules._replace(**tables)))  # type: ignore[arg-type]


def random_searches(seed: int) -> Searches:
    """Two people with two cost functions each, three features; some values out of reach, some features free."""
    draw = np.random.default_rng(seed)
    offsets = np.array([0, 3, 5, 9], np.int64)
    start = np.stack([draw.integers(0, n, 2) for n in (3, 2, 4)], axis=1).astype(np.int32)
    costs = draw.choice([0.0, 0.25, np.inf], (4, 9), p=[0.1, 0.1, 0.8])
    costs = np.where(np.isinf(costs) & (draw.random((4, 9)) < 0.8), draw.random((4, 9)), costs)
    space = space_without_rules(start, offsets)
    return Searches(space, np.array([0, 2, 4]), np.array([0, 0, 1, 1]), costs, draw.random((4, 3)) < 0.2)


def alternatives_of(q: Searches) -> Alternatives:
    """Sort the alternatives."""
    (S, V), F = q.costs.shape, q.space.start.shape[1]
    out = Alternatives(
        np.zeros(S, np.int64),
        np.zeros((S, F + 1), np.int64),
        np.zeros((S, F), np.int64),
        np.zeros((S, V), np.int32),
        np.zeros((S, V)),
    )
    sort_alternatives(q, out)
    return out


def with_rules(q: Searches, seed: int, clauses: int | None = None, links: int | None = None) -> Searches:
    """Draw rules; the first clause, if any, is one that all people break as they are, and often others are, too."""
    draw = np.random.default_rng([seed, 1])
    (P, F), V = q.space.start.shape, int(q.space.offsets[-1])
    K = int(draw.integers(0, 4)) if clauses is None else clauses
    L = int(draw.integers(0, 3)) if links is None else links
    literal = draw.random((K, F)) < 0.6
    meets = draw.random((P, K, V)) < 0.5
    for p in range(P):
        meets[p, :1, q.space.offsets[:-1] + q.space.start[p]] = False
    feature = draw.integers(0, F, L)
    return with_rule_tables(
        q,
        literal=literal,
        meets=meets,
        link_feature=feature,
        link_requires=(feature + draw.integers(1, F, L)) % F,
        link_by=draw.choice([-2.0, 1.0], L),
        link_at_least=draw.choice([-1.0, 0.5, 1.0], L),
        max_changes=int(draw.integers(1, F + 1)),
    )
