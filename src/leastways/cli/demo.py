"""`leastways demo`: from refused people to their options, on built-in data, in one command."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leastways.cli.exits import errors_shown
from leastways.cli.screen import NO_PICTURES, JsonFlag, print_json, progress_bar, say, screen, this_program

if TYPE_CHECKING:
    from leastways.cli.demo_run import DemoRun

_SHOWN_OPTIONS = 4
_PEOPLE = 50


def demo(
    people: Annotated[
        int | None,
        typer.Option(min=1, help="How many refused people get options.", show_default="50; with --serve: all"),
    ] = None,
    options: Annotated[int, typer.Option(min=1, help="Options per person, at most.")] = 6,
    budget: Annotated[int, typer.Option(min=1, help="Rows per person that the model is asked about, at most.")] = 200,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder for the results.")] = Path(
        "leastways-demo"
    ),
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same people, same plans.")] = 0,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve the pages for these people and for an auditor.")
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="With --serve: the port on this computer; 0: any free one.")
    ] = 8000,
    opens: Annotated[bool, typer.Option("--open/--no-open", help="With --serve: open the browser.")] = True,
    as_json: JsonFlag = False,
) -> None:
    """See it work: train a model on built-in loan data, and find options for people whom it refuses.

    Prints the plans of three of them and a summary of all, and writes
    report.html (a page with pictures) and plans.json into a folder.
    The data are synthetic and made on the spot: nothing is downloaded.
    The first run takes one to two minutes longer, because the search is
    compiled then.

    With --serve it writes nothing, and serves the pages that refused
    people and an auditor would use, until Ctrl-C.

    \b
    Examples:
      leastways demo
      leastways demo --people 200 --budget 1000 --out my-demo --seed 7
      leastways demo --json
      leastways demo --serve
      leastways demo --serve --port 8080 --no-open
    """
    with errors_shown(as_json):
        if serve:
            from leastways.cli.demo_serve import DemoSettings, serve_demo

            serve_demo(DemoSettings(people, options, budget, seed, port, opens, as_json))
            return
        from leastways.cli.demo_run import check_folder, run_demo, write_results

        check_folder(out)
        with progress_bar("finding options (a first run also compiles)") as progress:
            run = run_demo(people or _PEOPLE, options, budget, seed, progress)
        report, plans = write_results(run, out)
        if as_json:
            print_json(_as_dict(run, report, plans))
        else:
            _show(run, report, plans)


def _show(run: DemoRun, report: Path, plans: Path) -> None:
    from rich.text import Text

    from leastways.report import can_draw, plan_panel, summary_table

    console = screen()
    console.print(
        f"A bank's model ({run.accuracy:.0%} of its answers are right) looked at {run.applicants:,} loan applications "
        f"and refused {run.refused:,} of them.\nWhat could {len(run.plans)} of these people do? Three of them:\n"
    )
    for label in run.examples:
        console.print(plan_panel(run.plans[label], run.plans.schema, _SHOWN_OPTIONS))
    console.print(summary_table(run.totals, run.judged))
    say(f"Report:  {report}")
    say(f"Plans:   {plans}")
    say(f"Next:    {this_program()} explain {shlex.quote(str(plans))} --person {run.examples[0]}")
    if not can_draw():
        console.print(Text(NO_PICTURES))


def _as_dict(run: DemoRun, report: Path, plans: Path) -> dict[str, Any]:
    from leastways.plans.serialize import plan_as_dict
    from leastways.report import can_draw

    return {
        "report": str(report),
        "plans": str(plans),
        "pictures": can_draw(),
        "model": {"accuracy": run.accuracy, "applicants": run.applicants, "refused": run.refused},
        "summary": run.totals.to_dict(),
        "simulated": run.judged.to_dict(),
        "examples": [plan_as_dict(run.plans[label]) for label in run.examples],
    }
