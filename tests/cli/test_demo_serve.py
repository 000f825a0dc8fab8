"""`leastways demo --serve`: a real process, its pages, and its end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.support.command_line import run

pytest.importorskip("fastapi", reason="needs the extra 'server'")
FEW = ["--people", "3", "--budget", "60", "--options", "3"]


def test_demo_serves_until_interrupted_and_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "leastways", "demo", "--serve", "--port", "0", "--no-open", "--json", *FEW]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, text=True, env=environment, **pipes) as process:  # type: ignore[call-overload]
        text = ""
        while not text.endswith("\n}\n"):
            line = process.stdout.readline()
            assert line, process.stderr.read()
            text += line
        said = json.loads(text)
        assert len(said["people"]) == 3
        assert len(list(tmp_path.iterdir())) == 1
        for link, words in (
            (said["home"], "Person "),
            (next(iter(said["people"].values())), "the answer to your application was no"),
            (f"{said['home']}static/person.js", "Follower"),
        ):
            with urllib.request.urlopen(link, timeout=30) as response:
                assert words in response.read().decode()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert "Nothing of it is left" in process.stderr.read()
    assert list(tmp_path.iterdir()) == []


def test_a_taken_port_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("demo", "--serve", "--no-open", "--port", str(port), *FEW)
    assert result.exit_code == 2
    assert f"cannot listen on 127.0.0.1 port {port}" in " ".join(result.stderr.split())


def test_without_the_server_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [m for m in sys.modules if m.startswith("leastways.server") or m == "leastways.cli.demo_serve"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    result = run("demo", "--serve", "--no-open", *FEW)
    assert result.exit_code == 2
    assert "leastways[server]" in result.stderr
