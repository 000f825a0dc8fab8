"""Plans from wherever `recommend` put them: a JSON file, or the folder of a run of many people."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from leastways.audit import Audit
    from leastways.plans import RecoursePlans

SAMPLE = 20_000  # people of a large run whom an audit looks at unless told otherwise

PlansPath: TypeAlias = Annotated[
    Path, typer.Argument(metavar="PLANS", help="What `recommend` wrote: a .json file, or a folder of many people.")
]


def read_one(path: Path, person: str) -> RecoursePlans:
    """Read the plans that hold a person's: of a folder, theirs alone."""
    from leastways.plans import RecoursePlans

    if not path.is_dir():
        return RecoursePlans.from_json(path)
    from leastways.population import read_plans

    return read_plans(path, [person])


def read_sample(path: Path, sample: int, seed: int) -> tuple[RecoursePlans, int]:
    """Read plans, of a folder at most so many, drawn at random; and return how many people there are."""
    from leastways.plans import RecoursePlans

    if not path.is_dir():
        plans = RecoursePlans.from_json(path)
        return plans, len(plans)
    from leastways.population import read_plans
    from leastways.population.folder import read_manifest

    return read_plans(path, sample=sample, random_state=seed), int(read_manifest(path)["input"]["rows"])


def of_a_sample(audit: Audit, drawn: int, total: int) -> Audit:
    """Say in an audit that it looked at some people only."""
    if drawn == total:
        return audit
    said = f"{drawn:,} of {total:,} people were compared, drawn at random; --sample draws more."
    return replace(audit, warnings=[said, *audit.warnings], settings={**audit.settings, "drawn": drawn, "of": total})
