"""One person at a time, as behind a counter: how long they wait, and how often the model is called for them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

import numpy as np
import pandas as pd

import leastways as lw
from benchmarks.engine.pipelines import Bank, bank
from benchmarks.engine.sizes import Size
from benchmarks.engine.store import Rows
from benchmarks.engine.tables import Table, verdict
from benchmarks.engine.task import Result, Task
from benchmarks.paper import timed

MODELS = ("logistic regression", "random forest", "gradient boosting", "torch network")
BUDGET = 200
TARGET_MS = {"logistic regression": 50.0}
MOST_CALLS = 13  # 12 of the search, and one for the person's present state


def tasks(size: Size, seeds: int) -> Iterator[Task]:
    """A row per model and number of options, on Adult with its many-valued categories."""
    for model in MODELS:
        for n_options in (10, 5):
            settings = {
                "data": "adult",
                "model": model,
                "n_options": n_options,
                "budget": BUDGET,
                **size.settings("latency_people", "n_costs"),
            }
            yield Task(
                f"{model}/N {n_options}",
                settings,
                lambda model=model, n_options=n_options: _wait(model, n_options, size),  # type: ignore[misc]
            )


def _wait(model: str, n_options: int, size: Size) -> Result:
    place = bank("adult", model)
    numbers = {"n_options": n_options, "budget": BUDGET, "n_costs": size.n_costs, "random_state": 0}
    rec = lw.Recourse(place.model, place.schema, "guided", **numbers).fit(place.data.frame)  # type: ignore[arg-type]
    people = place.refused.head(size.latency_people)
    for i in range(2):  # compiled, and the model's own first call made
        rec.recommend(people.iloc[[i]])
    waits, busy, calls = [], [], []
    for i in range(len(people)):
        plans, seconds, cpu_seconds = timed(rec, people.iloc[[i]])
        waits.append(1000 * seconds)
        busy.append(1000 * cpu_seconds)
        calls.append(int(plans.settings["model_calls"]))
    return {
        "people": len(people),
        "median_ms": median(waits),
        "cpu_ms": median(busy),
        "p95_ms": float(np.percentile(waits, 95)),
        "calls_median": median(calls),
        "calls_most": max(calls),
        "model_ms": median(calls) * _call_ms(place, BUDGET // 12),
    }


def _call_ms(place: Bank, rows: int) -> float:
    """Return what one call of the model takes by itself with so many rows: no search can wait less."""
    frame = pd.DataFrame(place.refused.head(rows))
    times = []
    for _ in range(10):
        began = time.perf_counter()
        place.probability(frame)
        times.append(1000 * (time.perf_counter() - began))
    return median(times)


def tables(rows: Rows) -> list[Table]:
    """Show waits and calls against their targets."""
    lines = []
    for row in rows.values():
        if row["status"] != "ok":
            continue
        s, r = row["settings"], row["result"]
        target = TARGET_MS.get(s["model"])
        lines.append(
            [
                s["model"],
                str(s["n_options"]),
                f"{r['median_ms']:.1f}",
                f"<= {target:g}" if target else "",
                verdict(None if target is None else r["median_ms"] <= target),
                f"{r['p95_ms']:.1f}",
                f"{r['cpu_ms']:.1f}",
                f"{r['model_ms']:.1f}",
                f"{r['calls_median']:g} (most {r['calls_most']})",
                verdict(r["calls_most"] <= MOST_CALLS),
            ]
        )
    columns = ("model", "N", "median ms", "target", "verdict", "p95 ms", "processor ms", "the model, about")
    note = f"Adult, one row a `recommend`, B {BUDGET}. Calls: at most 12 for the search and one for the present state."
    return [Table("Latency: one person at a time", (*columns, "calls", "verdict of calls"), lines, note)]
