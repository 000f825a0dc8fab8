"""Generate the built-in loan data set; no real person is in it.

The demo, the tests and the tutorial need data whose truth is known (the exact probability of approval of any applicant)
and that resemble loan data: mixed features, correlated for a reason, protected groups that fare differently, and a
label that cannot be predicted perfectly. This is the structure that the rows are drawn from, equation by equation.

Each applicant has independent noise: `u.` terms are uniform on (0, 1), `z.` terms standard normal. `[x]` is
1 where x holds, else 0. `s(x) = 1 / (1 + exp(-x))`. `edu` is 0 for no diploma up to 4 for a master's degree;
`inc = log(monthly_income / 2000)`; `sav = log(1 + savings / 1000)`. In the order of causes:

    age               = 40 + 12 z.age + 1.5 (z.age^2 - 1), whole, within 19 .. 75
    sex               = female if u.sex < 0.5, else male
    group             = A (60 %), B (24 %), C (16 %): stands for any protected ethnic or national group
    thrift            = z.thrift: never observed; the habits behind savings, card use and late payments
    education         = -0.25 [B] - 0.20 [C] - 0.012 (age - 40) + z.education, cut at -1.35, -0.35, 0.45 and
                        1.15; at most vocational training below age 22, at most bachelor below 24
    job               = one of five with log-weights
                        manual 0.6 - 0.5 edu + 0.5 [male], service 0.5 - 0.3 edu + 0.3 [female],
                        office 0.2 + 0.1 edu + 0.2 [female], professional -1.6 + 0.75 edu,
                        self-employed -1.3 + 0.1 edu + 0.2 [male] + 0.01 (age - 40)
    part time         = u.part < s(-2.1 + 0.9 [female] + 0.6 [service] + 0.8 [age < 24] + 0.8 [age > 62])
    hours_per_week    = 22 + 5 z.hours within 10 .. 31 if part time,
                        else 40 + 3 z.hours + 5 [self-employed] within 32 .. 60
    monthly_income    = exp(7.62 + 0.13 (edu - 2) + pay + 0.85 log(hours_per_week / 40)
                            + 0.016 (min(age, 55) - 40) - 0.08 [female] - 0.07 [B] - 0.06 [C]
                            + (0.24 + 0.16 [self-employed]) z.income) within 600 .. 7000,
                        pay: manual 0, service -0.08, office 0.05, professional 0.30, self-employed 0.10
    savings           = 0 unless u.saver < s(1.2 + 0.8 thrift + 0.8 inc), else
                        exp(8.1 + 0.7 thrift + 0.9 inc + 0.02 (age - 40) + 0.8 z.savings), at most 60000
    card_utilisation  = 0 if u.card < 0.12 (no card), else 100 s(-0.2 - 0.9 thrift - 0.5 inc + 0.8 z.use)
    late_payments     = Poisson with mean
                        exp(-1.1 + 1.6 (card_utilisation / 100 - 0.4) - 0.4 thrift - 0.3 inc), at most 8
    housing           = rent, own or with family, log-weights 0.6,
                        -0.8 + 0.04 (age - 40) + inc + 0.15 sav, and -0.6 - 0.09 (age - 30)
    loan_amount       = exp(9.1 + 0.6 inc + 0.55 z.amount) within 1000 .. 40000
    loan_months       = loan_amount / (0.12 exp(0.4 z.months) monthly_income), whole years within 12 .. 84
    burden            = (loan_amount / loan_months + 0.004 loan_amount) / monthly_income: instalment by pay
    score             = 0.45 + 1.3 inc - 9 (burden - 0.17) - 0.75 late_payments
                        - 2.4 (card_utilisation / 100 - 0.4) + 0.45 sav + 0.15 (edu - 2)
                        + (manual 0, service -0.1, office 0.2, professional 0.3, self-employed -0.4)
                        + (rent -0.2, own 0.3, with family 0) + 0.01 (age - 40) + 0.02 (hours_per_week - 38)
                        - 0.25 [B] - 0.25 [C]
    approved          = u.approved < s(score)

The last line of the score is a bias of past decisions, on top of features that are unequal already. Sex has
no place in the score: women are refused more often only through hours and pay.

Money is rounded as people name it (pay to 10, savings to 100, loans to 500). All noise comes from uniform
draws, one row of them per applicant, and inverse distribution functions: the same seed gives the same rows on
every machine and numpy version, and a smaller set is the beginning of a larger one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, gammaln, ndtri

from leastways._messages import listed
from leastways._validation import check_seed
from leastways.datasets.base import Dataset
from leastways.errors import DataError, SettingError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SEXES = ("female", "male")
GROUPS = ("A", "B", "C")
EDUCATION = ("no diploma", "secondary school", "vocational training", "bachelor", "master or higher")
JOBS = ("manual", "service", "office", "professional", "self-employed")
HOUSING = ("rent", "own", "with family")
_SERVICE, _SELF = JOBS.index("service"), JOBS.index("self-employed")

_PERSON = ("age", "sex", "group", "thrift", "education", "job", "part", "hours", "income")
_MONEY = ("saver", "savings", "card", "use", "late", "housing", "amount", "months", "approved")
_SCORED = ("age", "hours_per_week", "monthly_income", "savings", "card_utilisation", "late_payments")
_LOAN = ("loan_amount", "loan_months")
MIN_ROWS = 100  # fewer would leave out whole categories
_SAVINGS_GRID = [*range(0, 5_000, 500), *range(5_000, 20_000, 1_000), *range(20_000, 60_001, 5_000)]

SETTINGS: dict[str, dict[str, Any]] = {
    "age": {"direction": "up", "min": 19, "max": 75, "valid_range": (18, 120), "unit": "years"},
    "sex": {"direction": "fixed"},
    "group": {"direction": "fixed"},
    "education": {"direction": "up", "order": list(EDUCATION)},
    "job": {"direction": "any"},
    "hours_per_week": {
        "direction": "any",
        "min": 10,
        "max": 60,
        "valid_range": (0, 168),
        "label": "weekly working hours",
        "unit": "h",
    },
    "monthly_income": {"direction": "up", "min": 600, "max": 7_000, "step": 100, "valid_range": (0, None), "unit": "€"},
    "savings": {"direction": "up", "grid": _SAVINGS_GRID, "valid_range": (0, None), "unit": "€"},
    "card_utilisation": {
        "direction": "down",
        "min": 0,
        "max": 100,
        "step": 5,
        "valid_range": (0, None),
        "label": "use of the card limit",
        "unit": "%",
    },
    "late_payments": {
        "direction": "down",
        "min": 0,
        "max": 8,
        "valid_range": (0, None),
        "label": "late payments in the last two years",
    },
    "housing": {"direction": "any"},
    "loan_amount": {
        "direction": "down",
        "min": 1_000,
        "max": 40_000,
        "step": 500,
        "valid_range": (0, None),
        "unit": "€",
    },
    "loan_months": {
        "direction": "any",
        "min": 12,
        "max": 84,
        "step": 12,
        "valid_range": (1, None),
        "label": "loan term",
        "unit": "months",
    },
}


def load_credit(n: int = 4000, random_state: int = 0) -> Dataset:
    """Generate the loan data set: `n` applicants, three quarters to train on, the rest held out as `people`.

    Some of the `people` were approved: a model trained on `train` refuses the others, who need recourse. `model` is the
    true probability of approval under the structure.

    Examples
    --------
    >>> credit = load_credit()
    >>> credit.frame.shape, credit.favourable
    ((4000, 14), 1)

    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < MIN_ROWS:
        raise SettingError(f"n must be a whole number of {MIN_ROWS} or more, not {n!r}.")
    frame = draw_applicants(int(n), check_seed(random_state))
    cut = len(frame) * 3 // 4
    return Dataset(
        name="credit",
        frame=frame,
        train=frame.iloc[:cut],
        people=frame.iloc[cut:].drop(columns="approved"),
        target="approved",
        favourable=1,
        settings=SETTINGS,
        description=(
            "Loan applications (synthetic): who the applicants are, what they earn, save and owe, "
            "what they ask for, and whether the loan was approved (1) or refused (0)."
        ),
        source="Generated by leastways from the structure in leastways.datasets.credit.",
        model=approval_probability,
        protected=("sex", "group"),
    )


