"""`leastways audit`: do groups of refused people get equal recourse?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leastways.cli.console import (
    NO_PICTURES,
    JsonFlag,
    errors_shown,
    print_json,
    progress_bar,
    say,
    screen,
    stdout_aside,
)
from leastways.cli.plans import SAMPLE, PlansPath, read_sample, with_sample_note

if TYPE_CHECKING:
    import pandas as pd

    from leastways.audit import Audit
    from leastways.evaluation import SimulatedPeople
    from leastways.plans import RecoursePlans


def audit(
    file: PlansPath,
    by: Annotated[
        list[str],
        typer.Option(metavar="COLUMN", help="Compare groups by this column; numbers in bins: age:25,40,60. Repeat it."),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="DIR", help="The folder for the report: new or empty, unless --force is given."
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(help="The training table: evaluate options by simulated costs, drawn with its percentiles."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="With --data: the plans' model, to separate its part in a gap from the search's. Slower."),
    ] = None,
    groups: Annotated[
        Path | None, typer.Option(help="Attributes that the model does not use, a row per person: .csv or .parquet.")
    ] = None,
    index: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column of --groups with the people's labels.")
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=GROUP",
            help="The group to compare with; the one with the most refused people if left out. Repeat it.",
        ),
    ] = None,
    k: Annotated[float, typer.Option(help="FS@k counts options that cost less than this.")] = 1.0,
    seeds: Annotated[int, typer.Option(min=1, help="With --data: simulated cost functions per person.")] = 3,
    distribution: Annotated[
        str, typer.Option(help="With --data: the distribution of simulated costs: mix, linear or percentile.")
    ] = "mix",
    oracle_rows: Annotated[
        int,
        typer.Option(min=1, help="With --model: rows per person and cost function that the model evaluates, at most."),
    ] = 20_000,
    min_group: Annotated[int, typer.Option(min=1, help="Figures of fewer people are not tested.")] = 30,
    bootstraps: Annotated[int, typer.Option(min=1, help="Resamples of people, for the intervals.")] = 2000,
    permutations: Annotated[int, typer.Option(min=1, help="Shufflings of group labels, for the p-values.")] = 2000,
    sample: Annotated[
        int, typer.Option(min=1, help="From a run folder, compare at most this many people, drawn at random.")
    ] = SAMPLE,
    title: Annotated[str, typer.Option(help="The heading of the report.")] = "Is recourse fair?",
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same audit.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing report.")] = False,
    trust: Annotated[
        bool, typer.Option("--trust", help="Load a pickle, or a .skops file with unknown types: it can run any code.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Compare the options of groups of refused people, and write a report.

    Writes report.html (one page that needs nothing else), audit.json (all
    figures) and the figures as .svg and .png. Two or more columns are also
    compared in combination.

    \b
    Examples:
      leastways audit plans.json --by sex -o report
      leastways audit plans.json --by sex --by age:30,50 -o report \\
          --data train.csv --reference sex=male
      leastways audit plans.json --by origin -o report --groups people.csv \\
          --index customer --data train.csv --model model.onnx --seeds 5
      leastways audit plans --by sex -o report --sample 50000
    """
    with errors_shown(as_json):
        from leastways.audit import audit_plans
        from leastways.report import write_audit

        _check_out(out, force)
        chosen = _references(reference or ())
        if model is not None and data is None:
            from leastways.errors import SettingError

            raise SettingError("--model needs --data: the best options are found for simulated cost functions.")
        plans, total = read_sample(file, sample, seed, by_label=groups is not None)
        table = None if groups is None else _groups(groups, index, plans)
        truths = [] if data is None else _truths(plans, data, distribution, seeds, seed)
        oracles = [] if model is None else _oracles(plans, truths, model, trust, oracle_rows)
        with progress_bar("comparing groups") as progress:
            result = audit_plans(
                plans,
                by,
                groups=table,
                truth=truths or None,
                oracle=oracles or None,
                reference=chosen,
                k=k,
                bootstraps=bootstraps,
                permutations=permutations,
                min_group=min_group,
                random_state=seed,
                progress=progress,
            )
        result = with_sample_note(result, len(plans), total)
        _show(result, write_audit(result, out, title=title), as_json)


