"""`leastways study create`, `collect` and `analyse`: a blind comparison of two methods by people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leastways.cli.console import EXIT_CODES, SOME_FAILED, JsonFlag, errors_shown, notes, print_json, say, screen

if TYPE_CHECKING:
    from leastways.plans import RecoursePlans
    from leastways.study import Collected, Profiles, Study, StudyResult

study_app = typer.Typer(no_args_is_help=True)
_StudyFolder = Annotated[Path, typer.Argument(metavar="STUDY", help="The folder that `study create` made.")]


@study_app.callback()
def _group() -> None:
    """Ask people which of two methods' options they would choose: forms, answers, results.

    \b
    Example, from two sets of plans to a result:
      leastways study create ours.json theirs.json --out study
      leastways study collect study returned/
      leastways study analyse study
    """


@study_app.command(epilog=EXIT_CODES)
def create(
    first: Annotated[Path, typer.Argument(metavar="FIRST.json", help="Plans that `recommend` wrote as JSON.")],
    second: Annotated[Path, typer.Argument(metavar="SECOND.json", help="Plans of another method for the same people.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to make: new or empty.")],
    names: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="NAME NAME", help="The methods' names, kept out of the forms; the file names if left out."
        ),
    ] = None,
    people: Annotated[int | None, typer.Option(help="How many people, drawn at random; all if left out.")] = None,
    annotators: Annotated[
        str, typer.Option(metavar="N|NAMES", help="How many annotators, or their names, separated by commas.")
    ] = "3",
    per_item: Annotated[int, typer.Option(help="Annotators per person.")] = 3,
    options: Annotated[int | None, typer.Option(help="Options shown of each set, at most; all if left out.")] = None,
    profiles: Annotated[
        Path | None,
        typer.Option(metavar="FILE.json", help="The preferences that annotators are shown: {label: {scores: ..}}."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Or draw these preferences at random, with costs fitted to this training table."),
    ] = None,
    title: Annotated[str, typer.Option(help="The heading of the forms.")] = "Which options would you choose?",
    seed: Annotated[int, typer.Option(help="Same seed, same people, same sides.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Make blind forms, one HTML file per annotator, that need no server.

    Send each annotator their file from the folder forms, and nothing else:
    key.json says which method is A, so do not send it. People for whom the
    methods cannot be compared are left out, and counted.

    \b
    Examples:
      leastways study create ours.json theirs.json --out study
      leastways study create cols.json ar.json --out study \\
          --names COLS "Actionable Recourse" --people 100 \\
          --annotators ann,bob,cy --data train.csv
      leastways study create a.json b.json --out study --annotators 6 \\
          --per-item 3 --options 4 --profiles profiles.json --seed 7
    """
    with errors_shown(as_json):
        from leastways.plans import RecoursePlans
        from leastways.study import create_study

        plans = (RecoursePlans.from_json(first), RecoursePlans.from_json(second))
        study = create_study(
            *plans,
            out,
            methods=names or (first.stem, second.stem),
            n_people=people,
            annotators=_annotators(annotators),
            per_item=per_item,
            profiles=_profiles(plans, profiles, data, seed),
            n_options=options,
            title=title,
            random_state=seed,
        )
        _show_study(study, as_json)


@study_app.command(epilog=EXIT_CODES)
def collect(
    folder: _StudyFolder,
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILES]...", help="Answer files, or folders of them; STUDY/answers if left out."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Check returned answers, unblind them, and report what is wrong.

    Writes answers.csv and problems.csv into the study's folder, and replaces
    earlier ones: name all answer files each time. The exit code is 4 if an
    answer is missing or could not be used.

    \b
    Examples:
      leastways study collect study returned/
      leastways study collect study answers-ann.json answers-bob.json --json
    """
    with errors_shown(as_json):
        from leastways.study import collect_answers

        collected = collect_answers(folder, files or None)
        paths = collected.write()
        _show_collected(collected, paths, as_json)
        if not collected.complete:
            raise typer.Exit(SOME_FAILED)


@study_app.command(epilog=EXIT_CODES)
def analyse(
    folder: _StudyFolder,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Where results go; the study's folder if left out."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show which method is preferred, and how certain that is.

    Takes the majority vote on each person. Writes result.md, and
    result.png and result.svg where matplotlib is installed.

    \b
    Examples:
      leastways study analyse study
      leastways study analyse study --out results --json
    """
    with errors_shown(as_json):
        from leastways.errors import SettingError
        from leastways.study import analyse_study

        target = folder if out is None else out
        if not target.is_dir():
            raise SettingError(f"there is no folder {str(target)!r} to write results into.")
        result = analyse_study(folder)
        _show_result(result, _write_result(result, target), as_json)


