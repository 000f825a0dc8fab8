"""The page of the batch benchmark: made from rows alone, and put between its marks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

from benchmarks.batch.__main__ import _parser, tasks
from benchmarks.batch.page import BEGIN, END, PAGE, markdown, put_into_page

RUN = {
    "starting": 3.0,
    "driving": 0.2,
    "share_outside": 0.1,
    "bytes_in": 4_000,
    "bytes_out": 30_000,
    "queries": 27_000,
    "peak_all": 900.0,
}


def row(what: str, people: int, workers: int, speed: float, peak: float = 300.0) -> dict[str, Any]:
    settings = {"what": what, "people": people, "workers": workers, "budget": 500, "costs": 100}
    figures = {"people_per_second": speed, "people_per_second_started": speed, "seconds": people / speed}
    return {"status": "ok", "load": 0.5, "settings": settings, "result": RUN | figures | {"peak_driver": peak}}


def content(*rows: dict[str, Any]) -> dict[str, Any]:
    machine = {"processor": "a processor", "cores": 2, "python": "3.11"}
    return {"machine": machine, "parts": {"batch": {str(place): r for place, r in enumerate(rows)}}}


def test_verdicts_follow_the_figures() -> None:
    base = row("plain", 100, 1, 100.0)
    good = markdown(content(base, row("files", 100, 2, 180.0), row("dask", 100, 2, 170.0)))
    assert "| folder, 2 process(es) | 100 | 180 | 90% | 10% | >= 85 %: met, <= 15 % outside: met |" in good
    assert "6% slower than processes; <= 10 % slower: met" in good
    bad = markdown(content(base, row("files", 100, 2, 150.0), row("dask", 100, 2, 100.0)))
    assert ">= 85 %: NOT MET" in bad
    assert "33% slower than processes; <= 10 % slower: NOT MET" in bad


def test_memory_is_compared_between_sizes() -> None:
    found = markdown(content(row("files", 100, 2, 180.0), row("files", 10_000, 2, 180.0, peak=350.0)))
    assert "From 100 to 10,000 people the driver's peak grows by 50 MiB (at most 200: met)" in found
    assert "Nothing has been measured" in markdown(content())


def test_growth_is_checked_against_the_smaller_run() -> None:
    small = row("files", 100, 2, 200.0)
    large = row("files", 10_000, 2, 180.0)
    large["result"] |= {name: 100 * RUN[name] for name in ("bytes_in", "bytes_out", "queries")} | {"driving": 10.0}
    found = markdown(content(small, large))
    assert "| worker core-seconds | 100 | 111 | +11% |" in found
    assert "| driver core-seconds | 20 | 10 | -50% |" in found
    assert "| model queries | 2,700,000 | 2,700,000 | +0% |" in found
    assert "| worker core-hours | 3.1 | 30.9 | 308.6 | 3,086.4 |" in found
    assert "busy all the time from about 11 workers on, so that a billion people take 278 hours at least" in found


def test_generated_section_of_the_page_is_replaced(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.count(BEGIN) == text.count(END) == 1
    copy = tmp_path / "scale.md"
    copy.write_text(text, encoding="utf-8")
    put_into_page("new figures\n", copy)
    put_into_page("newer figures\n", copy)
    made = copy.read_text(encoding="utf-8")
    assert "newer figures" in made
    assert "new figures" not in made
    assert made.split(END)[1] == text.split(END)[1]


def test_tasks_cover_each_mode_and_the_whole_run() -> None:
    args = _parser().parse_args(["--people", "10", "20", "--whole", "1000"])
    assert [(t.settings["what"], t.settings["people"], t.settings["workers"]) for t in tasks(args)] == [
        *[(what, n, w) for n in (10, 20) for what, w in (("plain", 1), ("files", 1), ("files", 2), ("dask", 2))],
        ("files", 1000, 2),
    ]
