"""`leastways demo`: from refused people to their options, on built-in data, in one command."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
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
    this_program,
)
from leastways.cli.plans import write_plans

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

    from leastways.datasets import Dataset
    from leastways.evaluation import SimulatedPeople
    from leastways.plans import RecoursePlans
    from leastways.report import SimulatedTotals, Totals
    from leastways.schema import Schema

COSTS = 500  # cost functions drawn for each person
_SHOWN_OPTIONS = 4
_PEOPLE = 50
_EXAMPLES = (0.85, 0.55, 0.25)  # which people are shown: quantiles of the model's probability


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
        from leastways.io import make_folder

        make_folder(out)
        with progress_bar("finding options (a first run also compiles)") as progress:
            run = run_demo(people or _PEOPLE, options, budget, seed, progress)
        report, plans = _write(run, out)
        if as_json:
            print_json(_as_dict(run, report, plans))
        else:
            _show(run, report, plans)


@dataclass(frozen=True)
class DemoRun:
    """Everything the demo shows."""

    plans: RecoursePlans
    truth: SimulatedPeople
    accuracy: float
    applicants: int
    refused: int

    @property
    def totals(self) -> Totals:
        """The figures over all people."""
        from leastways.report import Totals

        return Totals.of(self.plans)

    @property
    def simulated(self) -> SimulatedTotals:
        """The figures by simulated people."""
        from leastways.report import SimulatedTotals

        return SimulatedTotals.of(self.plans, self.truth)

    @property
    def examples(self) -> list[Any]:
        """Three people to show, from nearly accepted to clearly rejected."""
        import numpy as np

        from leastways._values import plain

        with_options = self.plans.summary[self.plans.summary["n_options"] > 0]
        labels = with_options.sort_values("probability", kind="stable").index
        positions = np.unique(np.round(np.array(_EXAMPLES) * (len(labels) - 1)).astype(np.intp))
        return [plain(label) for label in labels[positions[positions >= 0]]][::-1]


def run_demo(people: int, options: int, budget: int, seed: int, progress: Callable[[float], None]) -> DemoRun:
    """Train a model, find options for the first people whom it refuses, and simulate people to evaluate these by."""
    from leastways.datasets import load_credit
    from leastways.evaluation import simulate_people
    from leastways.recourse import Recourse

    credit = load_credit(random_state=seed)
    schema = credit.schema()
    model = train_model(credit, schema)
    refused = credit.people[model.predict(credit.people) != credit.favourable]
    chosen = refused.head(people)
    recourse = Recourse(
        model,
        schema,
        n_options=options,
        budget=budget,
        n_costs=COSTS,
        target=credit.favourable,
        random_state=seed,
    ).fit(credit.train)
    plans = recourse.recommend(chosen, progress=progress)
    truth = simulate_people(chosen, schema, credit.train, random_state=seed)
    known = credit.frame.loc[credit.people.index, credit.target]
    accuracy = float((model.predict(credit.people) == known).mean())
    return DemoRun(plans, truth, accuracy, len(credit.people), len(refused))


def train_model(credit: Dataset, schema: Schema) -> Pipeline:
    """Fit a logistic regression on raw rows, without the protected features."""
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    seen = [f for f in schema.features if f.name not in credit.protected]
    text, numbers = ([f.name for f in seen if f.numeric is kind] for kind in (False, True))
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), text), (StandardScaler(), numbers))
    return make_pipeline(encoder, LogisticRegression(max_iter=1000)).fit(credit.X, credit.y)


def _write(run: DemoRun, folder: Path) -> tuple[Path, Path]:
    """Write the report and the plans, replacing those of an earlier run."""
    from leastways.io import OutputFile
    from leastways.report import write_report

    report = OutputFile.check(folder / "report.html", (".html",), force=True)
    plans = OutputFile.check(folder / "plans.json", (".json",), force=True)
    title = "Loans: ways from a no to a yes"
    report.write(lambda path: write_report(run.plans, path, title=title, truth=run.truth))
    write_plans(run.plans, plans)
    return report.path, plans.path


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
    console.print(summary_table(run.totals, run.simulated))
    say(f"Report:  {report}")
    say(f"Plans:   {plans}")
    say(f"Next:    {this_program()} explain {shlex.quote(str(plans))} --person {run.examples[0]}")
    if not can_draw():
        console.print(Text(NO_PICTURES))


def _as_dict(run: DemoRun, report: Path, plans: Path) -> dict[str, Any]:
    from leastways.plans import plan_as_dict
    from leastways.report import can_draw

    return {
        "report": str(report),
        "plans": str(plans),
        "pictures": can_draw(),
        "model": {"accuracy": run.accuracy, "applicants": run.applicants, "refused": run.refused},
        "summary": run.totals.to_dict(),
        "simulated": run.simulated.to_dict(),
        "examples": [plan_as_dict(run.plans[label]) for label in run.examples],
    }
