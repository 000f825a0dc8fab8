"""How the time grows with each size, the others at a base value: exponents from a log-log fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from statistics import median

import leastways as lw
from benchmarks.engine.sizes import Size
from benchmarks.engine.store import Rows
from benchmarks.engine.tables import Table, exponent
from benchmarks.engine.task import Result, Task
from benchmarks.engine.worlds import World, make_world
from benchmarks.paper import timed

REPEATS = 3
LONG = 20.0  # seconds; what takes longer is timed once


def tasks(size: Size, seeds: int) -> Iterator[Task]:
    """A row per point of each curve."""
    for axis, points in size.growth.items():
        for value in points:
            numbers = {**size.base, axis: value}
            yield Task(f"{axis}/{value}", {"axis": axis, **numbers}, lambda numbers=numbers: _time(numbers))  # type: ignore[misc]


@cache
def _world(n_people: int, n_features: int) -> World:
    return make_world(n_people, n_features)


def _time(numbers: Mapping[str, int]) -> Result:
    world = _world(numbers["people"], numbers["features"])
    sizes = {k: numbers[k] for k in ("n_costs", "budget", "n_options")}
    sizes["budget"] = max(sizes["budget"], sizes["n_options"])
    rec = lw.Recourse(world.model, world.schema, "guided", random_state=0, **sizes).fit(world.frame)  # type: ignore[arg-type]
    rec.recommend(world.people.head(2))  # compiled
    seconds, calls = [], 0
    for _ in range(REPEATS):
        plans, took, _cpu = timed(rec, world.people)
        seconds.append(took)
        calls = int(plans.settings["model_calls"])
        if took > LONG:
            break
    return {"seconds": median(seconds), "repeats": seconds, "model_calls": calls}


def tables(rows: Rows) -> list[Table]:
    """Show each curve and its exponent."""
    lines = []
    for axis in dict.fromkeys(row["settings"]["axis"] for row in rows.values()):
        points = {
            row["settings"][axis]: row["result"]["seconds"]
            for row in rows.values()
            if row["settings"]["axis"] == axis and row["status"] == "ok"
        }
        if len(points) > 1:
            xs, ys = list(points), list(points.values())
            curve = ", ".join(f"{x:,}: {y:.3g}" for x, y in points.items())
            lines.append([axis, f"{exponent(xs, ys):.2f}", curve])
    base = next(iter(rows.values()))["settings"] if rows else {}
    others = ", ".join(f"{k} {v}" for k, v in base.items() if k != "axis")
    note = (
        "Guided search on generated people and a generated logistic model; seconds of `recommend`, median of repeats. "
        f"Exponent: slope of log time over log size in the upper half of the range; 1 is linear. First point: {others}."
    )
    return [Table("Growth", ("size", "exponent", "seconds by size"), lines, note)]
