"""Simulated people: hidden true cost functions, to judge plans by. A method never sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._messages import listed, plain
from leastways._random import keys_of_labels, stream
from leastways._validation import check_seed, value_or_none
from leastways.costs import CostDistribution, CostModel, CostSamples, Preferences
from leastways.costs.kernels import charged_many
from leastways.errors import DataError, SettingError
from leastways.plans import RecoursePlans
from leastways.recourse.applicants import by_place
from leastways.schema import Encoded, Schema
from leastways.schema.encoding import category_codes
from leastways.schema.validation import check_columns


@dataclass(frozen=True)
class SimulatedPeople:
    """People with one hidden cost function each."""

    schema: Schema
    people: Encoded
    samples: CostSamples
    told: tuple[Preferences | None, ...] = field(default=(), kw_only=True)  # given instead of drawn; empty: nothing

    @property
    def index(self) -> pd.Index[Any]:
        """The people's labels."""
        return self.people.index

    @cached_property
    def preferences(self) -> dict[Any, Preferences]:
        """The hidden editable features, scores and mixing weight of each person, as that person would state them.

        What was given instead of drawn is part of it: ranges and cost tables too. People who can change nothing are
        left out: they have nothing to state.
        """
        t, names = self.samples.tables, np.array(self.schema.names)
        out = {}
        for p, (label, said) in enumerate(zip(self.index, self.told or [None] * len(self.index), strict=True)):
            scores = t.draws.scores[p, :, 0]
            drawn = names[~np.isnan(scores)].tolist()
            if drawn:
                pairs = zip(drawn, scores[~np.isnan(scores)].tolist(), strict=True)
                whole = Preferences(editable=drawn, scores=dict(pairs), alpha=float(t.draws.alpha[p, 0]))
                out[label] = whole if said is None else self._merged(whole, said)
        return out

    def _merged(self, drawn: Preferences, said: Preferences) -> Preferences:
        """Return the whole of a function: what was said, and what was drawn where nothing was.

        A feature with a cost table is open to change whether it was drawn or not.
        """
        open_to = {*(drawn.editable or ()), *said.costs}
        editable = said.editable_features or [name for name in self.schema.names if name in open_to]
        scores = drawn.scores if said.scores is None else dict(said.scores)
        return replace(drawn, editable=editable, scores=scores, ranges=dict(said.ranges), costs=dict(said.costs))

    def option_costs(self, plans: RecoursePlans) -> NDArray[np.float64]:
        """Return what each row of `plans.options` truly costs its person; infinite if they cannot do it."""
        rows = self.places(plans.options["person"])
        codes = self.schema.encode_options(plans.options, self.people, rows)
        out = np.empty((len(rows), 1))
        known = (codes >= 0).all(axis=1)  # a value outside the grid has no cost: it cannot be reached
        charged_many(
            self.samples.part(slice(None)).tables,  # two threads may judge by the same people
            rows[known].astype(np.int64),
            codes[known],
            inner := np.empty((known.sum(), 1)),
        )
        out[known], out[~known] = inner, np.inf
        return out[:, 0]

    def min_costs(self, plans: RecoursePlans) -> NDArray[np.float64]:
        """Return MinCost of each person of the plans, infinite where nothing serves them."""
        costs = self.option_costs(plans)
        out = np.full(len(plans), np.inf)
        np.minimum.at(out, plans.summary.index.get_indexer(pd.Index(plans.options["person"])), costs)
        return out

    def places(self, labels: Any) -> NDArray[np.intp]:
        """Return where these people stand, and raise if one is unknown."""
        labels = pd.Index(labels)
        places = self.index.get_indexer(labels)
        if (places < 0).any():
            raise DataError(f"the simulated people lack {listed(labels[places < 0].tolist())}, who are in the plans.")
        return places

    def check_states(self, people: pd.DataFrame) -> None:
        """Raise where one of these people is unknown, or is in another state here: it has other costs then.

        Missing values are equal, however they are written.
        """
        places = self.places(people.index)
        known = self.schema.decode(self.people)
        here, there = as_numbers(self.schema, people), as_numbers(self.schema, known)[places]
        differ = (here != there) & ~(np.isnan(here) & np.isnan(there))
        if not differ.any():
            return
        row, column = np.argwhere(differ)[0]
        label, name = plain(people.index[row]), self.schema.names[column]
        one, two = (value_or_none(frame[name].iloc[place]) for frame, place in ((people, row), (known, places[row])))
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
    """Draw a hidden cost function for each person.

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
        Parts of the hidden functions that are to be given instead of drawn.
    random_state
        Seed. A person's function depends on it and on their label alone, and never coincides with what a search draws.
    """
    if not isinstance(schema, Schema):
        raise SettingError(f"schema must be a leastways Schema, not {type(schema).__name__}.")
    encoded = schema.encode(people)
    table = data.reset_index(drop=True) if isinstance(data, pd.DataFrame) else data
    frame = check_columns(table, schema.features, schema.target)
    model = CostModel.fit(schema, CostDistribution.of(costs), frame)
    keys = stream(keys_of_labels(encoded.index.tolist(), check_seed(random_state)), "hidden truth")
    given = by_place(encoded.index, preferences)
    for said in {id(s): s for s in given.values()}.values():
        said.check(schema)
    for place, said in given.items():
        said.check_person(schema, {name: people[name].iloc[place] for name in said.costs})
    told = tuple(given.get(place) for place in range(len(people)))
    return SimulatedPeople(schema, encoded, model.sample(encoded, keys, 1, told), told=told)


def as_numbers(schema: Schema, frame: pd.DataFrame) -> NDArray[np.float64]:
    """Return states as numbers, [rows, F]: numbers as they are, places for categories (-1: unknown)."""
    columns = []
    for feature in schema.features:
        column = frame[feature.name]
        if feature.numeric:
            numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan)
            columns.append(feature.as_held(numbers))
        else:
            columns.append(category_codes(feature, column).astype(np.float64))
    return np.stack(columns, axis=1)
