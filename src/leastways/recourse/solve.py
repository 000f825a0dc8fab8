"""One call of `recommend`: chunks of people are judged as they are, and those refused are searched for."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from leastways._progress import Report
from leastways._random import keys_of_rows, stream
from leastways._validation import check_seed
from leastways.costs import CostSamples
from leastways.plans import RecoursePlans
from leastways.recourse.applicants import People
from leastways.recourse.evaluator import JudgedPeople, Judging
from leastways.recourse.preparation import first_states
from leastways.recourse.results import Figures, Outcome
from leastways.schema import Encoded
from leastways.search import Problem, Questions, Searcher, run_search
from leastways.search.loop import steady

if TYPE_CHECKING:
    from leastways.recourse.recourse import Recourse


@dataclass
class Solving:
    """Everybody who is to be solved, how, and what came of it so far."""

    recourse: Recourse
    searcher: Searcher
    crowd: People
    judging: Judging
    outcome: Outcome
    warm_start: RecoursePlans | None

    def __post_init__(self) -> None:
        seed = check_seed(self.recourse.random_state)
        self.keys: NDArray[np.uint64] = keys_of_rows(self.crowd.encoded.content(), seed)

    def solve(self, rows: NDArray[np.intp], room: NDArray[np.float64], report: Report, seconds: float | None) -> None:
        """Judge a chunk of people as they are, search for those refused, and note what came of it."""
        judge = self.judging.of(self.crowd.encoded.take(rows))
        now, failed = judge.now()
        threshold = self.recourse.threshold
        self.outcome.note_present(rows, steady(now), now >= threshold, failed)
        refused = np.flatnonzero(now < threshold)
        if len(refused):
            self._search(rows[refused], judge.take(refused), room, report, seconds)

    def _search(
        self,
        rows: NDArray[np.intp],
        judge: JudgedPeople,
        room: NDArray[np.float64],
        report: Report,
        seconds: float | None,
    ) -> None:
        """Search for refused people, and search again without the table for those whom it may have misled.

        These are people for whom it was wrong about an option, and people for whom it left no way at all. "No option
        exists" is told as proven, and a table that was right wherever it was checked may be wrong about one state.
        """
        began = monotonic()
        recourse, outcome = self.recourse, self.outcome
        below = recourse.satisfied_below if recourse.objective == "satisfaction" else None
        told = [self.crowd.preferences[row] for row in rows]
        samples = recourse.cost_model_.sample(
            judge.people, self.keys[rows], int(recourse.n_costs), told, recourse.uncovered_cost, below, room
        )
        stuck = samples.tables.space.allowed.sum(axis=1) <= len(recourse.schema.features)  # own values only
        problem = Problem(
            samples=samples,
            people=judge.people,
            keys=stream(self.keys[rows], "search"),
            n_options=int(recourse.n_options),  # numpy's integers are taken too, and overflow
            budget=int(recourse.budget) - 1,  # the person's own row is spent
            present=outcome.probability[rows],
            threshold=recourse.threshold,
            first=self._first_states(judge.people, samples),
            shared=None if recourse.distilled_ is None else recourse.distilled_.net,
        )
        result = run_search(self.searcher, problem, judge, report, seconds)
        self.judging.meter.note_gradients(int(result.gradient_rows.sum()))
        outcome.note_options(rows, result, Figures.of(samples, result.chosen.codes, result.chosen.n), stuck)
        wrong = judge.misjudged(result)
        self.judging.note_misjudged(len(wrong))
        proofs = np.flatnonzero(result.no_way & ~stuck & judge.by_table)
        again = np.union1d(wrong, proofs)
        if len(again):
            outcome.forget(rows[again])
            left = None if seconds is None else max(seconds - (monotonic() - began), 0.0)
            self._search(rows[again], judge.take(again).plain(), room, lambda share: None, left)

    def _first_states(self, people: Encoded, samples: CostSamples) -> Questions | None:
        return None if self.warm_start is None else first_states(self.recourse.schema, self.warm_start, people, samples)
