"""`leastways recommend`: options for the people of a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from leastways.cli import recommend_options as of
from leastways.cli.exits import SOME_FAILED, errors_shown
from leastways.cli.screen import JsonFlag, notes, print_json, progress_bar, say, screen, stdout_aside

if TYPE_CHECKING:
    import pandas as pd

    from leastways.cli.writing import Target
    from leastways.costs import Preferences
    from leastways.plans import RecoursePlans
    from leastways.recourse import Recourse
    from leastways.schema import Schema


def recommend(
    model: of.ModelName,
    schema: of.SchemaFile,
    data: of.Data,
    people: of.PeopleFile,
    out: of.Out,
    report: of.ReportFile = None,
    index: of.Index = None,
    force: of.Force = False,
    trust: of.Trust = False,
    method: of.Method = "guided",
    options: of.Options = 10,
    budget: of.Budget = 200,
    time_limit: of.TimeLimit = None,
    distill: of.Distill = 0,
    objective: of.Objective = "emc",
    satisfied_below: of.SatisfiedBelow = 1.0,
    n_costs: of.Costs = 1000,
    uncovered_cost: of.UncoveredCost = 1.5,
    distribution: of.Distribution = "mix",
    seed: of.Seed = 0,
    target: of.YesLabel = "1",
    threshold: of.Threshold = 0.5,
    certify: of.Certify = False,
    editable: of.Editable = None,
    lock: of.Lock = None,
    score: of.Score = None,
    accepted: of.Accepted = None,
    alpha: of.Alpha = None,
    workers: of.Workers = None,
    cluster: of.Cluster = None,
    resume: of.Resume = False,
    dedup: of.Dedup = False,
    people_per_part: of.PeoplePerPart = None,
    log: of.LogFile = None,
    audit_by: of.AuditBy = None,
    as_json: JsonFlag = False,
) -> None:
    """Find options for the people in a file whom the model refuses.

    A row that cannot be used gets a status and a reason, and does not stop
    the others. People are labelled by the column --index, or by the index
    that pandas wrote, or by row numbers from 0.

    \b
    Examples:
      leastways recommend --model model.onnx --schema schema.yaml \\
          --data train.csv --people refused.csv --out plans.json
      leastways recommend --model bank:pipeline --schema schema.yaml \\
          --data train.parquet --people refused.parquet --index customer \\
          --out plans.parquet --target yes --method pcols --budget 2000
      leastways recommend --model model.skops --schema schema.yaml \\
          --data train.csv --people refused.csv --out plans.csv \\
          --score hours=0.7 --score savings=0.3 --range hours=20:50
      leastways recommend --model model.onnx --schema schema.yaml \\
          --data train.csv --people refused.csv --out plans.json --certify
      leastways recommend --model model.onnx --schema schema.yaml \\
          --data train.csv --people refused.csv --out plans.json \\
          --distill 5000 --budget 20 --time-limit 60
      leastways recommend --model model.onnx --schema schema.yaml \\
          --data train.csv --people refused.csv --out plans.json \\
          --objective satisfaction --satisfied-below 0.5
      leastways recommend --model model.onnx --schema schema.yaml \\
          --data train.parquet --people everybody/ --out plans \\
          --workers 8 --dedup --audit-by sex --audit-by age:30,50
      leastways recommend --model model.onnx --schema schema.yaml \\
          --data train.parquet --people everybody/ --out plans \\
          --cluster tcp://scheduler:8786 --resume
    """
    with errors_shown(as_json):
        from leastways.cli.many import Many
        from leastways.cli.wishes import preferences, target_label
        from leastways.datasets.tables import read_people, read_training
        from leastways.models import load_model
        from leastways.recourse import Recourse
        from leastways.schema import Schema

        many = Many(
            out, people, index, workers, cluster, resume, dedup, people_per_part, log, time_limit, tuple(audit_by or ())
        )
        many.check(report, force, certify)
        _check_kept(out, report, certify)
        places = [] if many.wanted else _places(out, report, force, [schema, data, people, Path(model)])
        table = Schema.from_yaml(schema)
        said = preferences(table, editable or (), lock or (), score or (), alpha, accepted or ())
        if not editable:
            _tell_of_freedom(table, schema)
        with stdout_aside():
            judge = load_model(model, trust=trust)
        train = read_training(data, table)
        many.check_groups(train, table)
        crowd = None if many.wanted else read_people(people, table, index)
        recourse = Recourse(
            judge,
            table,
            method=method,
            n_options=options,
            budget=budget,
            n_costs=n_costs,
            uncovered_cost=uncovered_cost,
            target=target_label(target, judge, train, table.target),
            threshold=threshold,
            costs=distribution,
            objective=objective,
            satisfied_below=satisfied_below,
            time_limit=None if many.wanted else time_limit,
            random_state=seed,
        )
        with stdout_aside():
            recourse.fit(train, distill=distill)
        if crowd is None:
            many.run(recourse, said, model, as_json)
            return
        plans = _found(recourse, crowd, said, certify)
        _write(plans, places)
        _show(plans, places, as_json)


def _check_kept(out: Path, report: Path | None, certify: bool) -> None:
    """Raise where bounds would be proven, which takes long, and then written nowhere."""
    from leastways.errors import SettingError

    if certify and report is None and out.suffix.lower() in (".csv", ".parquet"):
        raise SettingError(
            f"--certify does not go with --out {str(out)!r} alone: a table of options has no room for what is proven. "
            "Give --out a .json file, or add --report FILE.html."
        )


def _tell_of_freedom(table: Schema, file: Path) -> None:
    """Say so where nobody edited the schema: options may then ask for what no person can do."""
    from rich.text import Text

    if all(feature.direction == "any" for feature in table.features):
        text = (
            f"Note: in {str(file)!r} every feature may move either way, as `leastways schema infer` leaves it. Edit "
            "it: age, sex and the like should be fixed, or may only go up."
        )
        notes().print(Text(text), style="yellow", soft_wrap=True)


@stdout_aside()
def _found(recourse: Recourse, crowd: pd.DataFrame, said: Preferences | None, certify: bool) -> RecoursePlans:
    """Search, and prove how good that is where it is wanted."""
    with progress_bar(f"finding options for {len(crowd)} people") as progress:
        plans = recourse.recommend(crowd, said, progress=progress)
    if certify:
        with progress_bar(f"finding bounds for {len(crowd)} people") as progress:
            plans = recourse.certify(plans, preferences=said, progress=progress)
    return plans


def _places(out: Path, report: Path | None, force: bool, inputs: Sequence[Path]) -> list[Target]:
    """Check where results go, before any work: the plans, then the report if one is wanted."""
    from leastways.cli.writing import PLAN_FILES, Target

    places = [Target.check(out, PLAN_FILES, force, inputs)]
    if report is not None:
        places.append(Target.check(report, (".html",), force, inputs))
    return places


def _write(plans: RecoursePlans, places: Sequence[Target]) -> None:
    places[0].write_plans(plans)
    for place in places[1:]:
        from leastways.report import write_report

        place.write(lambda path: write_report(plans, path))


def _show(plans: RecoursePlans, places: Sequence[Target], as_json: bool) -> None:
    """Show what came of it, and leave with a code that says whether every row could be used."""
    from rich.text import Text

    from leastways._messages import plain
    from leastways.report import Totals, summary_table

    totals = Totals.of(plans)
    if as_json:
        files = {"out": str(places[0].path), "report": str(places[1].path) if places[1:] else None}
        print_json({**files, "summary": totals.to_dict(), "settings": plans.settings})
    else:
        screen().print(summary_table(totals))
        for place in places:
            say(f"Written to {place.path}")
    unusable = int((plans.summary["status"] == "invalid_input").sum())
    failed = plans.failed_rows["person"].nunique()
    late = plans.summary["reason"].str.startswith("the time limit").sum()
    if late:
        notes().print(f"Note: the time limit ended the search early for {late:,} person(s).", style="yellow")
    if unusable or failed:
        concerned = (plans.summary["status"] == "invalid_input") | plans.summary.index.isin(plans.failed_rows["person"])
        what = [f"{unusable:,} row(s) could not be used"] if unusable else []
        what += [f"the model failed for {failed:,} person(s)"] if failed else []
        label, reason = next(iter(plans.summary.loc[concerned, "reason"].items()))
        first = f"The first is person {plain(label)!r}: {reason}"
        notes().print(Text(f"Note: {', and '.join(what)}. {first}"), style="yellow", soft_wrap=True)
        raise typer.Exit(SOME_FAILED)
