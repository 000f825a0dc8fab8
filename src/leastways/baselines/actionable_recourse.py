"""Actionable Recourse (Ustun, Spangher, Liu: Actionable Recourse in Linear Classification, FAT* 2019).

For a linear classifier, the cheapest change on a grid that flips the decision is the optimum of an integer program. Its
cost is the total log-percentile shift, the sum over features of |log((1 - Q(new)) / (1 - Q(now)))|, where Q is the
feature's distribution function. Solved repeatedly without the sets of features found so far, it lists a "flipset".

Deviations from the published method
------------------------------------
- The absolute value of each feature's shift is taken, as in the published package. Without it, as printed, a move down
  would gain what a move up costs.
- Q is the mid-rank (`quantile="mid"`), which is below 1 at all values that occur. The distribution function itself
  (`quantile="cdf"`) is 1 at a feature's largest value, where the log is infinite. It is kept 1e-6 below 1, as in the
  published package; then a binary feature costs more than almost any move of a number. The package smooths Q by a
  kernel estimate; here it is that of the training rows.
- Categories with more than two values: a move between two of them costs what it costs in a binary feature, counted
  among the rows with either value; the value that comes first in the schema is 0. For two values that is the published
  cost.
- Rules of the schema (implications, forbidden pairs, linked moves, a limit on changes) are constraints of the program;
  the package limits only how many of some binary features are on. As in the package, a feature moves only where that
  raises the score. A feature in a rule keeps its other moves too, since the rule may require them; so an option may
  contain a move that does not raise the score.
- Models that are not linear: a logistic surrogate is fitted around each person (see `fit_surrogate`), as others do with
  LIME to compare with this method. The model evaluates what the surrogate's programs find, and only accepted states
  become options. For a rejected one the next set of features is tried, up to `max_programs`. The published method has
  no such models, and comparisons count rejected options as invalid.
- Options of linear models are confirmed by the model too, since every option must have been accepted.
- The sets of features are enumerated by cells, not by rows that exclude them, which is faster and gives the same
  options (see `integer_program`). The solver is HiGHS, not CPLEX or CBC.
- Of two moves with the same cost the shorter is taken, by a cost of 1e-5 to 2e-5 a feature. The package leaves out
  moves at no cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from leastways._random import stream
from leastways._validation import check_choice, check_count, check_number
from leastways.baselines.integer_program import Person, Program, load_highs
from leastways.errors import SettingError
from leastways.feasibility import Space
from leastways.models import LinearScore, read_linear
from leastways.schema import Encoded, Schema, levels_now
from leastways.search import Account, Background, Chosen, Problem, Questions

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Linear = Literal["auto", "exact", "local"]
Enumeration = Literal["subsets", "disjoint"]
Quantile = Literal["cdf", "mid"]

_LARGEST_LACK = 1e4  # log-odds that one feature may lack: far more than usual values do
_TIE = 1e-5  # cost of each changed feature, and again of its length: the shorter of two moves at the same cost is taken
_MARGIN = 1e-9  # relative distance to the threshold within which rounding may decide
_LARGEST_CUT = 8.0  # log-odds of the threshold of a surrogate, at most
_AT_A_TIME = 64  # people whose questions share a model call
_AT_A_TIME_WITH_DEADLINE = 4  # at most this many people lose their work when the deadline passes

_WIDTH = 0.75  # of the kernel, times the root of the number of features, as in LIME
_PENALTY = 0.1  # on the regression's weights
_OWN = 1.0  # weight of the person's own answer, relative to all others together
_LEAST = 1e-3  # log-odds that a rejected person lacks at least, whatever the fit
_STEPS = 50  # of Newton's method
_LONGEST = 2.0  # change of a weight in one step

# The shift is infinite where Q = 1, at the largest value of the training rows. As in the published package, Q is kept
# this far from 1.
TAIL = 1e-6


@dataclass(frozen=True)
class ActionableRecourse:
    """Find the cheapest changes that a linear model accepts, by integer programs (Ustun et al. 2019).

    The cost is the log-percentile shift. A model that is not linear is replaced by a linear surrogate around each
    person; the model itself confirms every option.

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
        Largest number of states that a local surrogate is fitted to; at most half of the budget.
    max_programs
        Largest number of programs solved for a person, at least `n_options`. Only a local surrogate needs more than
        `n_options`, if the model rejects what the surrogate accepts.
    solver_seconds
        Time limit of one program.

    Examples
    --------
    >>> import leastways as lw
    >>> lw.ActionableRecourse(enumeration="disjoint").max_programs
    30

    Used as ``lw.Recourse(model, schema, lw.ActionableRecourse())``, or by name: ``"ar"``.
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

    def prepare(self, background: Background) -> PreparedRecourse:
        """Return the method with the percentiles of the training rows, and the model's coefficients if it is linear."""
        load_highs()  # raises here if the solver is missing
        shift = PercentileShift.fit(background.schema, background.rows, self.quantile)
        if self.linear == "local":
            return PreparedRecourse(self, shift, None)
        score = read_linear(background.model, background.schema)
        if isinstance(score, LinearScore):
            return PreparedRecourse(self, shift, score)
        if self.linear == "exact":
            raise SettingError(
                f"ActionableRecourse(linear='exact') cannot read the model: {score}. Use linear='local', which fits "
                "a linear surrogate around each person, or method='guided', which takes any model."
            )
        return PreparedRecourse(self, shift, None)


