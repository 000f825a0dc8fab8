"""Which states each person of a chunk may be offered: permitted values of each feature, and the rules, compiled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leastways.feasibility.kernels import RuleTables, Space, list_choices
from leastways.schema import Encoded, Schema
from leastways.schema.encoding import finite, grid_places, levels_of, slots_used
from leastways.schema.rules import AtMost, Linked, clauses_of


def space_of(
    schema: Schema,
    people: Encoded,
    changeable: NDArray[np.bool_],  # [P, F] features that each person may change
    accepted: NDArray[np.bool_] | None = None,  # [P, V] values that each person accepts; None: all
    given: NDArray[np.float64] | None = None,  # [P, V] costs each person stated; an infinite one rules a value out
) -> Space:
    """Compile what some people may be offered: values in use, in direction, accepted, not excluded; and the rules."""
    levels, used = levels_of(schema.features, people), slots_used(schema.features, people)
    offered = offered_values(schema, people)
    costs = np.full(offered.shape, np.nan) if given is None else given
    allowed = permitted(schema, people, used, changeable, offered if accepted is None else accepted & offered, costs)
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
    """Mark the slots that are values which people may be led to, [P, V]."""
    offered = np.ones((len(people), int(schema.offsets[-1])), np.bool_)
    for f, feature in enumerate(schema.features):
        if feature.excluded:
            slots, at = np.arange(feature.n_slots)[None, :], people.inserted_at[:, f, None]
            here = slice(schema.offsets[f], schema.offsets[f + 1])
            offered[:, here] = feature.offered[grid_places(slots, at, len(feature.values))]
    return offered


def permitted(
    schema: Schema,
    people: Encoded,
    used: NDArray[np.int32],
    open_to: NDArray[np.bool_],
    accepted: NDArray[np.bool_],
    given: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Mark the slots that people may move to, [P, V]: in use, in direction, accepted, open; and their own.

    `accepted` are the values that both they and the schema accept: see `offered_values`.
    """
    parts = []
    for f, feature in enumerate(schema.features):
        slots = np.arange(feature.n_slots)[None, :]
        own = people.codes[:, f, None]
        ok = (slots < used[:, f, None]) & open_to[:, f, None]
        if feature.direction == "up":
            ok &= slots > own
        elif feature.direction == "down":
            ok &= slots < own
        lo, hi = schema.offsets[f], schema.offsets[f + 1]
        ok &= accepted[:, lo:hi] & ~np.isposinf(given[:, lo:hi])
        parts.append(ok | (slots == own))
    return np.concatenate(parts, axis=1)


def packed_choices(
    allowed: NDArray[np.bool_], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Pack the codes of the allowed slots, [P, V]: return them feature by feature, and their numbers [P, F]."""
    choices, n_choices = np.zeros(allowed.shape, np.int32), np.zeros((len(allowed), len(offsets) - 1), np.int32)
    list_choices(allowed, offsets, choices, n_choices)
    return choices, n_choices


def rule_tables(schema: Schema, levels: Sequence[NDArray[np.float64]]) -> RuleTables:
    """Compile the schema's rules for these people."""
    P, F, V = len(levels[0]), len(schema.features), int(schema.offsets[-1])
    by_name = dict(zip(schema.names, levels, strict=True))
    clauses = [c for rule in schema.rules for c in clauses_of(rule, schema.by_name, by_name)]
    links = [r for r in schema.rules if isinstance(r, Linked)]
    literal, meets = np.zeros((len(clauses), F), np.bool_), np.zeros((P, len(clauses), V), np.bool_)
    for k, clause in enumerate(clauses):
        for name, mask in clause.items():
            f = schema.position(name)
            literal[k, f] = True
            meets[:, k, schema.offsets[f] : schema.offsets[f + 1]] = mask
    return RuleTables(
        literal=literal,
        meets=meets,
        link_feature=np.array([schema.position(r.feature) for r in links], dtype=np.int64),
        link_requires=np.array([schema.position(r.requires) for r in links], dtype=np.int64),
        link_by=np.array([r.by for r in links], dtype=np.float64),
        link_at_least=np.array([r.at_least for r in links], dtype=np.float64),
        max_changes=min([F, *(r.changes for r in schema.rules if isinstance(r, AtMost))]),
    )
