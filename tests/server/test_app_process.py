"""A real server process: killed under load, asked to stop in the middle of a job, started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.loan_service import many, states, until, write_shop

SECRET = "case-Zyxwv"  # a reference that must never be in a log


@contextmanager
def running(file: Path) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """Start `leastways serve`, and make sure that it ends."""
    command = [sys.executable, "-m", "leastways", "serve", "--config", str(file), "--port", "0"]
    with (file.parent / "log.txt").open("a") as log:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            assert line.startswith("Serving on http://127.0.0.1:"), (file.parent / "log.txt").read_text()
            with httpx.Client(base_url=line.split()[-1], timeout=60) as client:
                yield server, client
        finally:
            if server.poll() is None:
                server.kill()
            server.wait(60)
            assert server.stdout is not None
            server.stdout.close()


@pytest.fixture
def own_shop(tmp_path: Path) -> Path:
    return write_shop(tmp_path)


def killed_under_load(file: Path) -> list[str]:
    """Ask with several clients at a time, kill the server in the middle, and return the ids that were answered."""
    ids: list[str] = []
    with running(file) as (server, client):
        body = {"people": [{"state": states(1)[0], "reference": SECRET}]}

        def ask() -> None:
            with httpx.Client(base_url=client.base_url, timeout=60) as own:
                while True:
                    try:
                        answer = own.post("/v1/recourse", json=body)
                    except httpx.HTTPError:
                        return  # the server is gone
                    assert answer.status_code == 200, answer.text
                    ids.append(answer.json()["answers"][0]["id"])

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        until(lambda: len(ids) >= 20)
        os.kill(server.pid, signal.SIGKILL)
        for thread in threads:
            thread.join(60)
    return ids


def test_answers_survive_a_kill_and_jobs_continue(own_shop: Path) -> None:
    ids = killed_under_load(own_shop)
    assert len(ids) >= 20
    with running(own_shop) as (server, client):
        for one in ids:
            assert client.get(f"/v1/recourse/{one}").status_code == 200
        people = [{"state": row, "reference": SECRET} for row in many(3000)]
        taken = client.post("/v1/recourse", json={"people": people})
        assert taken.status_code == 202
        job = taken.headers["location"]
        until(lambda: client.get(job).json()["done"] >= 16)
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    with running(own_shop) as (server, client):
        left = client.get(job).json()
        assert left["state"] in ("queued", "running")
        assert 16 <= left["done"] < 3000
        pending = taken.json()["people"]
        assert client.get(f"/v1/recourse/{pending[0]['id']}").status_code == 200
        until(lambda: client.get(job).json()["done"] > left["done"] + 16)
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0
    log = (own_shop.parent / "log.txt").read_text()
    assert "POST /v1/recourse 202" in log
    for private in (SECRET, ids[0], pending[0]["id"], pending[0]["token"], str(states(1)[0]["income"])):
        assert private not in log


def test_faults_at_the_start_are_reported(own_shop: Path) -> None:
    command = [sys.executable, "-m", "leastways", "serve", "--config", str(own_shop), "--host", "0.0.0.0"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 2
    assert "no API key yet" in ended.stderr
