"""Certificates: the oracle on the very cost functions that a plan was made for, hence a bound on what any set reaches.

The mean over the drawn cost functions of each one's least cost is a lower bound on the objective (expected minimum
cost, an unserved function counting `uncovered_cost`): no option can be cheaper for a function than its least cost.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._messages import listed, nearest
from leastways._progress import reporter
from leastways._random import keys_of_rows
from leastways._validation import check_count, check_seed
from leastways.costs import CostSamples, Preferences
from leastways.errors import DataError, ModelError, SettingError
from leastways.models import QueryCounter, as_model
from leastways.plans import CERTIFICATE, Certificate, RecoursePlans
from leastways.recourse.applicants import People
from leastways.recourse.evaluator import JudgedPeople
from leastways.recourse.preparation import options_of
from leastways.recourse.results import Figures
from leastways.recourse.settings import settings_of
from leastways.schema import Encoded
from leastways.search import Questions
from leastways.search.exact import PEOPLE_TOGETHER, cheapest_states, searches_of

if TYPE_CHECKING:
    from leastways.recourse.recourse import Recourse

_CHUNK_BYTES = 300 * 2**20
_SEARCHED = ("found", "partial", "none_found", "none_exists")
_SETTINGS = ("n_costs", "costs", "uncovered_cost", "random_state", "threshold", "target")


def certify_plans(
    recourse: Recourse,
    plans: RecoursePlans,
    people: Iterable[Any] | None,
    preferences: Preferences | Mapping[Any, Preferences] | None,
    max_queries: int,
    progress: bool | Callable[[float], None],
) -> RecoursePlans:
    """Do the work of `Recourse.certify`."""
    check_count("max_queries", max_queries)
    _check_same(recourse, plans)
    crowd = People.check(recourse.schema, plans.people, preferences)
    rows = _chosen(plans, crowd, people)
    keys = keys_of_rows(crowd.encoded.content(), check_seed(recourse.random_state))
    meter = QueryCounter(as_model(recourse.model, recourse.target, threshold=recourse.threshold))
    max_queries = int(max_queries)  # sums of a short integer would overflow
    M, F, V = int(recourse.n_costs), len(recourse.schema.features), int(recourse.schema.offsets[-1])
    each = recourse.cost_model_.bytes_per_person(M) + 32 * M * V + max_queries * (4 * F + 40)
    size = min(PEOPLE_TOGETHER, max(1, _CHUNK_BYTES // each))
    parts, failed = [], dict[Any, ModelError]()
    with reporter(progress, "finding bounds") as report:
        for first in range(0, len(rows), size):
            mine = rows[first : first + size]
            told = [crowd.preferences[r] for r in mine]
            group = crowd.encoded.take(mine)
            samples = recourse.cost_model_.sample(group, keys[mine], M, told, recourse.uncovered_cost)
            options = _options(plans, group)
            _check_figures(plans, group, samples, options)
            judge = JudgedPeople(recourse.schema, meter, group, None)  # a proof rests on the model, not on its table
            found = cheapest_states(
                searches_of(samples),
                judge,
                recourse.threshold,
                most_cost=np.nextafter(recourse.uncovered_cost, -np.inf),
                most_queries=max_queries,
                known=options,
                progress=report.part(first, len(mine), len(rows)),
            )
            failed |= {group.index[place]: error for place, error in found.failures.items()}
            bound = np.minimum(found.bound.reshape(-1, M), recourse.uncovered_cost)
            solved = found.exact.reshape(-1, M) | (bound >= recourse.uncovered_cost)
            weights = samples.tables.objective.weights
            figures = zip(
                (weights * bound).sum(axis=1).tolist(),
                (weights * _reached(samples, options)).sum(axis=1).tolist(),
                np.where(solved.all(axis=1), 1.0, (weights * solved).sum(axis=1)).tolist(),
                found.queries.tolist(),
                strict=True,
            )
            parts.append(_table([Certificate.of(*row) for row in figures], group.index))
    if failed:
        warnings.warn(
            f"the model failed on {listed(list(failed))}, so what was proven until then is their bound: "
            f"{next(iter(failed.values()))}",
            RuntimeWarning,
            stacklevel=3,
        )
    return plans.with_certificates(pd.concat(parts)) if parts else plans


def _check_same(recourse: Recourse, plans: RecoursePlans) -> None:
    """Raise where the plans were made with other settings: their cost functions could not be drawn again."""
    if recourse.schema != plans.schema or recourse.cost_model_.schema != plans.schema:
        raise SettingError("the plans were made with another schema.")
    own = settings_of(recourse)
    for name in _SETTINGS:
        if name in plans.settings and plans.settings[name] != own[name]:
            raise SettingError(
                f"the plans were made with {name}={plans.settings[name]!r}, this Recourse has {own[name]!r}; "
                "a certificate needs the same."
            )


def _chosen(plans: RecoursePlans, crowd: People, people: Iterable[Any] | None) -> NDArray[np.intp]:
    """Return the places, among the usable people, of those to certify."""
    searched = plans.summary["status"].isin(_SEARCHED).to_numpy()[crowd.usable]
    if people is None:
        return np.flatnonzero(searched)
    if isinstance(people, str) or not isinstance(people, Iterable):
        raise SettingError(f"people must be a list of labels, not {people!r}.")
    known = plans.summary.index
    wanted = list(people)
    missing = [label for label in wanted if label not in known]
    if missing:
        raise DataError(
            f"the plans lack {listed(missing)}; known: {listed(known.tolist())}.{nearest(missing[0], known)}"
        )
    return np.flatnonzero(searched & crowd.encoded.index.isin(wanted))


def _options(plans: RecoursePlans, group: Encoded) -> Questions:
    """Return the options of these people as codes."""
    options = options_of(plans.schema, plans, group)
    off = (options.codes < 0).any(axis=1)
    if off.any():
        person = group.index[options.people[off.argmax()]]
        raise DataError(f"an option of person {person!r} has a value that is not on the schema's grid.")
    return options


def _reached(samples: CostSamples, options: Questions) -> NDArray[np.float64]:
    """Return what the cheapest option costs under every cost function, unserved ones at `uncovered_cost`, [P, M]."""
    costs = samples.reported(options.people, options.codes)
    out = np.full((samples.n_people, samples.n_samples), samples.tables.objective.uncovered_cost)
    np.minimum.at(out, options.people, costs)
    return out


def _check_figures(plans: RecoursePlans, group: Encoded, samples: CostSamples, options: Questions) -> None:
    """Raise unless the cost functions drawn now are those of the plans: their figures come out the same."""
    n = np.bincount(options.people, minlength=len(group)).astype(np.int64)
    codes = np.zeros((len(group), int(n.max(initial=1)), options.codes.shape[1]), np.int32)
    rank = np.arange(len(options.people)) - np.repeat(np.cumsum(n) - n, n)
    codes[options.people, rank] = options.codes
    figures = Figures.of(samples, codes, n)
    told = plans.summary.iloc[plans.summary.index.get_indexer(group.index)]  # labels may be truth values
    same = np.isclose(told["covered"], figures.covered, atol=1e-9)
    same &= np.isclose(told["emc"], figures.emc, atol=1e-9, equal_nan=True)
    if not same.all():
        raise SettingError(
            f"the cost functions of {listed(group.index[~same].tolist())} do not come out as in the plans. Give the "
            "preferences that recommend had, and fit on the same table."
        )


def _table(certificates: list[Certificate], index: pd.Index[Any]) -> pd.DataFrame:
    return pd.DataFrame({name: [getattr(c, name) for c in certificates] for name in CERTIFICATE}, index=index)
