"""One person's plan: present state, status, options, certificate; and options grouped for a reader."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any

import numpy as np
import pandas as pd

from leastways._templates import render
from leastways._values import value_or_none
from leastways.plans.wording import Change, Status, closing, differs, headline, miss_headline, plan_text
from leastways.schema import Feature, Schema


@dataclass(frozen=True)
class RecourseOption:
    """A state that the model accepts, with what a person would change to reach it.

    Attributes
    ----------
    number
        Its number in the plan, from 1, in the order in which the options are shown.
    values
        The value of every feature.
    changes
        What differs from the present state, in the schema's order.
    probability
        The model's probability of acceptance in this state.
    expected_cost
        Mean cost over the person's cost samples under which the option is possible; infinite if there are none.
    best_for
        Share of cost samples for which it is the cheapest option of the plan.

    Examples
    --------
    >>> from leastways.plans import Change, RecourseOption
    >>> change = Change("hours", 20, 30, "raise hours from 20 to 30")
    >>> option = RecourseOption(1, {"hours": 30}, (change,), probability=0.6, expected_cost=0.25, best_for=0.9)
    >>> option.changes[0].text
    'raise hours from 20 to 30'
    """

    number: int
    values: Mapping[str, Any]
    changes: tuple[Change, ...]
    probability: float
    expected_cost: float
    best_for: float


@dataclass(frozen=True)
class NearestMiss:
    """The rejected state with the highest probability of those evaluated, for a person without any option.

    Attributes
    ----------
    values
        The value of every feature.
    changes
        What differs from the present state, in the schema's order.
    probability
        The model's probability of acceptance in this state.

    Examples
    --------
    >>> from leastways.plans import Change, NearestMiss
    >>> change = Change("hours", 20, 30, "raise hours from 20 to 30")
    >>> NearestMiss({"hours": 30}, (change,), probability=0.44).probability
    0.44
    """

    values: Mapping[str, Any]
    changes: tuple[Change, ...]
    probability: float


@dataclass(frozen=True)
class RecoursePlan:
    """The result for one person: present state, status, options.

    Two plans are equal if all their fields are; a missing figure or value is equal to a missing one.

    Attributes
    ----------
    person
        The person's label: their index in the table of people.
    status
        ``"found"``, ``"partial"`` (the search was cut short), ``"none_exists"``, ``"none_found"``,
        ``"already_positive"`` or ``"invalid_input"``.
    reason
        Why the search was cut short, found nothing, or was not made; else empty.
    state
        The present value of every feature.
    probability
        The model's probability of acceptance in the present state.
    options
        The options, in the order in which they are shown.
    covered
        Share of cost samples under which at least one option is possible.
    emc
        Mean over the covered samples of the cheapest option's cost.
    satisfied
        Share of cost samples under which an option costs less than 1.
    queries
        Rows that the model evaluated for this person.
    certificate
        The proven bound on the cost of any set of options, if `Recourse.certify` made one.
    nearest_miss
        The rejected state that came closest to acceptance, if there is no option.

    Examples
    --------
    >>> from leastways.plans import Change, RecourseOption, RecoursePlan
    >>> change = Change("hours", 20, 30, "raise hours from 20 to 30")
    >>> option = RecourseOption(1, {"hours": 30}, (change,), probability=0.6, expected_cost=0.25, best_for=0.9)
    >>> plan = RecoursePlan(
    ...     person="ann", status="found", reason="", state={"hours": 20}, probability=0.4, options=(option,),
    ...     covered=0.9, emc=0.25, satisfied=0.9, queries=60,
    ... )
    >>> print(plan)
    Person ann: at least one option was found (chance of a yes now: 40%).
    <BLANKLINE>
    Option 1: cheapest under 90% of the simulated preferences, expected cost 0.25
      - raise hours from 20 to 30
      then the chance of a yes is 60%
    <BLANKLINE>
    At least one option is possible under 90% of the simulated preferences, and costs less than 1 under 90%.
    """

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
        """Return the plan as text: the status, the changes of each option, and how often the options are possible."""
        return plan_text(self)

    __str__ = to_text

    def _repr_html_(self) -> str:
        """Return the plan as HTML, which notebooks show."""
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
    """An option, and those that require at least as large a change of every feature."""

    option: RecourseOption
    more: tuple[RecourseOption, ...]

    @property
    def best_for(self) -> float:
        """Share of cost samples for which one of these is the cheapest."""
        return min(1.0, math.fsum(o.best_for for o in (self.option, *self.more)))


def option_groups(schema: Schema, state: Mapping[str, Any], options: Sequence[RecourseOption]) -> list[OptionGroup]:
    """Group options that require larger changes under the one with the smallest.

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
    """Return whether an option changes every feature at least as much as another, and is not the same."""
    pairs = [(f, state[f.name], than.values[f.name], option.values[f.name]) for f in schema.features]
    if not any(differs(f, less, much) for f, _, less, much in pairs):
        return than.number < option.number  # the same state twice: keep the first
    return all(_lies_between(f, now, less, much) for f, now, less, much in pairs)


