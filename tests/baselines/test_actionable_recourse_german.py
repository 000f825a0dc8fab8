"""The published flipset example on German credit: what its printed figures say, and what this method makes of them.

The figures are those that the package's quick start prints (github.com/ustunb/actionable-recourse, examples): the
coefficients of its logistic regression, the probabilities of five refused people at a threshold of 0.8, and, for the
first of them, an action with its percentile shifts. That action has the least *largest* shift, so its total cannot be
below that of ours, which is the least.
"""

from __future__ import annotations

import os
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import leastways as lw
from leastways._random import keys_of_rows
from leastways.baselines import ActionableRecourse
from leastways.baselines.actionable_recourse import TAIL, PercentileShift
from leastways.costs import CostDistribution, CostModel

pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(not os.environ.get("LEASTWAYS_DATA"), reason="needs the public data: set LEASTWAYS_DATA"),
]

COEFFICIENTS = {
    "ForeignWorker": 0.278401,
    "Single": 0.194679,
    "Age": 0.016623,
    "LoanDuration": -0.024562,
    "LoanAmount": -0.000075,
    "LoanRateAsPercentOfIncome": -0.240661,
    "YearsAtCurrentHome": 0.059362,
    "NumberOfOtherLoansAtBank": -0.162192,
    "NumberOfLiableIndividuals": 0.011381,
    "HasTelephone": 0.363301,
    "CheckingAccountBalance_geq_0": -0.303116,
    "CheckingAccountBalance_geq_200": 0.220313,
    "SavingsAccountBalance_geq_100": 0.392598,
    "SavingsAccountBalance_geq_500": 0.464606,
    "MissedPayments": 0.203194,
    "NoCurrentLoan": -0.513624,
    "CriticalAccountOrLoansElsewhere": 0.740741,
    "OtherLoansAtBank": -0.549653,
    "HasCoapplicant": -0.212085,
    "HasGuarantor": 0.318791,
    "OwnsHouse": 0.643535,
    "RentsHouse": 0.097317,
    "Unemployed": -0.149537,
    "YearsAtCurrentJob_lt_1": -0.177748,
    "YearsAtCurrentJob_geq_4": 0.387240,
    "JobClassIsSkilled": 0.218455,
    "isMale": 0.125850,
}
PROBABILITIES = {1: 0.359034, 3: 0.650483, 4: 0.527647, 5: 0.488228, 7: 0.498478}
ACTION = {"LoanDuration": -20, "LoanAmount": -1110} | dict.fromkeys(
    [
        "CheckingAccountBalance_geq_200",
        "SavingsAccountBalance_geq_100",
        "SavingsAccountBalance_geq_500",
        "HasGuarantor",
    ],
    1,
)
SHIFTS = {  # of the binary features, in percentiles: the share of people who have it
    "CheckingAccountBalance_geq_200": 0.06299998,
    "SavingsAccountBalance_geq_100": 0.21399989,
    "SavingsAccountBalance_geq_500": 0.11099996,
    "HasGuarantor": 0.05199999,
}
FIXED = ["Age", "Single", "JobClassIsSkilled", "ForeignWorker", "OwnsHouse", "RentsHouse", "isMale"]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    table = lw.datasets.load_german().frame
    return table.assign(isMale=(table["Gender"] == "Male").astype(int))[list(COEFFICIENTS)].reset_index(drop=True)


@pytest.fixture(scope="module")
def schema(frame: pd.DataFrame) -> lw.Schema:
    directions = {name: {"direction": "fixed"} for name in FIXED}
    directions |= {"CriticalAccountOrLoansElsewhere": {"direction": "down"}}
    return lw.Schema.infer(frame).update(directions | {"CheckingAccountBalance_geq_0": {"direction": "up"}})


@pytest.fixture(scope="module")
def model(frame: pd.DataFrame) -> LogisticRegression:
    """The published model: its intercept is not printed, and follows from the first person's probability."""
    made = LogisticRegression(max_iter=5).fit(frame.head(50) * 0.0, np.arange(50) % 2)
    made.coef_ = np.array([list(COEFFICIENTS.values())])
    odds = np.log(PROBABILITIES[1] / (1 - PROBABILITIES[1]))
    made.intercept_ = np.array([odds - frame.loc[[1]].to_numpy()[0] @ made.coef_[0]])
    return made


