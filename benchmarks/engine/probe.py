"""What runs in a fresh process, for the parts that need one; prints one line of JSON.

python -m benchmarks.engine.probe memory PEOPLE BUDGET COSTS | first METHOD
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]
LIMIT = 1800  # seconds: a probe that hangs fails its row, not the run


def ask(*arguments: str, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Run a probe in a process of its own and return what it measured."""
    return python("-m", "benchmarks.engine.probe", *arguments, environment=environment)


def python(*arguments: str, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Run the interpreter and read the JSON of its last line."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=_ROOT,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the process ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    out: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return out


def peak_mib() -> float:
    """Return the most memory this process ever held, MiB.

    From /proc where there is one: `ru_maxrss` also remembers the process that started this one.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(x for x in status.read_text(encoding="utf-8").splitlines() if x.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 1024)


def memory(n_people: int, budget: int, n_costs: int) -> dict[str, Any]:
    """Recommend to so many people, and note the peak at each step."""
    import leastways as lw

    bare = peak_mib()
    from benchmarks.engine.worlds import make_world

    world = make_world(n_people, 12)
    rec = lw.Recourse(world.model, world.schema, "guided", budget=budget, n_costs=n_costs).fit(world.frame)
    rec.recommend(world.people.head(2))
    before = peak_mib()
    plans = rec.recommend(world.people)
    tables = (plans.people, plans.summary, plans.options)
    return {
        "after_import": bare,
        "before": before,
        "peak": peak_mib(),
        "plans": sum(int(t.memory_usage(deep=True).sum()) for t in tables) / 2**20,
        "search_tables_per_person": rec.cost_model_.bytes_per_person(n_costs) / 2**20,
    }


def first(method: str) -> dict[str, Any]:
    """Time the first and the second `recommend` of a process: the difference is compiling, or loading from disk."""
    began = time.perf_counter()
    import leastways as lw
    from benchmarks.engine.worlds import make_world

    world = make_world(5, 12)
    rec = lw.Recourse(world.model, world.schema, method, budget=50, n_costs=100).fit(world.frame)
    ready = time.perf_counter()
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        rec.recommend(world.people)
        seconds.append(time.perf_counter() - start)
    return {"loading": ready - began, "first": seconds[0], "second": seconds[1]}


if __name__ == "__main__":
    what, *given = sys.argv[1:]
    print(json.dumps(memory(*map(int, given)) if what == "memory" else first(*given)))
