"""Certificates: the oracle on the cost functions of a plan, as a bound on what any set of options reaches.

The mean over the drawn cost functions of each one's least cost is a lower bound on the objective (expected minimum
cost, an unserved function counting `uncovered_cost`): no option can be cheaper for a function than its least cost.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._messages import listed, nearest
from leastways._progress import Report, reporter
from leastways._random import Keys
from leastways._validation import check_count
from leastways.costs import Belief, CostModel, CostSamples
from leastways.errors import DataError, ModelError, SettingError
from leastways.models import QueryCounter
from leastways.plans import CERTIFICATE, Certificate, RecoursePlans
from leastways.recourse.applicants import Applicants
from leastways.recourse.evaluator import PeopleEvaluator
from leastways.recourse.preparation import options_of
from leastways.recourse.results import Figures
from leastways.recourse.settings import Settings
from leastways.schema import Encoded, Schema
from leastways.search import PEOPLE_TOGETHER, Questions, cheapest_states, searches_of

_CHUNK_BYTES = 300 * 2**20
_SEARCHED = ("found", "partial", "none_found", "none_exists")
_SETTINGS = ("n_costs", "costs", "uncovered_cost", "random_state", "threshold", "target")


@dataclass(frozen=True)
class Prover:
    """Finds lower bounds on the objective of some applicants, for any set of options."""

    settings: Settings
    cost_model: CostModel
    applicants: Applicants
    keys: Keys  # [P] of the usable applicants
    meter: QueryCounter
    belief: Belief | None  # about the usable applicants, in their order; None: drawn as `recommend` draws it

    def certify(
        self,
        plans: RecoursePlans,
        people: Iterable[Any] | None,
        max_queries: int,
        progress: bool | Callable[[float], None],
    ) -> RecoursePlans:
        """Return the plans with certificates of the people with these labels; None: of all people searched for."""
        check_count("max_queries", max_queries)
        max_queries = int(max_queries)  # sums of a short integer would overflow
        rows = _chosen(plans, self.applicants, people)
        size = min(PEOPLE_TOGETHER, max(1, _CHUNK_BYTES // self._bytes_each(max_queries)))
        parts, failed = [], dict[Any, ModelError]()
        with reporter(progress, "finding bounds") as report:
            for first in range(0, len(rows), size):
                mine = rows[first : first + size]
                part = report.part(first, len(mine), len(rows))
                parts.append(self._certificates(plans, mine, max_queries, part, failed))
        if failed:
            warnings.warn(
                f"the model failed on {listed(list(failed))}, so what was proven until then is their bound: "
                f"{next(iter(failed.values()))}",
                RuntimeWarning,
                stacklevel=3,
            )
        return plans.with_certificates(pd.concat(parts)) if parts else plans

    def _certificates(
        self,
        plans: RecoursePlans,
        rows: NDArray[np.intp],
        max_queries: int,
        report: Report,
        failed: dict[Any, ModelError],  # written
    ) -> pd.DataFrame:
        """Return the certificates of a chunk of people."""
        settings = self.settings
        group = self.applicants.encoded.take(rows)
        samples = self._samples(rows, group)
        options = _options(plans, group)
        _check_figures(plans, group, samples, options)
        found = cheapest_states(
            searches_of(samples),
            PeopleEvaluator(settings.schema, self.meter, group, None),  # a proof rests on the model, not on its table
            settings.threshold,
            most_cost=np.nextafter(settings.uncovered_cost, -np.inf),
            most_queries=max_queries,
            known=options,
            progress=report,
        )
        failed |= {group.index[place]: error for place, error in found.failures.items()}
        bound = np.minimum(found.bound.reshape(-1, samples.n_samples), settings.uncovered_cost)
        solved = found.exact.reshape(-1, samples.n_samples) | (bound >= settings.uncovered_cost)
        weights = samples.tables.objective.weights
        figures = zip(
            (weights * bound).sum(axis=1).tolist(),
            (weights * _reached(samples, options)).sum(axis=1).tolist(),
            np.where(solved.all(axis=1), 1.0, (weights * solved).sum(axis=1)).tolist(),
            found.queries.tolist(),
            strict=True,
        )
        return _table([Certificate.of(*row) for row in figures], group.index)

    def _samples(self, rows: NDArray[np.intp], group: Encoded) -> CostSamples:
        """Return the cost samples that the plans of some people were made for."""
        if self.belief is not None:
            return self.cost_model.tables(group, self.belief.take(rows), self.settings.uncovered_cost)
        stated = [self.applicants.preferences[r] for r in rows]
        settings = self.settings
        return self.cost_model.sample(group, self.keys[rows], settings.n_costs, stated, settings.uncovered_cost)

    def _bytes_each(self, max_queries: int) -> int:
        """Estimate the memory of one person's searches."""
        schema, M = self.settings.schema, self.settings.n_costs
        searches = 32 * M * int(schema.offsets[-1]) + max_queries * (4 * len(schema.features) + 40)
        return self.cost_model.bytes_per_person(M) + searches


