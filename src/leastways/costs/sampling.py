"""From people and what they told us to sampled cost functions, ready for the kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._messages import plain
from leastways._random import Keys, stream
from leastways._validation import is_real
from leastways.costs.distribution import CostDistribution
from leastways.costs.kernels import Tables, draw_profiles
from leastways.costs.percentiles import Percentiles
from leastways.costs.preferences import (
    Preferences,
    PreferenceTables,
    check_changeable,
    check_costs,
    given_costs,
    preference_tables,
)
from leastways.errors import PreferenceError
from leastways.feasibility.kernels import RuleTables, permitted_rows
from leastways.schema import Encoded, Schema
from leastways.schema.encoding import finite, grid_places, levels_of, slots_used
from leastways.schema.rules import AtMost, Linked, clauses_of

_TIE_BREAK = 0.01  # how much EMC counts beside the share of satisfied samples
_BY_PERSON = (
    *("start", "used", "levels", "allowed", "percentile", "given", "scores", "alpha", "editors", "n_editors"),
    *("keys", "weights"),
)
_CELL_BYTES = 100 * 2**20  # beyond this, rows are dropped and made again


def _room(rows: int, F: int, n_samples: int) -> NDArray[np.float64]:
    """Return room for so many rows of cells, or as many as memory is set aside for; never fewer than a state needs."""
    most = max(_CELL_BYTES // (8 * n_samples), 4 * F)
    return np.empty((max(min(rows, most), F), n_samples))


def _working_room(P: int, V: int, F: int, M: int, cells: NDArray[np.float64]) -> dict[str, Any]:
    """Return the parts of the tables that kernels write to. Whoever works at the same time needs their own."""
    return {
        "cells": cells,
        "place": np.full((P, V), -1, np.int32),
        "n_rows": np.zeros(1, np.int64),
        "nothing": np.zeros(M),
        "room": np.empty((5, M)),
        "who": np.empty(M, np.int32),
        "picked": np.empty(F, np.int64),
    }


@dataclass(frozen=True)
class CostSamples:
    """M cost functions for each of some people, and the rules those people are under."""

    tables: Tables
    rules: RuleTables
    offered: NDArray[np.bool_]  # [P, V] values that people may be led to, whether or not this one may

    @property
    def n_people(self) -> int:
        """People in this chunk."""
        return len(self.tables.start)

    @property
    def n_samples(self) -> int:
        """Cost functions per person."""
        return int(self.tables.alpha.shape[1])

    def permits(self, people: NDArray[np.int64], codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Say which states (codes [R, F], each in the grid of its person [R]) the person may be led to, [R]."""
        t, fits = self.tables, np.zeros(len(people), np.bool_)
        permitted_rows(self.rules, t.allowed, t.offsets, t.start, people, codes, fits)
        return fits

    def part(self, rows: slice | NDArray[np.intp]) -> CostSamples:
        """Return some of the people, with room of their own to work in: the same draws, made again."""
        t = self.tables
        cut: dict[str, Any] = {name: getattr(t, name)[rows] for name in _BY_PERSON}
        P, (_, V), F, M = len(cut["start"]), t.place.shape, t.start.shape[1], self.n_samples
        own = _working_room(P, V, F, M, _room(P * V, F, M))
        rules = self.rules._replace(meets=self.rules.meets[rows], levels=self.rules.levels[rows])
        return CostSamples(t._replace(**(cut | own)), rules, self.offered[rows])


@dataclass(frozen=True)
class CostModel:
    """A cost distribution fitted to data: the schema, the distribution, and the data's percentiles."""

    schema: Schema
    distribution: CostDistribution
    percentiles: Percentiles

    @classmethod
    def fit(cls, schema: Schema, distribution: CostDistribution, frame: pd.DataFrame) -> CostModel:
        """Learn the percentiles from a table."""
        return cls(schema, distribution, Percentiles.fit(schema, frame))

    def bytes_per_person(self, n_samples: int) -> int:
        """Estimate the memory of one person's tables without the cells, to choose how many people go into a chunk."""
        V, F = int(self.schema.offsets[-1]), len(self.schema.features)
        return n_samples * (12 * F + 16) + 40 * V

    def room_for_cells(self, n_people: int, n_samples: int) -> NDArray[np.float64]:
        """Return room for the cost tables of some people: all their rows, or as many as memory is set aside for."""
        return _room(n_people * int(self.schema.offsets[-1]), len(self.schema.features), n_samples)

    def sample(
        self,
        people: Encoded,
        keys: Keys,
        n_samples: int,
        preferences: Sequence[Preferences | None],
        uncovered_cost: float = 1.5,
        satisfied_below: float | None = None,
        cells: NDArray[np.float64] | None = None,
    ) -> CostSamples:
        """Draw `n_samples` cost functions for each person; cells of the table are made when first touched.

        With `satisfied_below` the objective is the share of samples served below that cost, and EMC breaks ties.
        `cells` is room for the cells [rows, n_samples]; given again for the next people, its memory is used again.
        """
        schema, P = self.schema, len(people)
        V, F = int(schema.offsets[-1]), len(schema.features)
        known = levels_of(schema.features, people)
        levels = finite(schema.features, known)
        used = slots_used(schema.features, people)
        told = preference_tables(schema, known, people.codes, preferences)
        changeable = np.array([f.direction != "fixed" for f in schema.features]) & ~people.missing & ~told.locked
        percentiles = [self.percentiles.of(f, levels[f]) for f in range(F)]
        open_to = np.where(told.has_editable[:, None], told.editable, changeable) & changeable
        offered = offered_values(schema, people)
        tables = Tables(
            start=people.codes,
            offsets=schema.offsets,
            draws=schema.draws,
            used=used,
            ordered=np.array([f.ordered for f in schema.features]),
            levels=np.ascontiguousarray(np.concatenate(levels, axis=1)),
            span=np.array([f.range if f.numeric else 0.0 for f in schema.features]),
            allowed=permitted(schema, people, used, open_to, told.accepted & offered, told.given),
            percentile=np.ascontiguousarray(np.concatenate(percentiles, axis=1)),
            given=told.given,
            noise_std=float(self.distribution.noise_std),
            weights=np.full((P, n_samples), 1.0 / n_samples),
            uncovered_cost=float(uncovered_cost),
            slope=1.0 if satisfied_below is None else _TIE_BREAK,
            step=0.0 if satisfied_below is None else 1.0,
            step_at=np.inf if satisfied_below is None else float(satisfied_below),
            **self._profiles(told, changeable, stream(keys, "cost"), n_samples),
            **_working_room(P, V, F, n_samples, self.room_for_cells(P, n_samples) if cells is None else cells),
        )
        return CostSamples(tables, rule_tables(schema, known, tables.levels), offered)

    def _profiles(
        self, told: PreferenceTables, changeable: NDArray[np.bool_], keys: Keys, n_samples: int
    ) -> dict[str, NDArray[Any]]:
        """Draw what people would change and how gladly, as far as they did not say; returns parts of the tables."""
        P, F = changeable.shape
        alpha = told.alpha
        if self.distribution.alpha is not None:
            alpha = np.where(np.isnan(alpha), self.distribution.alpha, alpha)
        scores, alphas = np.empty((P, F, n_samples)), np.empty((P, n_samples))
        editors, n_editors = np.empty((P, F, n_samples), np.int32), np.zeros((P, F), np.int64)
        draw_profiles(
            keys,
            changeable,
            told.editable & changeable,
            told.has_editable,
            told.scores,
            told.has_scores,
            alpha,
            scores,
            alphas,
            editors,
            n_editors,
        )
        return {"scores": scores, "alpha": alphas, "editors": editors, "n_editors": n_editors, "keys": keys}


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


