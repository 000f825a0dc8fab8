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
  package has only limits on how many of some binary features are on. A feature moves only where that raises the score,
  as in the package; one that rules speak of keeps its other moves too, since a rule may ask for them, so that options
  come up in which such a move does nothing.
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
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from leastways._random import stream
from leastways._validation import check_choice, check_count, check_number
from leastways.baselines.integer_program import Person, Program, load_highs
from leastways.costs.kernels import Tables
from leastways.errors import SettingError
from leastways.models import LinearScore, read_linear
from leastways.schema import Encoded, Schema, levels_now
from leastways.search.protocol import Account, Background, Chosen, Problem, Questions

Linear = Literal["auto", "exact", "local"]
Enumeration = Literal["subsets", "disjoint"]


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
        Programs solved for a person, at most; never fewer than `n_options`. Only a local surrogate needs more than
        that, where the model refuses what the surrogate accepts.
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
        score = read_linear(background.model, background.schema)
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
        return ActionableRun(self.settings, self.shift, self.score, problem)


Floats = NDArray[np.float64]
Quantile = Literal["cdf", "mid"]

# The shift is infinite where Q = 1, at the largest value that occurs. The published package keeps Q this far from 1.
TAIL = 1e-6


@dataclass(frozen=True)
class PercentileShift:
    """|log((1 - Q(new)) / (1 - Q(now)))| per feature, with Q learned from training rows.

    Of values with an order, ordinal places included, Q is the share of rows at or below (`cdf`), or below and half of
    those at (`mid`). A move between two values without an order is that of a binary feature: among rows that hold
    either, with the one that comes first in the schema as 0 and the other as 1.
    """

    quantile: Quantile
    data: tuple[Floats, ...]  # per feature: sorted levels of an ordered one, counts [values] of another
    ordered: tuple[bool, ...]

    @classmethod
    def fit(cls, schema: Schema, rows: Encoded, quantile: Quantile) -> PercentileShift:
        """Learn the distribution of each feature."""
        levels = levels_now(schema.features, rows)
        data = tuple(
            np.sort(levels[:, f])
            if feature.ordered
            else np.bincount(rows.codes[:, f], minlength=feature.n_slots).astype(np.float64)
            for f, feature in enumerate(schema.features)
        )
        return cls(quantile, data, tuple(f.ordered for f in schema.features))

    def of(self, t: Tables) -> Floats:
        """Return what each person's move to each slot costs, [P, V]; 0 for the slot they are at."""
        parts = []
        for f, ordered in enumerate(self.ordered):
            levels, start = (
                t.space.levels[:, t.space.offsets[f] : t.space.offsets[f + 1]],
                t.space.start[:, f, None].astype(np.int64),
            )
            parts.append(self._along(f, levels, start) if ordered else self._between(f, start))
        return np.concatenate(parts, axis=1)

    def _along(self, f: int, levels: Floats, start: NDArray[np.int64]) -> Floats:
        """Return the shifts of a feature with an order: levels [P, slots], start [P, 1]."""
        data = self.data[f]
        below, at_most = (np.searchsorted(data, levels, side=side) / len(data) for side in ("left", "right"))
        beyond = _off_zero(1.0 - (at_most if self.quantile == "cdf" else (below + at_most) / 2))
        return np.abs(np.log(beyond / np.take_along_axis(beyond, start, axis=1)))

    def _between(self, f: int, start: NDArray[np.int64]) -> Floats:
        """Return the shifts of a feature without one, each a binary feature's: start [P, 1]."""
        count, slots = self.data[f], np.arange(len(self.data[f]))
        later, either = count[np.maximum(slots, start)], count[slots] + count[start]
        share = np.where(either > 0, later / np.maximum(either, 1.0), 0.5)  # of the value that stands for 1
        ones, zeros = (np.zeros_like(share), share) if self.quantile == "cdf" else (share / 2, (1 + share) / 2)
        return np.where(slots == start, 0.0, np.abs(np.log(_off_zero(ones) / _off_zero(zeros))))


def _off_zero(beyond: Floats) -> Floats:
    return np.maximum(beyond, TAIL)


Codes = NDArray[np.int32]

_WIDTH = 0.75  # of the kernel, times the root of the number of features: what LIME uses
_PENALTY = 0.1  # of the regression's weights
_OWN = 1.0  # what the person's own answer counts, beside all others together
_LEAST = 1e-3  # log-odds that a refused person lacks at least, whatever the fit says
_STEPS = 50
_LONGEST = 2.0


class Grid(NamedTuple):
    """The grid that one person may move in."""

    start: Codes  # [F]
    offsets: NDArray[np.int64]  # [F + 1]
    allowed: NDArray[np.bool_]  # [V]
    levels: Floats  # [V]
    spread: Floats  # [F] range of an ordered feature's levels, 0 for one without an order


def draw_states(ground: Grid, rows: int, seed: int) -> Codes:
    """Draw at most so many states around a person, [R, F]: any number of features, at any permitted values."""
    rng = np.random.default_rng(seed)
    other = [_others(ground, f) for f in range(len(ground.start))]
    free = np.flatnonzero([len(codes) > 0 for codes in other])
    codes = np.tile(ground.start, (rows, 1))
    if not len(free):
        return codes[:0]
    size = rng.integers(1, len(free) + 1, rows)
    order = rng.random((rows, len(free))).argsort(axis=1).argsort(axis=1)
    for i, f in enumerate(free):
        drawn = other[f][rng.integers(0, len(other[f]), rows)]
        codes[:, f] = np.where(order[:, i] < size, drawn, codes[:, f])
    return np.unique(codes, axis=0)


