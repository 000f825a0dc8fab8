from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.bank_files import write_bank
from tests.support.command_line import recommend


@pytest.fixture(scope="session")
def bank_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("pyarrow", "skops", "skl2onnx", "onnxruntime"):
        pytest.importorskip(name)
    return write_bank(tmp_path_factory.mktemp("bank"))


@pytest.fixture
def bank(bank_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The bank's folder, as the working directory; modules loaded from it are forgotten afterwards."""
    monkeypatch.chdir(bank_folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delenv("COLUMNS", raising=False)
    yield bank_folder
    sys.modules.pop("bank_rule", None)


@pytest.fixture(scope="session")
def plans_file(bank_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plans of the bank's people with the default settings, as JSON: to be read, not changed."""
    file = tmp_path_factory.mktemp("plans") / "plans.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(bank_folder)
        patch.setattr(sys, "path", list(sys.path))
        assert recommend(bank_folder, file).exit_code == 0
    sys.modules.pop("bank_rule", None)
    return file
