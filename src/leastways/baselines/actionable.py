"""Actionable Recourse (Ustun, Spangher, Liu: Actionable Recourse in Linear Classification, FAT* 2019).

For a linear classifier, the cheapest grid action that flips the decision is the optimum of an integer program; its cost
is the total log-percentile shift, sum over features of |log((1 - Q(new)) / (1 - Q(now)))|, Q being the feature's
distribution function. Solved again without the sets of features found so far, it lists a "flipset".

Deviations from the published method
------------------------------------
- The magnitude is of each feature's shift: printed without it, a move down would earn what a move up costs. The
  published package does the same.
- Q is the mid-rank (`quantile="mid"`), which stays off 1 at values that occur. The distribution function itself
  (`quantile="cdf"`) is 1 at a feature's largest value, where the log is infinite; it is kept 1e-6 off, as in the
  published package, and then a binary feature costs more than almost any move of a number. The package smooths Q by a
  kernel estimate; here it is the training rows' own.
- Categories with more than two values: a move between two of them costs what it costs in a binary feature, counted
  among the rows that hold either, the one first in the schema being 0. For two values that is the published cost.
- Rules of the schema (implications, forbidden pairs, linked moves, a limit on changes) are rows of the program; the
  package has only limits on how many of some binary features are on.
- Models that are not linear: a logistic surrogate is fitted around each person (see `local_linear`), as others do with
  LIME to compare with this method; what its programs find is asked of the model, and offered only if it agrees. Where
  it does not, the next set of features is tried, up to `max_programs`. The published method has no such models, and
  the comparisons count refused options as invalid.
- Options of a linear model too are confirmed by the model, since nothing is offered that was not accepted.
- The sets of features are enumerated by cells, not by rows that exclude them, which is faster and gives the same
  options (see `actionable_program`). The solver is HiGHS, not CPLEX or CBC.
- Of two moves with the same cost the shorter is taken, by a cost of 1e-5 to 2e-5 a feature. The package leaves out
  moves at no cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from leastways.baselines.actionable_program import Person, Program
from leastways.baselines.highs import load_highs
from leastways.baselines.local_linear import Ground, draw_states, fit_surrogate
from leastways.baselines.percentile_shift import PercentileShift, Quantile
from leastways.costs.distribution import check_number
from leastways.errors import SettingError
from leastways.kernels.tables import Tables
from leastways.models.linear import LinearScore, read_linear
from leastways.rng import stream
from leastways.search.base import (
    Account,
    Background,
    Chosen,
    Problem,
    Questions,
    check_choice,
    check_count,
    register_searcher,
)

Codes = NDArray[np.int32]
Linear = Literal["auto", "exact", "local"]
Enumeration = Literal["subsets", "disjoint"]

_TIE = 1e-5  # per changed feature, and again for its length: of two moves at one cost the shorter is taken
_MARGIN = 1e-9  # a score this close to the threshold may fall on either side of it by rounding
_FARTHEST = 8.0  # log-odds of a threshold, at most, where they are a surrogate's


@dataclass(frozen=True)
class ActionableRecourse:
    """Integer programs over grid moves that a linear model accepts, the cheapest by log-percentile shift first.

    Parameters
    ----------
    linear
        `exact` reads the coefficients of a linear scikit-learn model; `local` fits a linear surrogate around each
        person; `auto` takes `exact` where it can.
    quantile
        Which share of the training rows counts as below a value: `cdf`, those at or below it, as published; `mid`,
        those below and half of those at it.
    enumeration
        What a found option excludes: changes of exactly its features (`subsets`), or of any of them (`disjoint`).
    surrogate_rows
        States that a local surrogate is fitted to, at most; never more than half of the budget.
    max_programs
        Programs solved for a person, at most. Only a local surrogate needs more than `n_options`, where the model
        refuses what the surrogate accepts.
    solver_seconds
        Time limit of one program.
    """

    linear: Linear = "auto"
    quantile: Quantile = "mid"
    enumeration: Enumeration = "subsets"
    surrogate_rows: int = 1000
    max_programs: int = 30
    solver_seconds: float = 5.0

    def __post_init__(self) -> None:
        check_choice("linear", self.linear, ("auto", "exact", "local"))
        check_choice("quantile", self.quantile, ("cdf", "mid"))
        check_choice("enumeration", self.enumeration, ("subsets", "disjoint"))
        check_count("surrogate_rows", self.surrogate_rows, least=10)
        check_count("max_programs", self.max_programs)
        check_number("solver_seconds", self.solver_seconds, 0, 1e6)

    def prepare(self, background: Background) -> ReadyRecourse:
        """Read the model, if it is linear, and the percentiles of the training rows."""
        load_highs()  # a solver that is missing is better missed now
        shift = PercentileShift.fit(background.schema, background.rows, self.quantile)
        if self.linear == "local":
            return ReadyRecourse(self, shift, None)
        score = read_linear(background.model, background.schema, background.threshold)
        if isinstance(score, LinearScore):
            return ReadyRecourse(self, shift, score)
        if self.linear == "exact":
            raise SettingError(
                f"ActionableRecourse(linear='exact') cannot read the model: {score}. Use linear='local', which fits "
                "a linear surrogate around each person, or method='guided', which takes any model."
            )
        return ReadyRecourse(self, shift, None)


@dataclass(frozen=True)
class ReadyRecourse:
    """The method with what it learned: Q of every feature, and the model's score if it is linear."""

    settings: ActionableRecourse
    shift: PercentileShift
    score: LinearScore | None

    def start(self, problem: Problem) -> ActionableRun:
        """Begin a search for a chunk of people."""
        return ActionableRun(self, problem)


