"""Each library's record: its fast way is used and bit-identical, ties, threads, and records from outside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from joblib import parallel_backend
from joblib.parallel import get_active_backend
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from leastways.models import Library, as_model, libraries, register_library, unregister_library
from leastways.models.base import split_of
from leastways.models.encoder_table import FastPath
from leastways.models.libraries import Route, forest_trees, library_of, nameless
from leastways.schema import Schema
from tests.support.mixed_table import NUMBERS, PEOPLE, SCHEMA, TRAIN, Y, encoder

ESTIMATORS: dict[str, tuple[Any, int]] = {  # the estimator, and which of its ways should do
    "logistic": (LogisticRegression(max_iter=1000), 0),
    "perceptron": (MLPClassifier((8, 4), max_iter=30, random_state=0), 0),
    "perceptron, tanh": (MLPClassifier((8,), "tanh", max_iter=30, random_state=0), 1),
    "tree": (DecisionTreeClassifier(max_depth=4), 0),
    "forest": (RandomForestClassifier(12, random_state=0), 0),
    "extra trees": (ExtraTreesClassifier(12, random_state=0), 0),
    "gradient boosting": (GradientBoostingClassifier(n_estimators=12), 0),
    "histograms": (HistGradientBoostingClassifier(max_iter=12), 0),
    "support vectors": (SVC(), 0),
    "neighbours": (KNeighborsClassifier(), 0),
    "ridge": (RidgeClassifier(), 0),
    "calibrated": (CalibratedClassifierCV(LogisticRegression(max_iter=1000), cv=2), 0),
}


@pytest.fixture(autouse=True)
def quiet() -> Any:
    """The perceptrons are not trained to the end."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def check(model: Any, schema: Schema = SCHEMA) -> FastPath:
    """The fast_path gives the model's own answers on calls of many sizes."""
    evaluate = as_model(model, 1)
    fast_path = FastPath.find(evaluate, schema)
    people = schema.encode(PEOPLE[list(schema.names)])
    table = fast_path.people(people)
    assert table is not None, fast_path.reason
    assert table.held.all(), table.reason
    rng = np.random.default_rng(1)
    for rows in (1, 3, 20, 500, 2000):
        who = rng.integers(0, len(PEOPLE), rows)
        codes = (rng.random((rows, len(schema.features))) * [len(f.values) for f in schema.features]).astype(np.int32)
        codes = np.where(rng.random(codes.shape) < 0.5, people.codes[who], codes)
        wanted = evaluate.probability(schema.decode(codes, people, who))
        assert np.array_equal(table.probability(codes, who), wanted), rows
    return fast_path


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_expected_route_is_used_and_bit_identical(name: str) -> None:
    estimator, way = ESTIMATORS[name]
    fast_path = check(make_pipeline(encoder(), clone(estimator)).fit(TRAIN, Y))
    assert fast_path.model is not None
    assert fast_path.model.decision == way


@pytest.mark.parametrize("name", ["logistic", "perceptron", "forest", "histograms", "ridge"])
def test_pipelines_with_sparse_input(name: str) -> None:
    model = make_pipeline(encoder(sparse=True), clone(ESTIMATORS[name][0]))
    if name == "histograms":
        with pytest.raises(TypeError, match="dense"):  # scikit-learn's own limit
            model.fit(TRAIN, Y)
        return
    check(model.fit(TRAIN, Y))


@pytest.mark.parametrize("name", ["logistic", "forest", "histograms", "calibrated", "neighbours", "ridge"])
def test_estimators_on_frames_of_numbers(name: str) -> None:
    names = [*NUMBERS, "owner", "visits"]
    schema = Schema(tuple(f for f in SCHEMA.features if f.name in names))
    frame = TRAIN[list(schema.names)]
    check(clone(ESTIMATORS[name][0]).fit(frame, Y), schema)
    check(clone(ESTIMATORS[name][0]).fit(frame.to_numpy(dtype=float), Y), schema)


def test_pipelines_that_pass_on_frames_are_tabulated() -> None:
    model = make_pipeline(encoder(), LogisticRegression(max_iter=1000)).set_output(transform="pandas").fit(TRAIN, Y)
    check(model)


def test_nested_searches_and_pipelines_are_tabulated() -> None:
    inner = make_pipeline(encoder(), "passthrough", LogisticRegression(max_iter=1000))
    search = GridSearchCV(inner, {"logisticregression__C": [0.1, 1.0]}, cv=2).fit(TRAIN, Y)
    check(search)
    check(make_pipeline(None, inner).fit(TRAIN, Y))