def approval_probability(frame: pd.DataFrame) -> Floats:
    """Return the true P(approved = 1) of each row: the best that any model could know."""
    x = {name: frame[name].to_numpy(dtype=np.float64) for name in (*_SCORED, *_LOAN)}
    burden = (x["loan_amount"] / x["loan_months"] + 0.004 * x["loan_amount"]) / x["monthly_income"]
    score = (
        0.45
        + 1.3 * np.log(x["monthly_income"] / 2000)
        - 9.0 * (burden - 0.17)
        - 0.75 * x["late_payments"]
        - 2.4 * (x["card_utilisation"] / 100 - 0.4)
        + 0.45 * np.log1p(x["savings"] / 1000)
        + 0.15 * (_positions(frame, "education", EDUCATION) - 2)
        + np.array([0.0, -0.1, 0.2, 0.3, -0.4])[_positions(frame, "job", JOBS)]
        + np.array([-0.2, 0.3, 0.0])[_positions(frame, "housing", HOUSING)]
        + 0.01 * (x["age"] - 40)
        + 0.02 * (x["hours_per_week"] - 38)
        + np.array([0.0, -0.25, -0.25])[_positions(frame, "group", GROUPS)]
    )
    return np.asarray(expit(score), dtype=np.float64)


def draw_applicants(n: int, seed: int) -> pd.DataFrame:
    """Draw `n` applicants and whether each was approved."""
    names = _PERSON + _MONEY
    table = np.random.Generator(np.random.PCG64(seed)).random((n, len(names)))
    u = {name: np.maximum(table[:, k], 2.0**-53) for k, name in enumerate(names)}  # 0 has no normal quantile
    z = {name: np.asarray(ndtri(column), dtype=np.float64) for name, column in u.items()}

    age = np.clip(np.rint(40 + 12 * z["age"] + 1.5 * (z["age"] ** 2 - 1)), 19, 75)
    female = (u["sex"] < 0.5).astype(np.int64)
    group = np.searchsorted([0.60, 0.84], u["group"], side="right").astype(np.int64)
    edu = _education(z["education"], age, group)
    job = _job(u["job"], edu, age, female)
    hours = _hours(u["part"], z["hours"], age, female, job)
    income = _income(z["income"], edu, job, hours, age, female, group)
    frame = pd.DataFrame(
        {
            "age": age.astype(np.int64),
            "sex": np.array(SEXES, dtype=object)[1 - female],
            "group": np.array(GROUPS, dtype=object)[group],
            "education": np.array(EDUCATION, dtype=object)[edu],
            "job": np.array(JOBS, dtype=object)[job],
            "hours_per_week": hours.astype(np.int64),
            "monthly_income": income,
            **_finances(u, z, age, income),
        }
    )
    frame["approved"] = (u["approved"] < approval_probability(frame)).astype(np.int64)
    return frame


