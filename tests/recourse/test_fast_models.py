"""Plans are the same whether a model is asked by its table or by frames; what goes wrong is reported the same."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler

from leastways.errors import ModelError
from leastways.models import AllOf, OnnxModel, TorchModel
from leastways.plans import RecoursePlans
from leastways.recourse import Recourse
from leastways.schema import Schema
from tests.support.mixed_table import NUMBERS, PEOPLE, SCHEMA, TRAIN, Whole, Y, encoder

NUMERIC = Schema(tuple(f for f in SCHEMA.features if f.name in NUMBERS))


def logistic() -> Pipeline:
    return make_pipeline(encoder(), LogisticRegression(max_iter=1000)).fit(TRAIN, Y)


def recourse(model: Any, schema: Schema = SCHEMA, **settings: Any) -> Recourse:
    quick: dict[str, Any] = {"n_options": 3, "budget": 80, "n_costs": 40, "method": "guided"} | settings
    return Recourse(model, schema, **quick).fit(TRAIN[list(schema.names)])


def check_same(model: Any, path: str = "tabulated", schema: Schema = SCHEMA, **settings: Any) -> RecoursePlans:
    """Plans by the fast path equal those by frames, to the last bit; return them."""
    people = PEOPLE[list(schema.names)]
    fast = recourse(model, schema, **settings).recommend(people)
    slow = recourse(Whole(model, settings.get("target", 1)), schema, **settings).recommend(people)
    assert fast.settings["model_path"].startswith(path), fast.settings["model_path"]
    assert slow.settings["model_path"].startswith("plain: the model does not part")
    for name in ("summary", "options", "failed_rows"):
        pd.testing.assert_frame_equal(getattr(fast, name), getattr(slow, name), check_exact=True)
    for name in ("model_calls", "model_rows", "model_failed_rows"):
        assert fast.settings[name] == slow.settings[name], name
    assert slow.settings["model_setup_rows"] == 0
    assert (fast.summary["status"] == "found").any()
    return fast


@pytest.mark.parametrize("method", ["guided", "cols", "ls", "random"])
def test_same_plans_by_every_method(method: str) -> None:
    plans = check_same(logistic(), method=method)
    assert plans.settings["model_setup_rows"] > 0
    assert plans.summary["queries"].sum() == plans.settings["model_rows"]


@pytest.mark.parametrize(
    "final",
    [
        MLPClassifier((8,), max_iter=200, tol=0.01, random_state=0),
        RandomForestClassifier(10, random_state=0),
        HistGradientBoostingClassifier(max_iter=10),
        RidgeClassifier(),
    ],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.parametrize("sparse", [False, True])
def test_same_plans_for_scikit_learn(final: Any, sparse: bool) -> None:
    if sparse and isinstance(final, HistGradientBoostingClassifier):
        pytest.skip("scikit-learn has no such thing")
    check_same(make_pipeline(encoder(sparse), clone(final)).fit(TRAIN, Y))


def test_same_plans_for_boosted_trees() -> None:
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    check_same(make_pipeline(encoder(), xgboost.XGBClassifier(n_estimators=10)).fit(TRAIN, Y))
    check_same(make_pipeline(encoder(), lightgbm.LGBMClassifier(n_estimators=10, verbose=-1)).fit(TRAIN, Y))


def test_same_plans_for_torch() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    columns = encoder().fit(TRAIN)
    x = torch.tensor(columns.transform(TRAIN), dtype=torch.float32)
    module = torch.nn.Sequential(torch.nn.Linear(x.shape[1], 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimiser = torch.optim.Adam(module.parameters(), 0.02)
    for _ in range(100):
        optimiser.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            module(x)[:, 0], torch.tensor(Y, dtype=torch.float32)
        )
        loss.backward()
        optimiser.step()
    check_same(TorchModel(module, columns))
    check_same(TorchModel(module, lambda frame: columns.transform(frame), batch_rows=7))
    check_same(TorchModel(module, lambda frame: columns.transform(frame) * len(frame)), "plain: the encoder")


def test_same_plans_for_onnx() -> None:
    pytest.importorskip("onnxruntime")
    convert = pytest.importorskip("skl2onnx")
    columns = encoder().fit(TRAIN)
    x = columns.transform(TRAIN).astype(np.float32)
    model = LogisticRegression(max_iter=1000).fit(x, Y)
    graph = convert.to_onnx(model, x[:1], options={"zipmap": False}).SerializeToString()
    check_same(OnnxModel(graph, encoder=columns))
    numbers = TRAIN[NUMBERS].to_numpy(dtype=np.float32)
    bare = make_pipeline(StandardScaler(), LogisticRegression()).fit(numbers, Y)
    graph = convert.to_onnx(bare, numbers[:1], options={"zipmap": False}).SerializeToString()
    check_same(OnnxModel(graph), schema=NUMERIC)


def test_same_plans_for_several_models() -> None:
    other = make_pipeline(encoder(), RandomForestClassifier(10, random_state=1)).fit(TRAIN, Y)
    check_same(AllOf([logistic(), other]))
    check_same(AllOf([logistic(), Whole(other)]), "plain: the model does not part")


def test_same_plans_for_a_text_target() -> None:
    model = make_pipeline(encoder(), LogisticRegression(max_iter=1000)).fit(TRAIN, np.where(Y == 1, "yes", "no"))
    check_same(model, target="yes")


def test_same_plans_where_a_probability_equals_the_threshold() -> None:
    model = make_pipeline(encoder(), RandomForestClassifier(4, max_depth=3, max_features=None, random_state=0))
    model.fit(TRAIN, Y)
    met = np.unique(model.predict_proba(TRAIN)[:, 1])
    check_same(model, threshold=float(met[len(met) // 2]))


def test_encoders_that_mix_columns_use_the_plain_path() -> None:
    model = make_pipeline(PolynomialFeatures(2), StandardScaler(), LogisticRegression()).fit(TRAIN[NUMBERS], Y)
    check_same(model, "plain: the encoder lets a column of its output depend on several features", NUMERIC)


class Fragile(LogisticRegression):  # type: ignore[misc]
    """Fails on a column that the search will move."""

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Raise for some rows, give NaN for others."""
        answer = np.asarray(super().predict_proba(X))
        if (X[:, 0] > 1.6).any():
            raise ValueError("too old")
        answer[X[:, 0] > 1.5] = np.nan
        return answer


