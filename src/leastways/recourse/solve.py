"""One call of `recommend`: evaluate people's present states chunk by chunk, and search for those who are refused."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from leastways._progress import Report
from leastways._random import Keys, stream
from leastways.costs import Belief, CostModel, CostSamples
from leastways.errors import PreferenceError
from leastways.plans import RecoursePlans
from leastways.recourse.applicants import Applicants
from leastways.recourse.evaluator import Evaluator, PeopleEvaluator
from leastways.recourse.preparation import first_states
from leastways.recourse.results import Figures, Outcome
from leastways.recourse.settings import Settings
from leastways.search import Problem, Searcher, SearchResult, SharedNet, run_search, steady


@dataclass(frozen=True)
class Solver:
    """Searches for options for the applicants of one call, a chunk at a time."""

    settings: Settings
    searcher: Searcher
    cost_model: CostModel
    surrogate: SharedNet | None  # that all people share
    applicants: Applicants
    keys: Keys  # [P] of the usable applicants
    evaluator: Evaluator
    outcome: Outcome  # filled in
    warm_start: RecoursePlans | None
    belief: Belief | None  # about the usable applicants, in their order; None: drawn here

    def solve(self, rows: NDArray[np.intp], room: NDArray[np.float64], report: Report, seconds: float | None) -> None:
        """Evaluate the present states of a chunk, search for those refused, and record the results.

        People for whom the encoder table was wrong about an option, or left no option at all, are searched for again
        without it: that no option exists is stated as proven, and a table that was right wherever it was checked may
        be wrong about one state.
        """
        began = monotonic()
        evaluate = self.evaluator.of(self.applicants.encoded.take(rows))
        present, failed = evaluate.present()
        accepted = present >= self.settings.threshold
        self.outcome.note_present(rows, steady(present), accepted, failed)
        refused = np.flatnonzero(present < self.settings.threshold)
        if not len(refused):
            return
        rows, evaluate = rows[refused], evaluate.take(refused)
        again = self._search(rows, evaluate, room, report, seconds)
        if len(again):
            self.outcome.forget(rows[again])
            left = None if seconds is None else max(seconds - (monotonic() - began), 0.0)
            self._search(rows[again], evaluate.take(again).plain(), room, lambda share: None, left)

    def _search(
        self,
        rows: NDArray[np.intp],
        evaluate: PeopleEvaluator,
        room: NDArray[np.float64],
        report: Report,
        seconds: float | None,
    ) -> NDArray[np.intp]:
        """Search for refused people; return the positions of those whose results must be checked without the table."""
        samples = self._samples(rows, evaluate, room)
        immovable = samples.space.allowed.sum(axis=1) <= len(self.settings.schema.features)  # present values only
        warm = self.warm_start
        problem = Problem(
            samples=samples,
            people=evaluate.people,
            keys=stream(self.keys[rows], "search"),
            n_options=self.settings.n_options,
            budget=self.settings.budget - 1,  # the person's own row is spent
            present=self.outcome.probability[rows],
            threshold=self.settings.threshold,
            warm_start=None if warm is None else first_states(self.settings.schema, warm, evaluate.people, samples),
            surrogate=self.surrogate,
        )
        result = run_search(self.searcher, problem, evaluate, report, seconds)
        self.evaluator.meter.note_gradients(int(result.gradient_rows.sum()))
        figures = Figures.of(samples, result.chosen.codes, result.chosen.n)
        self.outcome.note_options(rows, result, figures, immovable)
        return self._unsure(evaluate, result, immovable)

    def _unsure(
        self, evaluate: PeopleEvaluator, result: SearchResult, immovable: NDArray[np.bool_]
    ) -> NDArray[np.intp]:
        """Return the people for whom the table was wrong, or for whom it gives that no option exists."""
        wrong = evaluate.wrongly_tabulated(result)
        self.evaluator.note_wrongly_tabulated(len(wrong))
        return np.union1d(wrong, np.flatnonzero(result.no_way & ~immovable & evaluate.by_table))

    def _samples(self, rows: NDArray[np.intp], evaluate: PeopleEvaluator, room: NDArray[np.float64]) -> CostSamples:
        """Return the cost samples of some people: by the belief that was given, or drawn."""
        model, people, settings = self.cost_model, evaluate.people, self.settings
        objective = settings.uncovered_cost, settings.satisfied
        if self.belief is not None:
            return model.tables(people, self.belief.take(rows), *objective, room)
        stated = [self.applicants.preferences[row] for row in rows]
        return model.sample(people, self.keys[rows], settings.n_costs, stated, *objective, room)


def belief_about(belief: Belief, applicants: Applicants, keys: Keys, settings: Settings) -> Belief:
    """Return the belief about the usable applicants in their order; raise if it was made for other rows."""
    if belief.n_samples != settings.n_costs:
        raise PreferenceError(f"the belief has {belief.n_samples} samples per person, n_costs is {settings.n_costs}.")
    if belief.features != settings.schema.names:
        raise PreferenceError("the belief is about other features than the schema has.")
    people = applicants.encoded
    own = belief.of(people.index)
    expected = stream(keys, "cost")
    if (own.keys != expected).any():
        label = people.index[int((own.keys != expected).argmax())]
        raise PreferenceError(f"the belief about {label!r} was made for another row, or with another random_state.")
    return own
