"""A person's plan in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leastways.plans.status import STATUSES

if TYPE_CHECKING:
    from leastways.plans.plan import NearestMiss, RecoursePlan


def plan_text(plan: RecoursePlan) -> str:
    """Write the plan as a person would want to read it."""
    lines = [f"Person {plan.person}: {headline(plan)}" + (f"\n  {plan.reason}" if plan.reason else "")]
    for option in plan.options:
        best_for = f"cheapest for {option.best_for:.0%} of plausible preferences"
        if np.isfinite(option.expected_cost):
            figures = f"{best_for}, expected cost {option.expected_cost:.2f}"
        else:
            figures = "open to none of the plausible preferences"
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
    """Say how it stands."""
    now = "" if np.isnan(plan.probability) else f" (chance of a yes now: {plan.probability:.0%})"
    return f"{STATUSES[plan.status]}{now}."


def closing(plan: RecoursePlan) -> str:
    """Say for how many of the preferences that the person may have the options are any good."""
    return (
        f"At least one option is open to {plan.covered:.0%} of plausible preferences, "
        f"and cheap (cost below 1) for {plan.satisfied:.0%}."
    )


def miss_headline(miss: NearestMiss) -> str:
    """Say how close it was, before the list of its changes."""
    return f"The nearest miss: with these changes the chance is {miss.probability:.0%}."
