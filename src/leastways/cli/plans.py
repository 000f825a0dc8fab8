"""`leastways explain`, and the files of plans that all commands read and write."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from leastways.cli.console import JsonFlag, errors_shown, print_json, screen

if TYPE_CHECKING:
    import pandas as pd

    from leastways.audit import Audit
    from leastways.io import OutputFile
    from leastways.plans import RecoursePlan, RecoursePlans

PLAN_FILES = (".json", ".csv", ".parquet")
SAMPLE = 20_000  # people of a run folder whom an audit compares unless told otherwise
_TABLES = (".csv", ".parquet", ".pq")

PlansPath: TypeAlias = Annotated[
    Path, typer.Argument(metavar="PLANS", help="What `recommend` wrote: a .json file, or the folder of a batch run.")
]


def explain(
    file: PlansPath,
    person: Annotated[str, typer.Option("--person", "-p", metavar="ID", help="Whose plan: the person's label.")],
    as_json: JsonFlag = False,
) -> None:
    """Print one person's options, in words for that person.

    \b
    Examples:
      leastways explain plans.json --person 7
      leastways explain plans.json --person "Ada L." --json
    """
    with errors_shown(as_json):
        from rich.text import Text

        from leastways.plans import plan_as_dict

        plan = _plan_of(_read_person(file, person), person)
        if as_json:
            print_json(plan_as_dict(plan))
            return
        text = Text(plan.to_text())
        text.highlight_regex(r"(?m)^(Person .*?|Option \d+):", "bold")
        screen().print(text, soft_wrap=True)


def _plan_of(plans: RecoursePlans, person: str) -> RecoursePlan:
    """Return the plan of the person whose label has this text: on a command line 7 and "7" are the same."""
    from leastways._messages import listed, nearest
    from leastways._values import plain
    from leastways.errors import DataError

    labels = [plain(label) for label in plans.summary.index]
    for label in labels:
        if str(label) == person:
            return plans[label]
    raise DataError(f"there is no person {person!r}; known: {listed(labels)}.{nearest(person, labels)}")


def _read_person(path: Path, person: str) -> RecoursePlans:
    """Read the plans of a file, or one person's out of a run folder."""
    if not path.is_dir():
        return _read_file(path, "explain")
    from leastways.batch import read_plans

    return read_plans(path, [person])


def read_sample(path: Path, sample: int, seed: int, by_label: bool = False) -> tuple[RecoursePlans, int]:
    """Read the plans of a file, or of at most `sample` people of a run folder, drawn at random.

    Parameters
    ----------
    path
        A .json file or a run folder.
    sample
        The most people to read of a run folder.
    seed
        The seed of the draw.
    by_label
        Whether people will be looked up by their labels, so that these must be unique in a run folder.

    Returns
    -------
    The plans, and how many people there are in all.

    """
    if not path.is_dir():
        plans = _read_file(path, "audit")
        return plans, len(plans)
    from leastways.batch import read_manifest, read_plans

    plans = read_plans(path, sample=sample, random_state=seed, repeated="error" if by_label else "row")
    return plans, int(read_manifest(path)["input"]["rows"])


def with_sample_note(audit: Audit, drawn: int, total: int) -> Audit:
    """Return the audit with a warning that only a sample of the people was compared, if that is so."""
    if drawn == total:
        return audit
    note = f"{drawn:,} of {total:,} people were compared, drawn at random; --sample draws more."
    return replace(audit, warnings=[note, *audit.warnings], settings={**audit.settings, "drawn": drawn, "of": total})


def write_plans(plans: RecoursePlans, file: OutputFile) -> None:
    """Write plans: everything, as JSON; or the flat table of options, as CSV or Parquet."""
    suffix = file.path.suffix.lower()
    if suffix == ".json":
        file.write(plans.to_json)
    elif suffix == ".csv":
        file.write(lambda path: plans.to_table().to_csv(path, index=False, encoding="utf-8"))
    else:
        file.write(lambda path: _with_one_type_per_column(plans.to_table()).to_parquet(path, index=False))


def _read_file(path: Path, command: str) -> RecoursePlans:
    from leastways.errors import DataError
    from leastways.plans import RecoursePlans

    if path.is_file() and path.suffix.lower() in _TABLES:
        raise DataError(
            f"{str(path)!r} holds a table of options, not all of the plans: {command} reads the .json that recommend "
            "wrote (or its folder)."
        )
    return RecoursePlans.from_json(path)


def _with_one_type_per_column(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose mixed columns are text, as a Parquet column has one type."""
    from pandas.api.types import infer_dtype

    mixed = [n for n in table.columns if infer_dtype(table[n], skipna=True) in ("mixed", "mixed-integer")]
    return table.assign(**{n: table[n].map(str, na_action="ignore") for n in mixed})