def test_models_with_three_classes_are_supported() -> None:
    y = Y + (TRAIN["age"] > 50).to_numpy(int)
    for name in ("logistic", "perceptron", "forest"):
        check(make_pipeline(encoder(), clone(ESTIMATORS[name][0])).fit(TRAIN, y))


@pytest.mark.parametrize("bare", [False, True])
def test_xgboost_results_are_the_same_by_the_fast_path(bare: bool) -> None:
    xgboost = pytest.importorskip("xgboost")
    estimator = xgboost.XGBClassifier(n_estimators=12, max_depth=3, n_jobs=2)
    if bare:
        schema = Schema(tuple(f for f in SCHEMA.features if f.name in NUMBERS))
        check(estimator.fit(TRAIN[NUMBERS], Y), schema)
    else:
        check(make_pipeline(encoder(), estimator).fit(TRAIN, Y))


@pytest.mark.parametrize("bare", [False, True])
def test_lightgbm_results_are_the_same_by_the_fast_path(bare: bool) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    estimator = lightgbm.LGBMClassifier(n_estimators=12, verbose=-1)
    if bare:
        schema = Schema(tuple(f for f in SCHEMA.features if f.name in NUMBERS))
        fast_path = check(estimator.fit(TRAIN[NUMBERS], Y), schema)
    else:
        fast_path = check(make_pipeline(encoder().set_output(transform="pandas"), estimator).fit(TRAIN, Y))
    assert fast_path.model is not None
    assert fast_path.model.decision == 0


def test_the_estimator_is_not_changed() -> None:
    estimator = LogisticRegression(max_iter=1000).fit(TRAIN[NUMBERS], Y)
    before = dict(vars(estimator))
    assert not hasattr(nameless(estimator), "feature_names_in_")
    assert nameless(estimator).coef_ is estimator.coef_
    assert vars(estimator) == before


def test_changed_forests_are_read_again() -> None:
    schema = Schema(tuple(f for f in SCHEMA.features if f.name in NUMBERS))
    forest = RandomForestClassifier(5, random_state=0, warm_start=True).fit(TRAIN[NUMBERS], Y)
    check(forest, schema)
    check(forest.set_params(n_estimators=9).fit(TRAIN[NUMBERS], Y), schema)
    check(forest.set_params(warm_start=False).fit(TRAIN[NUMBERS].iloc[:99], Y[:99]), schema)
    other = RandomForestClassifier(9, random_state=1).fit(TRAIN[NUMBERS].iloc[:50], Y[:50])
    before = forest_trees(forest)
    assert forest_trees(forest) is before
    forest.estimators_[:] = other.estimators_  # the same list, with other trees
    assert forest_trees(forest) is not before
    check(forest, schema)
    before = forest_trees(forest)
    for tree in forest.estimators_:  # the same trees, fitted again
        tree.fit(TRAIN[NUMBERS].to_numpy(np.float32), 1 - Y)
    assert forest_trees(forest) is not before
    check(forest, schema)


def test_boosted_trees_with_categories_use_no_fast_route() -> None:
    columns = ["age", "income", "school"]
    schema = Schema(tuple(f for f in SCHEMA.features if f.name in columns))
    coded = make_pipeline(
        ColumnTransformer([("school", OrdinalEncoder(), ["school"])], remainder="passthrough"),
        HistGradientBoostingClassifier(max_iter=5, categorical_features=[0]),
    )
    fast_path = check(coded.fit(TRAIN[columns], Y), schema)
    assert fast_path.model is not None
    assert fast_path.model.decision == 1
    by_type = HistGradientBoostingClassifier(max_iter=5).fit(TRAIN[columns], Y)  # school is a categorical column
    assert "school" in FastPath.find(as_model(by_type, 1), schema).reason


def test_xgboost_answers_with_its_best_iteration() -> None:
    xgboost = pytest.importorskip("xgboost")
    schema = Schema(tuple(f for f in SCHEMA.features if f.name in NUMBERS))
    x = TRAIN[NUMBERS]
    model = xgboost.XGBClassifier(n_estimators=60, early_stopping_rounds=2, learning_rate=1.0)
    model.fit(x.iloc[:150], Y[:150], eval_set=[(x.iloc[150:], Y[150:])], verbose=False)
    assert model.best_iteration < model.get_booster().num_boosted_rounds() - 1
    assert check(model, schema).setup_rows == 512


