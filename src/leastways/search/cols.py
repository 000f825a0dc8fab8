"""Cost-Optimized Local Search, and several runs of it side by side (the paper's COLS and P-COLS)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leastways._random import stream
from leastways._validation import check_choice, check_count
from leastways.costs import top_of
from leastways.search.kernels import Walkers, ask_round, tell_round, walker_emc
from leastways.search.protocol import Chosen, Problem, Proposals, Questions
from leastways.search.registry import register_searcher

Gain = Literal["exact", "paper"]


@dataclass(frozen=True)
class COLS:
    """Keep the best set of valid options; each round perturb every member and swap in what lowers EMC.

    Parameters
    ----------
    gain
        `exact` counts every sample; `paper` only those whose minimum the replaced member holds, as the paper's
        table does.
    proposals
        `actionable` touches only what the person may change; `paper` perturbs any feature to any value, as the
        released code does. What a person may not do is asked about then, but never offered.
    """

    gain: Gain = "exact"
    proposals: Proposals = "actionable"

    def __post_init__(self) -> None:
        check_choice("gain", self.gain, ("exact", "paper"))
        check_choice("proposals", self.proposals, ("actionable", "paper"))

    def start(self, problem: Problem) -> ColsRun:
        """Begin a search for a chunk of people."""
        return ColsRun(problem, 1, self.gain, self.proposals)


@dataclass(frozen=True)
class PCOLS:
    """Several independent COLS runs with an equal share of the budget each; the lowest EMC wins."""

    runs: int = 5
    gain: Gain = "exact"
    proposals: Proposals = "actionable"

    def __post_init__(self) -> None:
        check_count("runs", self.runs)
        check_choice("gain", self.gain, ("exact", "paper"))
        check_choice("proposals", self.proposals, ("actionable", "paper"))

    def start(self, problem: Problem) -> ColsRun:
        """Begin a search for a chunk of people."""
        return ColsRun(problem, self.runs, self.gain, self.proposals)


class ColsRun:
    """`runs` walkers per person, all in lockstep."""

    def __init__(self, problem: Problem, runs: int, gain: Gain, proposals: Proposals) -> None:
        t = problem.tables(proposals)
        P, F, M, N = problem.n_people, t.space.start.shape[1], problem.samples.n_samples, problem.n_options
        W = P * runs
        self.problem = problem
        self.runs = runs
        self.paper_gain = gain == "paper"
        self.tables = t
        top = top_of(t)
        self.walkers = Walkers(
            person=np.repeat(np.arange(P), runs),
            stream=np.stack([stream(problem.keys, f"run {r}") for r in range(runs)], axis=1).ravel(),
            alive=np.ones(W, np.bool_),
            barren=np.zeros(W, np.int64),
            n=np.zeros(W, np.int64),
            members=np.zeros((W, N, F), np.int32),
            costs=np.empty((W, N, M)),
            probability=np.zeros((W, N)),
            lowest=np.full((W, M), top),
            second=np.full((W, M), top),
            owner=np.full((W, M), -1, np.int32),
            candidates=np.empty((N, M)),
            rows=np.empty(N, np.int64),
            taken=np.empty(N, np.bool_),
            gains=np.empty(N),
        )
        self.left: NDArray[np.int64] | None = None  # [W] each walker's own share of the budget
        self._asked_by = np.empty(0, np.int64)

    def ask(self, left: NDArray[np.int64]) -> Questions:
        """Perturb each walker's members, up to the set's size and the remaining budget."""
        if self.left is None:
            share, rest = np.divmod(left, self.runs)
            extra = np.arange(self.runs)[None, :] < rest[:, None]
            self.left = (share[:, None] + extra).ravel().astype(np.int64)
        alive = np.repeat(left > 0, self.runs) & self.walkers.alive
        quota = np.where(alive, np.minimum(self.left, self.problem.n_options), 0)
        rows = int(quota.sum())
        F = self.walkers.members.shape[2]
        people, asked_by = np.empty(rows, np.int64), np.empty(rows, np.int64)
        codes = np.empty((rows + 1, F), np.int32)  # one spare row, for a proposal that came to nothing
        n = ask_round(self.tables, self.walkers, quota, people, asked_by, codes)
        self._asked_by = asked_by[:n]
        self.left -= np.bincount(self._asked_by, minlength=len(self.left))
        return Questions(people[:n], codes[:n])

    def tell(self, questions: Questions, probability: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Swap in accepted states that lower EMC."""
        t = self.tables
        tell_round(t, self.walkers, self._asked_by, questions.codes, accepted, probability, self.paper_gain)

    def emc(self) -> NDArray[np.float64]:
        """Return each walker's EMC on the objective's scale; it never rises."""
        out = np.empty(len(self.walkers.person))
        walker_emc(self.tables, self.walkers, out)
        return out

    def chosen(self) -> Chosen:
        """Return each person's best walker's set."""
        by_person = self.emc().reshape(-1, self.runs)
        best = np.arange(len(by_person)) * self.runs + by_person.argmin(axis=1)
        w = self.walkers
        return Chosen(w.members[best], w.n[best], w.probability[best])


register_searcher("cols", COLS)
register_searcher("pcols", PCOLS)
