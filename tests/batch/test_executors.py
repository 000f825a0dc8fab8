"""Processes, threads and given executors write the same files."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from leastways.batch import worker
from leastways.batch.executors import pickled
from leastways.errors import SettingError
from tests.support.applicant_files import (
    checksums,
    events,
    fitted,
    run,
)
from tests.support.bank_people import chance


class OnlyHere:
    """A model that can be loaded in the process that made it alone."""

    def __init__(self, home: int, delay: float = 0.0) -> None:
        self.home = home
        self.delay = delay

    def __setstate__(self, state: dict[str, Any]) -> None:
        if os.getpid() != state["home"]:
            time.sleep(state["delay"])
            raise RuntimeError("not in this process")
        self.__dict__.update(state)

    def __call__(self, frame: pd.DataFrame) -> Any:
        return chance(frame)


def test_model_that_a_worker_cannot_load_is_an_error(source: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="a worker cannot load the model: RuntimeError: not in this process"):
        run(fitted(OnlyHere(os.getpid())), source, tmp_path / "out", workers=1)


def test_process_that_does_not_get_ready_stops_the_run(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processes have limited time to get ready; no chunk is at fault if they do not."""
    monkeypatch.setattr("leastways.batch.executors._START_SECONDS", 0.5)
    monkeypatch.setattr("leastways.batch.executors._STARTS", 1)
    with pytest.raises(SettingError, match="did not get ready"):
        run(fitted(OnlyHere(os.getpid(), 600)), source, tmp_path / "out", workers=1, time_limit=0.5)


def test_processes_write_the_same_files(source: Path, uninterrupted: Path, tmp_path: Path) -> None:
    run(fitted(), source, tmp_path / "out", workers=2)  # fewer than chunks; one is tested with faults
    assert checksums(tmp_path / "out") == checksums(uninterrupted)


@pytest.mark.parametrize("workers", [1, 7])
def test_files_do_not_depend_on_the_number_of_workers(
    source: Path, uninterrupted: Path, tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leastways.batch.executors.pickled", lambda _: None)  # threads, of which 7 are more than chunks
    run(fitted(), source, tmp_path / "out", workers=workers)
    assert checksums(tmp_path / "out") == checksums(uninterrupted)


class Locked:
    """A model that cannot be pickled."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __call__(self, frame: pd.DataFrame) -> Any:
        with self.lock:
            return chance(frame)


def test_model_that_cannot_be_pickled_runs_in_threads(source: Path, uninterrupted: Path, tmp_path: Path) -> None:
    run(fitted(Locked()), source, tmp_path / "out", workers=3)
    assert checksums(tmp_path / "out") == checksums(uninterrupted)
    assert "3 threads" in (tmp_path / "out" / "log.jsonl").read_text()
    with pytest.raises(SettingError, match="cannot be pickled"):
        run(fitted(Locked()), source, tmp_path / "other", cluster="tcp://127.0.0.1:1")


def test_functions_of_a_notebook_can_be_pickled(source: Path, tmp_path: Path) -> None:
    assert pickled(fitted(lambda frame: chance(frame))) is not None


def test_given_executor_is_used_and_left_open(source: Path, uninterrupted: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as executor:
        run(fitted(), source, tmp_path / "out", executor=executor)
        assert executor.submit(int, "1").result() == 1  # it is not shut down
    assert checksums(tmp_path / "out") == checksums(uninterrupted)
    with pytest.raises(SettingError, match="not both"):
        run(fitted(), source, tmp_path / "no", executor=executor, cluster="tcp://x:1")


class Forgetful(ThreadPoolExecutor):
    """An executor whose worker is replaced by a new one before every second chunk."""

    given = 0

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Any:
        self.given += 1
        if self.given % 2 == 0:
            worker._PREPARED.clear()
        return super().submit(function, *arguments, **named)


def test_new_workers_of_a_given_executor_are_prepared(source: Path, uninterrupted: Path, tmp_path: Path) -> None:
    with Forgetful(1) as executor:
        run(fitted(), source, tmp_path / "out", executor=executor)
        assert executor.given > 3
    assert "lost" in events(tmp_path / "out")  # and prepared again
    assert checksums(tmp_path / "out") == checksums(uninterrupted)


class Silent(Executor):
    """An executor that begins every call and ends none."""

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Any:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        return future


def test_given_executor_that_hangs_stops_the_run(source: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="all workers of the Silent that was given hang"):
        run(fitted(), source, tmp_path / "out", executor=Silent(), workers=2, time_limit=0.2)