@dataclass(frozen=True)
class PreparedRecourse:
    """The method with Q of every feature, and the model's score if it is linear."""

    settings: ActionableRecourse
    shift: PercentileShift
    score: LinearScore | None

    def start(self, problem: Problem) -> ActionableRun:
        """Begin a search for a chunk of people."""
        return ActionableRun(self.settings, self.shift, self.score, problem)


class ActionableRun:
    """A search with one program per person, solved again for each option.

    A few people are worked on at a time, so that those whose options were found before a deadline keep them. A person's
    options do not depend on the others.
    """

    def __init__(
        self, settings: ActionableRecourse, shift: PercentileShift, score: LinearScore | None, problem: Problem
    ) -> None:
        space, P, N = problem.samples.space, problem.n_people, problem.n_options
        self.settings, self.score, self.problem = settings, score, problem
        self.cost = shift.of(space) + _TIE * _steps(space)  # [P, V]
        self.most = max(settings.max_programs, N)
        self.at_a_time = _AT_A_TIME if problem.deadline is None else _AT_A_TIME_WITH_DEADLINE
        self.programs: dict[int, Program] = {}
        self.solved = np.zeros(P, np.int64)
        self.sampled: set[int] = set()  # people whose surrogate waits for answers
        self.left = np.full(P, problem.budget, np.int64)
        self.done = np.zeros(P, np.bool_)
        self.cut_short = np.zeros(P, np.bool_)
        self.ended: dict[int, str] = {}  # why searches ended that found too few options
        self.found = Chosen.none(P, N, problem.n_features)
        self.seeds = stream(problem.keys, "surrogate")
        # The threshold in log-odds, for surrogates; clipped, as a threshold of 1 would be infinite.
        self.cut = float(np.clip(logit(problem.threshold), -_LARGEST_CUT, _LARGEST_CUT))
        if score is not None:
            parts, now = score.parts(problem.people)
            score.check(now, problem.present)
            cut = score.cut_at(problem.threshold)
            own = np.take_along_axis(parts, space.offsets[:-1] + space.start, axis=1)
            own = _bounded(parts, own, space, cut - score.base)
            self.gain = parts - np.repeat(own, np.diff(space.offsets), axis=1)
            self.need = cut - score.base - own.sum(axis=1)

    def ask(self, left: NDArray[np.int64]) -> Questions:
        """Return the next few people's states: samples for a surrogate, or a program's next solutions."""
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
        """Fit the surrogates of sampled people; keep the solutions that the model accepts."""
        n, N, P = self.found.n, self.problem.n_options, self.problem.n_people
        self.left -= np.bincount(questions.people, minlength=P)
        ends = np.searchsorted(questions.people, np.arange(P + 1))
        for p in map(int, np.unique(questions.people)):
            rows = slice(ends[p], ends[p + 1])
            if p in self.sampled:
                self.sampled.remove(p)
                if not self.problem.out_of_time():  # a fit takes long, and would be of no use
                    self._fit(p, questions.codes[rows], probability[rows])
                continue
            kept = np.flatnonzero(accepted[rows]) + rows.start
            new = slice(n[p], n[p] + len(kept))
            self.found.codes[p, new] = questions.codes[kept]
            self.found.probability[p, new] = probability[kept]
            n[p] += len(kept)
            self.done[p] = n[p] >= N

    def chosen(self) -> Chosen:
        """Return the options that the model accepted, cheapest first."""
        return self.found.copy()

    def account(self) -> Account:
        """Return the reasons for too few options, and the people whose search did not end in time."""
        unfinished = ~self.done & (self.left > 0)
        fewer = np.flatnonzero(~unfinished & ~self.cut_short & (self.found.n < self.problem.n_options))
        reasons = {p: reason for p in map(int, fewer) if (reason := self._reason(p))}
        cut_short = self.cut_short | (unfinished & self.problem.out_of_time())
        return Account(np.zeros(len(self.done), np.int64), reasons, cut_short)

    def _reason(self, p: int) -> str:
        """Return why a person whose search ended has no option, or which limit kept them from having all."""
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
            return "the budget was spent on the linear surrogate of the model, before there was an option to evaluate"
        if ended is None:
            return "the budget leaves no row to evaluate"
        if self.score is not None:
            return f"no change that is permitted makes {self.score.name} say yes"
        return "the linear surrogate of the model around this person sees no permitted change to a yes"

    def _states(self, p: int, left: int) -> Codes:
        """Return a person's next states to evaluate; none ends their search."""
        if p not in self.programs:
            if self.score is None:
                return self._sample(p, left)
            self._build(p, self.gain[p], float(self.need[p]))
        program = self.programs[p]
        states: list[Codes] = []
        want = min(left, self.problem.n_options - int(self.found.n[p]))
        while len(states) < want:
            if self.solved[p] >= self.most:
                self.ended[p] = "cap" if program.cells else "none"  # without cells nothing is left to solve
                break
            state = self._next(p, program)
            if state is None:
                break
            states.append(state)
        return np.array(states, dtype=np.int32).reshape(len(states), self.found.codes.shape[2])

    def _sample(self, p: int, left: int) -> Codes:
        """Draw the states that a person's surrogate is fitted to."""
        rows = min(self.settings.surrogate_rows, max(self.problem.budget // 2, 1), left)
        states = draw_states(self._grid(p), rows, int(self.seeds[p]))
        if len(states):
            self.sampled.add(p)
        else:
            self.ended[p] = "stuck"
        return states

    def _next(self, p: int, program: Program) -> Codes | None:
        """Return the program's next state; None if there is none, or the time is up."""
        seconds, deadline = self.settings.solver_seconds, self.problem.deadline
        rest = np.inf if deadline is None else deadline - monotonic()
        found = program.next(min(seconds, rest), self.settings.enumeration == "disjoint") if rest > 0.0 else None
        if found is None or (found.why == "time" and rest <= seconds):
            self.cut_short[p] = True
            return None
        if found.codes is None:
            self.ended[p] = found.why
            return None
        self.ended.pop(p, None)  # an earlier attempt may have run out of time
        self.solved[p] += 1
        return found.codes

    def _fit(self, p: int, states: Codes, probability: Floats) -> None:
        """Build a person's program from the model's answers around them."""
        present = float(self.problem.present[p])
        self._build(p, *fit_surrogate(self._grid(p), states, probability, present, self.cut))

    def _build(self, p: int, gain: Floats, need: float) -> None:
        """Build a person's program: `gain` [V] of the score by each slot, and what the score lacks."""
        self.programs[p] = Program.build(
            Person(p, self.problem.samples.space), self.cost[p], gain, need + _MARGIN * max(1.0, abs(need))
        )

    def _grid(self, p: int) -> Grid:
        """Return a person's grid; the range of an ordinal is that of its positions."""
        space = self.problem.samples.space
        positions = np.where(space.ordered, space.used[p] - 1.0, 0.0)
        spread = np.where(space.span > 0.0, space.span, positions)
        return Grid(space.start[p], space.offsets, space.allowed[p], space.levels[p], spread)


def _bounded(parts: Floats, own: Floats, space: Space, needed: float) -> Floats:
    """Return the contributions of present values to the score, [P, F], clipped from below.

    No other change can make up for a number far beyond the ends of a grid, and how far it is does not matter. But in a
    program with such a number, rounding would lose what the other features add to the score `needed`.
    """
    best = np.maximum.reduceat(np.where(space.allowed, parts, -np.inf), space.offsets[:-1], axis=1)
    enough = needed - (best.sum(axis=1, keepdims=True) - best)  # of this feature, with the best of all others
    return np.where(own < enough - _LARGEST_LACK, enough - _LARGEST_LACK, own)


def _steps(space: Space) -> Floats:
    """Return 1 plus the share of the grid that each move passes, [P, V]."""
    sizes = np.diff(space.offsets)
    slot = np.arange(space.offsets[-1]) - np.repeat(space.offsets[:-1], sizes)
    return np.asarray(1.0 + np.abs(slot - np.repeat(space.start, sizes, axis=1)) / np.repeat(sizes, sizes))


@dataclass(frozen=True)
class PercentileShift:
    """The cost of a move by how many people it passes (section 4): |log((1 - Q(new)) / (1 - Q(now)))| per feature.

    For ordered values (numbers, and positions of ordinal categories) Q is the share of training rows at or below
    (`cdf`), or below plus half of those at the value (`mid`). A move between two unordered values is that of a binary
    feature among the rows with either value; the one that comes first in the schema is 0, the other 1.
    """

    quantile: Quantile
    data: tuple[Floats, ...]  # per feature: sorted levels of an ordered one, counts [values] of another
    ordered: tuple[bool, ...]

    @classmethod
    def fit(cls, schema: Schema, rows: Encoded, quantile: Quantile) -> PercentileShift:
        """Return the distribution of each feature in the training rows."""
        levels = levels_now(schema.features, rows)
        data = tuple(
            np.sort(levels[:, f])
            if feature.ordered
            else np.bincount(rows.codes[:, f], minlength=feature.n_slots).astype(np.float64)
            for f, feature in enumerate(schema.features)
        )
        return cls(quantile, data, tuple(f.ordered for f in schema.features))

    def of(self, space: Space) -> Floats:
        """Return the cost of each person's move to each slot, [P, V]; 0 for the present slot."""
        parts = []
        for f, ordered in enumerate(self.ordered):
            levels = space.levels[:, space.offsets[f] : space.offsets[f + 1]]
            start = space.start[:, f, None].astype(np.int64)
            parts.append(self._along(f, levels, start) if ordered else self._between(f, start))
        return np.concatenate(parts, axis=1)

    def _along(self, f: int, levels: Floats, start: NDArray[np.int64]) -> Floats:
        """Return the shifts of an ordered feature: levels [P, slots], start [P, 1]."""
        data = self.data[f]
        below, at_most = (np.searchsorted(data, levels, side=side) / len(data) for side in ("left", "right"))
        beyond = _off_zero(1.0 - (at_most if self.quantile == "cdf" else (below + at_most) / 2))
        return np.abs(np.log(beyond / np.take_along_axis(beyond, start, axis=1)))

    def _between(self, f: int, start: NDArray[np.int64]) -> Floats:
        """Return the shifts of an unordered feature, each as in a binary feature: start [P, 1]."""
        count, slots = self.data[f], np.arange(len(self.data[f]))
        later, either = count[np.maximum(slots, start)], count[slots] + count[start]
        share = np.where(either > 0, later / np.maximum(either, 1.0), 0.5)  # of the value that counts as 1
        ones, zeros = (np.zeros_like(share), share) if self.quantile == "cdf" else (share / 2, (1 + share) / 2)
        return np.where(slots == start, 0.0, np.abs(np.log(_off_zero(ones) / _off_zero(zeros))))


def _off_zero(beyond: Floats) -> Floats:
    return np.maximum(beyond, TAIL)


class Grid(NamedTuple):
    """One person's grid, to fit a surrogate on."""

    start: Codes  # [F]
    offsets: NDArray[np.int64]  # [F + 1]
    allowed: NDArray[np.bool_]  # [V]
    levels: Floats  # [V]
    spread: Floats  # [F] range of an ordered feature's levels, 0 for one without an order


def draw_states(grid: Grid, rows: int, seed: int) -> Codes:
    """Draw at most `rows` distinct states around a person, [R, F]: any features, at any permitted values."""
    rng = np.random.default_rng(seed)
    other = [_others(grid, f) for f in range(len(grid.start))]
    free = np.flatnonzero([len(codes) > 0 for codes in other])
    codes = np.tile(grid.start, (rows, 1))
    if not len(free):
        return codes[:0]
    size = rng.integers(1, len(free) + 1, rows)
    order = rng.random((rows, len(free))).argsort(axis=1).argsort(axis=1)
    for i, f in enumerate(free):
        drawn = other[f][rng.integers(0, len(other[f]), rows)]
        codes[:, f] = np.where(order[:, i] < size, drawn, codes[:, f])
    return np.unique(codes, axis=0)


def fit_surrogate(grid: Grid, codes: Codes, probability: Floats, present: float, cut: float) -> tuple[Floats, float]:
    """Fit a linear surrogate of a model's log-odds around one person, as LIME does (Ribeiro, Singh, Guestrin 2016).

    A logistic regression is fitted to the model's answers [R] at drawn states [R, F], weighted by nearness, and to its
    answer for the present state, with the largest weight.

    Returns
    -------
    What each slot adds to the log-odds, [V], and what the person lacks of `cut`, the threshold in log-odds (of 0 for a
    model that answers only 0 and 1).
    """
    moves, slots = _design(grid, codes)
    free = sum(len(_others(grid, f)) > 0 for f in range(len(grid.start)))
    near = np.exp(-_squares(grid, codes) / (_WIDTH**2 * free))
    columns = np.ones(
        (len(codes) + 1, moves.shape[1] + 1)
    )  # the first column: the person's log-odds; the last row: the person
    columns[:-1, 1:], columns[-1, 1:] = moves, 0.0
    answers = np.append(probability, present)
    weights = _logistic(columns, answers, np.append(near, _OWN * near.sum()))
    labels = bool(np.isin(answers, (0.0, 1.0)).all())
    return np.asarray(slots @ weights[1:]), max((0.0 if labels else cut) - float(weights[0]), _LEAST)


def _logistic(columns: Floats, probability: Floats, near: Floats) -> Floats:
    """Return the weights [C] of a penalised logistic regression on probabilities [R], by Newton's method."""
    weights = np.zeros(columns.shape[1])
    penalty = np.full(len(weights), _PENALTY)
    for _ in range(_STEPS):
        mean = expit(columns @ weights)
        slope = columns.T @ (near * (probability - mean)) - penalty * weights
        curve = (columns * (near * mean * (1.0 - mean))[:, None]).T @ columns + np.diag(penalty)
        step = np.linalg.solve(curve, slope)
        step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), 1e-300))  # far from the optimum the curve is flat
        weights += step
        if np.abs(step).max() < 1e-8:
            break
    return weights


