"""Rules that every option keeps, and what one person said they would do.

Run: python examples/rules_and_preferences.py
"""

from __future__ import annotations

import leastways as lw


def main() -> None:
    credit = lw.datasets.load_credit()
    model = credit.model  # the true probability of approval: any callable from rows to probabilities is a model
    assert model is not None
    refused = credit.people[model(credit.people) < 0.5].head(5)

    schema = credit.schema().update(
        rules=[
            lw.Linked("education", requires="age", at_least=2),  # each level takes at least two years
            lw.IfThen({"job": "professional"}, {"education": ["bachelor", "master or higher"]}),
            lw.Forbidden({"job": "self-employed", "hours_per_week": (None, 20)}),
            lw.AtMost(3),  # nobody is asked to change more than three things
        ]
    )
    recourse = lw.Recourse(model, schema, n_options=4, budget=400, n_costs=200).fit(credit.train)
    plans = recourse.recommend(refused)
    print(f"Most changes in one option: {plans.changes.groupby(['person', 'option']).size().max()}")

    person = refused.index[1]
    said = lw.Preferences(
        editable=["card_utilisation", "loan_amount", "loan_months", "savings"],
        scores={"card_utilisation": 0.5, "loan_amount": 0.3, "loan_months": 0.1, "savings": 0.1},
        ranges={"loan_amount": (5_000, None)},  # a smaller loan would not help them
    )
    print("\nWithout asking:")
    print(plans[person].to_text())
    print("\nAfter asking:")
    print(recourse.recommend(refused.loc[[person]], preferences={person: said})[person].to_text())


if __name__ == "__main__":
    main()