def _annotators(text: str) -> int | list[str]:
    return int(text) if text.isdecimal() else [name.strip() for name in text.split(",")]


def _profiles(
    plans: tuple[RecoursePlans, RecoursePlans], profiles: Path | None, data: Path | None, seed: int
) -> Profiles:
    """Return the preferences that annotators are shown: read from a file, drawn at random, or none."""
    if profiles is not None and data is not None:
        from leastways.errors import SettingError

        raise SettingError("--profiles gives the preferences and --data draws them; use one of the two.")
    if profiles is not None:
        from leastways.cli.preferences import read_profiles

        return read_profiles(profiles, plans[0].summary.index)
    if data is None:
        return None
    from leastways.evaluation import simulate_people
    from leastways.schema import read_training
    from leastways.study import comparable_people

    schema = plans[0].schema
    labels = comparable_people(*plans).people
    return simulate_people(plans[0].people.loc[labels], schema, read_training(data, schema), random_state=seed)


def _show_study(study: Study, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "study": str(study.folder),
                "id": study.id,
                "methods": list(study.methods),
                "people": len(study.people),
                "annotators": {name: len(items) for name, items in study.tasks.items()},
                "per_item": study.per_item,
                "forms": [str(study.form(name)) for name in study.annotators],
                "left_out": dict(study.left_out),
            }
        )
        return
    tasks = sorted({len(items) for items in study.tasks.values()})
    each = " or ".join(map(str, tasks))
    lines = [
        f"Study {study.id}: {len(study.people)} people, {len(study.annotators)} annotators with {each} each, "
        f"{study.per_item} annotations per person.",
        *(f"Left out, {why}: {n}" for why, n in study.left_out.items()),
        f"Send:   {study.folder / 'forms'}/ (one file to each annotator)",
        f"Keep:   {study.folder / 'key.json'} (it says which method is A)",
        f"Then:   leastways study collect {study.folder} ANSWERS...",
    ]
    for line in lines:
        say(line)


def _show_collected(collected: Collected, paths: tuple[Path, ...], as_json: bool) -> None:
    from rich.text import Text

    from leastways.study import MAX_PROBLEMS, problems_table

    counts = {str(kind): int(n) for kind, n in collected.problems["problem"].value_counts(sort=False).items()}
    if as_json:
        print_json(
            {
                "answers": len(collected.answers),
                "missing": collected.n_missing,
                "complete": collected.complete,
                "problems": collected.problems.to_dict("records"),
                "counts": counts,
                "files": [str(path) for path in paths],
            }
        )
        return
    screen().print(Text(f"{len(collected.answers)} answers kept, {collected.n_missing} missing."))
    if counts:
        screen().print(problems_table(collected))
        more = len(collected.problems) - MAX_PROBLEMS
        if more > 0:
            say(f"{more} more problems are in {paths[1]}.")
        notes().print(Text("Problems: " + ", ".join(f"{n} {kind}" for kind, n in counts.items())), style="yellow")
    for path in paths:
        say(f"Written to {path}")


def _write_result(result: StudyResult, folder: Path) -> list[Path]:
    from leastways.io import write_text
    from leastways.report import can_draw
    from leastways.study import save_plot, to_markdown

    page = folder / "result.md"
    write_text(page, to_markdown(result))
    if can_draw():
        return [page, *save_plot(result, folder)]
    notes().print("No picture is drawn: matplotlib is missing (pip install 'leastways\\[plots]').", style="yellow")
    return [page]


def _show_result(result: StudyResult, paths: list[Path], as_json: bool) -> None:
    from rich.text import Text

    from leastways.study import remarks, result_tables, verdict

    if as_json:
        answer: dict[str, Any] = {"verdict": verdict(result), **result.to_dict(), "files": [str(p) for p in paths]}
        print_json(answer)
        return
    screen().print(Text(verdict(result), style="bold"))
    for table in result_tables(result):
        screen().print(table)
    for line in remarks(result):
        screen().print(Text(line))
    for path in paths:
        say(f"Written to {path}")
