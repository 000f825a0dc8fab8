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
from typing import Literal

from leastways._validation import check_choice, check_count, check_number
from leastways.baselines.actionable_run import ActionableRun
from leastways.baselines.highs import load_highs
from leastways.baselines.percentile_shift import PercentileShift, Quantile
from leastways.errors import SettingError
from leastways.models.linear import LinearScore, read_linear
from leastways.search.protocol import Background, Problem
from leastways.search.registry import register_searcher

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


register_searcher("ar", ActionableRecourse)
