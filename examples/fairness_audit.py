"""Do women get as many ways to a yes as men, and if not: is it the model, or the search?

Run: python examples/fairness_audit.py
"""

from __future__ import annotations

import leastways as lw


def main() -> None:
    credit = lw.datasets.load_credit()
    model, schema = credit.model, credit.schema()
    assert model is not None
    people = credit.people[model(credit.people) < 0.5].head(150)
    plans = lw.Recourse(model, schema, n_options=3, budget=40, n_costs=100).fit(credit.train).recommend(people)

    truth = [lw.simulate_people(people, schema, credit.train, random_state=seed) for seed in (1, 2)]
    oracle = [lw.evaluation.oracle_people(model, t, max_queries=1000) for t in truth]
    audit = lw.audit.audit_plans(plans, ["sex", "age:35,50"], truth=truth, oracle=oracle, min_group=20)

    print(audit.to_text())
    print()
    print(audit.by_group[["refused", "coverage", "satisfied", "cost", "options"]].round(2).to_string())


if __name__ == "__main__":
    main()
