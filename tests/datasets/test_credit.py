from __future__ import annotations

import hashlib
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from leastways.datasets import Dataset, load_credit
from leastways.datasets.credit import EDUCATION, JOBS, approval_probability
from leastways.errors import DataError, SettingError
from leastways.schema import Feature

CATEGORIES = ["sex", "group", "education", "job", "housing"]
DEFAULT_HASH = "4e0edf69e0f6cf0140440b19335b48ad72d1dca32ae675940f70926a6557f4c1"


@pytest.fixture(scope="module")
def credit() -> Dataset:
    return load_credit()


def _trained(credit: Dataset, estimator: Any) -> Any:
    numbers = [name for name in credit.features if name not in CATEGORIES]
    columns = make_column_transformer((OneHotEncoder(), CATEGORIES), (StandardScaler(), numbers))
    return make_pipeline(columns, estimator).fit(credit.X, credit.y)


def test_default_rows_never_change(credit: Dataset) -> None:
    """The demo, the documentation and users' notes quote these rows: a change here must be meant."""
    text = credit.frame.to_csv(index=False, lineterminator="\n")
    assert hashlib.sha256(text.encode()).hexdigest() == DEFAULT_HASH


def test_same_seed_same_rows_and_other_seed_other_rows(credit: Dataset) -> None:
    pd.testing.assert_frame_equal(load_credit().frame, credit.frame)
    assert not load_credit(random_state=1).frame.equals(credit.frame)


def test_a_smaller_set_is_the_beginning_of_a_larger_one(credit: Dataset) -> None:
    pd.testing.assert_frame_equal(load_credit(n=500).frame, credit.frame.iloc[:500])


def test_does_not_touch_the_global_random_state() -> None:
    np.random.seed(5)  # noqa: NPY002 - it is the global state that is under test
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    load_credit(n=100)
    assert np.random.random() == expected  # noqa: NPY002


def test_columns_are_complete_and_typed(credit: Dataset) -> None:
    frame = credit.frame
    assert len(credit.features) == 13
    assert not frame.isna().any().any()
    reals = ["monthly_income", "savings", "loan_amount"]
    assert all(frame[name].dtype == np.float64 for name in reals)
    whole = [name for name in frame.columns if name not in [*reals, *CATEGORIES]]
    assert all(frame[name].dtype == np.int64 for name in whole)
    assert set(frame["education"]) == set(EDUCATION)
    assert set(frame["job"]) == set(JOBS)


def test_values_are_rounded_as_people_name_them(credit: Dataset) -> None:
    frame = credit.frame
    assert (frame["monthly_income"] % 10 == 0).all()
    assert (frame["savings"] % 100 == 0).all()
    assert (frame["loan_amount"] % 500 == 0).all()
    assert set(frame["loan_months"]) == set(range(12, 85, 12))
    assert frame["age"].between(19, 75).all()
    assert frame["card_utilisation"].between(0, 100).all()
    assert not ((frame["age"] < 22) & frame["education"].isin(EDUCATION[3:])).any()


def test_train_and_people_are_disjoint_and_all(credit: Dataset) -> None:
    assert len(credit.train) == 3000
    assert len(credit.people) == 1000
    assert sorted([*credit.train.index, *credit.people.index]) == list(range(4000))


def test_marginals_of_the_structure() -> None:
    frame = load_credit(n=20_000, random_state=3).frame
    assert 0.55 < frame["approved"].mean() < 0.65
    assert abs((frame["sex"] == "female").mean() - 0.5) < 0.02
    shares = frame["group"].value_counts(normalize=True)
    assert np.allclose(shares[["A", "B", "C"]], [0.60, 0.24, 0.16], atol=0.02)
    assert 1500 < frame["monthly_income"].median() < 2200
    assert 0.25 < (frame["late_payments"] > 0).mean() < 0.45
    assert frame["monthly_income"].corr(frame["hours_per_week"]) > 0.3
    assert frame["card_utilisation"].corr(frame["savings"]) < -0.2


def test_protected_groups_are_approved_slightly_less() -> None:
    frame = load_credit(n=20_000, random_state=3).frame
    by_sex, by_group = (frame.groupby(name)["approved"].mean() for name in ("sex", "group"))
    assert 0.85 < by_sex["female"] / by_sex["male"] < 0.97
    assert 0.80 < by_group["B"] / by_group["A"] < 0.97
    assert 0.80 < by_group["C"] / by_group["A"] < 0.97


