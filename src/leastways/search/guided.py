"""Guided search: never spend a query on a state that could not help, and guess where a yes is likely."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.guided import Guides, Scratch, ask_guided, choose_options, tell_guided
from leastways.kernels.knapsack import COARSE, Items
from leastways.kernels.surrogate import columns_of, log_odds
from leastways.kernels.tables import TIE
from leastways.rng import stream
from leastways.search.base import Chosen, Problem, Questions, register_searcher

_CALLS = 12  # model calls for an ordinary budget
_LARGEST_ROUND = 100
_RANKING_SAMPLES = 256  # candidates are ranked on so many of the samples; the answers count on all
_CANDIDATES = 4  # made per question asked


@dataclass(frozen=True)
class Guided:
    """Costs are known without asking the model; so ask only about states that would lower EMC if accepted.

    Each round proposes states aimed at badly served cost samples, half of them the cheapest that a surrogate of the
    model would accept (a multiple-choice knapsack), half moves around accepted states; asks about those with the
    largest expected gain; and learns from the answers. The options are chosen last, from every accepted state found.
    No state is asked about twice, and none that could not help.
    """

    def start(self, problem: Problem) -> GuidedRun:
        """Begin a search for a chunk of people."""
        return GuidedRun(problem)


class GuidedRun:
    """Everyone in lockstep, a round a call."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.moves = problem.actionable
        t = problem.samples.tables
        P, F, M, B = problem.n_people, t.start.shape[1], problem.samples.n_samples, problem.budget
        V = t.allowed.shape[1]
        self.round = max(4, min(-(-B // _CALLS), _LARGEST_ROUND))
        columns = np.zeros(F + 1, np.int64)
        D = columns_of(t, columns)
        table = 1 << int(np.ceil(np.log2(2 * B + 64)))
        self.guides = Guides(
            stream=stream(problem.keys, "guided"),
            alive=np.ones(P, np.bool_),
            rounds=np.zeros(P, np.int64),
            now=np.array([log_odds(x, problem.threshold) for x in problem.present]),
            n_asked=np.zeros(P, np.int64),
            asked=np.zeros((P, B, F), np.int32),
            odds=np.zeros((P, B)),
            probability=np.zeros((P, B)),
            accepted=np.zeros((P, B), np.bool_),
            seen=np.zeros((P, table), np.uint64),
            lowest=np.full((P, M), t.uncovered_cost + TIE),
            columns=columns,
            normal=np.zeros((P, D, D)),
            moment=np.zeros((P, D)),
            lift=np.zeros((P, V)),
            spread=np.ones(P),
        )
        S = min(M, _RANKING_SAMPLES)
        C = max(24, _CANDIDATES * self.round)
        self.scratch = Scratch(
            codes=np.zeros((C + 1, F), np.int32)[:C],
            costs=np.empty((C, S)),
            value=np.empty(C),
            odds=np.empty(C),
            lowest=np.empty(S),
            rough=np.empty(S),
            row=np.empty(M),
            factor=np.zeros((D, D)),
            weights=np.empty(D),
            places=np.empty(2 * F, np.int64),
            values=np.empty(2 * F),
        )
        self.items = Items(
            first=np.empty(F + 1, np.int64),
            code=np.empty(COARSE * F, np.int32),
            cost=np.empty(COARSE * F),
            lift=np.empty(COARSE * F),
        )

    def ask(self, left: NDArray[np.int64]) -> Questions:
        """Ask about the states with the largest expected gain."""
        quota = np.where(self.guides.alive, np.minimum(left, self.round), 0)
        rows = int(quota.sum())
        people, codes = np.empty(rows, np.int64), np.empty((rows, self.guides.asked.shape[2]), np.int32)
        samples = self.problem.samples
        n = ask_guided(
            samples.tables,
            samples.rules,
            self.moves.choices,
            self.moves.n_choices,
            self.guides,
            self.scratch,
            self.items,
            quota,
            people,
            codes,
        )
        return Questions(people[:n], codes[:n])

    def tell(self, questions: Questions, probability: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Learn from the answers."""
        t = self.problem.samples.tables
        tell_guided(t, self.guides, self.scratch, *questions, accepted, probability, self.problem.threshold)

    def chosen(self) -> Chosen:
        """Choose the options from every accepted state."""
        P, N, F = self.problem.n_people, self.problem.n_options, self.guides.asked.shape[2]
        out = Chosen(np.zeros((P, N, F), np.int32), np.zeros(P, np.int64), np.zeros((P, N)))
        choose_options(self.problem.samples.tables, self.guides, N, *out)
        return out


register_searcher("guided", Guided)
