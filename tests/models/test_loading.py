"""Models from disk and from the user's modules."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from leastways.errors import MissingExtraError, SettingError
from leastways.models import OnnxModel, QueryCounter, TorchModel, as_model, load_model
from tests.support import tables_with_gaps as gaps
from tests.support.job_table import people, pipeline, yes

joblib: Any = pytest.importorskip("joblib")

FRAME = people(80)


class Own(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of the user's own, which skops cannot know."""

    def fit(self, X: Any, y: Any) -> Own:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.where(X["age"] > 40, 1, 0)


def test_skops_round_trip(tmp_path: Path) -> None:
    io = pytest.importorskip("skops.io")
    fitted = pipeline().fit(FRAME, yes(FRAME))
    io.dump(fitted, tmp_path / "model.skops")
    loaded = load_model(str(tmp_path / "model.skops"))
    np.testing.assert_array_equal(as_model(loaded, 1).probability(FRAME), fitted.predict_proba(FRAME)[:, 1])


def test_skops_loads_a_pipeline_with_an_imputer(tmp_path: Path) -> None:
    """All its types are harmless, so it requires no trust."""
    io = pytest.importorskip("skops.io")
    io.dump(gaps.pipeline(), tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict_proba(gaps.TRAIN), gaps.pipeline().predict_proba(gaps.TRAIN))


def test_skops_with_types_of_the_users_own(tmp_path: Path) -> None:
    io = pytest.importorskip("skops.io")
    file = tmp_path / "own.skops"
    io.dump(Own().fit(FRAME, yes(FRAME)), file)
    name = f"{__name__}.Own"
    with pytest.raises(SettingError, match="trust=True") as caught:
        load_model(file)
    assert name in str(caught.value)
    with pytest.raises(SettingError, match="not known to be safe"):
        load_model(file, trust=["some.other.Type"])
    for trust in (True, [name]):
        answer = as_model(load_model(file, trust=trust), 1).probability(FRAME)
        np.testing.assert_array_equal(answer, FRAME["age"] > 40)


@pytest.mark.parametrize("suffix", [".pkl", ".pickle", ".joblib", ".PKL"])
def test_pickle_requires_trust(tmp_path: Path, suffix: str) -> None:
    fitted = pipeline().fit(FRAME, yes(FRAME))
    file = tmp_path / f"model{suffix}"
    if suffix == ".joblib":
        joblib.dump(fitted, file)
    else:
        file.write_bytes(pickle.dumps(fitted))
    for trust in (False, ["sklearn.pipeline.Pipeline"]):
        with pytest.raises(SettingError, match="runs any code"):
            load_model(file, trust=trust)
    loaded = load_model(file, trust=True)
    np.testing.assert_array_equal(as_model(loaded, 1).probability(FRAME), fitted.predict_proba(FRAME)[:, 1])


class Bomb:
    """Writes a file when unpickled."""

    def __init__(self, target: str) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return (open, (self.target, "w"))


def test_a_refused_pickle_is_not_opened(tmp_path: Path) -> None:
    file, trace = tmp_path / "bomb.pkl", tmp_path / "trace"
    file.write_bytes(pickle.dumps(Bomb(str(trace))))
    with pytest.raises(SettingError):
        load_model(file)
    assert not trace.exists()


@pytest.mark.parametrize("suffix", [".pkl", ".joblib", ".skops"])
def test_damaged_file_is_refused(tmp_path: Path, suffix: str) -> None:
    if suffix == ".skops":
        pytest.importorskip("skops.io")
    file = tmp_path / f"broken{suffix}"
    file.write_bytes(b"this is not a model")
    with pytest.raises(SettingError, match=f"broken{suffix}"):
        load_model(file, trust=True)


def test_file_without_a_model_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "list.pkl"
    file.write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(SettingError, match=r"\[1, 2\] is not a model"):
        load_model(file, trust=True)


def test_a_missing_file_suggests_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "credit.onnx").write_bytes(b"")
    with pytest.raises(SettingError, match=r"Did you mean 'credit\.onnx'"):
        load_model(tmp_path / "credits.onnx")
    with pytest.raises(SettingError, match="no model file"):
        load_model(tmp_path / "nowhere" / "model.onnx")