def costs_of(schema: lw.Schema, frame: pd.DataFrame, states: pd.DataFrame, quantile: str) -> np.ndarray:
    """Return the total log-percentile shift of states of the first person."""
    person = schema.encode(frame.loc[[1]])
    cost_model = CostModel.fit(schema, CostDistribution(), frame)
    t = cost_model.sample(person, keys_of_rows(person.content(), 0), 1, [None]).space
    shift = PercentileShift.fit(schema, schema.encode(frame), quantile).of(t)[0]  # type: ignore[arg-type]
    codes = schema.encode_options(states, person, np.zeros(len(states), np.intp))
    assert (codes >= 0).all()
    return np.asarray(shift[t.offsets[:-1] + codes].sum(axis=1))


def test_the_people_and_the_coefficients_are_the_published_ones(frame: pd.DataFrame, model: LogisticRegression) -> None:
    got = model.predict_proba(frame.loc[list(PROBABILITIES)])[:, 1]
    assert got == pytest.approx(list(PROBABILITIES.values()), abs=2e-3)  # coefficients are printed to six decimals
    assert set(np.flatnonzero(model.predict_proba(frame.head(8))[:, 1] < 0.8)) == set(PROBABILITIES)


def test_the_published_action_and_its_shifts(frame: pd.DataFrame, schema: lw.Schema, model: LogisticRegression) -> None:
    after = frame.loc[[1]] + pd.Series(dict.fromkeys(frame.columns, 0) | ACTION)
    assert model.predict_proba(after)[0, 1] == pytest.approx(0.8, abs=5e-3)
    for name, share in SHIFTS.items():
        assert frame[name].mean() == pytest.approx(share, abs=1e-6)
        one = frame.loc[[1]].assign(**{name: 1})
        assert costs_of(schema, frame, one, "cdf")[0] == pytest.approx(np.log(frame[name].mean() / TAIL), abs=1e-9)


@pytest.mark.parametrize("quantile", ["cdf", "mid"])
def test_ours_costs_no_more_in_total(
    frame: pd.DataFrame, schema: lw.Schema, model: LogisticRegression, quantile: str
) -> None:
    method = ActionableRecourse(linear="exact", quantile=quantile)  # type: ignore[arg-type]
    rec = lw.Recourse(model, schema, method, n_options=5, n_costs=10, threshold=0.8, budget=20)
    plans = rec.fit(frame).recommend(frame.loc[list(PROBABILITIES)])
    assert (plans.summary["status"] == "found").all()
    assert (plans.summary["n_options"] == 5).all()
    mine = plans.options[plans.options["person"] == 1]
    total = costs_of(schema, frame, mine, quantile)
    published = frame.loc[[1]] + pd.Series(dict.fromkeys(frame.columns, 0) | ACTION)
    published["LoanAmount"] = min(schema.by_name["LoanAmount"].values, key=lambda v: abs(v - 4841))  # a point of ours
    assert total.min() <= costs_of(schema, frame, published, quantile)[0]
    assert (mine[FIXED] == frame.loc[1, FIXED]).all(axis=None)
    assert (mine["CheckingAccountBalance_geq_0"] == 1).all()  # may not be emptied, though the model would like it


def test_no_smaller_set_of_features_is_cheaper(
    frame: pd.DataFrame, schema: lw.Schema, model: LogisticRegression
) -> None:
    """Enumerate all changes of one or two features: none is a yes below the cost of the first option."""
    method = ActionableRecourse(linear="exact")
    rec = lw.Recourse(model, schema, method, n_options=3, n_costs=10, threshold=0.6, budget=20)
    plans = rec.fit(frame).recommend(frame.loc[[1]])
    best = costs_of(schema, frame, plans.options, "mid").min()
    free = [f for f in schema.features if f.direction != "fixed"]
    for pair in combinations(free, 2):
        grid = pd.DataFrame(list(product(*(f.values for f in pair))), columns=[f.name for f in pair])
        states = pd.concat([frame.loc[[1]]] * len(grid), ignore_index=True).assign(**grid)
        states = states[list(frame.columns)]
        states = states[states["CheckingAccountBalance_geq_0"] >= 1]
        states = states[states["CriticalAccountOrLoansElsewhere"] <= 0]
        yes = states[model.predict_proba(states)[:, 1] >= 0.6]
        if len(yes):
            assert costs_of(schema, frame, yes, "mid").min() >= best - 1e-4
