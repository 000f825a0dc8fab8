"""Results of a search: collected chunk by chunk, then made into the tables of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways.costs import CostSamples
from leastways.errors import ModelError
from leastways.plans import MODEL_FAILED, OUT_OF_TIME, RecoursePlans, no_failed_rows
from leastways.recourse.applicants import Applicants
from leastways.schema import Schema
from leastways.search import SearchResult, describe_sets

SATISFIED_BELOW = 1.0  # what the column `satisfied` counts


class Figures(NamedTuple):
    """Measures of sets of options, over their people's sampled cost functions."""

    expected: NDArray[np.float64]  # [P, N] mean cost of an option where it can be reached
    best_for: NDArray[np.float64]  # [P, N] share for which it is the cheapest
    covered: NDArray[np.float64]  # [P] share that some option serves
    emc: NDArray[np.float64]  # [P] mean cost of the cheapest over these
    satisfied: NDArray[np.float64]  # [P] share that some option serves cheaply

    @classmethod
    def of(cls, samples: CostSamples, codes: NDArray[np.int32], n: NDArray[np.int64]) -> Figures:
        """Describe sets of options, codes [P, N, F], of which each person has n [P]."""
        P, N, _ = codes.shape
        found = cls(np.zeros((P, N)), np.zeros((P, N)), np.zeros(P), np.full(P, np.nan), np.zeros(P))
        describe_sets(samples.tables, codes, n, SATISFIED_BELOW, *found)
        for share in (found.best_for, found.covered, found.satisfied):
            np.round(share, 12, out=share)  # sums of weights are a rounding off: 300 of 300 gave 0.9999999999999961
        return found


@dataclass(frozen=True)
class Outcome:
    """The results of each usable person, filled in chunk by chunk."""

    status: NDArray[np.object_]  # [P]
    reason: NDArray[np.object_]  # [P]
    probability: NDArray[np.float64]  # [P] now
    queries: NDArray[np.int64]  # [P]
    covered: NDArray[np.float64]  # [P]
    emc: NDArray[np.float64]  # [P]
    satisfied: NDArray[np.float64]  # [P]
    n: NDArray[np.int64]  # [P] options
    codes: NDArray[np.int32]  # [P, N, F]
    option_probability: NDArray[np.float64]  # [P, N]
    expected: NDArray[np.float64]  # [P, N]
    best_for: NDArray[np.float64]  # [P, N]
    miss_codes: NDArray[np.int32]  # [P, F] the nearest miss of those who got nothing
    miss_probability: NDArray[np.float64]  # [P] NaN: there is none
    failures: dict[int, ModelError]  # by person: how the model failed on their rows
    lost: set[int]  # people on whose own row the model failed, or on every row that their search asked about

    @classmethod
    def empty(cls, P: int, N: int, F: int) -> Outcome:
        """Make room for P people."""
        blank = np.full(P, "", dtype=object)
        return cls(
            blank,
            blank.copy(),
            np.full(P, np.nan),
            np.zeros(P, np.int64),
            np.full(P, np.nan),
            np.full(P, np.nan),
            np.full(P, np.nan),
            np.zeros(P, np.int64),
            np.zeros((P, N, F), np.int32),
            np.zeros((P, N)),
            np.zeros((P, N)),
            np.zeros((P, N)),
            np.zeros((P, F), np.int32),
            np.full(P, np.nan),
            {},
            set(),
        )

    def note_present(
        self,
        rows: NDArray[np.intp],
        now: NDArray[np.float64],
        accepted: NDArray[np.bool_],
        failed: Mapping[int, ModelError],
    ) -> None:
        """Record the model's answers about the present states."""
        self.probability[rows] = now
        self.queries[rows] = 1
        self.status[rows[accepted]] = "already_positive"
        for place, error in failed.items():
            self.queries[rows[place]] -= error.unanswered
            self.status[rows[place]] = "invalid_input"
            self.reason[rows[place]] = f"the model failed on this row: {error}"
            self.failures[int(rows[place])] = error
            self.lost.add(int(rows[place]))

    def forget(self, rows: NDArray[np.intp]) -> None:
        """Delete the results of some people, who are searched for again."""
        self.queries[rows] = 1
        self.reason[rows] = ""
        self.miss_probability[rows] = np.nan
        for row in rows.tolist():
            self.failures.pop(row, None)
            self.lost.discard(row)

    def note_options(
        self, rows: NDArray[np.intp], result: SearchResult, figures: Figures, immovable: NDArray[np.bool_]
    ) -> None:
        """Record the results of a search."""
        for name in Figures._fields:
            getattr(self, name)[rows] = getattr(figures, name)
        chosen = result.chosen
        self.queries[rows] += result.queries
        self.n[rows] = chosen.n
        self.codes[rows] = chosen.codes
        self.option_probability[rows] = chosen.probability
        self.status[rows] = np.where(
            chosen.n > 0, "found", np.where(immovable | result.no_way, "none_exists", "none_found")
        )
        missed = result.misses.known & (chosen.n == 0)
        self.miss_codes[rows[missed]] = result.misses.codes[missed]
        self.miss_probability[rows[missed]] = result.misses.probability[missed]
        for place, text in result.reasons.items():
            self.reason[rows[place]] = text
        self.reason[rows[immovable]] = "nothing this person may change has another permitted value"
        cut = result.cut_short
        self.status[rows[cut]] = np.where(chosen.n[cut] > 0, "partial", "none_found")
        self.reason[rows[cut]] = OUT_OF_TIME
        for place, error in result.failures.items():
            self.queries[rows[place]] -= error.unanswered
            self.status[rows[place]] = "partial" if chosen.n[place] else "none_found"
            self.reason[rows[place]] = f"{MODEL_FAILED}: {error}"
            self.failures[int(rows[place])] = error
            if error.rows is not None and len(error.rows) == result.queries[place]:
                self.lost.add(int(rows[place]))

    def raise_if_all_lost(self) -> None:
        """Raise if the model failed on all of several people: on their present states, or on every state evaluated.

        That is a fault of the model, not of their rows. Where any person got an answer, all keep their results.
        """
        if 1 < len(self.lost) == len(self.status):
            raise next(iter(self.failures.values()))