def with_workers() -> dict[str, Any]:
    forest = RandomForestClassifier(100, min_samples_leaf=5, n_jobs=2, random_state=0)
    return {
        "forest": forest,
        "extra trees": ExtraTreesClassifier(100, min_samples_leaf=5, n_jobs=2, random_state=0),
        "calibrated": CalibratedClassifierCV(forest, cv=2, ensemble=False),
        "voting": VotingClassifier([("one", forest), ("two", clone(forest))], voting="soft", n_jobs=2),
        "bagging": BaggingClassifier(forest, 2, n_jobs=2, random_state=0),
        "neighbours": KNeighborsClassifier(n_jobs=2),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", with_workers())
def test_results_are_bit_identical_for_any_number_of_workers(name: str) -> None:
    """By default, forests add up trees in the order in which their workers finish."""
    estimator = make_pipeline(encoder(), with_workers()[name]).fit(TRAIN, Y)
    model = as_model(estimator, 1)
    with parallel_backend("threading", n_jobs=2):
        before = get_active_backend()
        assert len({model.probability(TRAIN).tobytes() for _ in range(12)}) == 1
        assert get_active_backend() == before  # the caller's own setting is as it was
    fast_path = FastPath.find(model, SCHEMA)
    assert fast_path.model is not None, fast_path.reason
    assert fast_path.model.decision == 0
    assert fast_path.setup_rows == 512


class Toy:
    """A classifier of a library that nothing in the package knows: P(1) = score / 2, in steps of one half."""

    classes_ = (0, 1)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        score = np.clip(np.floor(np.asarray(X, dtype=float)[:, 0] / 20.0), 0.0, 2.0)
        return np.column_stack([1.0 - score / 2.0, score / 2.0])

    def predict(self, X: Any) -> NDArray[np.int64]:
        return (self.predict_proba(X)[:, 1] >= 0.5).astype(np.int64)


class Used(list[str]):
    """What was used of a record, in order."""

    @contextmanager
    def one_thread(self) -> Iterator[None]:
        self.append("one thread")
        yield

    def fast_proba(self, model: Toy) -> Route:
        def route(array: Any) -> Any:
            self.append("fast route")
            return Toy.predict_proba(model, array)

        return route


@pytest.fixture
def toy_library() -> Iterator[Used]:
    """A record for `Toy`, registered from outside the package as a user would."""
    used = Used()
    register_library(
        Library(
            name="toy",
            package=Toy.__module__.split(".")[0],
            classes=("Toy",),
            ties="last wins",
            one_thread=used.one_thread,
            fast_proba=used.fast_proba,
        )
    )
    yield used
    unregister_library("toy")


SCHEMA_OF_NUMBERS = Schema(tuple(f for f in SCHEMA.features if f.name in NUMBERS))


def test_a_library_registered_from_outside_gets_its_tie_rule(toy_library: Used) -> None:
    tied = TRAIN[NUMBERS].assign(age=30)
    assert (as_model(Toy(), 1).probability(tied) == 0.5).all()
    assert (as_model(Toy(), 0).probability(tied) < 0.5).all()  # the second class, 1, wins
    unregister_library("toy")
    assert (as_model(Toy(), 1).probability(tied) < 0.5).all()  # unknown: the first class wins
    assert (as_model(Toy(), 0).probability(tied) == 0.5).all()


def test_a_library_registered_from_outside_gets_its_fast_route_used(toy_library: Used) -> None:
    path = check(Toy(), SCHEMA_OF_NUMBERS)
    assert path.model is not None
    assert path.model.decision == 0
    assert set(toy_library) == {"fast route"}


def test_a_library_registered_from_outside_gets_its_threads_limited_on_small_batches(toy_library: Used) -> None:
    split = split_of(as_model(Toy(), 1))
    assert split is not None
    for rows, limited in ((3, True), (libraries.MANY_ROWS, False)):
        toy_library.clear()
        split.decisions[1](np.zeros((rows, 3)))
        assert toy_library == (["one thread"] if limited else [])


def test_a_record_replaces_one_of_the_same_name(toy_library: Used) -> None:
    known = len(libraries._LIBRARIES)
    register_library(Library(name="toy", package="elsewhere"))
    assert len(libraries._LIBRARIES) == known
    assert library_of(Toy()) is libraries.UNKNOWN


def test_records_are_about_the_class_itself_unless_they_say_subclasses() -> None:
    class Own(LogisticRegression):  # type: ignore[misc]
        pass

    class OwnPipeline(Pipeline):  # type: ignore[misc]
        pass

    assert library_of(LogisticRegression()).fast_proba is not None
    assert library_of(Own()) is libraries.UNKNOWN  # it may answer differently
    assert library_of(OwnPipeline([])).unwrap is not None
    assert library_of(SVC()).name == "scikit-learn"
