"""ONNX graphs: from whole pipelines on raw columns, and from bare networks on one tensor."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from leastways.errors import ModelError, SettingError
from leastways.models import AllOf, OnnxModel, QueryCounter, as_model
from leastways.models.onnx import classes_of
from tests.support.job_table import NUMBERS, people, pipeline, score, yes

pytest.importorskip("onnxruntime")
skl2onnx: Any = pytest.importorskip("skl2onnx")
onnx: Any = pytest.importorskip("onnx")

FRAME = people()
WORDS = np.array(["no", "yes"])[yes(FRAME)]


def export(model: Any, sample: Any, zipmap: bool | str = True) -> bytes:
    options = {"zipmap": zipmap} if zipmap is not True else None
    graph = skl2onnx.to_onnx(model, sample, options=options)
    content: bytes = graph.SerializeToString()
    return content


def tensor(columns: pd.DataFrame) -> Any:
    return columns[:1].to_numpy(dtype=np.float32)


@pytest.mark.parametrize("zipmap", [True, False])
def test_a_pipeline_on_raw_columns_gives_what_scikit_learn_gives(zipmap: bool) -> None:
    """Input names are C identifiers (`hours_week`); the columns are not (`hours-week`)."""
    fitted = pipeline().fit(FRAME, yes(FRAME))
    model = OnnxModel(export(fitted, FRAME[:1], zipmap))
    for target in (0, 1):
        answer = QueryCounter(as_model(model, target)).evaluate(FRAME)
        np.testing.assert_allclose(answer, fitted.predict_proba(FRAME)[:, target], atol=1e-5)
        assert answer.dtype == np.float64


def test_text_labels_from_the_zipmap_or_from_classes() -> None:
    fitted = pipeline().fit(FRAME, WORDS)
    expected = fitted.predict_proba(FRAME)[:, 1]
    by_keys = as_model(OnnxModel(export(fitted, FRAME[:1])), "yes")
    np.testing.assert_allclose(by_keys.probability(FRAME), expected, atol=1e-5)
    plain = export(fitted, FRAME[:1], zipmap=False)
    by_classes = as_model(OnnxModel(plain, classes=fitted.classes_), "yes")
    np.testing.assert_allclose(by_classes.probability(FRAME), expected, atol=1e-5)
    by_graph = as_model(OnnxModel(plain), "yes")
    np.testing.assert_array_equal(by_graph.probability(FRAME), by_classes.probability(FRAME))
    with pytest.raises(SettingError, match="its classes are 'no', 'yes'"):
        as_model(OnnxModel(plain), 1)
    nameless = export(_calibrated(WORDS), FRAME[:1], zipmap=False)
    with pytest.raises(SettingError, match="without classes="):
        as_model(OnnxModel(nameless), "yes").probability(FRAME)
    with pytest.raises(SettingError, match="Did you mean 'yes'"):
        as_model(OnnxModel(plain, classes=["no", "yes"]), "Yes")
    with pytest.raises(SettingError, match="'no', 'yes'"):
        as_model(OnnxModel(export(fitted, FRAME[:1])), 1).probability(FRAME)


def _calibrated(labels: Any) -> Any:
    """An ensemble: the classifiers inside its graph have labels, but the one at the end names none."""
    return pipeline(CalibratedClassifierCV(LogisticRegression(), cv=2)).fit(FRAME, labels)


@pytest.mark.parametrize("final", [LogisticRegression(), RandomForestClassifier(3, random_state=0)])
@pytest.mark.parametrize("zipmap", [True, False])
@pytest.mark.parametrize("names", [("no", "yes"), (1, 2), (-7, 5), ("ja", "n\u00e4")])
def test_class_labels_are_read_from_the_graph(final: Any, zipmap: bool, names: tuple[Any, Any]) -> None:
    fitted = pipeline(final).fit(FRAME, np.array(names)[yes(FRAME)])
    content = export(fitted, FRAME[:1], zipmap)
    assert OnnxModel(content).classes == names
    assert OnnxModel(content, classes=["a", "b"]).classes == ("a", "b")
    for end in range(0, len(content), 97):
        classes_of(content[:end])  # half a file may name no classes, but does not raise


def test_columns_and_classes_of_a_graph_belong_together() -> None:
    labels = np.select([score(FRAME) < -1, score(FRAME) < 1], [30, 10], 20)
    fitted = pipeline().fit(FRAME, labels)
    model = OnnxModel(export(fitted, FRAME[:1], zipmap=False))
    for column, label in enumerate([10, 20, 30]):
        answer = as_model(model, label).probability(FRAME)
        np.testing.assert_allclose(answer, fitted.predict_proba(FRAME)[:, column], atol=1e-5)


def test_classes_in_another_order_do_not_rename_zipmap_keys() -> None:
    fitted = pipeline().fit(FRAME, WORDS)
    model = OnnxModel(export(fitted, FRAME[:1]), classes=["yes", "no"])
    np.testing.assert_allclose(as_model(model, "yes").probability(FRAME), fitted.predict_proba(FRAME)[:, 1], atol=1e-5)


def test_numeric_zipmap_keys_get_the_labels_of_the_classes() -> None:
    fitted = pipeline().fit(FRAME, yes(FRAME))
    model = OnnxModel(export(fitted, FRAME[:1]), classes=["no", "yes"])
    np.testing.assert_allclose(as_model(model, "yes").probability(FRAME), fitted.predict_proba(FRAME)[:, 1], atol=1e-5)


def test_multiclass_forest_equals_scikit_learn() -> None:
    labels = np.select([score(FRAME) < -1, score(FRAME) < 1], ["no", "maybe"], "yes")
    fitted = pipeline(RandomForestClassifier(30, max_depth=4, random_state=0)).fit(FRAME, labels)
    model = OnnxModel(export(fitted, FRAME[:1]))
    for column, label in enumerate(fitted.classes_):
        answer = QueryCounter(as_model(model, label)).evaluate(FRAME)
        close = np.isclose(answer, fitted.predict_proba(FRAME)[:, column], atol=1e-5)
        assert close.mean() > 0.97  # float32 thresholds may send a row down the other branch


def test_category_dtype_and_column_order_do_not_matter() -> None:
    fitted = pipeline().fit(FRAME, yes(FRAME))
    model = as_model(OnnxModel(export(fitted, FRAME[:1])), 1)
    other = FRAME.astype({"job title": "category"})[FRAME.columns[::-1]].assign(unused=1)
    np.testing.assert_array_equal(model.probability(other), model.probability(FRAME))


def test_one_tensor_from_numeric_columns() -> None:
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(FRAME[NUMBERS].to_numpy(), yes(FRAME))
    content = export(fitted, tensor(FRAME[NUMBERS]), zipmap=False)
    expected = fitted.predict_proba(FRAME[NUMBERS].to_numpy())[:, 1]
    answer = as_model(OnnxModel(content), 1).probability(FRAME[NUMBERS])
    np.testing.assert_allclose(answer, expected, atol=1e-5)
    picked = OnnxModel(content, encoder=lambda frame: frame[NUMBERS].to_numpy())
    np.testing.assert_allclose(as_model(picked, 1).probability(FRAME), expected, atol=1e-5)


def test_one_tensor_refuses_text_and_a_wrong_width() -> None:
    fitted = LogisticRegression().fit(FRAME[NUMBERS].to_numpy(), yes(FRAME))
    model = as_model(OnnxModel(export(fitted, tensor(FRAME[NUMBERS]))), 1)
    with pytest.raises(ModelError, match=r"'job title' holds string values such as .*encoder="):
        model.probability(FRAME)
    with pytest.raises(ModelError, match="takes 2 columns; the frame, encoded, has 1"):
        model.probability(FRAME[["age"]])


def test_graph_with_one_column_is_supported() -> None:
    fitted = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(FRAME[["job title"]], yes(FRAME))
    model = as_model(OnnxModel(export(fitted, FRAME[["job title"]][:1])), 1)
    expected = fitted.predict_proba(FRAME[["job title"]])[:, 1]
    np.testing.assert_allclose(model.probability(FRAME), expected, atol=1e-5)


def test_sparse_encoder_is_supported() -> None:
    encoder = pipeline()[0].set_params(sparse_threshold=1.0).fit(FRAME)
    encoded = encoder.transform(FRAME).toarray()
    fitted = LogisticRegression().fit(encoded, yes(FRAME))
    content = export(fitted, encoded[:1].astype(np.float32))
    answer = as_model(OnnxModel(content, encoder=encoder), 1).probability(FRAME)
    np.testing.assert_allclose(answer, fitted.predict_proba(encoded)[:, 1], atol=1e-5)


def test_graph_with_labels_only_is_supported() -> None:
    """skl2onnx exports a margin classifier with labels and raw margins, which are no probabilities."""
    fitted = LinearSVC().fit(FRAME[NUMBERS].to_numpy(), yes(FRAME))
    answer = as_model(OnnxModel(export(fitted, tensor(FRAME[NUMBERS]))), 1).probability(FRAME[NUMBERS])
    assert (answer == fitted.predict(FRAME[NUMBERS].to_numpy())).mean() > 0.98
    assert set(answer) == {0.0, 1.0}


def test_integer_labels_that_are_no_column_numbers() -> None:
    fitted = _calibrated(yes(FRAME) + 1)
    content = export(fitted, FRAME[:1], zipmap=False)
    assert OnnxModel(content).classes is None
    with pytest.raises(SettingError, match=r"such as 2, are not the column numbers 0\.\.1"):
        as_model(OnnxModel(content), 1).probability(FRAME)
    named = as_model(OnnxModel(content, classes=[1, 2]), 2)
    np.testing.assert_allclose(named.probability(FRAME), fitted.predict_proba(FRAME)[:, 1], atol=1e-5)


def test_a_missing_column_names_the_input_and_the_columns() -> None:
    model = as_model(OnnxModel(export(pipeline().fit(FRAME, yes(FRAME)), FRAME[:1])), 1)
    with pytest.raises(ModelError, match=r"'hours_week' is not a column; the columns are 'age', 'job title'"):
        model.probability(FRAME.drop(columns="hours-week"))
    twice = FRAME.assign(**{"hours week": 1.0})
    with pytest.raises(ModelError, match="'hours_week' could be any of 'hours-week', 'hours week'"):
        model.probability(twice)
    exact = twice.rename(columns={"hours-week": "hours_week"})
    np.testing.assert_array_equal(model.probability(exact), model.probability(FRAME))


def test_value_that_does_not_fit_its_input_is_named() -> None:
    model = as_model(OnnxModel(export(pipeline().fit(FRAME, yes(FRAME)), FRAME[:1])), 1)
    with pytest.raises(ModelError, match=r"'age' holds 30\.5; ONNX input 'age' takes tensor\(int64\)"):
        model.probability(FRAME.assign(age=30.5))
    with pytest.raises(ModelError, match="'age' holds nan"):
        model.probability(FRAME.assign(age=np.nan))
    with pytest.raises(ModelError, match="'age' holds string values such as 'old'"):
        model.probability(FRAME.assign(age="old"))
    whole = model.probability(FRAME.assign(age=FRAME["age"].astype(float)))
    np.testing.assert_array_equal(whole, model.probability(FRAME))
    boxed = FRAME.assign(age=FRAME["age"].astype(object), **{"hours-week": FRAME["hours-week"].astype("category")})
    np.testing.assert_array_equal(model.probability(boxed), model.probability(FRAME))


def test_path_pickle_and_copy(tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(export(pipeline().fit(FRAME, yes(FRAME)), FRAME[:1]))
    model = OnnxModel(file)
    expected = as_model(model, 1).probability(FRAME)
    file.unlink()  # the bytes travel, not the path
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(as_model(again, 1).probability(FRAME), expected)
    bound = pickle.loads(pickle.dumps(as_model(model, 1)))
    np.testing.assert_array_equal(bound.probability(FRAME), expected)
    both = as_model(AllOf([lambda frame: np.full(len(frame), 0.5), model]), 1)
    np.testing.assert_array_equal(both.probability(FRAME), np.minimum(expected, 0.5))


def test_broken_or_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="not a usable ONNX model"):
        as_model(OnnxModel(b"junk"), 1)
    with pytest.raises(SettingError, match="cannot read"):
        OnnxModel(tmp_path / "none.onnx")


def gemm(rows: int | str | None, output: str = "logit", element: int | None = None) -> bytes:
    """A linear map of two columns to one, built by hand as a network exporter would."""
    helper, proto = onnx.helper, onnx.TensorProto
    weight = onnx.numpy_helper.from_array(np.array([[0.1], [-0.2]], dtype=np.float32), "w")
    node = helper.make_node("MatMul", ["x", "w"], [output])
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", element or proto.FLOAT, [rows, 2])],
        [helper.make_tensor_value_info(output, proto.FLOAT, [rows, 1])],
        [weight],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    content: bytes = model.SerializeToString()
    return content


def test_a_network_that_gives_logits() -> None:
    model = as_model(OnnxModel(gemm("batch"), output="logits"), 1)
    logit = 0.1 * FRAME["age"] - 0.2 * FRAME["hours-week"]
    np.testing.assert_allclose(model.probability(FRAME[NUMBERS]), 1 / (1 + np.exp(-logit)), rtol=1e-4)
    with pytest.raises(ModelError, match="as a probability"):
        QueryCounter(as_model(OnnxModel(gemm("batch")), 1)).evaluate(FRAME[NUMBERS])


def test_a_fixed_batch_is_refused() -> None:
    with pytest.raises(SettingError, match=r"takes exactly 1 row\(s\)"):
        as_model(OnnxModel(gemm(1)), 1)


def test_an_encoder_for_several_inputs_is_refused() -> None:
    content = export(pipeline().fit(FRAME, yes(FRAME)), FRAME[:1])
    with pytest.raises(SettingError, match="an encoder fills one input, the graph has 3"):
        as_model(OnnxModel(content, encoder=lambda frame: frame), 1)


def test_an_encoder_for_text_is_refused() -> None:
    fitted = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(FRAME[["job title"]], yes(FRAME))
    with pytest.raises(SettingError, match=r"type 'tensor\(string\)'"):
        as_model(OnnxModel(export(fitted, FRAME[["job title"]][:1]), encoder=lambda frame: frame), 1)


def test_indistinguishable_outputs_are_refused() -> None:
    content = export(pipeline().fit(FRAME, WORDS), FRAME[:1], zipmap="columns")
    graph = onnx.load_from_string(content)
    graph.graph.output.pop(0)
    with pytest.raises(SettingError, match="cannot tell which output"):
        as_model(OnnxModel(graph.SerializeToString()), "yes")


def test_invalid_settings_are_refused() -> None:
    with pytest.raises(SettingError, match="output='proba'"):
        OnnxModel(gemm("n"), output="proba")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="encoder"):
        OnnxModel(gemm("n"), encoder=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("zipmap", [True, False])
@pytest.mark.parametrize("names", [(0, 1), ("no", "yes")])
def test_tie_break_follows_the_label_output(zipmap: bool, names: tuple[Any, Any]) -> None:
    """With an even number of trees; and in single precision ten tenths do not make one."""
    labels = np.array(names)[yes(FRAME)]
    given = FRAME[NUMBERS].to_numpy(np.float32)
    forest = RandomForestClassifier(10, random_state=0).fit(given[:40], labels[:40])
    content = export(forest, tensor(FRAME[NUMBERS]), zipmap)
    session = OnnxModel(content).session()
    said = session.run([session.get_outputs()[0].name], {session.get_inputs()[0].name: given})[0]
    assert (np.abs(forest.predict_proba(given)[:, 1] - 0.5) < 1e-6).sum() > 3
    for target in names:
        bound = as_model(OnnxModel(content), target)
        accepted = bound.probability(FRAME[NUMBERS].copy()) >= 0.5
        assert not (accepted & (said != target)).any()
        assert (np.abs(bound.probability(FRAME[NUMBERS].copy()) - 0.5) < 1e-5).any()
    lower = as_model(OnnxModel(content), names[1], threshold=0.4).probability(FRAME[NUMBERS].copy())
    np.testing.assert_allclose(lower, forest.predict_proba(given)[:, 1], atol=1e-5)
