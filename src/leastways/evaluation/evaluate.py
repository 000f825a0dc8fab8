"""The paper's measures of plans, by the hidden costs of simulated people."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._validation import check_number
from leastways.errors import DataError, SettingError
from leastways.evaluation import measures
from leastways.evaluation.measures import Numbers
from leastways.evaluation.simulate import SimulatedPeople, as_numbers
from leastways.plans import NOT_SEARCHED, RecoursePlans

_CELLS = 50_000  # distances in memory at once: few enough to stay in the cache


def evaluate(plans: RecoursePlans, truth: SimulatedPeople, k: float = 1.0) -> pd.DataFrame:
    """Return the paper's measures of plans as a table with one row.

    People who needed no recourse, or whose row could not be used, do not count. Distances are means over the people
    for whom they are defined.

    Parameters
    ----------
    plans
        What `recommend` returns.
    truth
        The hidden costs of the same people: what `simulate_people` returns.
    k
        A person is satisfied if an option costs less than this.

    Returns
    -------
    A table with the columns people, FS@k (fraction satisfied), PAC (population average cost), Cov (coverage), Div
    (diversity), Prox (proximity), Spars (sparsity) and Val (validity). All but people and PAC are percentages.

    Examples
    --------
    >>> import leastways as lw
    >>> credit = lw.datasets.load_credit()
    >>> people = credit.people[credit.model(credit.people) < 0.5].head(5)
    >>> recourse = lw.Recourse(credit.model, credit.schema(), n_options=2, budget=60, n_costs=30).fit(credit.train)
    >>> plans = recourse.recommend(people)
    >>> truth = lw.simulate_people(people, credit.schema(), credit.train)
    >>> lw.evaluate(plans, truth).columns.tolist()
    ['people', 'FS@1', 'PAC', 'Cov', 'Div', 'Prox', 'Spars', 'Val']
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
    """Return the measures of each person, with the parameters of `evaluate`.

    Returns
    -------
    A row for each person who needed recourse, with the columns min_cost (of the cheapest option, infinite without
    one), satisfied, diversity, proximity, sparsity and validity. Measures are fractions; NaN where undefined.
    """
    _check(plans, truth, k)
    if plans.schema != truth.schema:
        raise DataError("plans and simulated people have different schemas; use the same one for both.")
    counted = ~plans.summary["status"].isin(NOT_SEARCHED).to_numpy()
    truth.check_states(plans.people[counted])
    min_costs = truth.min_costs(plans)
    # A missing value stays missing in every option, so it can be any number, as long as it is the same one.
    present, options = (np.nan_to_num(as_numbers(plans.schema, x), nan=0.0) for x in (plans.people, plans.options))
    rows = plans.summary.index.get_indexer(pd.Index(plans.options["person"]))
    different = np.unique(np.column_stack([rows, options]), axis=0)  # by person
    n = np.bincount(different[:, 0].astype(np.intp), minlength=len(plans))
    table = pd.DataFrame(
        {
            "min_cost": min_costs,
            "satisfied": min_costs < k,
            **_distances(present, different[:, 1:], n, truth.samples.tables.space.span),
            "validity": n / int(plans.settings["n_options"]),
        },
        index=plans.summary.index,
    )
    return table[counted]


def _distances(present: Numbers, options: Numbers, n: NDArray[np.intp], span: Numbers) -> dict[str, Numbers]:
    """Return `measures.diversity`, `proximity` and `sparsity` of each person.

    `options` has each person's n options one after the other. People with equally many options are computed together.
    """
    ends = np.cumsum(n)
    out = {name: np.full(len(n), np.nan) for name in ("diversity", "proximity", "sparsity")}
    for size in np.unique(n[n > 0]).tolist():
        first, second = np.triu_indices(size, k=1)
        alike = np.flatnonzero(n == size)
        at_once = max(1, _CELLS // (options.shape[1] * max(size, len(first))))
        for people in np.split(alike, range(at_once, len(alike), at_once)):
            mine, state = options[(ends - n)[people, None] + np.arange(size)], present[people, None]
            out["proximity"][people] = 1.0 - measures.feature_distances(mine, state, span).mean(axis=(1, 2))
            out["sparsity"][people] = 1.0 - (mine != state).mean(axis=(1, 2))
            if size > 1:
                pairs = measures.feature_distances(mine[:, first], mine[:, second], span)
                out["diversity"][people] = pairs.mean(axis=(1, 2))
    return out


def _check(plans: object, truth: object, k: object) -> None:
    if not isinstance(plans, RecoursePlans):
        raise SettingError(f"plans must be RecoursePlans, not {type(plans).__name__}.")
    if not isinstance(truth, SimulatedPeople):
        raise SettingError(f"truth must be what simulate_people returns, not {type(truth).__name__}.")
    check_number("k", k, 0, 1e6)
