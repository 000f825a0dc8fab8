"""Measures that an audit compares, computed for each refused person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._messages import listed
from leastways.audit.statistics import Floats
from leastways.errors import DataError, SettingError
from leastways.evaluation import SimulatedPeople
from leastways.plans import NOT_SEARCHED, RecoursePlans

_ROUNDING = 1e-6  # by which an option may seem to cost less than the least there is


@dataclass(frozen=True)
class Measure:
    """A quantity that groups are compared by."""

    share: bool  # lies between 0 and 1
    better: str  # "high", "low", or "" where neither is
    truth: str  # its meaning under hidden cost functions
    plans: str  # its meaning in the plans' own figures


MEASURES = {
    "coverage": Measure(
        True,
        "high",
        "share of refused people with an option that they can take",
        "share of simulated preferences under which some option is possible, mean over refused people",
    ),
    "satisfied": Measure(
        True,
        "high",
        "FS@k: share of refused people with an option that costs them less than k",
        "share of simulated preferences under which some option costs less than 1, mean over refused people",
    ),
    "cost": Measure(
        False,
        "low",
        "what the cheapest option costs, mean over those who can take one",
        "expected cost of the cheapest option over the preferences with a possible one, mean over people with options",
    ),
    "options": Measure(False, "high", *2 * ("options offered, mean over refused people",)),
    "queries": Measure(
        False,
        "",
        *2 * ("rows evaluated by the model, mean over refused people; a property of the search, so never a finding",),
    ),
}


@dataclass(frozen=True)
class Figures:
    """Measures of each refused person, as pairs whose sums a group divides.

    Of each measure a pair of columns: a group's value is the sum of the first over the sum of the second. People whose
    second is 0 have no part in it.
    """

    places: NDArray[np.intp]  # [R] the refused people's rows in the plans
    pairs: dict[str, Floats]  # [R, 2] by measure
    costs: Floats | None  # [T, R] of the cheapest option, under each hidden cost function
    best: Floats | None  # [T, R] of the cheapest accepted state, by the oracle; the option's where that was not settled
    unsettled: dict[
        str, Floats
    ]  # [R] by measure: under how many of the T cost functions the oracle's answer is missing

    def shares(self, k: float) -> dict[str, tuple[Floats, Floats]]:
        """Return the oracle's coverage and FS@k, and the search's loss against it, [R] each."""
        assert self.costs is not None
        assert self.best is not None
        best = {"coverage": np.isfinite(self.best), "satisfied": self.best < k}
        mine = {"coverage": np.isfinite(self.costs), "satisfied": self.costs < k}
        return {name: (best[name].mean(axis=0), (best[name] & ~mine[name]).mean(axis=0)) for name in best}


def figures_of(
    plans: RecoursePlans, truths: Sequence[SimulatedPeople], oracles: Sequence[pd.DataFrame], k: float
) -> Figures:
    """Compute the figures: under hidden cost functions if there are any, else from the plans' own."""
    refused = np.flatnonzero(~plans.summary["status"].isin(NOT_SEARCHED).to_numpy())
    if not len(refused):
        raise DataError(f"none of the {len(plans)} people in the plans was refused: there is nothing to audit.")
    rows = plans.summary.iloc[refused]
    ones = np.ones(len(refused))
    pairs = {
        name: np.stack([rows[column].to_numpy(np.float64), ones], axis=1)
        for name, column in (("options", "n_options"), ("queries", "queries"))
    }
    if not truths:
        return Figures(refused, _by_plans(rows, k) | pairs, None, None, {})
    costs = np.stack([_hidden_costs(plans, truth, refused) for truth in truths])
    best, unsettled = (None, {}) if not oracles else _best(costs, rows.index, oracles, k)
    finite = np.isfinite(costs)
    measured = {
        "coverage": np.stack([finite.mean(axis=0), ones], axis=1),
        "satisfied": np.stack([(costs < k).mean(axis=0), ones], axis=1),
        "cost": np.stack([np.where(finite, costs, 0.0).sum(axis=0), finite.sum(axis=0)], axis=1),
    }
    return Figures(refused, measured | pairs, costs, best, unsettled)


def _by_plans(rows: pd.DataFrame, k: float) -> dict[str, Floats]:
    covered, satisfied, emc = (rows[c].to_numpy(np.float64) for c in ("covered", "satisfied", "emc"))
    ones = np.ones(len(rows))
    cheap_known = ones if k == 1.0 else 0 * ones  # plans only say what costs less than 1
    has_cost = np.isfinite(emc)
    return {
        "coverage": np.stack([np.nan_to_num(covered), ones], axis=1),
        "satisfied": np.stack([np.nan_to_num(satisfied) * cheap_known, cheap_known], axis=1),
        "cost": np.stack([np.where(has_cost, emc, 0.0), has_cost], axis=1),
    }


def _hidden_costs(plans: RecoursePlans, truth: SimulatedPeople, refused: NDArray[np.intp]) -> Floats:
    if not isinstance(truth, SimulatedPeople):
        raise SettingError(
            f"truth must be what simulate_people returns, or a list of that, not {type(truth).__name__}."
        )
    if plans.schema != truth.schema:
        raise DataError("plans and simulated people have different schemas; use the same one for both.")
    truth.check_states(plans.people.iloc[refused])
    return truth.min_costs(plans)[refused]


def _best(
    costs: Floats, labels: pd.Index[Any], oracles: Sequence[pd.DataFrame], k: float
) -> tuple[Floats, dict[str, Floats]]:
    """Return the least possible costs; where the oracle stopped early, those that the search reached."""
    if len(oracles) != len(costs):
        raise SettingError(f"oracle must hold a table for each of the {len(costs)} truths, not {len(oracles)}.")
    best = np.empty_like(costs)
    missing = {name: np.zeros(len(labels)) for name in ("coverage", "satisfied")}
    for t, table in enumerate(oracles):
        rows = _oracle_rows(table, labels)
        cost, bound = rows["cost"].to_numpy(np.float64), rows["bound"].to_numpy(np.float64)
        known = rows["status"].isin(["exact", "none_exists"]).to_numpy()
        worse = known & (costs[t] < cost - _ROUNDING)
        if worse.any():
            raise DataError(
                f"oracle: {listed(labels[worse].tolist())} have an option that costs less than the least cost there "
                "is; this oracle is of other hidden cost functions, another model or another threshold."
            )
        best[t] = np.where(known, np.minimum(cost, costs[t]), costs[t])
        missing["coverage"] += ~known & np.isinf(costs[t])
        missing["satisfied"] += ~known & (costs[t] >= k) & (bound < k)
    return best, missing


def _oracle_rows(table: pd.DataFrame, labels: pd.Index[Any]) -> pd.DataFrame:
    lacking = {"status", "cost", "bound"} - set(table.columns if isinstance(table, pd.DataFrame) else ())
    if lacking:
        raise SettingError(
            f"oracle must be what metrics.oracle_people returns, or a list of that; no {listed(sorted(lacking))}."
        )
    gone = labels.difference(table.index, sort=False)
    if len(gone):
        raise DataError(f"the oracle lacks {listed(gone.tolist())}, who are in the plans.")
    rows = table.loc[labels]
    accepted = (rows["status"] == "already_positive").to_numpy()
    if accepted.any():
        raise DataError(
            f"oracle: its model accepts {listed(labels[accepted].tolist())} as they are, whom the plans' model "
            "refused; use the same model and threshold for both."
        )
    return rows