def _lies_between(feature: Feature, now: Any, less: Any, much: Any) -> bool:
    """Return whether `less` is between `now` and `much`."""
    if not differs(feature, now, less) or not differs(feature, less, much):
        return True
    if not feature.ordered:
        return False
    a, b, c = (feature.values.index(v) if not feature.numeric else float(v) for v in (now, less, much))
    return a < b < c or a > b > c


CERTIFICATE = ("bound", "objective", "gap", "relative_gap", "solved", "queries")  # columns of `certificates`


@dataclass(frozen=True)
class Certificate:
    """A proven lower bound on the mean cost of any set of options for one person, whatever its size.

    All figures are means over the person's cost samples; a sample under which no option is possible, or only at a
    higher cost, counts `uncovered_cost`. The bound lets every cost sample have an option of its own, so a set of a few
    options cannot always reach it: the gap is an upper bound on what a better search could gain.

    Attributes
    ----------
    bound
        No set of options has a lower mean cost.
    objective
        The mean cost of this plan's options.
    gap
        Objective minus bound; 0: no set can be better.
    relative_gap
        The gap as a share of the objective.
    solved
        Share of the cost samples whose least cost is known exactly. The others, for which the limit on rows came
        first, count with the bound proven until then.
    queries
        Rows that the model evaluated for the certificate. They are not part of the plan's `queries`.

    Examples
    --------
    >>> from leastways.plans import Certificate
    >>> print(Certificate.of(bound=0.5, objective=0.75, solved=1.0, queries=40))
    No set of options could cost less than 0.50 on average; this one costs 0.75 (gap 0.25).
    """

    bound: float
    objective: float
    gap: float
    relative_gap: float
    solved: float
    queries: int

    @classmethod
    def of(cls, bound: float, objective: float, solved: float, queries: int) -> Certificate:
        """Return a certificate; a bound that rounding puts above the objective is lowered to it.

        Parameters
        ----------
        bound, objective, solved, queries
            See the attributes.
        """
        gap = max(0.0, objective - bound)
        share = gap / objective if objective > 0 else 0.0
        return cls(min(bound, objective), objective, gap, share, min(solved, 1.0), queries)

    def to_text(self, any_options: bool = True) -> str:
        """Return the certificate as a sentence.

        Parameters
        ----------
        any_options
            Whether the plan has options.
        """
        limit = f"No set of options could cost less than {self.bound:.2f} on average"
        if any_options:
            return f"{limit}; this one costs {self.objective:.2f} (gap {self.gap:.2f})."
        return f"{limit}, where preferences that no option serves count {self.objective:.2f}."

    def __str__(self) -> str:
        return self.to_text()


def no_certificates(index: pd.Index[Any]) -> pd.DataFrame:
    """Return an empty table of certificates, with the dtype of the people's index."""
    columns = {name: np.empty(0, np.int64 if name == "queries" else np.float64) for name in CERTIFICATE}
    return pd.DataFrame(columns, index=index[:0], copy=False)