def test_failures_are_those_of_the_plain_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model fails only after its table was made: then the rows are asked again as a frame."""
    model = make_pipeline(encoder(), Fragile(max_iter=1000)).fit(TRAIN, Y)
    people = PEOPLE[PEOPLE["age"] < 30].head(8)
    real, sane = Fragile.predict_proba, LogisticRegression.predict_proba
    tables = []
    for whole in (False, True):
        rec = recourse(Whole(model) if whole else model)
        monkeypatch.setattr(Fragile, "predict_proba", sane)
        rec.recommend(people)
        monkeypatch.setattr(Fragile, "predict_proba", real)
        tables.append(rec.recommend(people))
    fast, slow = tables
    assert fast.settings["model_path"] == "tabulated"
    assert fast.settings["model_failed_rows"] == slow.settings["model_failed_rows"] > 0
    for name in ("summary", "options", "failed_rows"):
        pd.testing.assert_frame_equal(getattr(fast, name), getattr(slow, name), check_exact=True)
    assert fast.summary["reason"].str.contains("too old").any()


def test_model_that_fails_on_all_rows_raises_as_without_a_table() -> None:
    class Broken(LogisticRegression):  # type: ignore[misc]
        def predict_proba(self, X: Any) -> NDArray[np.float64]:
            raise ValueError("out of order")

    model = make_pipeline(encoder(), Broken(max_iter=1000)).fit(TRAIN, Y)
    with pytest.raises(ModelError, match=r"out of order.*row 'p0'"):
        recourse(model).recommend(PEOPLE)


def test_another_model_or_a_new_fit_is_noticed() -> None:
    model, other = logistic(), make_pipeline(encoder(), RandomForestClassifier(10, random_state=0)).fit(TRAIN, Y)
    rec = recourse(model)
    first = rec.recommend(PEOPLE)
    assert rec.recommend(PEOPLE) == first
    rec.model = other
    assert rec.recommend(PEOPLE).options.equals(recourse(Whole(other)).recommend(PEOPLE).options)
    rec.model = model
    model.fit(TRAIN.iloc[:150], Y[:150])
    assert rec.recommend(PEOPLE).options.equals(recourse(Whole(model)).recommend(PEOPLE).options)
    rec.target = 0
    assert rec.recommend(PEOPLE).options.equals(recourse(Whole(model, 0), target=0).recommend(PEOPLE).options)


def test_an_encoder_changed_in_place_is_noticed() -> None:
    shift = {"by": 0.0}
    moved = FunctionTransformer(lambda x: x + shift["by"])
    model = make_pipeline(StandardScaler(), moved, LogisticRegression()).fit(TRAIN[NUMBERS], Y)
    people = PEOPLE[NUMBERS]
    rec = recourse(model, NUMERIC)
    rec.recommend(people)
    shift["by"] = 0.3
    again = rec.recommend(people)
    assert again.settings["model_path"] == "tabulated"
    assert again.options.equals(recourse(Whole(model), NUMERIC).recommend(people).options)


def test_pickles_and_clones_leave_the_table_behind() -> None:
    rec = recourse(logistic())
    plans = rec.recommend(PEOPLE)
    copy = pickle.loads(pickle.dumps(rec))
    assert "_fast_path" not in vars(copy)
    assert "_fast_path" not in vars(clone(rec))
    assert copy.recommend(PEOPLE) == plans
    assert clone(rec).fit(TRAIN).recommend(PEOPLE) == plans


def test_threads_may_share_a_fast_model() -> None:
    rec = recourse(logistic())
    wanted = [recourse(logistic()).recommend(PEOPLE.iloc[[i]]).options for i in range(6)]
    got: dict[int, pd.DataFrame] = {}

    def ask(i: int) -> None:
        got[i] = rec.recommend(PEOPLE.iloc[[i]]).options

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(got[i].equals(wanted[i]) for i in range(6))


def test_options_that_the_table_was_wrong_about_are_found_again_without_it() -> None:
    """The encoder combines two columns in a few states that no check covers, but that a search would offer."""

    def encode(frame: pd.DataFrame) -> NDArray[np.float64]:
        x, y = frame["x"].to_numpy(float), frame["y"].to_numpy(float)
        return np.column_stack([x, y, (x + y == 48) & (x > 20) & (y > 20)])

    grid = pd.DataFrame({"x": np.arange(300) % 100, "y": np.arange(300) // 3})
    schema = Schema.infer(grid)
    final = LogisticRegression().fit(np.column_stack([grid, grid["x"] > 50]), grid["x"] + grid["y"] > 47)
    final.coef_, final.intercept_ = np.array([[1.0, 1.0, -9.0]]), np.array([-47.5])
    model = Pipeline([("encode", FunctionTransformer(encode)), ("final", final)])
    people = pd.DataFrame({"x": [22, 23, 22, 5], "y": [23, 22, 24, 5]}, index=list("abcd"))
    settings: dict[str, Any] = {"n_options": 5, "budget": 100, "n_costs": 60}
    fast = Recourse(model, schema, **settings).fit(grid).recommend(people)
    slow = Recourse(Whole(model, 1), schema, **settings).fit(grid).recommend(people)
    assert "in some people's options" in fast.settings["model_path"]
    assert (model.predict_proba(fast.options[["x", "y"]])[:, 1] >= 0.5).all()
    again = fast.summary["queries"] == slow.summary["queries"]
    assert again.any()
    for label in fast.summary.index[again]:
        mine, theirs = (plans.options[plans.options["person"] == label] for plans in (fast, slow))
        pd.testing.assert_frame_equal(mine.reset_index(drop=True), theirs.reset_index(drop=True))
    assert fast.settings["model_rows"] > fast.summary["queries"].sum()  # the first try is in the former alone
    for label in people.index:
        alone = Recourse(model, schema, **settings).fit(grid).recommend(people.loc[[label]])
        pd.testing.assert_frame_equal(alone.summary, fast.summary.loc[[label]])


def test_proofs_are_checked_by_the_model_itself() -> None:
    """An encoder that looks at two columns in one state, which no check meets and which alone is accepted."""

    def encode(frame: pd.DataFrame) -> NDArray[np.float64]:
        return np.column_stack([frame, (frame["term"] == 37) & (frame["amount"] == 23)]).astype(np.float64)

    rng = np.random.default_rng(0)
    table = pd.DataFrame({"term": rng.integers(12, 49, 2000), "amount": rng.integers(1, 61, 2000)})
    final = LogisticRegression().fit(encode(table), table["term"] > 30)
    final.coef_, final.intercept_ = np.array([[0.0, 0.0, 20.0]]), np.array([-10.0])
    model = Pipeline([("encode", FunctionTransformer(encode)), ("final", final)])
    people = pd.DataFrame({"term": [30], "amount": [25]})
    plans = []
    for ask in (model, Whole(model, 1)):
        rec = Recourse(ask, Schema.infer(table), n_options=2, n_costs=50, budget=4000).fit(table)
        plans.append(rec.certify(rec.recommend(people)))
    fast, slow = plans
    assert fast.settings["model_path"] == "tabulated"
    assert slow.summary["status"].tolist() == ["found"]
    pd.testing.assert_frame_equal(fast.summary, slow.summary)
    pd.testing.assert_frame_equal(fast.options, slow.options)
    pd.testing.assert_frame_equal(fast.certificates, slow.certificates)
