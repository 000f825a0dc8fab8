"""Every experiment, small, on the public data: all cells run, and the report tells of each."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from experiments.__main__ import main
from experiments.config import load, names
from experiments.store import Store

pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(not os.environ.get("LEASTWAYS_DATA"), reason="LEASTWAYS_DATA is not set"),
]
for extra in ("torch", "dice_ml", "highspy", "xgboost", "statsmodels", "matplotlib"):
    pytest.importorskip(extra)


def test_every_experiment_runs_small(tmp_path: Path) -> None:
    results, out = tmp_path / "results", tmp_path / "report"
    assert main(["run", "--all", "--size", "smoke", "--results", str(results), "--workers", "1"]) == 0
    store = Store("smoke", results)
    assert not store.manifest["failures"]
    for name in names():
        for cell in load(name, "smoke").cells:
            assert store.has(cell), cell.key
            assert store.entry(cell)["rows"] >= 1
            if "queries" in store.rows(cell) and cell.method != "oracle":
                assert (store.rows(cell)["queries"] <= cell.budget).all(), cell.key
    assert main(["report", "--size", "smoke", "--results", str(results), "--out", str(out)]) == 0
    text = (out / "README.md").read_text(encoding="utf-8")
    for name in names():
        assert f"## {name}: " in text
    assert "cells were made; what is missing" not in text