class ActionableRun:
    """One program per person, solved again for each option."""

    def __init__(self, ready: ReadyRecourse, problem: Problem) -> None:
        t, P, N = problem.samples.tables, problem.n_people, problem.n_options
        F = t.start.shape[1]
        self.ready, self.problem = ready, problem
        self.cost = ready.shift.of(t) + _TIE * _steps(t)  # [P, V]
        self.programs: list[Program | None] = [None] * P
        self.solved = np.zeros(P, np.int64)
        self.sampled: dict[int, Codes] = {}  # states that a surrogate waits for
        self.done = np.zeros(P, np.bool_)
        self.cut_short = np.zeros(P, np.bool_)
        self.timed_out = np.zeros(P, np.bool_)
        self.found = Chosen(np.zeros((P, N, F), np.int32), np.zeros(P, np.int64), np.zeros((P, N)))
        self.seeds = stream(problem.keys, "surrogate")
        # What the threshold is in log-odds; a surrogate's are clipped, so that a threshold of 1 is no infinity.
        self.cut = float(np.clip(logit(problem.threshold), -_FARTHEST, _FARTHEST))
        if ready.score is not None:
            parts, now = ready.score.parts(problem.people)
            ready.score.check(now, problem.present)
            own = t.offsets[:-1] + t.start
            here = np.repeat(np.take_along_axis(parts, own, axis=1), np.diff(t.offsets), axis=1)
            need = ready.score.cut - now
            for p in range(P):
                self._build(p, parts[p] - here[p], float(need[p]))

    def ask(self, left: NDArray[np.int64]) -> Questions:
        """Ask about states for a surrogate, or about a program's next solutions."""
        people, codes = [], [np.empty((0, self.found.codes.shape[2]), np.int32)]
        for p in map(int, np.flatnonzero(~self.done & (left > 0))):
            states = self._states(p, int(left[p]))
            people += [p] * len(states)
            codes.append(states)
            self.done[p] |= not len(states)
        return Questions(np.array(people, dtype=np.int64), np.concatenate(codes))

    def tell(self, questions: Questions, probability: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Fit the surrogates that were waiting; keep the options that the model accepts."""
        n, N = self.found.n, self.problem.n_options
        ends = np.searchsorted(questions.people, np.arange(self.problem.n_people + 1))
        for p in map(int, np.unique(questions.people)):
            rows = slice(ends[p], ends[p + 1])
            if p in self.sampled:
                self._fit(p, self.sampled.pop(p), probability[rows])
                continue
            yes = np.flatnonzero(accepted[rows]) + rows.start
            places = slice(n[p], n[p] + len(yes))
            self.found.codes[p, places] = questions.codes[yes]
            self.found.probability[p, places] = probability[yes]
            n[p] += len(yes)
            self.done[p] = n[p] >= N

    def chosen(self) -> Chosen:
        """Return the options that the model accepted, cheapest first."""
        codes, n, probability = self.found
        return Chosen(codes.copy(), n.copy(), probability.copy())

    def account(self) -> Account:
        """Say why people got nothing, or less for want of time."""
        reasons = {p: self._reason(p) for p in map(int, np.flatnonzero(self.done & (self.found.n == 0)))}
        for p in map(int, np.flatnonzero(self.timed_out)):
            seconds = self.ready.settings.solver_seconds
            reasons[p] = f"the integer program was not solved within solver_seconds={seconds:g}"
        return Account(np.zeros(len(self.done), np.int64), reasons, self.cut_short.copy())

    def _reason(self, p: int) -> str:
        if self.ready.score is not None:
            return f"no change that is permitted makes {self.ready.score.name} say yes"
        if self.solved[p] == 0:
            return "the linear surrogate of the model around this person sees no permitted change to a yes"
        return f"the model refused all {self.solved[p]} changes that its linear surrogate took for a yes"

    def _states(self, p: int, left: int) -> Codes:
        """Return what to ask next about a person; nothing ends their search."""
        program, settings = self.programs[p], self.ready.settings
        if program is None:
            rows = min(settings.surrogate_rows, max(self.problem.budget // 2, 1), left)
            self.sampled[p] = draw_states(self._ground(p), rows, int(self.seeds[p]))
            return self.sampled[p]
        states: list[Codes] = []
        want = min(left, self.problem.n_options - int(self.found.n[p]))
        while len(states) < want and self.solved[p] < settings.max_programs:
            state = self._next(p, program)
            if state is None:
                break
            states.append(state)
        return np.array(states, dtype=np.int32).reshape(len(states), self.found.codes.shape[2])

    def _next(self, p: int, program: Program) -> Codes | None:
        """Solve for the next state; None if there is none, or no time."""
        seconds, deadline = self.ready.settings.solver_seconds, self.problem.deadline
        rest = np.inf if deadline is None else deadline - monotonic()
        disjoint = self.ready.settings.enumeration == "disjoint"
        found = program.next(min(seconds, rest), disjoint) if rest > 0.0 else None
        if found is None or (found.why == "time" and rest <= seconds):
            self.cut_short[p] = True
            return None
        if found.codes is None:
            self.timed_out[p] = found.why == "time"
            return None
        self.solved[p] += 1
        return found.codes

    def _fit(self, p: int, states: Codes, probability: NDArray[np.float64]) -> None:
        """Make the program of a person from the model's answers around them."""
        present = float(self.problem.present[p])
        gain, need = fit_surrogate(self._ground(p), states, probability, present, self.cut)
        self._build(p, gain, need)

    def _build(self, p: int, gain: NDArray[np.float64], need: float) -> None:
        t, rules = self.problem.samples.tables, self.problem.samples.rules
        person = Person(p, t.start[p], t.offsets, t.allowed[p], rules)
        self.programs[p] = Program.build(person, self.cost[p], gain, need + _MARGIN * max(1.0, abs(need)))

    def _ground(self, p: int) -> Ground:
        t = self.problem.samples.tables
        places = np.where(t.ordered, t.used[p] - 1.0, 0.0)  # the span of an ordinal is its places'
        return Ground(t.start[p], t.offsets, t.allowed[p], t.levels[p], np.where(t.span > 0.0, t.span, places))


def _steps(t: Tables) -> NDArray[np.float64]:
    """Return 1 and the share of the grid that each move passes, [P, V]."""
    sizes = np.diff(t.offsets)
    slot = np.arange(t.offsets[-1]) - np.repeat(t.offsets[:-1], sizes)
    return np.asarray(1.0 + np.abs(slot - np.repeat(t.start, sizes, axis=1)) / np.repeat(sizes, sizes))


register_searcher("ar", ActionableRecourse)
