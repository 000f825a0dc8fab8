"""Searches small enough to try every state, with rules or without: some of the people break them as they are."""

from __future__ import annotations

import numpy as np

from leastways.feasibility.kernels import RuleTables
from leastways.search.exact.bound_kernels import Ladders, Searches, build_ladders


def made_up(seed: int) -> Searches:
    """Two people with two cost functions each, three features; some values out of reach, some features free."""
    draw = np.random.default_rng(seed)
    offsets = np.array([0, 3, 5, 9], np.int64)
    start = np.stack([draw.integers(0, n, 2) for n in (3, 2, 4)], axis=1).astype(np.int32)
    costs = draw.choice([0.0, 0.25, np.inf], (4, 9), p=[0.1, 0.1, 0.8])
    costs = np.where(np.isinf(costs) & (draw.random((4, 9)) < 0.8), draw.random((4, 9)), costs)
    return Searches(start, offsets, np.array([0, 2, 4]), np.array([0, 0, 1, 1]), costs, draw.random((4, 3)) < 0.2)


def ladders_of(q: Searches) -> Ladders:
    """Sort the alternatives."""
    (S, V), F = q.costs.shape, q.start.shape[1]
    out = Ladders(
        np.zeros(S, np.int64),
        np.zeros((S, F + 1), np.int64),
        np.zeros((S, F), np.int64),
        np.zeros((S, V), np.int32),
        np.zeros((S, V)),
    )
    build_ladders(q, out)
    return out


def no_rules(q: Searches, most_changes: int = 99) -> RuleTables:
    """No rule but how many features may change."""
    (P, F), V = q.start.shape, int(q.offsets[-1])
    literal, meets = np.zeros((0, F), np.bool_), np.zeros((P, 0, V), np.bool_)
    none, nothing = np.zeros(0, np.int64), np.zeros(0)
    return RuleTables(literal, meets, none, none, nothing, nothing, np.zeros((P, V)), most_changes)


def with_rules(q: Searches, seed: int, clauses: int | None = None, links: int | None = None) -> RuleTables:
    """Draw rules; the first clause, if any, is one that everybody breaks as they are, and often others are, too."""
    draw = np.random.default_rng([seed, 1])
    (P, F), V = q.start.shape, int(q.offsets[-1])
    K = int(draw.integers(0, 4)) if clauses is None else clauses
    L = int(draw.integers(0, 3)) if links is None else links
    literal = draw.random((K, F)) < 0.6
    meets = draw.random((P, K, V)) < 0.5
    for p in range(P):
        meets[p, :1, q.offsets[:-1] + q.start[p]] = False
    feature = draw.integers(0, F, L)
    return RuleTables(
        literal,
        meets,
        feature,
        (feature + draw.integers(1, F, L)) % F,
        draw.choice([-2.0, 1.0], L),
        draw.choice([-1.0, 0.5, 1.0], L),
        np.concatenate([np.arange(n, dtype=np.float64) for n in np.diff(q.offsets)])[None].repeat(P, axis=0),
        int(draw.integers(1, F + 1)),
    )