def check_same_settings(plans: RecoursePlans, schema: Schema, settings: Mapping[str, Any]) -> None:
    """Raise where the plans were made with other settings: their cost samples could not be drawn again."""
    if schema != plans.schema:
        raise SettingError("the plans were made with another schema.")
    for name in _SETTINGS:
        if name in plans.settings and plans.settings[name] != settings[name]:
            raise SettingError(
                f"the plans were made with {name}={plans.settings[name]!r}, this Recourse has {settings[name]!r}; "
                "a certificate needs the same."
            )


def _chosen(plans: RecoursePlans, applicants: Applicants, people: Iterable[Any] | None) -> NDArray[np.intp]:
    """Return the positions, among the usable people, of those to certify."""
    searched = plans.summary["status"].isin(_SEARCHED).to_numpy()[applicants.usable]
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
    return np.flatnonzero(searched & applicants.encoded.index.isin(wanted))


def _options(plans: RecoursePlans, group: Encoded) -> Questions:
    """Return the options of these people as codes."""
    options = options_of(plans.schema, plans, group)
    off = (options.codes < 0).any(axis=1)
    if off.any():
        person = group.index[options.people[off.argmax()]]
        raise DataError(f"an option of person {person!r} has a value that is not on the schema's grid.")
    return options


def _reached(samples: CostSamples, options: Questions) -> NDArray[np.float64]:
    """Return the least option cost under every cost function, `uncovered_cost` where none is possible, [P, M]."""
    costs = samples.reported(options.people, options.codes)
    out = np.full((samples.n_people, samples.n_samples), samples.tables.objective.uncovered_cost)
    np.minimum.at(out, options.people, costs)
    return out


def _check_figures(plans: RecoursePlans, group: Encoded, samples: CostSamples, options: Questions) -> None:
    """Raise unless the cost functions drawn now reproduce the figures of the plans."""
    n = np.bincount(options.people, minlength=len(group)).astype(np.int64)
    codes = np.zeros((len(group), int(n.max(initial=1)), options.codes.shape[1]), np.int32)
    rank = np.arange(len(options.people)) - np.repeat(np.cumsum(n) - n, n)
    codes[options.people, rank] = options.codes
    figures = Figures.of(samples, codes, n)
    recorded = plans.summary.iloc[plans.summary.index.get_indexer(group.index)]  # labels may be truth values
    same = np.isclose(recorded["covered"], figures.covered, atol=1e-9)
    same &= np.isclose(recorded["emc"], figures.emc, atol=1e-9, equal_nan=True)
    if not same.all():
        raise SettingError(
            f"the cost functions of {listed(group.index[~same].tolist())} do not come out as in the plans. Give the "
            "preferences that recommend had, and fit on the same table."
        )


def _table(certificates: list[Certificate], index: pd.Index[Any]) -> pd.DataFrame:
    return pd.DataFrame({name: [getattr(c, name) for c in certificates] for name in CERTIFICATE}, index=index)
