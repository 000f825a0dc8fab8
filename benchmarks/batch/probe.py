"""Measure one run in a fresh process.

python -m benchmarks.batch.probe plain|files|dask FOLDER PEOPLE WORKERS BUDGET COSTS

Prints one line of JSON. `plain` is `Recourse.recommend` in one process and on one core, to which the others are
compared.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.batch.world import first_people, fitted, people_file
from benchmarks.engine.probe import peak_mib

_EVERY = 0.2  # seconds between looks at the memory of the workers


def plain(folder: Path, people: int, _: int, budget: int, n_costs: int) -> dict[str, Any]:
    """Time `recommend` on people in memory, after a first call has loaded what it needs."""
    rec = fitted(budget, n_costs)
    frame = first_people(people_file(folder, people, rec.model), people)
    rec.recommend(frame.head(20))
    began, used = time.perf_counter(), time.process_time()
    rec.recommend(frame)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "people_per_second": people / seconds, "processor": time.process_time() - used}


def files(
    folder: Path, people: int, workers: int, budget: int, n_costs: int, cluster: str | None = None
) -> dict[str, Any]:
    """Time a run from file to folder, with the start of workers and the time outside the search apart."""
    from leastways.batch import recommend_files

    rec = fitted(budget, n_costs)
    source = people_file(folder, people, rec.model)
    out = Path(tempfile.mkdtemp(dir=folder)) / "out"
    executor: dict[str, Any] = {"workers": workers} if cluster is None else {"cluster": cluster}
    try:
        with _watched() as most:
            began, used = time.perf_counter(), time.process_time()
            result = recommend_files(rec, source, out, **executor)
            seconds, driving = time.perf_counter() - began, time.process_time() - used
        lines = [json.loads(line) for line in (out / "log.jsonl").read_text(encoding="utf-8").splitlines()]
        chunks = [line for line in lines if line["event"] == "chunk"]
        starting = _moment(chunks[0]) - chunks[0]["seconds"] - _moment(lines[0])
        steady = seconds - starting
        size = sum(p.stat().st_size for p in out.rglob("*.parquet"))
        return {
            "seconds": seconds,
            "starting": starting,
            "people_per_second": people / seconds,
            "people_per_second_started": people / steady,
            "share_outside": 1 - lines[-1]["searching"] / (workers * steady),
            "driving": driving,
            "peak_driver": peak_mib(),
            "peak_all": most[0],
            "bytes_out": size,
            "bytes_in": source.stat().st_size,
            "queries": result.totals.queries,
            "found": result.totals.with_options,
            "chunks": len(chunks),
        }
    finally:
        shutil.rmtree(out.parent)


def dask(folder: Path, people: int, workers: int, budget: int, n_costs: int) -> dict[str, Any]:
    """Time the same on a Dask scheduler and workers of one thread each, on this machine."""
    distributed: Any = import_module("distributed")
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": os.environ | one}
    command = [sys.executable, "-m", "dask"]
    address = "tcp://127.0.0.1:18786"
    started = [
        subprocess.Popen([*command, "scheduler", "--host", "127.0.0.1", "--port", "18786", "--no-dashboard"], **quiet),
        subprocess.Popen([*command, "worker", address, "--nworkers", str(workers), "--nthreads", "1"], **quiet),
    ]
    try:
        with distributed.Client(address, timeout=120) as client:
            client.wait_for_workers(workers, timeout=120)
        return files(folder, people, workers, budget, n_costs, cluster=address)
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(30)


def _moment(line: dict[str, Any]) -> float:
    from datetime import datetime

    return datetime.fromisoformat(line["at"]).timestamp()


@contextmanager
def _watched() -> Iterator[list[float]]:
    """Yield a list with the peak memory, in MiB, of this process and all that it starts."""
    most, done = [0.0], threading.Event()

    def look() -> None:
        while not done.wait(_EVERY):
            most[0] = max(most[0], sum(_resident(pid) for pid in _family(os.getpid())) / 1024)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield most
    finally:
        done.set()
        watcher.join()


def _family(pid: int) -> list[int]:
    found = [pid]
    for own in found:
        for task in Path(f"/proc/{own}/task").glob("*/children"):
            try:
                found += [int(word) for word in task.read_text(encoding="utf-8").split()]
            except OSError:  # it ended while we looked
                continue
    return found


def _resident(pid: int) -> int:
    """Return the memory of a process now, in KiB."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS")), 0)


PROBES: dict[str, Callable[..., dict[str, Any]]] = {"plain": plain, "files": files, "dask": dask}

if __name__ == "__main__":
    what, where, *numbers = sys.argv[1:]
    print(json.dumps(PROBES[what](Path(where), *map(int, numbers))))
