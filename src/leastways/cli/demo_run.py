"""What the demo does before it shows anything: a model, the people it refused, their plans, the files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from leastways._messages import plain
from leastways.cli.writing import Target
from leastways.datasets import load_credit
from leastways.datasets.base import Dataset
from leastways.errors import SettingError
from leastways.evaluation import SimulatedPeople, simulate_people
from leastways.plans import RecoursePlans
from leastways.recourse import Recourse
from leastways.report import Totals, write_report
from leastways.report.totals import Judged
from leastways.schema import Schema

COSTS = 500  # cost functions drawn for each person


@dataclass(frozen=True)
class DemoRun:
    """Everything the demo has to show."""

    plans: RecoursePlans
    truth: SimulatedPeople
    accuracy: float
    applicants: int
    refused: int

    @property
    def totals(self) -> Totals:
        """The figures over all people."""
        return Totals.of(self.plans)

    @property
    def judged(self) -> Judged:
        """The figures by simulated people."""
        return Judged.of(self.plans, self.truth)

    @property
    def examples(self) -> list[Any]:
        """Three people to show: from close to a yes to rather far from it."""
        served = self.plans.summary[self.plans.summary["n_options"] > 0].sort_values("probability", kind="stable")
        places: NDArray[np.intp] = np.unique(np.round(np.array([0.85, 0.55, 0.25]) * (len(served) - 1)).astype(np.intp))
        return [plain(label) for label in served.index[places[places >= 0]]][::-1]


def run_demo(people: int, options: int, budget: int, seed: int, progress: Callable[[float], None]) -> DemoRun:
    """Train, take the first people who are refused, find their options, and simulate people to judge them by."""
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
    """Fit a plain logistic regression on raw rows. It does not see the protected features."""
    seen = [f for f in schema.features if f.name not in credit.protected]
    text, numbers = ([f.name for f in seen if f.numeric is kind] for kind in (False, True))
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), text), (StandardScaler(), numbers))
    return make_pipeline(encoder, LogisticRegression(max_iter=1000)).fit(credit.X, credit.y)


def check_folder(folder: Path) -> None:
    """Make the folder for the results, or say now why it cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError(f"cannot make the folder {str(folder)!r}: {error}") from error


def write_results(run: DemoRun, folder: Path) -> tuple[Path, Path]:
    """Write the report and the plans, replacing those of an earlier run."""
    report = Target.check(folder / "report.html", (".html",), force=True)
    plans = Target.check(folder / "plans.json", (".json",), force=True)
    title = "Loans: ways from a no to a yes"
    report.write(lambda path: write_report(run.plans, path, title=title, truth=run.truth))
    plans.write_plans(run.plans)
    return report.path, plans.path
