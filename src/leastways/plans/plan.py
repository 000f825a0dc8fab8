"""One person's plan: present state, status, options."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any

import numpy as np
import pandas as pd

from leastways._templates import render
from leastways._validation import value_or_none
from leastways.plans.wording import Change, Status, closing, differs, headline, miss_headline, plan_text
from leastways.schema import Feature, Schema


@dataclass(frozen=True)
class RecourseOption:
    """One way to a yes."""

    number: int
    values: Mapping[str, Any]
    changes: tuple[Change, ...]
    probability: float
    expected_cost: float
    best_for: float


@dataclass(frozen=True)
class NearestMiss:
    """For someone without any option: the refused state that came closest to a yes, of those asked about."""

    values: Mapping[str, Any]
    changes: tuple[Change, ...]
    probability: float


@dataclass(frozen=True)
class RecoursePlan:
    """Everything about one person: present state, status, options."""

    person: Any
    status: Status
    reason: str
    state: Mapping[str, Any]
    probability: float
    options: tuple[RecourseOption, ...]
    covered: float
    emc: float
    satisfied: float
    queries: int
    certificate: Certificate | None = None
    nearest_miss: NearestMiss | None = None

    def __eq__(self, other: object) -> bool:
        """Compare all fields; figures and values that are missing are equal, as in plans of many people."""
        if not isinstance(other, RecoursePlan):
            return NotImplemented
        return _same(self, other)

    def to_text(self) -> str:
        """Write the plan as a person would want to read it."""
        return plan_text(self)

    __str__ = to_text

    def _repr_html_(self) -> str:
        """Show the plan at the end of a notebook's cell."""
        words: dict[str, Any] = {"headline": headline, "closing": closing, "miss_headline": miss_headline}
        return render("plan.html", "plans", plan=self, is_finite=math.isfinite, **words)


def _same(one: Any, other: Any) -> bool:
    """Whether two parts of plans are equal, where NaN is equal to NaN."""
    if is_dataclass(one):
        return type(one) is type(other) and _same(vars(one), vars(other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(value, other[name]) for name, value in one.items())
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(value_or_none(one) == value_or_none(other))


@dataclass(frozen=True)
class OptionGroup:
    """An option, and those that ask for at least as much of every feature."""

    option: RecourseOption
    more: tuple[RecourseOption, ...]

    @property
    def best_for(self) -> float:
        """Share of cost samples for which one of these is the cheapest."""
        return min(1.0, math.fsum(o.best_for for o in (self.option, *self.more)))


def option_groups(schema: Schema, state: Mapping[str, Any], options: Sequence[RecourseOption]) -> list[OptionGroup]:
    """Group options that ask for more under the one that asks for the least, as a reader compares them.

    Parameters
    ----------
    schema
        The schema of the features.
    state
        The person's present value of every feature.
    options
        The options of their plan.

    Returns
    -------
    list of OptionGroup
        Every option once, ordered by expected cost; unknown costs come last.
    """
    ordered = sorted(options, key=lambda o: (math.isnan(o.expected_cost), o.expected_cost, o.number))
    least = [o for o in ordered if not any(_asks_more(schema, state, than=other, option=o) for other in ordered)]
    more: dict[int, list[RecourseOption]] = {o.number: [] for o in least}
    for option in ordered:
        if option.number not in more:
            home = next(o for o in least if _asks_more(schema, state, than=o, option=option))
            more[home.number].append(option)
    return [OptionGroup(o, tuple(more[o.number])) for o in least]


def _asks_more(schema: Schema, state: Mapping[str, Any], than: RecourseOption, option: RecourseOption) -> bool:
    """Return whether an option asks for at least as much as another of every feature, and is not the same."""
    pairs = [(f, state[f.name], than.values[f.name], option.values[f.name]) for f in schema.features]
    if not any(differs(f, less, much) for f, _, less, much in pairs):
        return than.number < option.number  # the same state twice: keep the first
    return all(_lies_between(f, now, less, much) for f, now, less, much in pairs)


def _lies_between(feature: Feature, now: Any, less: Any, much: Any) -> bool:
    """Return whether `less` lies between `now` and `much`."""
    if not differs(feature, now, less) or not differs(feature, less, much):
        return True
    if not feature.ordered:
        return False
    a, b, c = (feature.values.index(v) if not feature.numeric else float(v) for v in (now, less, much))
    return a < b < c or a > b > c


CERTIFICATE = ("bound", "objective", "gap", "relative_gap", "solved", "queries")  # columns of `certificates`


@dataclass(frozen=True)
class Certificate:
    """A proven limit to what any set of options could reach for one person, whatever its size.

    All figures are means over the person's drawn cost functions, in which a function that no option serves, or only at
    a higher cost, counts `uncovered_cost`. The bound lets every cost function have an option of its own, so a set of a
    few options cannot always reach it: a gap is an upper limit on what a better search could gain.

    Attributes
    ----------
    bound
        No set of options has a lower mean cost.
    objective
        The mean cost of this plan's options.
    gap
        Their difference; 0: no set can be better.
    relative_gap
        The gap as a share of the objective.
    solved
        Share of the cost functions whose least cost is known exactly. The others, for which the limit on rows came
        first, count with the bound proven until then.
    queries
        Rows the model answered for the certificate. They are not part of the plan's `queries`.
    """

    bound: float
    objective: float
    gap: float
    relative_gap: float
    solved: float
    queries: int

    @classmethod
    def of(cls, bound: float, objective: float, solved: float, queries: int) -> Certificate:
        """Make a certificate; a bound that rounding puts above the objective is lowered to it."""
        gap = max(0.0, objective - bound)
        share = gap / objective if objective > 0 else 0.0
        return cls(min(bound, objective), objective, gap, share, min(solved, 1.0), queries)

    def to_text(self, any_options: bool = True) -> str:
        """Say it in one sentence, for a plan with options or without any."""
        limit = f"No set of options could cost less than {self.bound:.2f} on average"
        if any_options:
            return f"{limit}; this one costs {self.objective:.2f} (gap {self.gap:.2f})."
        return f"{limit}, where preferences that no option serves count {self.objective:.2f}."

    def __str__(self) -> str:
        return self.to_text()


def no_certificates(index: pd.Index[Any]) -> pd.DataFrame:
    """Return the table of plans that were not certified; the index is of the people's kind."""
    columns = {name: np.empty(0, np.int64 if name == "queries" else np.float64) for name in CERTIFICATE}
    return pd.DataFrame(columns, index=index[:0], copy=False)