def _education(z: Floats, age: Floats, group: Ints) -> Ints:
    latent = np.array([0.0, -0.25, -0.20])[group] - 0.012 * (age - 40) + z
    level = np.searchsorted([-1.35, -0.35, 0.45, 1.15], latent, side="right")
    most = np.where(age < 22, 2, np.where(age < 24, 3, 4))
    return np.minimum(level, most).astype(np.int64)


def _job(u: Floats, edu: Ints, age: Floats, female: Ints) -> Ints:
    return _choose(
        u,
        0.6 - 0.5 * edu + 0.5 * (1 - female),
        0.5 - 0.3 * edu + 0.3 * female,
        0.2 + 0.1 * edu + 0.2 * female,
        -1.6 + 0.75 * edu,
        -1.3 + 0.1 * edu + 0.2 * (1 - female) + 0.01 * (age - 40.0),
    )


def _hours(u: Floats, z: Floats, age: Floats, female: Ints, job: Ints) -> Floats:
    lean = -2.1 + 0.9 * female + 0.6 * (job == _SERVICE) + 0.8 * (age < 24) + 0.8 * (age > 62)
    few = np.clip(np.rint(22 + 5 * z), 10, 31)
    full = np.clip(np.rint(40 + 3 * z + 5 * (job == _SELF)), 32, 60)
    return np.where(u < expit(lean), few, full)


