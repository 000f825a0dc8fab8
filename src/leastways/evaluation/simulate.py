"""Simulated people: hidden cost functions to evaluate plans by. No search method sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._messages import listed
from leastways._random import keys_of_labels, stream
from leastways._validation import check_seed
from leastways._values import plain, value_or_none
from leastways.costs import CostDistribution, CostModel, CostSamples, Preferences, preferences_by_row
from leastways.errors import DataError, SettingError
from leastways.plans import RecoursePlans
from leastways.schema import Encoded, Schema, category_codes, check_columns


@dataclass(frozen=True)
class SimulatedPeople:
    """People with one hidden cost function each, made by `simulate_people`.

    Attributes
    ----------
    schema
        The schema of their rows.
    people
        Their present states, encoded.
    samples
        Their cost functions, one each.

    Examples
    --------
    >>> import leastways as lw
    >>> credit = lw.datasets.load_credit()
    >>> truth = lw.simulate_people(credit.people.head(3), credit.schema(), credit.train)
    >>> truth.index.tolist() == credit.people.index[:3].tolist()
    True
    """

    schema: Schema
    people: Encoded
    samples: CostSamples
    given: tuple[Preferences | None, ...] = field(default=(), kw_only=True)  # parts not drawn; empty: all are drawn

    @property
    def index(self) -> pd.Index[Any]:
        """The people's labels."""
        return self.people.index

    @cached_property
    def preferences(self) -> dict[Any, Preferences]:
        """Each person's hidden function in the form of preferences: editable features, scores and mixing weight.

        Given parts are included, ranges and cost tables too. People who can change nothing are left out.
        """
        t, names = self.samples.tables, np.array(self.schema.names)
        out = {}
        for p, (label, given) in enumerate(zip(self.index, self.given or [None] * len(self.index), strict=True)):
            scores = t.draws.scores[p, :, 0]
            drawn = names[~np.isnan(scores)].tolist()
            if drawn:
                pairs = zip(drawn, scores[~np.isnan(scores)].tolist(), strict=True)
                whole = Preferences(editable=drawn, scores=dict(pairs), alpha=float(t.draws.alpha[p, 0]))
                out[label] = whole if given is None else self._merged(whole, given)
        return out

    def _merged(self, drawn: Preferences, given: Preferences) -> Preferences:
        """Complete partial preferences: draw every part that is not given.

        A feature with a cost table can be changed whether it was drawn or not.
        """
        changeable = {*(drawn.editable or ()), *given.costs}
        editable = given.editable_features or [name for name in self.schema.names if name in changeable]
        scores = drawn.scores if given.scores is None else dict(given.scores)
        return replace(drawn, editable=editable, scores=scores, ranges=dict(given.ranges), costs=dict(given.costs))

    def option_costs(self, plans: RecoursePlans) -> NDArray[np.float64]:
        """Return the hidden cost of each row of `plans.options` to its person; infinite if they cannot change so."""
        rows = self.positions(plans.options["person"])
        codes = self.schema.encode_options(plans.options, self.people, rows)
        out = np.full(len(rows), np.inf)  # a value outside the grid has no cost
        known = (codes >= 0).all(axis=1)
        samples = self.samples.part(slice(None))  # its own working room: two threads may use the same people
        out[known] = samples.reported(rows[known].astype(np.int64), codes[known])[:, 0]
        return out

    def min_costs(self, plans: RecoursePlans) -> NDArray[np.float64]:
        """Return the cost of each person's cheapest option, infinite without one."""
        costs = self.option_costs(plans)
        out = np.full(len(plans), np.inf)
        np.minimum.at(out, plans.summary.index.get_indexer(pd.Index(plans.options["person"])), costs)
        return out

    def positions(self, labels: Any) -> NDArray[np.intp]:
        """Return the positions of these people; raise if one is unknown."""
        labels = pd.Index(labels)
        rows = self.index.get_indexer(labels)
        if (rows < 0).any():
            raise DataError(f"the simulated people lack {listed(labels[rows < 0].tolist())}, who are in the plans.")
        return rows

    def check_states(self, people: pd.DataFrame) -> None:
        """Raise if one of these people is unknown, or has another state here, which has other costs.

        Missing values are equal, however they are written.
        """
        rows = self.positions(people.index)
        known = self.schema.decode(self.people)
        here, there = as_numbers(self.schema, people), as_numbers(self.schema, known)[rows]
        differ = (here != there) & ~(np.isnan(here) & np.isnan(there))
        if not differ.any():
            return
        row, column = np.argwhere(differ)[0]
        label, name = plain(people.index[row]), self.schema.names[column]
        one, two = (value_or_none(frame[name].iloc[p]) for frame, p in ((people, row), (known, rows[row])))
        raise DataError(f"the simulated person {label!r} is in another state: {name!r} is {two!r} there, {one!r} here.")


def simulate_people(
    people: pd.DataFrame,
    schema: Schema,
    data: pd.DataFrame,
    *,
    costs: str | CostDistribution = "mix",
    preferences: Preferences | Mapping[Any, Preferences] | None = None,
    random_state: int = 0,
) -> SimulatedPeople:
    """Draw a hidden cost function for each person, to evaluate plans by.

    Parameters
    ----------
    people
        Raw rows; they must fit the schema.
    schema
        As given to `Recourse`.
    data
        The table whose percentiles the costs use: what `Recourse.fit` gets.
    costs
        The distribution of hidden functions: "mix", "linear", "percentile" or a `CostDistribution`.
    preferences
        Parts of the hidden functions to use instead of drawn ones.
    random_state
        Seed. A person's function depends on it and on their label alone, and is independent of the functions that a
        search draws.

    Examples
    --------
    >>> import leastways as lw
    >>> credit = lw.datasets.load_credit()
    >>> truth = lw.simulate_people(credit.people.head(3), credit.schema(), credit.train, random_state=1)
    >>> sorted(truth.preferences) == sorted(credit.people.index[:3])
    True
    """
    if not isinstance(schema, Schema):
        raise SettingError(f"schema must be a leastways Schema, not {type(schema).__name__}.")
    encoded = schema.encode(people)
    table = data.reset_index(drop=True) if isinstance(data, pd.DataFrame) else data
    frame = check_columns(table, schema.features, schema.target)
    model = CostModel.fit(schema, CostDistribution.of(costs), frame)
    keys = stream(keys_of_labels(encoded.index.tolist(), check_seed(random_state)), "hidden truth")
    given = preferences_by_row(encoded.index, preferences)
    for part in {id(part): part for part in given.values()}.values():
        part.check(schema)
    for p, part in given.items():
        part.check_person(schema, {name: people[name].iloc[p] for name in part.costs})
    parts = tuple(given.get(p) for p in range(len(people)))
    return SimulatedPeople(schema, encoded, model.sample(encoded, keys, 1, parts), given=parts)


def as_numbers(schema: Schema, frame: pd.DataFrame) -> NDArray[np.float64]:
    """Return states as numbers, [rows, F]: numbers as values, categories as positions (-1: unknown)."""
    columns = []
    for feature in schema.features:
        column = frame[feature.name]
        if feature.numeric:
            numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan)
            columns.append(feature.as_held(numbers))
        else:
            columns.append(category_codes(feature, column).astype(np.float64))
    return np.stack(columns, axis=1)