def _others(grid: Grid, f: int) -> NDArray[np.intp]:
    """Return the permitted codes of a feature, without the present one."""
    allowed = grid.allowed[grid.offsets[f] : grid.offsets[f + 1]].copy()
    allowed[grid.start[f]] = False
    return np.flatnonzero(allowed)


def _design(grid: Grid, codes: Codes) -> tuple[Floats, Floats]:
    """Return the regression's columns at states, [R, C], and at each slot alone, [V, C].

    An ordered feature has one column, the length of its move; an unordered one has a column for each permitted value.
    """
    at_states, at_slots = [], []
    V = int(grid.offsets[-1])
    for f in range(len(grid.start)):
        other = _others(grid, f)
        if not len(other):
            continue
        slots = np.arange(grid.offsets[f], grid.offsets[f + 1])
        if grid.spread[f] > 0.0:
            table = ((grid.levels[slots] - grid.levels[slots[grid.start[f]]]) / grid.spread[f])[:, None]
        else:
            table = (np.arange(len(slots))[:, None] == other).astype(np.float64)  # [slots, values]
        at_states.append(table[codes[:, f]])
        wide = np.zeros((V, table.shape[1]))
        wide[slots] = table
        at_slots.append(wide)
    return np.concatenate(at_states, axis=1), np.concatenate(at_slots, axis=1)


def _squares(grid: Grid, codes: Codes) -> Floats:
    """Return squared distances from the person, [R]: shares of the range for ordered features, else 0 or 1."""
    levels = grid.levels[grid.offsets[:-1] + codes]  # [R, F]
    own = grid.levels[grid.offsets[:-1] + grid.start]
    ordered = grid.spread > 0.0
    along = (levels - own) / np.where(ordered, grid.spread, 1.0)
    return np.asarray((np.where(ordered, along, codes != grid.start) ** 2).sum(axis=1))