def _check_out(folder: Path, force: bool) -> None:
    """Raise, before any work, where a report cannot be written or would replace something."""
    from leastways.errors import SettingError
    from leastways.io import check_folder

    check_folder(folder, "a report")
    if folder.exists() and any(folder.iterdir()) and not force:
        raise SettingError(f"the folder {str(folder)!r} is not empty; --force replaces a report that is there.")


def _references(texts: Sequence[str]) -> dict[str, str]:
    from leastways._messages import listed
    from leastways.errors import SettingError

    pairs = [text.partition("=") for text in texts]
    for column, equals, group in pairs:
        if not equals or not column or not group:
            raise SettingError(f"--reference {column + equals + group!r}: write COLUMN=GROUP, such as sex=male.")
    twice = sorted(column for column, n in Counter(column for column, _, _ in pairs).items() if n > 1)
    if twice:
        raise SettingError(f"--reference names a column twice: {listed(twice)}; one group each.")
    return {column: group for column, _, group in pairs}


def _groups(path: Path, index: str | None, plans: RecoursePlans) -> pd.DataFrame:
    """Read attributes that are not in the plans; people are found by the text of their label."""
    from leastways._messages import listed
    from leastways._values import plain
    from leastways.errors import DataError
    from leastways.io import read_table

    table = read_table(path, None, index)
    texts = [str(plain(label)) for label in table.index]
    positions = {text: position for position, text in enumerate(texts)}
    if len(positions) < len(texts):
        twice = sorted(text for text, n in Counter(texts).items() if n > 1)
        raise DataError(f"{str(path)!r} has people twice or more: {listed(twice)}.")
    wanted = [str(plain(label)) for label in plans.summary.index]
    missing = [text for text in wanted if text not in positions]
    if missing:
        hint = "" if index else " Name the column with their labels: --index."
        raise DataError(f"{str(path)!r} lacks {listed(missing)}, who are in the plans.{hint}")
    return table.iloc[[positions[text] for text in wanted]].set_axis(plans.summary.index, axis=0)


def _truths(plans: RecoursePlans, data: Path, distribution: str, seeds: int, seed: int) -> list[SimulatedPeople]:
    """Simulate cost functions of the refused people, one set per seed."""
    from leastways.evaluation import simulate_people
    from leastways.plans import NOT_SEARCHED
    from leastways.schema import read_training

    train = read_training(data, plans.schema)
    refused = plans.people[~plans.summary["status"].isin(NOT_SEARCHED)]
    if refused.empty:
        return []
    return [
        simulate_people(refused, plans.schema, train, costs=distribution, random_state=seed + repeat)
        for repeat in range(seeds)
    ]


@stdout_aside()
def _oracles(
    plans: RecoursePlans, truths: list[SimulatedPeople], name: str, trust: bool, rows: int
) -> list[pd.DataFrame]:
    """Find the least possible cost under each simulated cost function, with the plans' target and threshold."""
    from leastways.evaluation import oracle_people
    from leastways.models import load_model

    model = load_model(name, trust=trust)
    known = {key: plans.settings[key] for key in ("target", "threshold") if key in plans.settings}
    tables = []
    with progress_bar("finding the best possible options") as progress:
        for done, truth in enumerate(truths):

            def report(share: float, done: int = done) -> None:
                progress((done + share) / len(truths))

            tables.append(oracle_people(model, truth, **known, max_queries=rows, progress=report))
    return tables


def _show(result: Audit, files: list[Path], as_json: bool) -> None:
    from rich.text import Text

    from leastways.audit import findings, separation
    from leastways.report import can_draw

    if as_json:
        print_json(
            {
                "files": [str(path) for path in files],
                "findings": findings(result),
                "separation": separation(result),
                "warnings": result.warnings,
                "groups": _records(result.by_group),
                "ratios": _records(result.ratios),
                "unserved": len(result.unserved),
                "settings": dict(result.settings),
            }
        )
        return
    text = Text(result.to_text())
    text.highlight_regex(r"(?m)^(What differs|By .*|The model's part.*|Warnings)$", "bold")
    screen().print(text, soft_wrap=True)
    screen().print()
    for path in files[:2]:
        say(f"Written to {path}")
    if can_draw():
        say(f"Figures in {files[-1].parent}")
    else:
        screen().print(Text(NO_PICTURES))


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows for JSON: None for undefined and infinite values."""
    import math

    rows = table.reset_index().to_dict("records")
    return [
        {str(k): None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()} for row in rows
    ]
