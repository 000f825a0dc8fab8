"""Rows of the engine's benchmark: saved at once, resumed, shown; a failing one stops nobody."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.engine import runner
from benchmarks.engine.parts import PARTS
from benchmarks.engine.render import markdown, text
from benchmarks.engine.sizes import FULL, SIZES, SMOKE, Size
from benchmarks.engine.store import Rows, Store, read
from benchmarks.engine.tables import Table, exponent, interval, mean_and_half, verdict
from benchmarks.engine.task import Result, Task


class Toy:
    """A part with two good rows and one that fails between them."""

    def __init__(self, budget: int = 50) -> None:
        self.made: list[str] = []
        self.budget = budget

    def tasks(self, size: Size, seeds: int) -> Iterator[Task]:
        for name in ("good", "bad", "later"):
            yield Task(name, {"budget": self.budget, "range": (1, 2)}, lambda name=name: self._make(name))  # type: ignore[misc]

    def _make(self, name: str) -> Result:
        self.made.append(name)
        if name == "bad":
            raise ValueError("no luck")
        return {"x": 1.0}

    def tables(self, rows: Rows) -> list[Table]:
        return []


def run(toy: Toy, path: Path, resume: bool = False) -> dict[str, dict[str, object]]:
    said: list[str] = []
    runner.run_part("toy", toy, SMOKE, 1, Store(path, "smoke"), resume, said.append)
    assert len(said) == 3
    rows: dict[str, dict[str, object]] = read(path)["parts"]["toy"]
    return rows


def test_a_failing_row_does_not_stop_the_others(tmp_path: Path) -> None:
    rows = run(Toy(), tmp_path / "out.json")
    assert [r["status"] for r in rows.values()] == ["ok", "failed", "ok"]
    assert rows["bad"]["error"] == "ValueError: no luck"
    assert rows["good"]["result"] == {"x": 1.0}


def test_resume_makes_only_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    run(Toy(), path)
    again = Toy()
    run(again, path, resume=True)
    assert again.made == ["bad"]
    other = Toy(budget=60)  # other settings: the kept row does not count
    run(other, path, resume=True)
    assert other.made == ["good", "bad", "later"]
    anew = Toy(budget=60)
    run(anew, path)
    assert anew.made == ["good", "bad", "later"]


def test_a_killed_run_keeps_what_it_had(tmp_path: Path) -> None:
    path, toy = tmp_path / "out.json", Toy()

    def stop(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.run_part("toy", toy, SMOKE, 1, Store(path, "smoke"), False, stop)
    assert list(read(path)["parts"]["toy"]) == ["good"]


def test_results_of_another_size_or_machine_are_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    run(Toy(), path)
    with pytest.raises(SystemExit, match="another size"):
        Store(path, "full")
    content = read(path)
    content["machine"]["cores"] = -1
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(SystemExit, match="another machine"):
        Store(path, "smoke")


def test_tasks_are_listed_without_loading_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEASTWAYS_DATA", raising=False)
    for size in SIZES.values():
        for part in PARTS.values():
            keys = [task.key for task in part.tasks(size, 2)]
            assert keys
            assert len(set(keys)) == len(keys)
            for task in part.tasks(size, 2):
                json.dumps(dict(task.settings))


def test_every_part_shows_an_empty_file_and_one_full_of_failures() -> None:
    head = {"format": 1, "size": "full", "machine": {"cores": 1}}
    failed = {
        name: {
            task.key: {"settings": dict(task.settings), "status": "failed", "error": "E: x", "code": "c"}
            for task in part.tasks(FULL, 1)
        }
        for name, part in PARTS.items()
    }
    nothing: dict[str, Rows] = {name: {} for name in PARTS}
    for parts in ({}, nothing, failed):
        content = {**head, "parts": parts}
        assert "Targets met: 0; not met: 0" in markdown(content)
        assert text(content)


def test_numbers_behind_the_tables() -> None:
    assert exponent([1, 10, 100, 1000], [5, 5, 10, 100]) == pytest.approx(1.0)  # the lower half is left out
    assert exponent([10, 20], [1, 4]) == pytest.approx(2.0)
    mean, half = interval([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert half == pytest.approx(2.484, abs=1e-3)
    assert mean_and_half([4.0]) == "4.00"
    assert [verdict(x) for x in (True, False, None)] == ["met", "NOT MET", "-"]


def test_warnings_are_kept_with_the_row_and_shown() -> None:
    def warn() -> Result:
        for _ in range(3):
            warnings.warn("mind this", UserWarning, stacklevel=1)
        return {}

    row = runner.make(Task("loud", {}, warn))
    assert row["status"] == "ok"
    assert len(row["warnings"]) == 1
    content = {"format": 1, "size": "smoke", "machine": {}, "parts": {"startup": {"loud": row}}}
    assert "UserWarning: mind this" in markdown(content)
