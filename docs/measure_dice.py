"""Measure DICE on the paper's people and networks: B 5000, N 10, M 1000.

    LEASTWAYS_DATA=folder python docs/measure_dice.py [--seed 0] [--people 100] [--only dice-random]

Prints the table of docs/explanation/baseline-dice.md. A row "categories set" is the one before it with every category
of every option set to its second value, as the rounding of the paper's released code does on these data sets, and what
the model then refuses left out.
"""

from __future__ import annotations

import argparse
from time import process_time
from typing import Any

import pandas as pd

import leastways as lw
from leastways.baselines import Dice

LOADERS = {"adult": lw.datasets.load_adult_binary, "compas": lw.datasets.load_compas_binary}
METHODS: dict[str, Any] = {
    "dice": Dice(),
    "dice, begun near": Dice(begin="near"),
    "dice-random": Dice("random"),
    "dice-genetic": Dice("genetic"),
    "dice-kdtree": Dice("kdtree"),
    "random": lw.RandomSearch(),
}


def with_categories_set(plans: lw.RecoursePlans, model: Any) -> lw.RecoursePlans:
    """Return the plans with every category at its second value, as far as the model accepts that."""
    options = plans.options.copy()
    for feature in plans.schema.features:
        if not feature.numeric:
            options[feature.name] = pd.Series(feature.values[1], options.index, dtype=options[feature.name].dtype)
    options = options[model(options) >= 0.5]
    return lw.RecoursePlans(
        schema=plans.schema,
        people=plans.people,
        summary=plans.summary,
        options=options.reset_index(drop=True),
        failed_rows=plans.failed_rows,
        settings=plans.settings,
    )


def main() -> None:
    """Run every method on both data sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--people", type=int, help="only the first so many people of each set")
    parser.add_argument("--only", default="", help="only methods whose name begins so")
    args = parser.parse_args()
    for name, load in LOADERS.items():
        d = load()
        assert d.model is not None
        model: Any = d.model
        schema, people = d.schema(), d.people.head(args.people or len(d.people))
        truth = lw.simulate_people(people, schema, d.frame, random_state=1000 + args.seed)
        for label in [label for label in METHODS if label.startswith(args.only)]:
            method = METHODS[label]
            asked = model.torch_model() if getattr(method, "method", "") == "gradient" else model
            rec = lw.Recourse(asked, schema, method, budget=5000, n_costs=1000, random_state=args.seed).fit(d.frame)
            begun = process_time()
            plans = rec.recommend(people)
            spent = float(plans.summary["queries"].mean()), (process_time() - begun) / len(people)
            show(name, label, lw.evaluate(plans, truth), *spent)
            if asked is not model:
                show(name, f"{label}, categories set", lw.evaluate(with_categories_set(plans, model), truth), *spent)


def show(name: str, method: str, row: pd.DataFrame, queries: float, seconds: float) -> None:
    """Print one row of the table."""
    cells = [f"{value:.2f}" for value in row.iloc[0, 1:]]
    print(f"| {name} | {method} | {' | '.join(cells)} | {queries:.0f} | {seconds:.2f} |", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