@pytest.mark.parametrize("path", ["model.h5", "model", "", Path("a:b"), "not-a-module:x", "module:", ":x"])
def test_unsupported_files_are_refused(path: str | Path) -> None:
    with pytest.raises(SettingError, match=r"\.onnx or \.skops"):
        load_model(path)


def test_onnx_file_is_loaded(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    skl2onnx = pytest.importorskip("skl2onnx")
    fitted = pipeline().fit(FRAME, yes(FRAME))
    file = tmp_path / "model.onnx"
    file.write_bytes(skl2onnx.to_onnx(fitted, FRAME[:1]).SerializeToString())
    loaded = load_model(file)
    assert isinstance(loaded, OnnxModel)
    np.testing.assert_allclose(as_model(loaded, 1).probability(FRAME), fitted.predict_proba(FRAME)[:, 1], atol=1e-5)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def test_module_and_object_from_the_working_directory(here: Path) -> None:
    (here / "leastways_helper_a.py").write_text("LIMIT = 40\n")
    (here / "leastways_user_a.py").write_text(
        "def approve(frame):\n"
        "    from leastways_helper_a import LIMIT\n"
        "    return frame['age'] > LIMIT\n"
        "class Holder:\n"
        "    inner = staticmethod(approve)\n"
        "NUMBER = 3\n"
    )
    for spec in ("leastways_user_a:approve", "leastways_user_a:Holder.inner"):
        np.testing.assert_array_equal(as_model(load_model(spec), 1).probability(FRAME), FRAME["age"] > 40)
    with pytest.raises(SettingError, match=r"has no 'aprove'\. Did you mean 'approve'"):
        load_model("leastways_user_a:aprove")
    with pytest.raises(SettingError, match="class Holder, not an instance"):
        load_model("leastways_user_a:Holder")
    with pytest.raises(SettingError, match="3 is not a model"):
        load_model("leastways_user_a:NUMBER")
    with pytest.raises(SettingError, match=r"no module 'leastways_user_b' here\. Did you mean 'leastways_user_a'"):
        load_model("leastways_user_b:approve")


def test_module_that_fails_to_import_is_named(here: Path) -> None:
    (here / "leastways_user_c.py").write_text("import leastways_not_there\n")
    (here / "leastways_user_d.py").write_text("1 / 0\n")
    with pytest.raises(SettingError, match="importing 'leastways_user_c' failed: No module named 'leastways_not"):
        load_model("leastways_user_c:model")
    with pytest.raises(SettingError, match="raised ZeroDivisionError: division by zero"):
        load_model("leastways_user_d:model")


def test_importing_and_recognising_models_loads_no_library() -> None:
    code = (
        "import sys; from leastways.models import as_model, load_model\n"
        "as_model(lambda frame: frame, 1)\n"
        "heavy = {'torch', 'onnxruntime', 'xgboost', 'lightgbm', 'skops', 'sklearn'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_missing_torch_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"leastways\[torch\]"):
        TorchModel(object(), lambda frame: frame)
    answer = as_model(lambda frame: np.ones(len(frame)), 1).probability(FRAME.head(3))
    assert (answer == 1.0).all()


def test_a_missing_onnxruntime_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"leastways\[onnx\]"):
        as_model(OnnxModel(b"anything"), 1)


def test_a_missing_skops_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    (tmp_path / "model.skops").write_bytes(b"")
    with pytest.raises(MissingExtraError, match=r"leastways\[skops\]"):
        load_model(tmp_path / "model.skops")


class NeedsMore:
    """A model that finds out late that something is not installed."""

    def probability(self, frame: object) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        raise MissingExtraError("needs more")


def test_a_missing_extra_is_no_fault_of_a_row() -> None:
    counter = QueryCounter(NeedsMore())
    with pytest.raises(MissingExtraError, match="needs more"):
        counter.evaluate_by_group(FRAME.head(3), np.arange(3))
    assert (counter.rows, counter.calls, counter.failed_rows) == (0, 1, 3)
