"""One person's plan: present state, status, options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any

from leastways._validation import value_or_none
from leastways.plans.certificate import Certificate
from leastways.plans.notebook import plan_html
from leastways.plans.status import Status
from leastways.plans.text import plan_text
from leastways.plans.wording import Change


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
        return plan_html(self)


def _same(one: Any, other: Any) -> bool:
    """Whether two parts of plans are equal, where NaN is equal to NaN."""
    if is_dataclass(one):
        return type(one) is type(other) and _same(vars(one), vars(other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(value, other[name]) for name, value in one.items())
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(value_or_none(one) == value_or_none(other))
