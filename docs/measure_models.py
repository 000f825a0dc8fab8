"""Measure how much the measures depend on which model of a family was trained.

    LEASTWAYS_DATA=folder python docs/measure_models.py [--people 150] [--only compas_binary]

The paper names a family (logistic regression; a network of 2 x 20 units) and no settings. For each setting tried here:
accuracy on validation rows, the share of the 1000 test people it refuses, what the oracle could satisfy among them, and
FS@1 of COLS as in the paper. Prints the table of docs/explanation/paper-differences.md#other-models.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

import leastways as lw

sys.path.insert(0, str(Path(__file__).parents[1]))

from experiments.models import pipeline

LOADERS = {"adult_binary": lw.datasets.load_adult_binary, "compas_binary": lw.datasets.load_compas_binary}


def settings() -> Iterator[tuple[str, Any]]:
    """Name the models that are tried."""
    for strength in (0.001, 0.01, 0.1, 1.0, 100.0):
        yield f"logistic, C {strength:g}", LogisticRegression(C=strength, max_iter=5000)
    for seed in (0, 1, 2, 3):
        yield (
            f"network 2 x 20, seed {seed}",
            MLPClassifier((20, 20), early_stopping=True, max_iter=300, random_state=seed),
        )


def main() -> None:
    """Train each, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=150, help="so many of those refused")
    parser.add_argument("--only", choices=tuple(LOADERS), help="only this data set")
    args = parser.parse_args()
    print("| data | model | accuracy | refused | oracle FS@1 | COLS FS@1 | COLS PAC |\n|---|---|---|---|---|---|---|")  # noqa: T201
    for name, load in LOADERS.items():
        if args.only in (None, name):
            data = load()
            for told, estimator in settings():
                print(f"| {name} | {told} | {measured(data, estimator, args.people)} |", flush=True)  # noqa: T201


def measured(data: Any, estimator: Any, people: int) -> str:
    """Return one line of the table."""
    model = pipeline(estimator)
    model.fit(data.train[data.features], (data.train[data.target] == data.favourable).astype(int))
    known = (data.validation[data.target] == data.favourable).astype(int)
    accuracy = float((model.predict(data.validation[data.features]) == known).mean())
    everyone = data.candidates[model.predict(data.candidates) == 0]
    if not len(everyone):
        return f"{100 * accuracy:.1f} | 0.0 | - | - | -"
    chosen = everyone.sample(min(people, len(everyone)), random_state=0)
    schema = data.schema()
    truth = lw.simulate_people(chosen, schema, data.frame, random_state=1000)
    best = lw.evaluation.oracle_people(model, truth, max_cost=1.0)
    method = lw.COLS(gain="paper", proposals="paper")
    plans = lw.Recourse(model, schema, method, budget=5000, n_costs=1000).fit(data.frame).recommend(chosen)
    found = lw.evaluate(plans, truth).iloc[0]
    most = 100 * lw.evaluation.fraction_satisfied(best["cost"])
    share = 100 * len(everyone) / len(data.candidates)
    return f"{100 * accuracy:.1f} | {share:.1f} | {most:.1f} | {found['FS@1']:.1f} | {found['PAC']:.2f}"


if __name__ == "__main__":
    main()
