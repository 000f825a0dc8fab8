"""Load on a service: requests a second and how long they take, and what happens past its capacity.

A real `leastways serve` process on loopback with SQLite, a scikit-learn Pipeline on the embedded loans, one person a
request, a new person each time. The clients run in this process, so on a small machine they take their share of it:

    python -m benchmarks.server --clients 50 --seconds 20
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import leastways as lw
from leastways._values import plain
from leastways.server import Limits


@dataclass
class Seen:
    """What clients saw."""

    seconds: list[float] = field(default_factory=list)  # of answers
    refused: list[float] = field(default_factory=list)  # of 429 and 503
    statuses: Counter[int] = field(default_factory=Counter)
    ids: list[str] = field(default_factory=list)
    wall: float = 0.0
    cpu: float = 0.0  # of the server
    lost: int = 0

    def row(self) -> str:
        """Return the line of the table."""
        ms = np.array(self.seconds or [np.nan]) * 1000
        p50, p95, p99 = (np.percentile(ms, q) for q in (50, 95, 99))
        figures = f"{len(self.seconds) / self.wall:8.1f} {p50:8.0f} {p95:8.0f} {p99:8.0f}"
        cpu = 1000 * self.cpu / max(1, len(self.seconds))
        return f"{figures} {cpu:8.1f} {self.lost:6d}   {dict(self.statuses)}"


class Client:
    """A connection that is kept open, with just enough HTTP to leave the machine to the server."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def open(self) -> None:
        """Connect."""
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Send a body; returns the status and the answer."""
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        self.writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        await self.writer.drain()
        headers = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        found = re.search(r"content-length: (\d+)", headers, re.IGNORECASE)
        assert found is not None, headers
        return int(headers.split(" ", 2)[1]), await self.reader.readexactly(int(found[1]))


async def load(port: int, bodies: Sequence[bytes], clients: int, seconds: float) -> Seen:
    """Let each client ask again as soon as it was answered; one that is sent away waits a moment."""
    seen, begun = Seen(), time.perf_counter()
    turn = iter(range(10**9))

    async def one() -> None:
        client = Client(port)
        await client.open()
        while time.perf_counter() - begun < seconds:
            sent = time.perf_counter()
            status, answer = await client.post("/v1/recourse", bodies[next(turn) % len(bodies)])
            took = time.perf_counter() - sent
            seen.statuses[status] += 1
            if status == 200:
                seen.seconds.append(took)
                seen.ids.append(json.loads(answer)["answers"][0]["id"])
            else:
                seen.refused.append(took)
                await asyncio.sleep(0.05)
        client.writer.close()

    await asyncio.gather(*(one() for _ in range(clients)))
    seen.wall = time.perf_counter() - begun
    return seen


def write_service(folder: Path, arguments: argparse.Namespace, limits: dict[str, Any]) -> list[bytes]:
    """Write the files of a service; returns requests, a refused person each."""
    command = [sys.executable, "-m", "leastways", "serve", "--example", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    file = folder / "service.yaml"
    text = file.read_text(encoding="utf-8").split("limits:")[0]
    for name in ("budget", "n_options", "n_costs"):
        text = re.sub(rf"^{name}: .*$", f"{name}: {getattr(arguments, name)}", text, flags=re.MULTILINE)
    file.write_text(f"{text}limits: {json.dumps(limits)}\n", encoding="utf-8")
    credit = lw.datasets.load_credit()
    model = lw.load_model(folder / "model.skops")
    refused = credit.people[model.predict(credit.people) != credit.favourable]
    rows = [{str(k): plain(v) for k, v in row.items()} for row in refused.to_dict("records")]
    return [json.dumps({"people": [{"state": row}]}).encode() for row in rows]


def start(folder: Path) -> tuple[subprocess.Popen[str], int]:
    """Start the server; returns it and its port."""
    command = [sys.executable, "-m", "leastways", "serve", "--config", str(folder / "service.yaml"), "--port", "0"]
    log = (folder / "log.txt").open("w")
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    assert server.stdout is not None
    line = server.stdout.readline()
    if "http" not in line:
        raise SystemExit(f"the server did not start:\n{(folder / 'log.txt').read_text()}")
    return server, int(line.rsplit(":", 1)[1])


def measure(arguments: argparse.Namespace, clients: int, limits: dict[str, Any]) -> Seen:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bodies = write_service(folder, arguments, limits)
        server, port = start(folder)
        try:
            asyncio.run(load(port, bodies, min(clients, 4), 2.0))  # what is slow only once
            before = cpu_seconds(server.pid)
            seen = asyncio.run(load(port, bodies, clients, arguments.seconds))
            seen.cpu = cpu_seconds(server.pid) - before
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)
        seen.lost = len(seen.ids) - recorded(folder, seen.ids)
        return seen


def cpu_seconds(pid: int) -> float:
    """Return what a process has used so far (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def recorded(folder: Path, ids: Sequence[str]) -> int:
    with sqlite3.connect(folder / "leastways.db") as database:
        known = {row[0] for row in database.execute("SELECT id FROM answers")}
    return len(known & set(ids))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 10, 50])
    parser.add_argument("--overload", type=int, default=400, help="clients for the overload; 0: leave it out")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--budget", type=int, default=500)
    parser.add_argument("--n-options", type=int, default=5)
    parser.add_argument("--n-costs", type=int, default=1000)
    arguments = parser.parse_args()
    fast = {"requests_per_second": 1e6, "burst": 10**6}
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before")
    print(f"budget {arguments.budget}, {arguments.n_options} options, {arguments.n_costs} costs, one person a request")
    print("lost: answered, but not in the database afterwards; CPU: of the server, which does not depend on other work")
    print(
        f"{'clients':>8} {'req/s':>8} {'p50 ms':>8} {'p95 ms':>8} {'p99 ms':>8} {'CPU ms':>8} {'lost':>6}   by status"
    )
    for clients in arguments.clients:
        print(f"{clients:8d} {measure(arguments, clients, fast).row()}", flush=True)
    if arguments.overload:
        seen = measure(arguments, arguments.overload, fast | {"pending_people": 50})
        print(f"{arguments.overload:8d} {seen.row()}   (at most 50 may wait; default {Limits().pending_people})")
        away = np.percentile(np.array(seen.refused or [np.nan]) * 1000, [50, 99])
        print(f"sent away: {len(seen.refused)}, p50 {away[0]:.0f} ms, p99 {away[1]:.0f} ms")


if __name__ == "__main__":
    main()