def rule_tables(schema: Schema, levels: Sequence[NDArray[np.float64]], all_levels: NDArray[np.float64]) -> RuleTables:
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
        levels=all_levels,
        max_changes=min([F, *(r.changes for r in schema.rules if isinstance(r, AtMost))]),
    )


StatedCost = Mapping[str, Any] | Callable[[str, Any, Any], float]


def stated_costs(
    schema: Schema, people: Encoded, person: pd.DataFrame, cost: StatedCost
) -> tuple[NDArray[np.float64], RuleTables]:
    """Lay out what one person's moves cost, [1, V], infinite where they may not; and the rules they are under."""
    levels = levels_of(schema.features, people)
    V = int(schema.offsets[-1])
    changeable = np.array([[f.direction != "fixed" for f in schema.features]]) & ~people.missing
    nothing = np.full((1, V), np.nan)
    used = slots_used(schema.features, people)
    may = permitted(schema, people, used, changeable, offered_values(schema, people), nothing)[0]
    may[schema.offsets[:-1] + people.codes[0]] = False  # where they are
    costs = np.full(V, np.inf)
    if callable(cost):
        _ask(schema, people, person, cost, may, costs)
    else:
        _look_up(schema, people, person, cost, levels, costs)
    costs[~may] = np.inf
    costs[schema.offsets[:-1] + people.codes[0]] = 0.0
    return costs[None, :], rule_tables(schema, levels, np.concatenate(finite(schema.features, levels), axis=1))


def _look_up(
    schema: Schema,
    people: Encoded,
    person: pd.DataFrame,
    cost: Mapping[str, Any],
    levels: list[NDArray[np.float64]],
    costs: NDArray[np.float64],
) -> None:
    if not isinstance(cost, Mapping) or not len(cost):
        raise PreferenceError(
            "cost must be what simulate_people returns, a mapping from feature to {value: cost}, or a function "
            f"(feature, before, after) -> cost, not {cost!r}."
        )
    for name, table in cost.items():
        check_changeable(schema, name, "cost")
        check_costs(schema.by_name[name], table, most=np.inf)
    Preferences(costs=cost).check_person(schema, {name: person[name].iloc[0] for name in cost})
    for name, table in cost.items():
        f = schema.position(name)
        own = levels[f][0, people.codes[0, f]]
        if np.isnan(own):
            continue  # it stays missing, whatever a change would cost
        costs[schema.offsets[f] : schema.offsets[f + 1]] = given_costs(schema.features[f], table, own, levels[f][0])


def _ask(
    schema: Schema,
    people: Encoded,
    person: pd.DataFrame,
    cost: Callable[[str, Any, Any], float],
    may: NDArray[np.bool_],
    costs: NDArray[np.float64],
) -> None:
    """Ask the function about every permitted value, as raw values."""
    slots = np.flatnonzero(may)
    features = np.searchsorted(schema.offsets, slots, side="right") - 1
    codes = np.repeat(people.codes, len(slots), axis=0)
    codes[np.arange(len(slots)), features] = slots - schema.offsets[features]
    raw = schema.decode(codes, people, np.zeros(len(slots), np.intp))
    columns = [raw[name].tolist() for name in schema.names]
    for row, (slot, f) in enumerate(zip(slots.tolist(), features.tolist(), strict=True)):
        name, before, after = schema.names[f], plain(person[schema.names[f]].iloc[0]), columns[f][row]
        said = plain(cost(name, before, after))
        if not is_real(said) or not float(said) >= 0.0:
            raise PreferenceError(
                f"cost({name!r}, {before!r}, {after!r}) returned {said!r}; costs are 0 or more or infinite."
            )
        costs[slot] = float(said)
