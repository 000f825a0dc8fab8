"""The paper's row of measures for some plans, judged by hidden true costs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from leastways.costs.distribution import check_number
from leastways.errors import DataError, SettingError
from leastways.metrics import measures
from leastways.metrics.people import SimulatedPeople
from leastways.metrics.states import as_numbers
from leastways.plans import NOT_SEARCHED, RecoursePlans


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
    _check(plans, truth, k)
    if plans.schema != truth.schema:
        raise DataError("plans and simulated people have different schemas; use the same one for both.")
    judged = ~plans.summary["status"].isin(NOT_SEARCHED).to_numpy()
    truth.check_states(plans.people[judged])
    min_costs = truth.min_costs(plans)
    # What is missing stays so in every option: any number will do for it, as long as it is the same.
    present, options = (np.nan_to_num(as_numbers(plans.schema, x), nan=0.0) for x in (plans.people, plans.options))
    places = plans.summary.index.get_indexer(pd.Index(plans.options["person"]))
    order = np.argsort(places, kind="stable")
    bounds = np.searchsorted(places[order], np.arange(len(plans) + 1))
    span = truth.samples.tables.span
    wanted = int(plans.settings["n_options"])
    records = []
    for p in np.flatnonzero(judged):
        mine, state = np.unique(options[order[bounds[p] : bounds[p + 1]]], axis=0), present[p]
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
    table = np.array(records, dtype=np.float64).reshape(-1, len(columns))
    return pd.DataFrame(table, plans.summary.index[judged], columns).astype({"satisfied": bool})


def _check(plans: object, truth: object, k: object) -> None:
    if not isinstance(plans, RecoursePlans):
        raise SettingError(f"plans must be RecoursePlans, not {type(plans).__name__}.")
    if not isinstance(truth, SimulatedPeople):
        raise SettingError(f"truth must be what simulate_people returns, not {type(truth).__name__}.")
    check_number("k", k, 0, 1e6)
