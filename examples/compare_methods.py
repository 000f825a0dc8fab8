"""Which search serves people best? Judged by simulated people whose costs no search sees.

Run: python examples/compare_methods.py
"""

from __future__ import annotations

import pandas as pd

import leastways as lw

METHODS: dict[str, lw.Searcher] = {
    "guided": lw.Guided(),
    "COLS": lw.COLS(),
    "COLS as in the paper": lw.COLS(gain="paper", proposals="paper"),
    "P-COLS": lw.PCOLS(runs=5),
    "local search": lw.LocalSearch(),
    "local search, sparsity": lw.LocalSearch(objective="sparsity"),
    "random": lw.RandomSearch(),
}


def main() -> None:
    credit = lw.datasets.load_credit()
    model, schema = credit.model, credit.schema()
    assert model is not None
    people = credit.people[model(credit.people) < 0.5].head(60)
    truth = lw.simulate_people(people, schema, credit.train, random_state=1)

    rows = {}
    for name, method in METHODS.items():
        recourse = lw.Recourse(model, schema, method, n_options=10, budget=600, n_costs=200).fit(credit.train)
        rows[name] = lw.evaluate(recourse.recommend(people), truth).iloc[0]
    print(pd.DataFrame(rows).T.round(2).to_string())


if __name__ == "__main__":
    main()
