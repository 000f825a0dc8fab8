"""Time a person on one core, everything included except compiling; and against the released code."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from statistics import median
from typing import Any, NamedTuple

from benchmarks.engine import stages
from benchmarks.engine.sizes import Size
from benchmarks.engine.store import Rows
from benchmarks.engine.tables import Table, each, verdict
from benchmarks.engine.task import Result, Task
from benchmarks.paper import LOADERS, RELEASED_SAMPLING, RELEASED_SEARCH, first, recourse, timed
from leastways.datasets import Dataset

TARGET_MS = {"adult_binary": 6.0, "compas_binary": 8.0}
TARGET_TIMES = 500.0
GUIDED, COLS = "guided B 200", "COLS as in the paper"


class Config(NamedTuple):
    """What is timed."""

    name: str
    method: str
    budget: int
    repeats: int


def tasks(size: Size, seeds: int) -> Iterator[Task]:
    """A row per repeat, and one for the stages. The seed is always 0: repeats do the same work."""
    configs = (
        Config(GUIDED, "guided", 200, size.repeats),
        Config(COLS, "cols-paper", size.cols_budget, max(1, size.repeats - 2)),
    )
    for data in LOADERS:
        for config in configs:
            base = {"data": data, "people": size.people, "budget": config.budget, "n_costs": size.n_costs}
            for repeat in range(config.repeats):
                yield Task(
                    f"{data}/{config.name}/{repeat}",
                    base,
                    lambda data=data, config=config: _time(data, size, config),  # type: ignore[misc]
                )
            yield Task(
                f"{data}/{config.name}/stages",
                base,
                lambda data=data, config=config: _stages(data, size, config),  # type: ignore[misc]
            )


@cache
def _data(name: str) -> Dataset:
    return LOADERS[name]()


@cache
def _compiled(name: str, method: str) -> None:
    """Run once, small, so that compiling is not on the clock."""
    data = _data(name)
    recourse(data, method, 0, n_options=10, budget=60, n_costs=20).recommend(first(data, 2))


def _ready(name: str, size: Size, config: Config) -> Any:
    _compiled(name, config.method)
    return recourse(_data(name), config.method, 0, n_options=10, budget=config.budget, n_costs=size.n_costs)


def _time(name: str, size: Size, config: Config) -> Result:
    people = first(_data(name), size.people)
    plans, seconds, cpu = timed(_ready(name, size, config), people)
    per_person = {"ms_per_person": 1000 * seconds / len(people), "cpu_ms_per_person": 1000 * cpu / len(people)}
    return {**per_person, "model_calls": plans.settings["model_calls"]}


def _stages(name: str, size: Size, config: Config) -> Result:
    return stages.shares(_ready(name, size, config), first(_data(name), size.people))


def tables(rows: Rows) -> list[Table]:
    """Show the time a person, how many times the released code's that is, and the stages."""
    return [_guided(rows), _cols(rows), _shares(rows)]


def _results(rows: Rows, data: str, name: str) -> list[Result]:
    return [
        r["result"]
        for k, r in rows.items()
        if k.startswith(f"{data}/{name}/") and not k.endswith("/stages") and r["status"] == "ok"
    ]


def _guided(rows: Rows) -> Table:
    lines = []
    for data, target in TARGET_MS.items():
        runs = _results(rows, data, GUIDED)
        if runs:
            ms, cpu = ([r[k] for r in runs] for k in ("ms_per_person", "cpu_ms_per_person"))
            middle = median(ms)
            lines.append(
                [data, f"{middle:.2f}", f"<= {target:g}", verdict(middle <= target), f"{median(cpu):.2f}", each(ms, 2)]
            )
    columns = ("data", "ms a person", "target", "verdict", "processor ms", "repeats")
    return Table("Time: guided, B 200, M 1000, N 10, one core", columns, lines, "Median of repeats.")


def _cols(rows: Rows) -> Table:
    lines = []
    for data, released in RELEASED_SEARCH.items():
        runs = _results(rows, data, COLS)
        if not runs:
            continue
        ms = [r["ms_per_person"] for r in runs]
        middle = median(ms)
        times = 1000 * released / middle
        both = 1000 * (released + RELEASED_SAMPLING) / middle
        stage = rows.get(f"{data}/{COLS}/stages", {}).get("result")
        search = f"{times / (1 - stage['sampling'] / 100):.0f}" if stage else ""
        lines.append(
            [
                data,
                f"{middle:.2f}",
                f"{times:.0f}",
                f">= {TARGET_TIMES:g}",
                verdict(times >= TARGET_TIMES),
                search,
                f"{both:.0f}",
                each(ms, 1),
            ]
        )
    columns = ("data", "ms a person", "times faster", "target", "verdict", "our search only", "its sampling too")
    note = (
        "The released code's search alone (9.3 s and 7.6 s a person on such a machine) over everything of ours; then "
        "over ours without sampling; then its 1.3 s of cost sampling counted too, over everything of ours. B 5000, "
        "M 1000."
    )
    return Table("Time: COLS as in the paper against the released code", (*columns, "repeats"), lines, note)


def _shares(rows: Rows) -> Table:
    found = [(k, r["result"]) for k, r in rows.items() if k.endswith("/stages") and r["status"] == "ok"]
    lines = [[*k.split("/")[:2], *(f"{r[stage]:.1f}" for stage in stages.STAGES)] for k, r in found]
    note = "Percent of `recommend`. Cost cells are filled when first touched, so most of that shows in ask and tell."
    return Table("Time: stages", ("data", "search", *stages.STAGES), lines, note)
