"""Cost samples: from beliefs about people to the tables that searches use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._random import Keys, stream
from leastways._validation import is_real
from leastways._values import plain
from leastways.costs.belief import Belief
from leastways.costs.distribution import CostDistribution
from leastways.costs.kernels import Cache, Draws, Objective, Tables, charged_many, draw_profiles, list_editors
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
from leastways.feasibility import Space, offered_values, permitted_rows, space_of
from leastways.schema import Encoded, Schema, finite, levels_of

_TIE_BREAK = 0.01  # how much EMC counts beside the share of satisfied samples
# What has a row per person: the rest of a record is the same for a part of the people.
_SPACE_BY_PERSON = ("start", "used", "levels", "allowed", "choices", "n_choices")
_DRAWS_BY_PERSON = ("keys", "percentile", "given", "scores", "alpha", "editors", "n_editors")
_CELL_BYTES = 100 * 2**20  # beyond this, rows are dropped and made again


def _room(rows: int, F: int, n_samples: int) -> NDArray[np.float64]:
    """Allocate rows for cached cells: as many as memory allows, but never fewer than a state needs."""
    most = max(_CELL_BYTES // (8 * n_samples), 4 * F)
    return np.empty((max(min(rows, most), F), n_samples))


def _empty_cache(P: int, V: int, M: int, cells: NDArray[np.float64]) -> Cache:
    """Return a cache in which no row is made yet."""
    return Cache(
        cells=cells,
        place=np.full((P, V), -1, np.int32),
        n_rows=np.zeros(1, np.int64),
        nothing=np.zeros(M),
        room=np.empty((5, M)),
        who=np.empty(M, np.int32),
    )


@dataclass(frozen=True)
class CostSamples:
    """M cost functions for each of some people, and the rules those people are under."""

    tables: Tables
    offered: NDArray[np.bool_]  # [P, V] values that are not excluded, permitted to this person or not

    @property
    def n_people(self) -> int:
        """People in this chunk."""
        return len(self.space.start)

    @property
    def space(self) -> Space:
        """The states that each person may be offered."""
        space: Space = self.tables.space
        return space

    @property
    def n_samples(self) -> int:
        """Cost functions per person."""
        return int(self.tables.draws.alpha.shape[1])

    def permits(self, people: NDArray[np.int64], codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which states (codes [R, F], each in the grid of its person [R]) are permitted, [R]."""
        fits = np.zeros(len(people), np.bool_)
        permitted_rows(self.space, people, codes, fits)
        return fits

    def reported(self, people: NDArray[np.int64], codes: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the costs of states (codes [R, F]) to their people [R] under each cost sample, as reported, [R, M]."""
        costs = np.empty((len(people), self.n_samples))
        charged_many(self.tables, people, codes, costs)
        return costs

    def part(self, rows: slice | NDArray[np.intp]) -> CostSamples:
        """Return some of the people, with room of their own to work in: the same draws, made again."""
        t, M = self.tables, self.n_samples
        part: dict[str, Any] = {name: getattr(t.space, name)[rows] for name in _SPACE_BY_PERSON}
        rules = t.space.rules._replace(meets=t.space.rules.meets[rows])
        space = t.space._replace(**part, rules=rules, picked=np.empty_like(t.space.picked))
        draws = t.draws._replace(**{name: getattr(t.draws, name)[rows] for name in _DRAWS_BY_PERSON})
        objective = t.objective._replace(weights=t.objective.weights[rows])
        (P, F), V = space.start.shape, t.cache.place.shape[1]
        cache = _empty_cache(P, V, M, _room(P * V, F, M))
        return CostSamples(Tables(space, draws, objective, cache), self.offered[rows])


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

    def draw(
        self,
        people: Encoded,
        keys: Keys,
        n_samples: int,
        preferences: Sequence[Preferences | None],
    ) -> Belief:
        """Draw `n_samples` preferences for each person, as far as they did not state them; equal weights."""
        _, stated = self._stated(people, preferences)
        return self._draw(people, stated, keys, n_samples, preferences)

    def _draw(
        self,
        people: Encoded,
        stated: PreferenceTables,
        keys: Keys,
        n_samples: int,
        preferences: Sequence[Preferences | None],
    ) -> Belief:
        P, F = people.codes.shape
        changeable = self._changeable(people, stated)
        alpha = stated.alpha
        if self.distribution.alpha is not None:
            alpha = np.where(np.isnan(alpha), self.distribution.alpha, alpha)
        streams = stream(keys, "cost")
        scores, alphas = np.empty((P, F, n_samples)), np.empty((P, n_samples))
        draw_profiles(
            streams,
            changeable,
            stated.editable & changeable,
            stated.has_editable,
            stated.scores,
            stated.has_scores,
            alpha,
            scores,
            alphas,
        )
        weights = np.full((P, n_samples), 1.0 / n_samples)
        return Belief(people.index, self.schema.names, streams, scores, alphas, weights, tuple(preferences))

    def tables(
        self,
        people: Encoded,
        belief: Belief,  # about these people, in this order
        uncovered_cost: float = 1.5,
        satisfied_below: float | None = None,
        cells: NDArray[np.float64] | None = None,
    ) -> CostSamples:
        """Lay out the cost samples of a belief; cells of the table are computed when first used.

        With `satisfied_below` the objective is the share of samples served below that cost, and EMC breaks ties.
        `cells` is room for the cells [rows, n_samples]; given again for the next people, its memory is used again.
        """
        known, stated = self._stated(people, belief.preferences)
        return self._tables(people, known, stated, belief, uncovered_cost, satisfied_below, cells)

    def _tables(
        self,
        people: Encoded,
        known: Sequence[NDArray[np.float64]],
        stated: PreferenceTables,
        belief: Belief,
        uncovered_cost: float,
        satisfied_below: float | None,
        cells: NDArray[np.float64] | None,
    ) -> CostSamples:
        schema, M = self.schema, belief.n_samples
        (P, F), V = people.codes.shape, int(schema.offsets[-1])
        levels = finite(schema.features, known)
        changeable = self._changeable(people, stated)
        open_to = np.where(stated.has_editable[:, None], stated.editable, changeable) & changeable
        editors, n_editors = np.empty((P, F, M), np.int32), np.zeros((P, F), np.int64)
        list_editors(belief.scores, editors, n_editors)
        percentiles = [self.percentiles.of(f, levels[f]) for f in range(F)]
        draws = Draws(
            keys=belief.keys,
            slots=schema.draws,
            percentile=np.ascontiguousarray(np.concatenate(percentiles, axis=1)),
            given=stated.given,
            scores=belief.scores,
            alpha=belief.alpha,
            editors=editors,
            n_editors=n_editors,
            noise_std=float(self.distribution.noise_std),
        )
        objective = Objective(
            weights=belief.weights,
            uncovered_cost=float(uncovered_cost),
            slope=1.0 if satisfied_below is None else _TIE_BREAK,
            step=0.0 if satisfied_below is None else 1.0,
            step_at=np.inf if satisfied_below is None else float(satisfied_below),
        )
        cache = _empty_cache(P, V, M, self.room_for_cells(P, M) if cells is None else cells)
        space = space_of(schema, people, open_to, stated.accepted, stated.given, known)
        return CostSamples(Tables(space, draws, objective, cache), offered_values(schema, people))

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
        """Draw preferences and lay out their cost samples: `draw`, then `tables`."""
        known, stated = self._stated(people, preferences)
        belief = self._draw(people, stated, keys, n_samples, preferences)
        return self._tables(people, known, stated, belief, uncovered_cost, satisfied_below, cells)

    def _stated(
        self, people: Encoded, preferences: Sequence[Preferences | None]
    ) -> tuple[list[NDArray[np.float64]], PreferenceTables]:
        """Return the values of people's grids, by feature, and their preferences as arrays."""
        known = levels_of(self.schema.features, people)
        return known, preference_tables(self.schema, known, people.codes, preferences)

    def _changeable(self, people: Encoded, stated: PreferenceTables) -> NDArray[np.bool_]:
        """Mark the features that each person may change, [P, F]: not fixed, not missing, not locked."""
        movable = np.array([feature.direction != "fixed" for feature in self.schema.features])
        return np.asarray(movable & ~people.missing & ~stated.locked)


StatedCost = Mapping[str, Any] | Callable[[str, Any, Any], float]


def stated_costs(
    schema: Schema, people: Encoded, person: pd.DataFrame, cost: StatedCost
) -> tuple[NDArray[np.float64], Space]:
    """Lay out the costs of one person's moves, [1, V], infinite where not permitted; and the permitted slots."""
    changeable = np.array([[f.direction != "fixed" for f in schema.features]]) & ~people.missing
    space = space_of(schema, people, changeable)
    may = space.allowed[0].copy()
    may[schema.offsets[:-1] + people.codes[0]] = False  # where they are
    costs = np.full(len(may), np.inf)
    if callable(cost):
        _ask(schema, people, person, cost, may, costs)
    else:
        _look_up(schema, people, person, cost, levels_of(schema.features, people), costs)
    costs[~may] = np.inf
    costs[schema.offsets[:-1] + people.codes[0]] = 0.0
    return costs[None, :], space


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
    """Evaluate the cost function at every permitted value, as raw values."""
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
