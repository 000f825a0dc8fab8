"""A Dask cluster of real processes: the same results, and workers and schedulers that are lost."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from leastways.batch.manifest import made_with
from leastways.errors import SettingError
from tests.support.applicant_files import (
    Misbehaving,
    check_each_person_once,
    checksums,
    events,
    fitted,
    run,
)
from tests.support.processes import own_environment, wait_until

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="POSIX signals"),
    pytest.mark.filterwarnings("default"),  # Dask's threads warn of ports and of comms that were closed
]
QUIET = {"DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "error", "DASK_DISTRIBUTED__ADMIN__TICK__LIMIT": "1h"}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "dask", *arguments]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=own_environment() | QUIET, start_new_session=True, **quiet)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def scheduler(port: int) -> list[str]:
    return ["scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard", "--no-show"]


def workers(port: int, n: int = 2) -> list[str]:
    address = f"tcp://127.0.0.1:{port}"
    return ["worker", address, "--nworkers", str(n), "--nthreads", "1", "--no-dashboard", "--memory-limit", "0"]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    port = free_port()
    with started(*scheduler(port)), started(*workers(port)):
        where = f"tcp://127.0.0.1:{port}"
        with distributed.Client(where, timeout=120) as client:
            client.wait_for_workers(2, timeout=120)
        yield where


def test_cluster_writes_the_same_files(source: Path, uninterrupted: Path, tmp_path: Path, address: str) -> None:
    run(fitted(), source, tmp_path / "out", cluster=address)
    assert checksums(tmp_path / "out") == checksums(uninterrupted)
    assert "Dask at" in (tmp_path / "out" / "log.jsonl").read_text()


def test_killed_worker_is_replaced_and_prepared(
    source: Path, uninterrupted: Path, tmp_path: Path, address: str
) -> None:
    """Dask gives the chunk to another worker; the one that its nanny starts is prepared, too."""
    run(fitted(Misbehaving("die", str(tmp_path / "mark"))), source, tmp_path / "out", cluster=address)
    assert (tmp_path / "mark").exists()
    check_each_person_once(tmp_path / "out")
    assert checksums(tmp_path / "out") == checksums(uninterrupted)


def test_hanging_worker_is_restarted(source: Path, uninterrupted: Path, tmp_path: Path, address: str) -> None:
    model = Misbehaving("hang", str(tmp_path / "mark"))
    run(fitted(model), source, tmp_path / "out", cluster=address, time_limit=4.0)
    assert "hung" in events(tmp_path / "out")
    assert checksums(tmp_path / "out") == checksums(uninterrupted)


def test_run_continues_after_scheduler_restart(source: Path, uninterrupted: Path, tmp_path: Path) -> None:
    """Scheduler and workers are killed in the middle of a chunk, and are replaced."""
    port, mark = free_port(), tmp_path / "mark"
    rec = fitted(Misbehaving("hang", str(mark)))
    done = threading.Event()

    def restart() -> None:
        with started(*scheduler(port)), started(*workers(port, 1)):
            up.set()
            wait_until(mark.exists)
        with started(*scheduler(port)), started(*workers(port, 1)):
            done.wait()  # set however the run ends

    up = threading.Event()
    operator = threading.Thread(target=restart)
    operator.start()
    try:
        up.wait(60)
        run(rec, source, tmp_path / "out", cluster=f"tcp://127.0.0.1:{port}")
    finally:
        done.set()
        operator.join()
    check_each_person_once(tmp_path / "out")
    assert checksums(tmp_path / "out") == checksums(uninterrupted)


def test_missing_scheduler_is_an_error(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leastways.batch.cluster._TIMEOUT", 1)
    with pytest.raises(SettingError, match="no Dask scheduler at"):
        run(fitted(), source, tmp_path / "out", cluster=f"tcp://127.0.0.1:{free_port()}")


@pytest.mark.parametrize("address", ["scheduler", "http://127.0.0.1:8786", "tcp://127.0.0.1"])
def test_malformed_address_is_an_error(source: Path, tmp_path: Path, address: str) -> None:
    with pytest.raises(SettingError, match="is no address of a Dask scheduler"):
        run(fitted(), source, tmp_path / "out", cluster=address)


def test_workers_with_other_packages_are_refused(
    source: Path, tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leastways.batch.cluster.made_with", lambda: made_with() | {"numpy": "1.0"})
    message = rf"worker at 'tcp://.*' has other packages than the driver: numpy {np.__version__}, not 1\.0"
    with pytest.raises(SettingError, match=message):
        run(fitted(), source, tmp_path / "out", cluster=address)
