"""`leastways recommend`: options for the people of a file, or for any number of people into a run folder."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from leastways.cli.console import (
    INTERRUPTED,
    SOME_FAILED,
    JsonFlag,
    errors_shown,
    notes,
    people_bar,
    print_json,
    progress_bar,
    say,
    screen,
    stdout_aside,
)
from leastways.cli.plans import PLAN_FILES, SAMPLE, read_sample, with_sample_note, write_plans
from leastways.errors import SettingError

if TYPE_CHECKING:
    import pandas as pd

    from leastways.batch import BatchResult
    from leastways.costs import Preferences
    from leastways.io import OutputFile
    from leastways.plans import RecoursePlans
    from leastways.recourse import Recourse
    from leastways.schema import Schema

# The options, one by one, in the groups in which the help shows them.
_file_option: Any = partial(typer.Option, rich_help_panel="Files")
_search_option: Any = partial(typer.Option, rich_help_panel="Search")
_preference_option: Any = partial(typer.Option, rich_help_panel="Preferences of all these people")
_batch_option: Any = partial(typer.Option, rich_help_panel="Many people: with --out FOLDER")

ModelName: TypeAlias = Annotated[
    str, _file_option(help="A .onnx or .skops file, or module:object, importable from this folder.")
]
SchemaFile: TypeAlias = Annotated[Path, _file_option(help="The schema file (see: leastways schema infer).")]
Data: TypeAlias = Annotated[Path, _file_option(help="The training table: .csv or .parquet.")]
PeopleFile: TypeAlias = Annotated[
    Path, _file_option(help="The people, a row each: .csv or .parquet; with --out FOLDER also a folder of them.")
]
Out: TypeAlias = Annotated[
    Path,
    _file_option(
        "--out",
        "-o",
        help="Where plans go: .json has everything, .csv and .parquet a row per option. A name without an ending is a "
        "folder, for any number of people.",
    ),
]
ReportFile: TypeAlias = Annotated[Path | None, _file_option(metavar="FILE.html", help="Also write a report to read.")]
Index: TypeAlias = Annotated[str | None, _file_option(metavar="COLUMN", help="The column with the people's labels.")]
Force: TypeAlias = Annotated[bool, _file_option("--force", help="Replace existing files.")]
Trust: TypeAlias = Annotated[
    bool, _file_option("--trust", help="Load a pickle, or a .skops file with unknown types: it can run any code.")
]

Method: TypeAlias = Annotated[
    str,
    _search_option(
        help="guided, cols, pcols, ls or random; published methods to compare with: ar, face-knn, face-eps, "
        "dice-random, dice-genetic, dice-kdtree, or dice for a torch model."
    ),
]
Options: TypeAlias = Annotated[int, _search_option(help="Options per person, at most.")]
Budget: TypeAlias = Annotated[int, _search_option(help="Rows per person that the model evaluates, at most.")]
Costs: TypeAlias = Annotated[
    int,
    _search_option("--n-costs", "--costs", help="Cost functions drawn per person (n_costs in Python)."),
]
Objective: TypeAlias = Annotated[
    str,
    _search_option(
        help="What a set of options is chosen by: emc (expected least cost) or satisfaction (share satisfied)."
    ),
]
SatisfiedBelow: TypeAlias = Annotated[
    float,
    _search_option(help="With --objective satisfaction: the cost below which an option satisfies a cost function."),
]
UncoveredCost: TypeAlias = Annotated[
    float, _search_option(help="The cost that the objective counts where no option is possible.")
]
TimeLimit: TypeAlias = Annotated[
    float | None,
    _search_option(
        metavar="SECONDS",
        help="Stop searching after this long and keep what was found; people whose search ends early get the status "
        "partial. With --out FOLDER: how long a chunk of people may take before its worker counts as hanging.",
    ),
]
Distill: TypeAlias = Annotated[
    int,
    _search_option(
        metavar="ROWS",
        help="Let the model evaluate this many rows once, for all people together (such as 5000); a budget of 20 then "
        "suffices.",
    ),
]
Distribution: TypeAlias = Annotated[
    str, _search_option(help="The distribution of cost functions: mix, linear or percentile.")
]
Seed: TypeAlias = Annotated[int, _search_option(help="Same seed, same plans.")]
YesLabel: TypeAlias = Annotated[
    str, _search_option(help="The wanted answer, as the model labels it; not the name of a column.")
]
Certify: TypeAlias = Annotated[
    bool,
    _search_option(
        "--certify",
        help="Also prove how far each plan can be from the best, with up to 20,000 more rows per person. Needs a .json "
        "file or a report.",
    ),
]
Threshold: TypeAlias = Annotated[float, _search_option(help="The lowest probability that counts as a yes.")]

Workers: TypeAlias = Annotated[
    int | None, _batch_option(help="Number of processes; as many as there are cores if left out.")
]
Cluster: TypeAlias = Annotated[
    str | None, _batch_option(metavar="ADDRESS", help="Work on a Dask cluster, such as tcp://scheduler:8786.")
]
Resume: TypeAlias = Annotated[
    bool, _batch_option("--resume", help="Continue the run in this folder where it was interrupted.")
]
Dedup: TypeAlias = Annotated[bool, _batch_option("--dedup", help="Solve people who have the same values only once.")]
PeoplePerPart: TypeAlias = Annotated[
    int | None, _batch_option(metavar="N", help="People per output file; 10,000 if left out.")
]
LogFile: TypeAlias = Annotated[
    Path | None,
    _batch_option(
        "--log",
        metavar="FILE",
        help="Where to log what happens, as lines of JSON; log.jsonl in the folder if left out.",
    ),
]
AuditBy: TypeAlias = Annotated[
    list[str] | None,
    _batch_option(
        "--audit-by",
        metavar="COLUMN",
        help="At the end, compare groups by this column, as `leastways audit` does; the report is in FOLDER/audit. "
        "Repeat it.",
    ),
]

Editable: TypeAlias = Annotated[
    list[str] | None,
    _preference_option(metavar="FEATURE", help="A feature they would change; all that are not named stay. Repeat it."),
]
Lock: TypeAlias = Annotated[
    list[str] | None,
    _preference_option(metavar="FEATURE", help="A feature they would not change; all others may change. Repeat it."),
]
Score: TypeAlias = Annotated[
    list[str] | None,
    _preference_option(
        metavar="FEATURE=SHARE", help="How willing they are to change it; all shares add up to 1. Repeat it."
    ),
]
Accepted: TypeAlias = Annotated[
    list[str] | None,
    _preference_option(
        "--range", metavar="FEATURE=LOW:HIGH", help="Values they accept (for categories FEATURE=a,b). Repeat it."
    ),
]
Alpha: TypeAlias = Annotated[
    float | None, _preference_option(help="How they weigh a change: by steps (1), by percentiles (0), or in between.")
]


def recommend(
    model: ModelName,
    schema: SchemaFile,
    data: Data,
    people: PeopleFile,
    out: Out,
    report: ReportFile = None,
    index: Index = None,
    force: Force = False,
    trust: Trust = False,
    method: Method = "guided",
    options: Options = 10,
    budget: Budget = 200,
    time_limit: TimeLimit = None,
    distill: Distill = 0,
    objective: Objective = "emc",
    satisfied_below: SatisfiedBelow = 1.0,
    n_costs: Costs = 1000,
    uncovered_cost: UncoveredCost = 1.5,
    distribution: Distribution = "mix",
    seed: Seed = 0,
    target: YesLabel = "1",
    threshold: Threshold = 0.5,
    certify: Certify = False,
    editable: Editable = None,
    lock: Lock = None,
    score: Score = None,
    accepted: Accepted = None,
    alpha: Alpha = None,
    workers: Workers = None,
    cluster: Cluster = None,
    resume: Resume = False,
    dedup: Dedup = False,
    people_per_part: PeoplePerPart = None,
    log: LogFile = None,
    audit_by: AuditBy = None,
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
        from leastways.cli.preferences import parse_preferences, target_label
        from leastways.models import load_model
        from leastways.recourse import Recourse
        from leastways.schema import Schema, read_people, read_training

        batch = BatchOptions(
            out, people, index, workers, cluster, resume, dedup, people_per_part, log, time_limit, tuple(audit_by or ())
        )
        batch.check(report, force, certify)
        _check_certify(out, report, certify)
        files = [] if batch.wanted else _output_files(out, report, force, [schema, data, people, Path(model)])
        features = Schema.from_yaml(schema)
        preferences = parse_preferences(features, editable or (), lock or (), score or (), alpha, accepted or ())
        if not editable:
            _warn_of_inferred(features, schema)
        with stdout_aside():
            predictor = load_model(model, trust=trust)
        train = read_training(data, features)
        batch.check_groups(train, features)
        table = None if batch.wanted else read_people(people, features, index)
        recourse = Recourse(
            predictor,
            features,
            method=method,
            n_options=options,
            budget=budget,
            n_costs=n_costs,
            uncovered_cost=uncovered_cost,
            target=target_label(target, predictor, train, features.target),
            threshold=threshold,
            costs=distribution,
            objective=objective,
            satisfied_below=satisfied_below,
            time_limit=None if batch.wanted else time_limit,
            random_state=seed,
        )
        with stdout_aside():
            recourse.fit(train, distill=distill)
        if table is None:
            batch.run(recourse, preferences, model, as_json)
            return
        plans = _search(recourse, table, preferences, certify)
        _write(plans, files)
        _show(plans, files, as_json)


def _check_certify(out: Path, report: Path | None, certify: bool) -> None:
    """Raise where certificates would be computed, which takes long, and written nowhere."""
    if certify and report is None and out.suffix.lower() in (".csv", ".parquet"):
        raise SettingError(
            f"--certify does not go with --out {str(out)!r} alone: a table of options has no columns for certificates. "
            "Give --out a .json file, or add --report FILE.html."
        )


def _warn_of_inferred(schema: Schema, file: Path) -> None:
    """Warn if the schema was not edited: options may then suggest impossible changes."""
    from rich.text import Text

    if all(feature.direction == "any" for feature in schema.features):
        text = (
            f"Note: in {str(file)!r} every feature may move either way, as `leastways schema infer` leaves it. Edit "
            "it: age, sex and the like should be fixed, or may only go up."
        )
        notes().print(Text(text), style="yellow", soft_wrap=True)


@stdout_aside()
def _search(recourse: Recourse, people: pd.DataFrame, preferences: Preferences | None, certify: bool) -> RecoursePlans:
    """Find options and, with `certify`, prove how good they are."""
    with progress_bar(f"finding options for {len(people)} people") as progress:
        plans = recourse.recommend(people, preferences, progress=progress)
    if certify:
        with progress_bar(f"finding bounds for {len(people)} people") as progress:
            plans = recourse.certify(plans, preferences=preferences, progress=progress)
    return plans


def _output_files(out: Path, report: Path | None, force: bool, inputs: Sequence[Path]) -> list[OutputFile]:
    """Check, before any work, the files to write: the plans, then the report if there is to be one."""
    from leastways.io import OutputFile

    files = [OutputFile.check(out, PLAN_FILES, force, inputs)]
    if report is not None:
        files.append(OutputFile.check(report, (".html",), force, inputs))
    return files


def _write(plans: RecoursePlans, files: Sequence[OutputFile]) -> None:
    write_plans(plans, files[0])
    for file in files[1:]:
        from leastways.report import write_report

        file.write(lambda path: write_report(plans, path))


def _show(plans: RecoursePlans, files: Sequence[OutputFile], as_json: bool) -> None:
    """Show a summary, and exit with a code that says whether every row could be used."""
    from rich.text import Text

    from leastways._values import plain
    from leastways.report import Totals, summary_table

    totals = Totals.of(plans)
    if as_json:
        written = {"out": str(files[0].path), "report": str(files[1].path) if files[1:] else None}
        print_json({**written, "summary": totals.to_dict(), "settings": plans.settings})
    else:
        screen().print(summary_table(totals))
        for file in files:
            say(f"Written to {file.path}")
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


@dataclass(frozen=True)
class BatchOptions:
    """The options of a batch run."""

    out: Path
    people: Path
    index: str | None
    workers: int | None
    cluster: str | None
    resume: bool
    dedup: bool
    people_per_part: int | None
    log: Path | None
    time_limit: float | None
    audit_by: tuple[str, ...]

    @property
    def wanted(self) -> bool:
        """Whether the results go to a run folder: a name without an ending."""
        return self.out.suffix == ""

    def check(self, report: Path | None, force: bool, certify: bool) -> None:
        """Raise where options were given that do not go with `--out`."""
        if self.wanted:
            asked = {"--report": report is not None, "--force": force, "--certify": certify}
            wrong = [name for name, given in asked.items() if given]
            if wrong:
                raise SettingError(
                    f"{wrong[0]} does not go with --out {str(self.out)!r}, which is a folder: a batch run is never "
                    f"overwritten, and is too large for one page. Give --out {self._instead(certify)}."
                )
            return
        asked = {
            "--workers": self.workers is not None,
            "--cluster": self.cluster is not None,
            "--resume": self.resume,
            "--dedup": self.dedup,
            "--people-per-part": self.people_per_part is not None,
            "--log": self.log is not None,
            "--audit-by": bool(self.audit_by),
        }
        wrong = [name for name, given in asked.items() if given]
        if wrong:
            raise SettingError(
                f"{wrong[0]} is for a folder of results; --out {str(self.out)!r} is a file. A name without an ending "
                "is a folder."
            )

    @staticmethod
    def _instead(certify: bool) -> str:
        """Return the kinds of files that can be written; a table has no columns for certificates."""
        return "a .json file, or any file with --report" if certify else "a .json, .csv or .parquet file"

    def check_groups(self, train: pd.DataFrame, schema: Schema) -> None:
        """Raise, before any work, where people cannot be grouped so."""
        if self.audit_by:
            from leastways.audit import groupings_of

            groupings_of(train[[feature.name for feature in schema.features]], schema, self.audit_by)

    def run(self, recourse: Recourse, preferences: Preferences | None, model: str, as_json: bool) -> None:
        """Find options for all people, and show a summary."""
        from leastways._fingerprint import file_fingerprint
        from leastways.batch import recommend_files

        size: dict[str, Any] = {} if self.people_per_part is None else {"people_per_part": self.people_per_part}
        with _terminated_as_interrupted(), stdout_aside(), people_bar("finding options") as progress:
            try:
                result = recommend_files(
                    recourse,
                    self.people,
                    self.out,
                    preferences=preferences,
                    index=self.index,
                    workers=self.workers,
                    cluster=self.cluster,
                    resume=self.resume,
                    dedup=self.dedup,
                    time_limit=self.time_limit,
                    log=self.log,
                    progress=progress,
                    model_file=file_fingerprint(Path(model)) if Path(model).is_file() else None,
                    **size,
                )
            except KeyboardInterrupt:
                interrupted = True
            else:
                interrupted = False
        if interrupted:
            self._show_how_to_resume()
            raise typer.Exit(INTERRUPTED)
        if not as_json:
            self._show(result)  # before the audit, which may fail
        report = self._audit(result, recourse.random_state) if self.audit_by else None
        if as_json:
            self._show_json(result, recourse.recorded_settings(), report)
        elif report is not None:
            say(f"Written to {report}")
        self._note_failures(result)

    def _audit(self, result: BatchResult, seed: int) -> Path | None:
        """Compare groups; return the path of the report, None if no person was searched for."""
        from leastways.audit import audit_plans
        from leastways.plans import NOT_SEARCHED
        from leastways.report import write_audit

        if result.totals.people == sum(result.totals.statuses.get(status, 0) for status in NOT_SEARCHED):
            return None
        plans, total = read_sample(result.folder, SAMPLE, seed)
        with progress_bar("comparing groups") as progress:
            audit = audit_plans(plans, self.audit_by, random_state=seed, progress=progress)
        return write_audit(with_sample_note(audit, len(plans), total), result.folder / "audit")[0]

    def _show_how_to_resume(self) -> None:
        from leastways.batch import groups_done, people_done

        (done, total), whom = people_done(self.out), "people"
        groups = groups_done(self.out)
        if groups is not None and not done:
            (done, total), whom = groups, "different people"
        notes().print(
            f"Interrupted. {done:,} of {total:,} {whom} are done and kept in {self.out}; the same command with "
            "--resume goes on from there.",
            style="yellow",
            soft_wrap=True,
            markup=False,
        )

    def _show(self, result: BatchResult) -> None:
        from leastways.report import summary_table

        screen().print(summary_table(result.totals))
        if self.dedup:
            served = result.totals.people
            screen().print(f"{result.solved:,} searches served {served:,} people: the others have the same")
        say(f"Written to {result.folder}")

    def _show_json(self, result: BatchResult, settings: dict[str, Any], report: Path | None) -> None:
        facts: dict[str, Any] = {
            "seconds": round(result.seconds, 3),
            "people_per_second": None if result.seconds == 0 else round(result.people_per_second, 1),
            "solved": result.solved,
            "cut_short": result.cut_short,
        }
        facts |= {} if report is None else {"audit": str(report)}
        print_json({"out": str(result.folder), **facts, "summary": result.totals.to_dict(), "settings": settings})

    @staticmethod
    def _note_failures(result: BatchResult) -> None:
        """Note how many rows had no complete search, and exit with the code for that."""
        unusable, early = result.totals.statuses.get("invalid_input", 0), result.cut_short
        if unusable or early:
            what = [f"{unusable:,} row(s) could not be used"] if unusable else []
            what += [f"the search ended early for {early:,} person(s)"] if early else []
            notes().print(
                f"Note: {', and '.join(what)}; the column reason says why.",
                style="yellow",
                soft_wrap=True,
            )
            raise typer.Exit(SOME_FAILED)


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Treat SIGTERM, which cluster managers send, as Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