def assemble(schema: Schema, applicants: Applicants, outcome: Outcome, settings: Mapping[str, Any]) -> RecoursePlans:
    """Make the tables of a `RecoursePlans`."""
    return RecoursePlans(
        schema=schema,
        people=applicants.frame,
        summary=_summary(applicants, outcome),
        options=_options(schema, applicants, outcome),
        failed_rows=_failed_rows(schema, applicants, outcome),
        settings=settings,
        nearest_misses=_nearest_misses(schema, applicants, outcome),
    )


def _summary(applicants: Applicants, outcome: Outcome) -> pd.DataFrame:
    P = len(applicants.frame)

    def spread(values: NDArray[Any], missing: Any) -> NDArray[Any]:
        out = np.full(P, missing, dtype=values.dtype)
        out[applicants.usable] = values
        return out

    reason = spread(outcome.reason, "")
    for place, text in applicants.reasons.items():
        reason[place] = text
    index = applicants.frame.index
    return pd.DataFrame(
        {
            "status": pd.Series(spread(outcome.status, "invalid_input"), index, dtype="str"),
            "n_options": spread(outcome.n, 0),
            "covered": spread(outcome.covered, np.nan),
            "emc": spread(outcome.emc, np.nan),
            "satisfied": spread(outcome.satisfied, np.nan),
            "queries": spread(outcome.queries, 0),
            "probability": spread(outcome.probability, np.nan),
            "reason": pd.Series(reason, index, dtype="str"),
        },
        index=index,
    )


def _options(schema: Schema, applicants: Applicants, outcome: Outcome) -> pd.DataFrame:
    """Return one row per option; the option that is cheapest for most samples comes first."""
    N = outcome.best_for.shape[1]
    order = np.argsort(np.where(np.arange(N) < outcome.n[:, None], -outcome.best_for, np.inf), axis=1, kind="stable")
    person, rank = np.nonzero(np.arange(N) < outcome.n[:, None])
    option = order[person, rank]
    return pd.DataFrame(
        {
            "person": applicants.encoded.index[person],
            "option": rank + 1,
            **schema.decode_columns(outcome.codes[person, option], applicants.encoded, person),
            "probability": outcome.option_probability[person, option],
            "expected_cost": outcome.expected[person, option],
            "best_for": outcome.best_for[person, option],
        },
        copy=False,
    )


def _nearest_misses(schema: Schema, applicants: Applicants, outcome: Outcome) -> pd.DataFrame | None:
    """Return a row per person without options for whom some state was closer to acceptance than the present."""
    people = np.flatnonzero(~np.isnan(outcome.miss_probability))
    if not len(people):
        return None
    return pd.DataFrame(
        {
            "person": applicants.encoded.index[people],
            **schema.decode_columns(outcome.miss_codes[people], applicants.encoded, people),
            "probability": outcome.miss_probability[people],
        },
        copy=False,
    )


def _failed_rows(schema: Schema, applicants: Applicants, outcome: Outcome) -> pd.DataFrame:
    parts = []
    for place, error in outcome.failures.items():
        if error.rows is not None:
            rows = error.rows[list(schema.names)].reset_index(drop=True)
            rows.insert(0, "person", pd.Index([applicants.encoded.index[place]] * len(rows)))
            rows.insert(1, "error", str(error))
            parts.append(rows)
    return pd.concat(parts, ignore_index=True) if parts else no_failed_rows(schema, applicants.encoded.index)
