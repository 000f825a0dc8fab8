"""Models of every kind decide on raw rows, and every option they are offered holds when they are asked again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from leastways import AllOf, Recourse, RecoursePlans, Schema, SettingError
from tests.support.bank_people import SCHEMA, TRAIN, chance, recourse, refused

YES = chance(TRAIN) >= 0.5
GRADES = np.select([chance(TRAIN) < 0.3, chance(TRAIN) < 0.7], ["poor", "fair"], "good")


def pipeline(final: Any = None) -> Pipeline:
    text, numbers = ["school", "job", "sex"], ["age", "income"]
    columns = ColumnTransformer([("text", OneHotEncoder(), text), ("numbers", StandardScaler(), numbers)])
    return make_pipeline(columns, LogisticRegression() if final is None else final)


def check(plans: RecoursePlans, accepts: Any) -> None:
    """Options exist, and whoever decides accepts each of them."""
    assert (plans.summary["status"] == "found").any()
    assert accepts(plans.options[list(plans.schema.names)]).all()


def test_recommend_with_a_pipeline() -> None:
    model = pipeline().fit(TRAIN, YES.astype(int))
    check(recourse(model).recommend(refused()), lambda f: model.predict(f) == 1)


@pytest.mark.parametrize("target", ["good", "fair", "poor"])
def test_recommend_with_several_named_classes(target: str) -> None:
    model = pipeline(RandomForestClassifier(20, random_state=0)).fit(TRAIN, GRADES)
    plans = recourse(model, target=target).recommend(TRAIN[[g != target for g in GRADES]].head(6))
    place = list(model.classes_).index(target)
    check(plans, lambda f: model.predict_proba(f)[:, place] >= 0.5)
    np.testing.assert_allclose(plans.options["probability"], model.predict_proba(plans.options)[:, place], atol=1e-6)


@pytest.mark.parametrize("threshold", [0.2, 0.9])
def test_options_meet_the_threshold(threshold: float) -> None:
    plans = recourse(threshold=threshold).recommend(TRAIN.head(12))
    check(plans, lambda f: chance(f) >= threshold)
    accepted = chance(TRAIN.head(12)) >= threshold
    assert ((plans.summary["status"] == "already_positive") == accepted).all()


@pytest.mark.parametrize(
    "answer", [YES.dtype.type, int, lambda x: np.where(x, "yes", "no"), lambda x: x.astype(float)[:, None]]
)
def test_callables_that_give_labels(answer: Any) -> None:
    def model(frame: pd.DataFrame) -> Any:
        decided = chance(frame) >= 0.5
        return answer(decided) if not isinstance(answer, type) else decided.astype(answer)

    target = "yes" if isinstance(model(TRAIN)[0], str) else 1
    plans = recourse(model, target=target).recommend(refused())
    check(plans, lambda f: chance(f) >= 0.5)
    assert set(plans.options["probability"]) == {1.0}


def as_categories(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype({n: pd.CategoricalDtype(sorted(TRAIN[n].unique())) for n in ("school", "job", "sex")})


def category_schema() -> Schema:
    schema = Schema.infer(as_categories(TRAIN))
    return schema.update(sex={"direction": "fixed"}, school={"order": ["none", "mid", "high"]})


def test_categories_keep_their_codes() -> None:
    """Boosted trees split on category codes: an option decoded with other codes would be another person."""
    lightgbm = pytest.importorskip("lightgbm")
    for model in (
        lightgbm.LGBMClassifier(n_estimators=10, n_jobs=1, verbose=-1),
        HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=5),
    ):
        model.fit(as_categories(TRAIN), YES)
        rec = Recourse(model, category_schema(), n_options=3, budget=40, n_costs=20).fit(as_categories(TRAIN))
        plans = rec.recommend(as_categories(refused()))
        check(plans, lambda f, m=model: m.predict_proba(f)[:, 1] >= 0.5)
        assert plans.options["school"].dtype == as_categories(TRAIN)["school"].dtype


def test_xgboost_on_numbers() -> None:
    xgboost = pytest.importorskip("xgboost")
    numbers = TRAIN[["age", "income"]].astype({"income": np.float32})
    model = xgboost.XGBClassifier(n_estimators=10).fit(numbers, YES.astype(int))
    schema = Schema.infer(numbers).update(age={"direction": "up"})
    rec = Recourse(model, schema, n_options=3, budget=60, n_costs=20).fit(numbers)
    plans = rec.recommend(numbers[model.predict(numbers) == 0].head(6))
    check(plans, lambda f: model.predict(f) == 1)


def test_several_models_must_all_agree() -> None:
    other = pipeline(RandomForestClassifier(20, random_state=1)).fit(TRAIN, YES.astype(int))
    plans = recourse(AllOf([chance, other])).recommend(refused())
    check(plans, lambda f: (chance(f) >= 0.5) & (other.predict_proba(f)[:, 1] >= 0.5))
    assert plans.summary["queries"].sum() == plans.settings["model_rows"]


class Strict(LogisticRegression):  # type: ignore[misc]
    """A classifier with a cut-off of its own."""

    def predict(self, X: Any) -> Any:
        return self.classes_[(self.predict_proba(X)[:, 1] >= 0.8).astype(int)]


def test_a_model_with_a_cutoff_of_its_own() -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    if not hasattr(selection, "FixedThresholdClassifier"):
        pytest.skip("came with scikit-learn 1.5")
    for model in (
        selection.FixedThresholdClassifier(pipeline(), threshold=0.8),
        pipeline(selection.FixedThresholdClassifier(LogisticRegression(), threshold=0.8)),
    ):
        model.fit(TRAIN, YES.astype(int))
        with pytest.raises(SettingError, match=r"Pass threshold=0\.8 "):
            recourse(model)
        check(recourse(model, threshold=0.8).recommend(refused()), lambda f, m=model: m.predict(f) == 1)
    low = selection.FixedThresholdClassifier(pipeline(), threshold=0.2).fit(TRAIN, YES.astype(int))
    with pytest.warns(RuntimeWarning, match=r"Pass threshold=0\.2\."):
        recourse(low)
    recourse(low, threshold=0.2)


def test_disagreement_of_predict_and_probability_is_warned_of_at_fit() -> None:
    model = pipeline(Strict()).fit(TRAIN, YES.astype(int))
    with pytest.warns(RuntimeWarning, match=r"Pipeline: predict\(\) and predict_proba\(\) disagree on") as caught:
        told = recourse(model)
    assert caught[0].filename.endswith("bank_people.py")  # where `fit` was called
    quiet = recourse(pipeline().fit(TRAIN, YES.astype(int)))
    plans = told.recommend(refused())
    assert plans.summary["queries"].sum() == plans.settings["model_rows"]
    assert plans.options.equals(quiet.recommend(refused()).options)  # the same probabilities
    check(recourse(model, threshold=0.8).recommend(refused()), lambda f: model.predict(f) == 1)
    check(recourse(lambda f: model.predict(f)).recommend(refused()), lambda f: model.predict(f) == 1)


def test_fit_evaluates_few_rows_and_never_a_black_box() -> None:
    asked: list[int] = []

    class Counting(Strict):
        def predict_proba(self, X: Any) -> Any:
            asked.append(len(X))
            return super().predict_proba(X)

    rows = pd.concat([TRAIN] * 5, ignore_index=True)
    model = pipeline(Counting()).fit(TRAIN, YES.astype(int))
    with pytest.warns(RuntimeWarning, match="disagree on"):
        Recourse(model, SCHEMA).fit(rows)
    assert 0 < max(asked) <= 256 < len(rows)
    asked.clear()
    Recourse(model, SCHEMA, threshold=0.8).fit(rows)
    assert asked == []

    def black_box(frame: pd.DataFrame) -> Any:
        raise AssertionError("asked at fit")

    Recourse(black_box, SCHEMA).fit(TRAIN)


def words(frame: pd.DataFrame) -> Any:
    return np.where(chance(frame) >= 0.5, "Accept", "Refuse")


def test_target_that_no_row_gets_is_reported() -> None:
    with pytest.raises(SettingError, match="Did you mean 'Accept'"):
        recourse(words, target="accept").recommend(refused())
    with pytest.warns(RuntimeWarning, match="the model gives 'Accept', 'Refuse'") as caught:
        plans = recourse(words, target="approved").recommend(refused())
    assert caught[0].filename == __file__
    assert set(plans.summary["status"]) == {"none_found"}
    with pytest.raises(SettingError, match=r"score\(frame\) >= 600"):
        recourse(lambda f: (300 + 550 * chance(f)).astype(int)).recommend(refused())
    check(recourse(words, target="Accept").recommend(refused()), lambda f: chance(f) >= 0.5)
    nobody = recourse(lambda f: np.zeros(len(f), int)).recommend(refused())  # refuses everybody, and may
    assert set(nobody.summary["status"]) == {"none_found"}


def test_model_that_modifies_its_input_does_not_change_plans() -> None:
    def rude(frame: pd.DataFrame) -> Any:
        answer = chance(frame)
        frame["age"] = 0
        return answer

    assert recourse(rude).recommend(refused()).options.equals(recourse().recommend(refused()).options)
    assert SCHEMA.names == tuple(TRAIN.columns)