def fit_surrogate(ground: Grid, codes: Codes, probability: Floats, present: float, cut: float) -> tuple[Floats, float]:
    """Fit log-odds to states [R, F], the model's answers there [R], and its answer for the person now.

    Returns what each slot adds, [V], and what the person lacks of the threshold's log-odds, `cut`; of a model that
    answers only 0 and 1, of even odds.
    """
    moves, slots = _design(ground, codes)
    free = sum(len(_others(ground, f)) > 0 for f in range(len(ground.start)))
    near = np.exp(-_squares(ground, codes) / (_WIDTH**2 * free))
    columns = np.ones((len(codes) + 1, moves.shape[1] + 1))  # the first is the person's own log-odds; they stand last
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
        step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), 1e-300))  # far out the curve is flat
        weights += step
        if np.abs(step).max() < 1e-8:
            break
    return weights


def _others(ground: Grid, f: int) -> NDArray[np.intp]:
    """Return the codes that a feature may move to."""
    allowed = ground.allowed[ground.offsets[f] : ground.offsets[f + 1]].copy()
    allowed[ground.start[f]] = False
    return np.flatnonzero(allowed)


def _design(ground: Grid, codes: Codes) -> tuple[Floats, Floats]:
    """Return the regression's columns at states, [R, C], and at each slot alone, [V, C].

    An ordered feature has one column, how far it moves; another has one for each value it may take.
    """
    at_states, at_slots = [], []
    V = int(ground.offsets[-1])
    for f in range(len(ground.start)):
        other = _others(ground, f)
        if not len(other):
            continue
        slots = np.arange(ground.offsets[f], ground.offsets[f + 1])
        if ground.spread[f] > 0.0:
            table = ((ground.levels[slots] - ground.levels[slots[ground.start[f]]]) / ground.spread[f])[:, None]
        else:
            table = (np.arange(len(slots))[:, None] == other).astype(np.float64)  # [slots, values]
        at_states.append(table[codes[:, f]])
        wide = np.zeros((V, table.shape[1]))
        wide[slots] = table
        at_slots.append(wide)
    return np.concatenate(at_states, axis=1), np.concatenate(at_slots, axis=1)


def _squares(ground: Grid, codes: Codes) -> Floats:
    """Return squared distances from the person, [R]: shares of the range for ordered features, else 0 or 1."""
    levels = ground.levels[ground.offsets[:-1] + codes]  # [R, F]
    own = ground.levels[ground.offsets[:-1] + ground.start]
    ordered = ground.spread > 0.0
    along = (levels - own) / np.where(ordered, ground.spread, 1.0)
    return np.asarray((np.where(ordered, along, codes != ground.start) ** 2).sum(axis=1))


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
        self.found = Chosen.none(P, N, t.space.start.shape[1])
        self.seeds = stream(problem.keys, "surrogate")
        # What the threshold is in log-odds; a surrogate's are clipped, so that a threshold of 1 is no infinity.
        self.cut = float(np.clip(logit(problem.threshold), -_FARTHEST, _FARTHEST))
        if score is not None:
            parts, now = score.parts(problem.people)
            score.check(now, problem.present)
            cut = score.cut_at(problem.threshold)
            own = _within_reach(
                parts, np.take_along_axis(parts, t.space.offsets[:-1] + t.space.start, axis=1), t, cut - score.base
            )
            self.gain = parts - np.repeat(own, np.diff(t.space.offsets), axis=1)
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
        self.programs[p] = Program.build(
            Person(p, self.problem.samples.space), self.cost[p], gain, need + _MARGIN * max(1.0, abs(need))
        )

    def _ground(self, p: int) -> Grid:
        t = self.problem.samples.tables
        places = np.where(t.space.ordered, t.space.used[p] - 1.0, 0.0)  # the span of an ordinal is its places'
        return Grid(
            t.space.start[p],
            t.space.offsets,
            t.space.allowed[p],
            t.space.levels[p],
            np.where(t.space.span > 0.0, t.space.span, places),
        )


def _within_reach(parts: Floats, own: Floats, t: Tables, wanted: float) -> Floats:
    """Return what people's own values add to the score, [P, F], raised where that is absurdly little.

    No other change makes up for a number far beyond the ends of a grid, and by how far does not matter. In a program
    with such a number, what the others add to reach the score `wanted` would be lost in the rounding.
    """
    best = np.maximum.reduceat(np.where(t.space.allowed, parts, -np.inf), t.space.offsets[:-1], axis=1)
    enough = wanted - (best.sum(axis=1, keepdims=True) - best)  # with the best of all else, this much is needed here
    return np.where(own < enough - _ABSURD, enough - _ABSURD, own)


def _steps(t: Tables) -> Floats:
    """Return 1 and the share of the grid that each move passes, [P, V]."""
    sizes = np.diff(t.space.offsets)
    slot = np.arange(t.space.offsets[-1]) - np.repeat(t.space.offsets[:-1], sizes)
    return np.asarray(1.0 + np.abs(slot - np.repeat(t.space.start, sizes, axis=1)) / np.repeat(sizes, sizes))
