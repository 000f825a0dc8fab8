"""Results as data: kept at once, never mixed, and a run that is killed goes on where it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from experiments.__main__ import main
from experiments.cells import Outcome
from experiments.config import Cell, load
from experiments.report import render
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


def test_a_damaged_cell_is_named_and_made_again(
    tmp_path: Path, cell: Cell, configs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment = replace(load("small", "smoke", configs), cells=(cell,))
    assert run([experiment], 1, tmp_path) == 0
    (path,) = (tmp_path / "smoke" / "cells").glob("*.parquet")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    render([experiment], "smoke", tmp_path, tmp_path / "report")
    assert f"{path} is damaged" in capsys.readouterr().err
    assert "0 of 1 cells were made" in (tmp_path / "report" / "README.md").read_text(encoding="utf-8")
    assert run([experiment], 1, tmp_path) == 0
    assert path.read_bytes() == whole
    path.write_bytes(whole[:-30] + bytes(30))
    assert not Store("smoke", tmp_path).has(cell)


def test_a_damaged_cell_of_a_time_without_checksums_is_noticed(tmp_path: Path, cell: Cell) -> None:
    store = Store("smoke", tmp_path)
    store.put(cell, outcome(0.5))
    del store.manifest["cells"][cell.key]["sha256"]
    store.note_failure(replace(cell, seed=7), "writes the manifest")
    assert Store("smoke", tmp_path).has(cell)
    (path,) = (tmp_path / "smoke" / "cells").glob("*.parquet")
    path.write_bytes(path.read_bytes()[:100])
    assert not Store("smoke", tmp_path).has(cell)


def test_one_run_at_a_time(tmp_path: Path, cell: Cell, configs: Path) -> None:
    pytest.importorskip("fcntl")
    options = ["--size", "smoke", "--configs", str(configs), "--results", str(tmp_path), "--workers", "1"]
    store, earlier = Store("smoke", tmp_path), Store("smoke", tmp_path)
    earlier.put(cell, outcome(0.5))  # after the other has looked, before it holds the folder
    with store.held():
        with pytest.raises(SystemExit, match=r"another run is writing to .*smoke at this moment"):
            main(["run", "small", *options])
        store.put(replace(cell, seed=1), outcome(0.5))
    again = Store("smoke", tmp_path)
    assert again.has(cell)
    assert again.has(replace(cell, seed=1))
    assert main(["run", "small", *options]) == 0


def test_a_run_that_is_killed_has_its_time_kept(tmp_path: Path, cell: Cell) -> None:
    store = Store("smoke", tmp_path)
    with store.held():
        store.begin_run(2, ["random"])
        time.sleep(0.2)
        store.put(cell, outcome(0.5))  # and no more of it
    (entry,) = Store("smoke", tmp_path).manifest["runs"]
    assert entry["seconds"] >= 0.2
    assert (entry["cells"], entry["workers"], entry["methods"]) == (1, 2, ["random"])


def deadly(cells: list[Cell]) -> list[Outcome | str]:
    """Stand in for a worker's task, in the worker: one method gets its process killed."""
    if cells[0].method == "deadly":
        os.kill(os.getpid(), signal.SIGKILL)
    return [outcome(0.5) for _ in cells]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_worker_fails_its_own_cell_alone(
    tmp_path: Path, cell: Cell, configs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.runner._attempt_all", deadly)
    others = [replace(cell, seed=seed) for seed in range(4)]
    bad = replace(cell, method="deadly")
    cells = (*others[:2], bad, *others[2:])
    assert run([replace(load("small", "smoke", configs), cells=cells)], 2, tmp_path) == 1
    store = Store("smoke", tmp_path)
    assert all(store.has(other) for other in others)
    assert list(store.manifest["failures"]) == [bad.key]
    assert "was killed" in store.manifest["failures"][bad.key]["error"]


def test_a_failing_cell_does_not_stop_the_others(tmp_path: Path, configs: Path) -> None:
    experiment = load("small", "smoke", configs)
    bad = replace(experiment.cells[0], method="no such method")
    failed = run([replace(experiment, cells=(bad, experiment.cells[0]))], 1, tmp_path)
    store = Store("smoke", tmp_path)
    assert failed == 1
    assert store.has(experiment.cells[0])
    assert "no method 'no such method'" in store.manifest["failures"][bad.key]["error"]


def test_finished_run_is_not_changed(tmp_path: Path, configs: Path) -> None:
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


def in_session(leader: int) -> list[int]:
    """Return the processes of a session that live."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, session = path.read_text(encoding="utf-8").rpartition(")")[2].split()[:4]
            if int(session) == leader and state != "Z":
                found.append(int(path.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_no_workers_outlive_a_killed_run(tmp_path: Path, configs: Path) -> None:
    options = ["--configs", str(configs), "--results", str(tmp_path), "--workers", "2"]
    command = [sys.executable, "-m", "experiments", "run", "small", "--size", "paper", *options]
    started = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        until = time.monotonic() + 120
        while (seen := len(in_session(started.pid))) <= 2 and time.monotonic() < until:
            time.sleep(0.02)
        assert seen > 2
        os.kill(started.pid, signal.SIGKILL)
        started.wait()
        until = time.monotonic() + 20
        while in_session(started.pid) and time.monotonic() < until:
            time.sleep(0.1)
        assert in_session(started.pid) == []
    finally:
        for left in in_session(started.pid):
            os.kill(left, signal.SIGKILL)


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
