"""Wait for processes, list their children, and run code in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path


def wait_until(done: Callable[[], object], seconds: float = 300.0) -> None:
    """Wait until a condition holds; fail if it does not within some seconds."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, f"the condition did not hold within {seconds:g} seconds"
        time.sleep(0.05)


def children(pid: int) -> list[int]:
    """Return the processes that a process started."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split()]


def is_alive(pid: int) -> bool:
    """Say whether a process runs; a zombie does not."""
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def own_environment() -> dict[str, str]:
    """Return an environment in which a new process imports what this one does, the tests included."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
