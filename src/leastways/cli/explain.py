"""`leastways explain`: one person's plan in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from leastways.cli.exits import errors_shown
from leastways.cli.plans import PlansPath, read_one
from leastways.cli.screen import JsonFlag, print_json, screen

if TYPE_CHECKING:
    from leastways.plans import RecoursePlan, RecoursePlans


def explain(
    file: PlansPath,
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

        from leastways.plans.serialize import plan_as_dict

        plan = _find(read_one(file, person), person)
        if as_json:
            print_json(plan_as_dict(plan))
            return
        text = Text(plan.to_text())
        text.highlight_regex(r"(?m)^(Person .*?|Option \d+):", "bold")
        screen().print(text, soft_wrap=True)


def _find(plans: RecoursePlans, person: str) -> RecoursePlan:
    """Look a person up by the text of their label: on a command line 7 and "7" are the same."""
    from leastways._messages import listed, nearest, plain
    from leastways.errors import DataError

    labels = [plain(label) for label in plans.summary.index]
    for label in labels:
        if str(label) == person:
            return plans[label]
    raise DataError(f"there is no person {person!r}; known: {listed(labels)}.{nearest(person, labels)}")
