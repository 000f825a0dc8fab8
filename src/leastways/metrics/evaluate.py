"""The paper's row of measures for some plans, judged by hidden true costs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from leastways.errors import DataError
from leastways.metrics import measures
from leastways.metrics.people import SimulatedPeople
from leastways.plans import RecoursePlans
from leastways.schema.codec import levels_of

_UNSOLVED = ("already_positive", "invalid_input")


def evaluate(plans: RecoursePlans, truth: SimulatedPeople, k: float = 1.0) -> pd.DataFrame:
    """Return one row: people, FS@k, PAC, Cov, Div, Prox, Spars, Val (percentages, but for PAC).

    People who needed no recourse, or whose row could not be used, do not count. Distances are means over the people
    for whom they are defined.
    """
    per_person = evaluate_people(plans, truth, k)
    costs = per_person["min_cost"].to_numpy()
    row = {
        "people": len(per_person),
        f"FS@{k:g}": 100 * measures.fraction_satisfied(costs, k),
        "PAC": measures.population_average_cost(costs),
        "Cov": 100 * measures.coverage(costs),
        "Div": 100 * per_person["diversity"].mean(),
        "Prox": 100 * per_person["proximity"].mean(),
        "Spars": 100 * per_person["sparsity"].mean(),
        "Val": 100 * per_person["validity"].mean(),
    }
    return pd.DataFrame([row])


def evaluate_people(plans: RecoursePlans, truth: SimulatedPeople, k: float = 1.0) -> pd.DataFrame:
    """Return the same measures per person: min_cost, satisfied, diversity, proximity, sparsity, validity."""
    if plans.schema != truth.schema:
        raise DataError("plans and simulated people have different schemas; use the same one for both.")
    judged = ~plans.summary["status"].isin(_UNSOLVED).to_numpy()
    min_costs = truth.min_costs(plans)
    rows = truth.places(plans.options["person"])
    codes = truth.schema.encode_options(plans.options, truth.people, rows)
    levels = np.concatenate(levels_of(truth.schema.features, truth.people), axis=1)
    offsets, span = truth.schema.offsets[:-1], truth.samples.tables.span
    present = levels[np.arange(len(levels))[:, None], offsets + truth.people.codes]
    options = levels[rows[:, None], offsets + codes]
    places = plans.summary.index.get_indexer(pd.Index(plans.options["person"]))
    bounds = np.searchsorted(places, np.arange(len(plans) + 1))  # options stand in the order of people
    wanted = int(plans.settings["n_options"])
    own = truth.places(plans.summary.index[judged])
    records = []
    for place, p in enumerate(np.flatnonzero(judged)):
        mine = np.unique(options[bounds[p] : bounds[p + 1]], axis=0)
        state = present[own[place]]
        records.append(
            (
                min_costs[p],
                min_costs[p] < k,
                measures.diversity(mine, span),
                measures.proximity(state, mine, span),
                measures.sparsity(state, mine),
                measures.validity(len(mine), wanted),
            )
        )
    columns = ["min_cost", "satisfied", "diversity", "proximity", "sparsity", "validity"]
    return pd.DataFrame(records, columns=columns, index=plans.summary.index[judged])
