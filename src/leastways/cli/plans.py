"""Plans from wherever `recommend` put them: a JSON file, or the folder of a run of many people."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from leastways.audit import Audit
    from leastways.plans import RecoursePlans

_TABLES = (".csv", ".parquet", ".pq")
SAMPLE = 20_000  # people of a large run whom an audit looks at unless told otherwise

PlansPath: TypeAlias = Annotated[
    Path, typer.Argument(metavar="PLANS", help="What `recommend` wrote: a .json file, or a folder of many people.")
]


def read_one(path: Path, person: str) -> RecoursePlans:
    """Read the plans that hold a person's: of a folder, theirs alone."""
    if not path.is_dir():
        return _from_file(path, "explain")
    from leastways.batch import read_plans

    return read_plans(path, [person])


def _from_file(path: Path, command: str) -> RecoursePlans:
    from leastways.errors import DataError
    from leastways.plans import RecoursePlans

    if path.is_file() and path.suffix.lower() in _TABLES:
        raise DataError(
            f"{str(path)!r} holds a table of options, not all of the plans: {command} reads the .json that recommend "
            "wrote (or its folder)."
        )
    return RecoursePlans.from_json(path)


def read_sample(path: Path, sample: int, seed: int, by_label: bool = False) -> tuple[RecoursePlans, int]:
    """Read plans, of a folder at most so many, drawn at random; and return how many people there are.

    Labels of a folder may be repeated, and to compare groups nobody's is needed; `by_label` says that they are.
    """
    if not path.is_dir():
        plans = _from_file(path, "audit")
        return plans, len(plans)
    from leastways.batch import read_plans
    from leastways.batch.manifest import read_manifest

    plans = read_plans(path, sample=sample, random_state=seed, repeated="error" if by_label else "row")
    return plans, int(read_manifest(path)["input"]["rows"])


def of_a_sample(audit: Audit, drawn: int, total: int) -> Audit:
    """Say in an audit that it looked at some people only."""
    if drawn == total:
        return audit
    said = f"{drawn:,} of {total:,} people were compared, drawn at random; --sample draws more."
    return replace(audit, warnings=[said, *audit.warnings], settings={**audit.settings, "drawn": drawn, "of": total})
