"""Without an optional dependency the message says which extra brings it, and nothing else breaks."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from leastways.errors import MissingExtraError
from leastways.models import OnnxModel, QueryCounter, TorchModel, as_model, load_model
from tests.models.people import people

FRAME = people(3)


def test_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"leastways\[torch\]"):
        TorchModel(object(), lambda frame: frame)
    answer = as_model(lambda frame: np.ones(len(frame)), 1).probability(FRAME)
    assert (answer == 1.0).all()


def test_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"leastways\[onnx\]"):
        as_model(OnnxModel(b"anything"), 1)


def test_skops(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    (tmp_path / "model.skops").write_bytes(b"")
    with pytest.raises(MissingExtraError, match=r"leastways\[skops\]"):
        load_model(tmp_path / "model.skops")


class NeedsMore:
    """A model that finds out late that something is not installed."""

    def probability(self, frame: object) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        raise MissingExtraError("needs more")


def test_the_meter_does_not_blame_a_row() -> None:
    meter = QueryCounter(NeedsMore())
    with pytest.raises(MissingExtraError, match="needs more"):
        meter.evaluate_by_group(FRAME, np.arange(3))
    assert (meter.rows, meter.calls, meter.failed_rows) == (0, 1, 3)
