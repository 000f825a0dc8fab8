"""Which states each person of a chunk may be offered: permitted values of each feature, and the rules, compiled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leastways.feasibility.constraints import Grids, constraints_of
from leastways.feasibility.kernels import RuleTables, Space, list_choices
from leastways.schema import Encoded, Schema, finite, grid_points, levels_of, slots_used


def space_of(
    schema: Schema,
    people: Encoded,
    changeable: NDArray[np.bool_],  # [P, F] features that each person may change
    accepted: NDArray[np.bool_] | None = None,  # [P, V] values that each person accepts; None: all
    given: NDArray[np.float64] | None = None,  # [P, V] costs each person stated; an infinite one rules a value out
    levels: Sequence[NDArray[np.float64]] | None = None,  # what `levels_of` returns for these people, if known
) -> Space:
    """Compile the permitted values of a chunk of people (in direction, accepted, not excluded) and the rules."""
    levels = levels_of(schema.features, people) if levels is None else levels
    used = slots_used(schema.features, people)
    offered = offered_values(schema, people)
    costs = np.full(offered.shape, np.nan) if given is None else given
    allowed = permitted_values(
        schema, people, used, changeable, offered if accepted is None else accepted & offered, costs
    )
    choices, n_choices = packed_choices(allowed, schema.offsets)
    return Space(
        start=np.ascontiguousarray(people.codes),
        offsets=schema.offsets,
        used=used,
        ordered=np.array([f.ordered for f in schema.features]),
        levels=np.ascontiguousarray(np.concatenate(finite(schema.features, levels), axis=1)),
        span=np.array([f.range if f.numeric else 0.0 for f in schema.features]),
        allowed=allowed,
        choices=choices,
        n_choices=n_choices,
        rules=rule_tables(schema, levels),
        picked=np.empty(len(schema.features), np.int64),
    )


def offered_values(schema: Schema, people: Encoded) -> NDArray[np.bool_]:
    """Return the slots that hold no excluded value, [P, V]."""
    offered = np.ones((len(people), int(schema.offsets[-1])), np.bool_)
    for f, feature in enumerate(schema.features):
        if feature.excluded:
            slots, at = np.arange(feature.n_slots)[None, :], people.inserted_at[:, f, None]
            here = slice(schema.offsets[f], schema.offsets[f + 1])
            offered[:, here] = feature.offered[grid_points(slots, at, len(feature.values))]
    return offered


def permitted_values(
    schema: Schema,
    people: Encoded,
    used: NDArray[np.int32],  # [P, F] slots that the person's grid fills
    changeable: NDArray[np.bool_],  # [P, F] features that the person may change
    accepted: NDArray[np.bool_],  # [P, V] values that the schema offers and the person accepts
    stated: NDArray[np.float64],  # [P, V] costs that the person stated, infinite for values they rule out
) -> NDArray[np.bool_]:
    """Return the slots that each person may choose, their present ones included, [P, V]."""
    parts = []
    for f, feature in enumerate(schema.features):
        slots = np.arange(feature.n_slots)[None, :]
        own = people.codes[:, f, None]
        ok = (slots < used[:, f, None]) & changeable[:, f, None]
        if feature.direction == "up":
            ok &= slots > own
        elif feature.direction == "down":
            ok &= slots < own
        lo, hi = schema.offsets[f], schema.offsets[f + 1]
        ok &= accepted[:, lo:hi] & ~np.isposinf(stated[:, lo:hi])
        parts.append(ok | (slots == own))
    return np.concatenate(parts, axis=1)


def packed_choices(
    allowed: NDArray[np.bool_], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the codes of the allowed slots, packed feature by feature [P, V], and their counts [P, F]."""
    choices, n_choices = np.zeros(allowed.shape, np.int32), np.zeros((len(allowed), len(offsets) - 1), np.int32)
    list_choices(allowed, offsets, choices, n_choices)
    return choices, n_choices


def rule_tables(schema: Schema, levels: Sequence[NDArray[np.float64]]) -> RuleTables:
    """Compile the schema's rules for people; `levels` are values as numbers, [P, slots] by feature, NaN if missing."""
    P, F, V = len(levels[0]), len(schema.features), int(schema.offsets[-1])
    grids = Grids(schema.by_name, dict(zip(schema.names, levels, strict=True)))
    found = constraints_of(schema.rules, grids)
    K, links = len(found.clauses), found.links
    literal, meets = np.zeros((K, F), np.bool_), np.zeros((P, K, V), np.bool_)
    for k, clause in enumerate(found.clauses):
        for name, mask in clause.items():
            f = schema.position(name)
            literal[k, f] = True
            meets[:, k, schema.offsets[f] : schema.offsets[f + 1]] = mask
    return RuleTables(
        literal=literal,
        meets=meets,
        link_feature=np.array([schema.position(link.feature) for link in links], dtype=np.int64),
        link_requires=np.array([schema.position(link.requires) for link in links], dtype=np.int64),
        link_by=np.array([link.by for link in links], dtype=np.float64),
        link_at_least=np.array([link.at_least for link in links], dtype=np.float64),
        max_changes=F if found.most_changes is None else min(F, found.most_changes),
    )
