"""Options that survive a retraining: several models must all accept. Run: python examples/several_models.py"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import leastways as lw


def train(data: pd.DataFrame, target: str) -> Any:
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        remainder=StandardScaler(),
    )
    return make_pipeline(encoder, LogisticRegression(max_iter=1000)).fit(data.drop(columns=target), data[target])


def main() -> None:
    credit = lw.datasets.load_credit()
    draw = np.random.default_rng(0)
    today = train(credit.train, credit.target)
    resampled = [train(credit.train.iloc[draw.integers(0, len(credit.train), 1500)], credit.target) for _ in range(9)]
    committee, next_years = lw.AllOf([today, *resampled[:5]]), resampled[5:]
    refused = credit.people[today.predict(credit.people) == 0].head(20)

    for name, model in (("one model", today), ("six models", committee)):
        recourse = lw.Recourse(model, credit.schema(), n_options=3, budget=150, n_costs=100).fit(credit.train)
        plans = recourse.recommend(refused)
        rows = plans.options[credit.features]
        kept = np.mean([m.predict(rows) == 1 for m in next_years])
        cost = plans.summary["emc"].mean()
        print(f"{name:11} options that a retrained model accepts: {kept:.0%}   mean cost: {cost:.2f}")


if __name__ == "__main__":
    main()
