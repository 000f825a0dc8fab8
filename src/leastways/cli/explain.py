"""`leastways explain`: one person's plan in words."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leastways.cli.exits import errors_shown
from leastways.cli.screen import JsonFlag, print_json, screen

if TYPE_CHECKING:
    from leastways.plans import RecoursePlan, RecoursePlans


def explain(
    file: Annotated[Path, typer.Argument(metavar="PLANS.json", help="Plans that `recommend` wrote as JSON.")],
    person: Annotated[str, typer.Option("--person", "-p", metavar="ID", help="Whose plan: the person's label.")],
    as_json: JsonFlag = False,
) -> None:
    """Print one person's options as that person would want to read them.

    \b
    Examples:
      leastways explain plans.json --person 7
      leastways explain plans.json --person "Ada L." --json
    """
    with errors_shown(as_json):
        from rich.text import Text

        from leastways.plans import RecoursePlans

        plan = _find(RecoursePlans.from_json(file), person)
        if as_json:
            print_json(plan_as_dict(plan))
            return
        text = Text(plan.to_text())
        text.highlight_regex(r"(?m)^(Person .*?|Option \d+):", "bold")
        screen().print(text, soft_wrap=True)


def _find(plans: RecoursePlans, person: str) -> RecoursePlan:
    """Look a person up by the text of their label: on a command line 7 and "7" are the same."""
    from leastways.errors import DataError, listed, nearest, plain

    labels = [plain(label) for label in plans.summary.index]
    for label in labels:
        if str(label) == person:
            return plans[label]
    raise DataError(f"there is no person {person!r}; known: {listed(labels)}.{nearest(person, labels)}")


def plan_as_dict(plan: RecoursePlan) -> dict[str, Any]:
    """Return a plan as JSON can hold it: None for what is missing or undefined."""
    return {
        "person": plan.person,
        "status": plan.status,
        "reason": plan.reason,
        "probability": _finite(plan.probability),
        "covered": _finite(plan.covered),
        "satisfied": _finite(plan.satisfied),
        "emc": _finite(plan.emc),
        "queries": plan.queries,
        "certificate": None if plan.certificate is None else asdict(plan.certificate),
        "state": {name: _finite(value) for name, value in plan.state.items()},
        "options": [
            {
                "option": option.number,
                "changes": [
                    {"feature": c.feature, "from": _finite(c.before), "to": _finite(c.after), "text": c.text}
                    for c in option.changes
                ],
                "probability": _finite(option.probability),
                "expected_cost": _finite(option.expected_cost),
                "best_for": _finite(option.best_for),
            }
            for option in plan.options
        ],
        "text": plan.to_text(),
    }


def _finite(value: Any) -> Any:
    """Return None for NaN, infinity and pandas' missing values, which JSON does not know."""
    import math

    import pandas as pd

    if value is None or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value
