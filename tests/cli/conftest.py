from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.bank import build


@pytest.fixture(scope="session")
def bank_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("pyarrow", "skops", "skl2onnx", "onnxruntime"):
        pytest.importorskip(name)
    return build(tmp_path_factory.mktemp("bank"))


@pytest.fixture
def bank(bank_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The bank's folder, as the working directory; modules loaded from it are forgotten afterwards."""
    monkeypatch.chdir(bank_folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delenv("COLUMNS", raising=False)
    yield bank_folder
    sys.modules.pop("bank_rule", None)
