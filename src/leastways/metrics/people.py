"""Simulated people: hidden true cost functions, to judge plans by. A method never sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways.costs import CostDistribution, CostModel, CostSamples, Preferences
from leastways.errors import DataError, listed
from leastways.kernels.tables import charged_many
from leastways.plans import RecoursePlans
from leastways.recourse.people import by_place
from leastways.rng import check_seed, keys_of_labels, stream
from leastways.schema import Encoded, Schema
from leastways.schema.checks import check_columns


@dataclass(frozen=True)
class SimulatedPeople:
    """People with one hidden cost function each."""

    schema: Schema
    people: Encoded
    samples: CostSamples

    @property
    def index(self) -> pd.Index[Any]:
        """The people's labels."""
        return self.people.index

    @cached_property
    def preferences(self) -> dict[Any, Preferences]:
        """The hidden editable features, scores and mixing weight of each person, as that person would state them.

        People who can change nothing are left out: they have nothing to state.
        """
        t, names = self.samples.tables, np.array(self.schema.names)
        out = {}
        for p, label in enumerate(self.index):
            scores = t.scores[p, :, 0]
            editable = ~np.isnan(scores)
            if not editable.any():
                continue
            pairs = zip(names[editable].tolist(), scores[editable].tolist(), strict=True)
            out[label] = Preferences(editable=names[editable].tolist(), scores=dict(pairs), alpha=float(t.alpha[p, 0]))
        return out

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
    encoded = schema.encode(people)
    table = data.reset_index(drop=True) if isinstance(data, pd.DataFrame) else data
    frame = check_columns(table, schema.features, schema.target)
    model = CostModel.fit(schema, CostDistribution.of(costs), frame)
    keys = stream(keys_of_labels(encoded.index.tolist(), check_seed(random_state)), "hidden truth")
    told = by_place(encoded.index, preferences)
    for said in {id(s): s for s in told.values()}.values():
        said.check(schema)
    for place, said in told.items():
        said.check_person(schema, {name: people[name].iloc[place] for name in said.costs})
    return SimulatedPeople(schema, encoded, model.sample(encoded, keys, 1, [told.get(i) for i in range(len(people))]))