def test_sex_has_no_direct_effect_and_group_has(credit: Dataset) -> None:
    rows = credit.people.head(50)
    truth = approval_probability(rows)
    assert np.array_equal(truth, approval_probability(rows.assign(sex="male")))
    assert (approval_probability(rows.assign(group="B")) < approval_probability(rows.assign(group="A"))).all()


def test_labels_follow_the_stated_probability() -> None:
    frame = load_credit(n=20_000, random_state=3).frame
    truth = approval_probability(frame)
    bins = np.digitize(truth, np.linspace(0, 1, 11)[1:-1])
    for b in range(10):
        inside = bins == b
        assert abs(frame["approved"][inside].mean() - truth[inside].mean()) < 0.05
    assert 0.84 < roc_auc_score(frame["approved"], truth) < 0.87


@pytest.mark.parametrize("estimator", [LogisticRegression(max_iter=1000), GradientBoostingClassifier(random_state=0)])
def test_models_are_as_accurate_as_on_real_loans(credit: Dataset, estimator: Any) -> None:
    model = _trained(credit, estimator)
    truth = credit.frame.loc[credit.people.index, "approved"]
    assert 0.78 < roc_auc_score(truth, model.predict_proba(credit.people)[:, 1]) < 0.88


def test_schema_encodes_and_decodes_every_row(credit: Dataset) -> None:
    schema = credit.schema()
    schema.validate(credit.frame)
    pd.testing.assert_frame_equal(schema.decode(schema.encode(credit.people)), credit.people)
    assert schema.offsets[-1] < 400
    assert {f.direction for f in schema.features} == {"any", "up", "down", "fixed"}
    income = schema.by_name["monthly_income"]
    assert (income.wording, income.unit) == ("monthly income", "€")
    assert all(value % 100 == 0 for value in income.values)
    assert schema.by_name["education"].values == EDUCATION


def test_one_change_is_usually_enough(credit: Dataset) -> None:
    model = _trained(credit, LogisticRegression(max_iter=1000))
    refused = credit.people[model.predict_proba(credit.people)[:, 1] < 0.5].head(100)
    moves = pd.concat(
        refused[_permitted(feature, refused[feature.name], value)].assign(**{feature.name: value})
        for feature in credit.schema().features
        for value in feature.values
    )
    accepted = moves.index[model.predict_proba(moves)[:, 1] >= 0.5]
    assert len(accepted.unique()) > 0.8 * len(refused)


def _permitted(feature: Feature, now: pd.Series[Any], then: Any) -> pd.Series[bool]:
    if not feature.numeric:
        now, then = now.map({value: k for k, value in enumerate(feature.values)}), feature.values.index(then)
    ways: dict[str, pd.Series[bool]] = {
        "any": now != then,
        "up": now < then,
        "down": now > then,
        "fixed": now.isna(),
    }
    return ways[feature.direction]


def test_the_true_probability_refuses_unknown_categories(credit: Dataset) -> None:
    rows = credit.people.head(3)
    with pytest.raises(DataError, match="column 'job' holds 'astronaut'; allowed: 'manual'"):
        approval_probability(rows.assign(job="astronaut"))
    categorical = rows.astype(dict.fromkeys(CATEGORIES, "category"))
    assert np.array_equal(approval_probability(categorical), approval_probability(rows))


@pytest.mark.parametrize("n", [0, 99, 1.5, True, "many"])
def test_invalid_sizes_are_refused(n: Any) -> None:
    with pytest.raises(SettingError, match="n must be a whole number of 100 or more"):
        load_credit(n=n)


@pytest.mark.parametrize("seed", [-1, 0.5, None])
def test_invalid_seeds_are_refused(seed: Any) -> None:
    with pytest.raises(SettingError, match="random_state"):
        load_credit(random_state=seed)


def test_is_picklable_with_its_model(credit: Dataset) -> None:
    back = pickle.loads(pickle.dumps(credit))
    assert back.model is not None
    assert np.array_equal(back.model(credit.people), approval_probability(credit.people))
