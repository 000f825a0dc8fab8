"""From a table and a trained pipeline to options for the people it refuses. Run: python examples/quickstart.py"""

from __future__ import annotations

from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import leastways as lw


def main() -> None:
    credit = lw.datasets.load_credit()  # synthetic loan applications, made on the spot
    encoder = make_column_transformer(
        (OneHotEncoder(), make_column_selector(dtype_exclude="number")), remainder=StandardScaler()
    )
    model = make_pipeline(encoder, LogisticRegression(max_iter=1000)).fit(credit.X, credit.y)
    refused = credit.people[model.predict(credit.people) == 0].head(5)

    # Kinds and grids come from the data. What a person may change does not: that has to be said.
    schema = lw.Schema.infer(credit.train, target="approved").update(
        age={"direction": "up", "min": 19, "max": 75},
        sex={"direction": "fixed"},
        group={"direction": "fixed"},
        education={"direction": "up", "order": credit.settings["education"]["order"]},
        late_payments={"direction": "down"},
        monthly_income={"direction": "up", "step": 100, "unit": "€"},
    )
    recourse = lw.Recourse(model, schema, n_options=4, budget=400, n_costs=200).fit(credit.train)
    plans = recourse.recommend(refused)

    for label in refused.index[:2]:
        print(plans[label].to_text(), end="\n\n")
    print(plans.summary.drop(columns="reason").round(2).to_string())


if __name__ == "__main__":
    main()
