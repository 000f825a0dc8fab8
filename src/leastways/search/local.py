"""Searches that try whole sets: plain local search, and random draws over the space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leastways._random import stream
from leastways._validation import check_choice
from leastways.search.kernels import DIVERSITY, EMC, PROXIMITY, SPARSITY, SetStates, ask_sets, keep_valid, tell_sets
from leastways.search.protocol import Chosen, Problem, Proposals, Questions
from leastways.search.registry import register_searcher

Objective = Literal["emc", "sparsity", "proximity", "diversity"]
_OBJECTIVES = {"emc": EMC, "sparsity": SPARSITY, "proximity": PROXIMITY, "diversity": DIVERSITY}


@dataclass(frozen=True)
class LocalSearch:
    """Perturb the whole best set; the new one replaces it only if it is better as a whole (the paper's LS).

    Parameters
    ----------
    objective
        `emc`, or `sparsity`, `proximity`, `diversity`, these three averaged with validity.
    proposals
        As in `COLS`.
    """

    objective: Objective = "emc"
    proposals: Proposals = "actionable"

    def __post_init__(self) -> None:
        check_choice("objective", self.objective, tuple(_OBJECTIVES))
        check_choice("proposals", self.proposals, ("actionable", "paper"))

    def start(self, problem: Problem) -> SetRun:
        """Begin a search for a chunk of people."""
        return SetRun(problem, _OBJECTIVES[self.objective], self.proposals, everywhere=False)


@dataclass(frozen=True)
class RandomSearch:
    """Draw sets uniformly over the space and keep the best by EMC."""

    proposals: Proposals = "actionable"

    def __post_init__(self) -> None:
        check_choice("proposals", self.proposals, ("actionable", "paper"))

    def start(self, problem: Problem) -> SetRun:
        """Begin a search for a chunk of people."""
        return SetRun(problem, EMC, self.proposals, everywhere=True)


class SetRun:
    """One best set per person, tried against a new one each round."""

    def __init__(self, problem: Problem, objective: int, proposals: Proposals, everywhere: bool) -> None:
        P, N = problem.n_people, problem.n_options
        F = problem.samples.space.start.shape[1]
        self.problem = problem
        self.objective = objective
        self.everywhere = everywhere
        self.tables = problem.tables(proposals)
        self.states = SetStates(
            stream=stream(problem.keys, "run 0"),
            alive=np.ones(P, np.bool_),
            score=np.full(P, -np.inf),
            codes=np.zeros((P, N, F), np.int32),
            n=np.zeros(P, np.int64),
            accepted=np.zeros((P, N), np.bool_),
            probability=np.zeros((P, N)),
        )

    def ask(self, left: NDArray[np.int64]) -> Questions:
        """Propose each person's next set, as large as the remaining budget allows."""
        quota = np.where(self.states.alive, np.minimum(left, self.problem.n_options), 0)
        rows = int(quota.sum())
        F = self.states.codes.shape[2]
        people, codes = np.empty(rows, np.int64), np.empty((rows + 1, F), np.int32)
        n = ask_sets(self.tables, self.states, quota, self.everywhere, people, codes)
        return Questions(people[:n], codes[:n])

    def tell(self, questions: Questions, probability: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Keep the tried set where it is better as a whole."""
        tell_sets(self.tables, self.states, questions.people, questions.codes, accepted, probability, self.objective)

    def chosen(self) -> Chosen:
        """Return the accepted, permitted, distinct members of each person's best set."""
        out = Chosen.none(*self.states.codes.shape)
        keep_valid(self.tables, self.states, *out)
        return out


register_searcher("ls", LocalSearch)
register_searcher("random", RandomSearch)