def _income(z: Floats, edu: Ints, job: Ints, hours: Floats, age: Floats, female: Ints, group: Ints) -> Floats:
    pay = np.array([0.0, -0.08, 0.05, 0.30, 0.10])[job]
    growth = 0.016 * (np.minimum(age, 55) - 40)
    gap = -0.08 * female + np.array([0.0, -0.07, -0.06])[group]
    spread = 0.24 + 0.16 * (job == _SELF)
    level = 7.62 + 0.13 * (edu - 2) + pay + 0.85 * np.log(hours / 40) + growth + gap + spread * z
    return np.clip(_rounded(np.exp(level), 10), 600, 7000)


def _finances(u: dict[str, Floats], z: dict[str, Floats], age: Floats, income: Floats) -> dict[str, object]:
    """Draw what follows from pay and thrift: savings, card, late payments, home, and the loan asked for."""
    inc, thrift = np.log(income / 2000), z["thrift"]
    level = np.exp(8.1 + 0.7 * thrift + 0.9 * inc + 0.02 * (age - 40) + 0.8 * z["savings"])
    saves = u["saver"] < expit(1.2 + 0.8 * thrift + 0.8 * inc)
    savings = np.where(saves, np.minimum(_rounded(level, 100), 60_000), 0.0)
    use = np.rint(100 * expit(-0.2 - 0.9 * thrift - 0.5 * inc + 0.8 * z["use"]))
    card = np.where(u["card"] < 0.12, 0.0, use)
    late = _poisson(u["late"], np.exp(-1.1 + 1.6 * (card / 100 - 0.4) - 0.4 * thrift - 0.3 * inc), most=8)
    own = -0.8 + 0.04 * (age - 40) + inc + 0.15 * np.log1p(savings / 1000)
    housing = _choose(u["housing"], np.full_like(age, 0.6), own, -0.6 - 0.09 * (age - 30))
    amount = np.clip(_rounded(np.exp(9.1 + 0.6 * inc + 0.55 * z["amount"]), 500), 1_000, 40_000)
    months = np.clip(_rounded(amount / (0.12 * np.exp(0.4 * z["months"]) * income), 12), 12, 84)
    return {
        "savings": savings,
        "card_utilisation": card.astype(np.int64),
        "late_payments": late,
        "housing": np.array(HOUSING, dtype=object)[housing],
        "loan_amount": amount,
        "loan_months": months.astype(np.int64),
    }


def _choose(u: Floats, *log_weights: NDArray[np.floating]) -> Ints:
    """Return, per row, the alternative that the uniform falls on."""
    weights = np.exp(np.stack(log_weights, axis=1))
    upper = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
    return np.asarray((u[:, None] >= upper[:, :-1]).sum(axis=1), dtype=np.int64)


def _poisson(u: Floats, mean: Floats, most: int) -> Ints:
    """Return Poisson counts by inversion, cut at `most`."""
    k = np.arange(most)
    cumulative = np.cumsum(np.exp(k * np.log(mean)[:, None] - mean[:, None] - gammaln(k + 1)), axis=1)
    return np.asarray((u[:, None] >= cumulative).sum(axis=1), dtype=np.int64)


def _rounded(x: Floats, to: int) -> Floats:
    return np.asarray(np.rint(x / to) * to, dtype=np.float64)


def _positions(frame: pd.DataFrame, column: str, names: tuple[str, ...]) -> Ints:
    """Return each row's position in `names`; raise for an unknown category."""
    codes, found = pd.factorize(frame[column])
    places = pd.Index(names, dtype=object).get_indexer(pd.Index(found, dtype=object))
    if (codes < 0).any() or (places < 0).any():
        unknown = [value for value, place in zip(found, places, strict=True) if place < 0] or [None]
        raise DataError(f"column {column!r} holds {listed(unknown)}; allowed: {listed(names)}.")
    return np.asarray(places, dtype=np.int64)[codes]
