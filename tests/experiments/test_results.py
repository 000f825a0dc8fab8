"""Results as data: kept at once, never mixed, and a run that is killed goes on where it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from experiments.__main__ import main
from experiments.cells import Outcome
from experiments.config import Cell, load
from experiments.runner import run
from experiments.store import Store

ROOT = Path(__file__).parents[2]


def outcome(cost: float) -> Outcome:
    rows = pd.DataFrame({"person": ["a", "b"], "min_cost": [cost, float("inf")]})
    return Outcome(rows, {"seconds": 1.0, "people": 2, "queries": 7})


def test_a_cell_is_kept_with_its_settings(tmp_path: Path, cell: Cell) -> None:
    store = Store("smoke", tmp_path)
    assert not store.has(cell)
    store.put(cell, outcome(0.5))
    again = Store("smoke", tmp_path)
    assert again.has(cell)
    assert not again.has(replace(cell, budget=41))
    assert not Store("paper", tmp_path).has(cell)
    rows = again.rows(cell)
    assert list(rows["min_cost"]) == [0.5, float("inf")]
    assert set(rows["method"]) == {"random"}
    entry = again.entry(cell)
    assert entry["queries"] == 7
    assert {"commit", "packages", "machine", "python", "when"} <= set(entry["made"])


def test_a_cell_without_its_file_is_made_again(tmp_path: Path, cell: Cell) -> None:
    store = Store("smoke", tmp_path)
    store.put(cell, outcome(0.5))
    next((tmp_path / "smoke" / "cells").glob("*.parquet")).unlink()
    assert not Store("smoke", tmp_path).has(cell)


def test_a_failing_cell_does_not_stop_the_others(tmp_path: Path, configs: Path) -> None:
    experiment = load("small", "smoke", configs)
    bad = replace(experiment.cells[0], method="no such method")
    failed = run([replace(experiment, cells=(bad, experiment.cells[0]))], 1, tmp_path)
    store = Store("smoke", tmp_path)
    assert failed == 1
    assert store.has(experiment.cells[0])
    assert "no method 'no such method'" in store.manifest["failures"][bad.key]["error"]


def test_a_run_that_was_made_is_kept_as_it_is(tmp_path: Path, configs: Path) -> None:
    arguments = [
        "run",
        "small",
        "--size",
        "smoke",
        "--configs",
        str(configs),
        "--results",
        str(tmp_path),
        "--workers",
        "1",
    ]
    assert main(arguments) == 0
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    assert main(arguments) == 0
    assert files == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    assert len(files) == 2


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_run_goes_on_and_gives_the_same(tmp_path: Path, configs: Path) -> None:
    def command(results: Path) -> list[str]:
        options = ["--configs", str(configs), "--results", str(results), "--workers", "2"]
        return [sys.executable, "-m", "experiments", "run", "small", "--size", "paper", *options]

    whole, broken = tmp_path / "whole", tmp_path / "broken"
    subprocess.run(command(whole), cwd=ROOT, check=True, capture_output=True)
    started = subprocess.Popen(command(broken), cwd=ROOT, stdout=subprocess.DEVNULL, start_new_session=True)
    until = time.monotonic() + 120
    while not list(broken.rglob("*.parquet")) and time.monotonic() < until:
        time.sleep(0.02)
    os.killpg(started.pid, signal.SIGKILL)
    started.wait()
    subprocess.run(command(broken), cwd=ROOT, check=True, capture_output=True)
    files = sorted(p.relative_to(whole) for p in whole.rglob("*.parquet"))
    assert len(files) == 4
    for path in files:
        pd.testing.assert_frame_equal(pd.read_parquet(whole / path), pd.read_parquet(broken / path))


def test_public_data_are_asked_for_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEASTWAYS_DATA", raising=False)
    with pytest.raises(SystemExit, match="adult_binary is a public data set: set LEASTWAYS_DATA"):
        main(["run", "main", "--results", str(tmp_path)])
    with pytest.raises(SystemExit, match="which experiment"):
        main(["run", "--results", str(tmp_path)])


def test_the_config_in_the_docs_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "reproduce.md").read_text(encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(page.split("```yaml\n")[1].split("```")[0], encoding="utf-8")
    options = ["--configs", str(tmp_path), "--size", "smoke", "--results", str(tmp_path / "results")]
    assert main(["run", "mine", *options, "--workers", "1"]) == 0
    assert main(["report", "mine", *options, "--out", str(tmp_path / "report")]) == 0
    text = (tmp_path / "report" / "README.md").read_text(encoding="utf-8")
    assert "Which method serves most people on my data?" in text
    assert "| guided | 5 x 1 |" in text
