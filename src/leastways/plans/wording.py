"""Values, changes and plans in words, with the schema's labels and units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from leastways._values import is_missing, plain
from leastways.schema import EXACT, Feature, Schema

if TYPE_CHECKING:
    from leastways.plans.plan import NearestMiss, RecoursePlan


@dataclass(frozen=True)
class Change:
    """A feature whose value in an option differs from the present one."""

    feature: str
    before: Any
    after: Any
    text: str


def differs(feature: Feature, before: Any, after: Any) -> bool:
    """Return whether two values of a feature differ; the same number in a shorter float does not."""
    if before is after or (type(before) is type(after) and bool(before == after)):
        return False
    if is_missing(before) or is_missing(after):
        return is_missing(before) != is_missing(after)
    if before == after or not feature.numeric:
        return bool(before != after)
    return bool(feature.as_held(before) != feature.as_held(after))


NOT_STATED = "not stated"
_GROUPED = 10_000  # from here digits are grouped, also without a unit, as in fractions; a year is not


def value_text(feature: Feature, value: Any, exact: bool = False, grouped: bool = False) -> str:
    """Return a value with its unit: ``2,350 EUR``, ``yes``; numbers are rounded unless `exact`."""
    value = plain(value)
    if is_missing(value):
        return NOT_STATED
    if isinstance(value, bool):
        text = "yes" if value else "no"
    elif not isinstance(value, int | float):
        text = str(value)
    elif abs(value) >= EXACT:  # beyond the precision of a float
        text = f"{value:.6g}"
    elif float(value).is_integer():
        text = f"{int(value):,}" if grouped or abs(value) >= _GROUPED or feature.unit else f"{int(value)}"
    elif exact:
        text = f"{_shortest(feature, value):,}"
    else:
        text = f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.2f}"
    return f"{text} {feature.unit}" if feature.unit else text


def _shortest(feature: Feature, value: float) -> float:
    """Return a number without digits beyond its column's precision, or left by a sum."""
    short = feature.short_float
    return float(f"{value:.12g}") if short is None else float(str(short.type(value)))


def change_text(feature: Feature, before: Any, after: Any) -> str:
    """Return a change in words: raise, lower or change a feature from one value to another."""
    verb = "change"
    if feature.numeric:
        verb = "raise" if after > before else "lower"
    old, new = change_values(feature, before, after)
    return f"{verb} {feature.wording} from {old} to {new}"


def change_values(feature: Feature, before: Any, after: Any) -> tuple[str, str]:
    """Return both values of a change, in the same format and exact: the model may reject a rounded one."""
    grouped = feature.numeric and (max(abs(before), abs(after)) >= _GROUPED or before % 1 > 0 or after % 1 > 0)
    old, new = (value_text(feature, value, exact=True, grouped=grouped) for value in (before, after))
    if old == new:  # only the last digits of the floats differ
        old, new = f"{float(before):,}", f"{float(after):,}"
    return old, new


def changes_of(schema: Schema, before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    """Return what differs between two states, in the schema's order."""
    return tuple(
        Change(f.name, before[f.name], after[f.name], change_text(f, before[f.name], after[f.name]))
        for f in schema.features
        if differs(f, before[f.name], after[f.name])
    )


def plan_text(plan: RecoursePlan) -> str:
    """Return the plan as text."""
    lines = [f"Person {plan.person}: {headline(plan)}" + (f"\n  {plan.reason}" if plan.reason else "")]
    for option in plan.options:
        best_for = f"cheapest under {option.best_for:.0%} of the simulated preferences"
        if np.isfinite(option.expected_cost):
            figures = f"{best_for}, expected cost {option.expected_cost:.2f}"
        else:
            figures = "possible under none of the simulated preferences"
        lines.append(f"\nOption {option.number}: {figures}")
        lines.extend(f"  - {change.text}" for change in option.changes)
        lines.append(f"  then the chance of a yes is {option.probability:.0%}")
    if plan.options:
        lines.append(f"\n{closing(plan)}")
    if plan.nearest_miss is not None:
        lines.append(f"\n{miss_headline(plan.nearest_miss)}")
        lines.extend(f"  - {change.text}" for change in plan.nearest_miss.changes)
    if plan.certificate is not None:
        lines.append(plan.certificate.to_text(any_options=bool(plan.options)))
    return "\n".join(lines)


def headline(plan: RecoursePlan) -> str:
    """Return the status and the probability now, in words."""
    now = "" if np.isnan(plan.probability) else f" (chance of a yes now: {plan.probability:.0%})"
    return f"{STATUSES[plan.status]}{now}."


def closing(plan: RecoursePlan) -> str:
    """Return the sentence on the share of simulated preferences under which an option is possible, and cheap."""
    return (
        f"At least one option is possible under {plan.covered:.0%} of the simulated preferences, "
        f"and costs less than 1 under {plan.satisfied:.0%}."
    )


def miss_headline(miss: NearestMiss) -> str:
    """Return the sentence before the changes of the nearest miss."""
    return f"The nearest miss: with these changes the chance is {miss.probability:.0%}."


Status = Literal["found", "partial", "none_exists", "none_found", "already_positive", "invalid_input"]
STATUSES: dict[str, str] = {
    "found": "at least one option was found",
    "partial": "options were found, but the search was cut short; the reason says why",
    "none_exists": "no option exists within what this person may change",
    "none_found": "no option was found",
    "already_positive": "the model accepts this person as they are",
    "invalid_input": "this row cannot be used; the reason says why",
}
OUT_OF_TIME = "the time limit ended the search early"
MODEL_FAILED = "the search stopped early because the model failed"
CUT_SHORT = (OUT_OF_TIME, MODEL_FAILED)  # how the reason begins if the search did not end by itself
NOT_SEARCHED = ("already_positive", "invalid_input")  # statuses without a search
