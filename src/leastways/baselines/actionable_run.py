"""Actionable Recourse at work on a chunk of people: a program each, solved again for each option.

A few people are worked on at a time, so that those who were served before the time is up keep what they have. What a
person gets does not depend on who they are worked on with.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from leastways._random import stream
from leastways.baselines.actionable_program import Person, Program
from leastways.baselines.local_linear import Ground, draw_states, fit_surrogate
from leastways.baselines.percentile_shift import PercentileShift
from leastways.kernels.tables import Tables
from leastways.models.linear import LinearScore
from leastways.search.protocol import Account, Chosen, Problem, Questions

if TYPE_CHECKING:
    from leastways.baselines.actionable import ActionableRecourse

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

_ABSURD = 1e4  # in log-odds: nobody's score is that far off by what people usually have
_TIE = 1e-5  # per changed feature, and again for its length: of two moves at one cost the shorter is taken
_MARGIN = 1e-9  # a score this close to the threshold may fall on either side of it by rounding
_FARTHEST = 8.0  # log-odds of a threshold, at most, where they are a surrogate's
_AT_A_TIME = 64  # people whose questions share a model call
_AT_A_TIME_BY_THE_CLOCK = 4  # where there is a deadline: no more than these lose their work when it passes


class ActionableRun:
    """One program per person, solved again for each option."""

    def __init__(
        self, settings: ActionableRecourse, shift: PercentileShift, score: LinearScore | None, problem: Problem
    ) -> None:
        t, P, N = problem.samples.tables, problem.n_people, problem.n_options
        self.settings, self.score, self.problem = settings, score, problem
        self.cost = shift.of(t) + _TIE * _steps(t)  # [P, V]
        self.most = max(settings.max_programs, N)
        self.at_a_time = _AT_A_TIME if problem.deadline is None else _AT_A_TIME_BY_THE_CLOCK
        self.programs: dict[int, Program] = {}
        self.solved = np.zeros(P, np.int64)
        self.sampled: set[int] = set()  # people whose surrogate waits for answers
        self.left = np.full(P, problem.budget, np.int64)
        self.done = np.zeros(P, np.bool_)
        self.cut_short = np.zeros(P, np.bool_)
        self.ended: dict[int, str] = {}  # by what, for those whose search did not end by having enough
        self.found = Chosen.none(P, N, t.start.shape[1])
        self.seeds = stream(problem.keys, "surrogate")
        # What the threshold is in log-odds; a surrogate's are clipped, so that a threshold of 1 is no infinity.
        self.cut = float(np.clip(logit(problem.threshold), -_FARTHEST, _FARTHEST))
        if score is not None:
            parts, now = score.parts(problem.people)
            score.check(now, problem.present)
            cut = score.cut_at(problem.threshold)
            own = _within_reach(parts, np.take_along_axis(parts, t.offsets[:-1] + t.start, axis=1), t, cut - score.base)
            self.gain = parts - np.repeat(own, np.diff(t.offsets), axis=1)
            self.need = cut - score.base - own.sum(axis=1)

    def ask(self, left: NDArray[np.int64]) -> Questions:
        """Ask about states for a surrogate, or about a program's next solutions, for the next few people."""
        self.left = left.copy()
        people: list[int] = []
        parts = [np.empty((0, self.found.codes.shape[2]), np.int32)]
        for p in map(int, np.flatnonzero(~self.done & (left > 0))):
            if len(parts) > self.at_a_time or self.problem.out_of_time():
                break
            states = self._states(p, int(left[p]))
            if len(states):
                people += [p] * len(states)
                parts.append(states)
            else:
                self.done[p] = True
        return Questions(np.array(people, dtype=np.int64), np.concatenate(parts))

    def tell(self, questions: Questions, probability: Floats, accepted: NDArray[np.bool_]) -> None:
        """Fit the surrogates that were waiting; keep the options that the model accepts."""
        n, N, P = self.found.n, self.problem.n_options, self.problem.n_people
        self.left -= np.bincount(questions.people, minlength=P)
        ends = np.searchsorted(questions.people, np.arange(P + 1))
        for p in map(int, np.unique(questions.people)):
            rows = slice(ends[p], ends[p + 1])
            if p in self.sampled:
                self.sampled.remove(p)
                if not self.problem.out_of_time():  # a fit takes long, and nothing could be asked any more
                    self._fit(p, questions.codes[rows], probability[rows])
                continue
            yes = np.flatnonzero(accepted[rows]) + rows.start
            places = slice(n[p], n[p] + len(yes))
            self.found.codes[p, places] = questions.codes[yes]
            self.found.probability[p, places] = probability[yes]
            n[p] += len(yes)
            self.done[p] = n[p] >= N

    def chosen(self) -> Chosen:
        """Return the options that the model accepted, cheapest first."""
        return self.found.copy()

    def account(self) -> Account:
        """Say why people got nothing, or less, and whose turn did not come in time."""
        more_to_come = ~self.done & (self.left > 0)
        fewer = np.flatnonzero(~more_to_come & ~self.cut_short & (self.found.n < self.problem.n_options))
        reasons = {p: reason for p in map(int, fewer) if (reason := self._reason(p))}
        cut_short = self.cut_short | (more_to_come & self.problem.out_of_time())
        return Account(np.zeros(len(self.done), np.int64), reasons, cut_short)

    def _reason(self, p: int) -> str:
        """Say why a person whose search is over has nothing, or fewer options than asked for by a limit."""
        ended, n = self.ended.get(p), int(self.found.n[p])
        if ended == "time":
            return f"the integer program was not solved within solver_seconds={self.settings.solver_seconds:g}"
        capped = f"the search ended after {self.most} programs, the larger of max_programs and n_options"
        if n:
            return capped if ended == "cap" else ""
        believer = "its linear surrogate" if self.score is None else "its linear score"
        if self.solved[p]:
            refused = f"the model refused all {self.solved[p]} changes that {believer} took for a yes"
            return f"{refused}; {capped}" if ended == "cap" else refused
        if ended == "stuck":
            return "nothing this person may change has another permitted value"
        if ended is None and self.score is None and self.problem.budget:
            return "the budget was spent on the linear surrogate of the model, before there was an option to ask about"
        if ended is None:
            return "the budget leaves no row to ask about"
        if self.score is not None:
            return f"no change that is permitted makes {self.score.name} say yes"
        return "the linear surrogate of the model around this person sees no permitted change to a yes"

    def _states(self, p: int, left: int) -> Codes:
        """Return what to ask next about a person; nothing ends their search."""
        if p not in self.programs:
            if self.score is None:
                return self._around(p, left)
            self._build(p, self.gain[p], float(self.need[p]))
        program = self.programs[p]
        states: list[Codes] = []
        want = min(left, self.problem.n_options - int(self.found.n[p]))
        while len(states) < want:
            if self.solved[p] >= self.most:
                self.ended[p] = "cap" if program.cells else "none"  # without cells there was nothing more to solve
                break
            state = self._next(p, program)
            if state is None:
                break
            states.append(state)
        return np.array(states, dtype=np.int32).reshape(len(states), self.found.codes.shape[2])

    def _around(self, p: int, left: int) -> Codes:
        """Draw the states that a surrogate is fitted to."""
        rows = min(self.settings.surrogate_rows, max(self.problem.budget // 2, 1), left)
        states = draw_states(self._ground(p), rows, int(self.seeds[p]))
        if len(states):
            self.sampled.add(p)
        else:
            self.ended[p] = "stuck"
        return states

    def _next(self, p: int, program: Program) -> Codes | None:
        """Solve for the next state; None if there is none, or no time."""
        seconds, deadline = self.settings.solver_seconds, self.problem.deadline
        rest = np.inf if deadline is None else deadline - monotonic()
        found = program.next(min(seconds, rest), self.settings.enumeration == "disjoint") if rest > 0.0 else None
        if found is None or (found.why == "time" and rest <= seconds):
            self.cut_short[p] = True
            return None
        if found.codes is None:
            self.ended[p] = found.why
            return None
        self.ended.pop(p, None)  # a program that was not solved in time before may be now
        self.solved[p] += 1
        return found.codes

    def _fit(self, p: int, states: Codes, probability: Floats) -> None:
        """Make the program of a person from the model's answers around them."""
        present = float(self.problem.present[p])
        self._build(p, *fit_surrogate(self._ground(p), states, probability, present, self.cut))

    def _build(self, p: int, gain: Floats, need: float) -> None:
        t, rules = self.problem.samples.tables, self.problem.samples.rules
        person = Person(p, t.start[p], t.offsets, t.allowed[p], rules)
        self.programs[p] = Program.build(person, self.cost[p], gain, need + _MARGIN * max(1.0, abs(need)))

    def _ground(self, p: int) -> Ground:
        t = self.problem.samples.tables
        places = np.where(t.ordered, t.used[p] - 1.0, 0.0)  # the span of an ordinal is its places'
        return Ground(t.start[p], t.offsets, t.allowed[p], t.levels[p], np.where(t.span > 0.0, t.span, places))


def _within_reach(parts: Floats, own: Floats, t: Tables, wanted: float) -> Floats:
    """Return what people's own values add to the score, [P, F], raised where that is absurdly little.

    No other change makes up for a number far beyond the ends of a grid, and by how far does not matter. In a program
    with such a number, what the others add to reach the score `wanted` would be lost in the rounding.
    """
    best = np.maximum.reduceat(np.where(t.allowed, parts, -np.inf), t.offsets[:-1], axis=1)
    enough = wanted - (best.sum(axis=1, keepdims=True) - best)  # with the best of all else, this much is needed here
    return np.where(own < enough - _ABSURD, enough - _ABSURD, own)


def _steps(t: Tables) -> Floats:
    """Return 1 and the share of the grid that each move passes, [P, V]."""
    sizes = np.diff(t.offsets)
    slot = np.arange(t.offsets[-1]) - np.repeat(t.offsets[:-1], sizes)
    return np.asarray(1.0 + np.abs(slot - np.repeat(t.start, sizes, axis=1)) / np.repeat(sizes, sizes))
