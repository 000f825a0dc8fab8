"""A PostgreSQL of the suite's own, in a folder that is thrown away."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import psycopg

PROGRAMS = ("initdb", "pg_ctl")


def missing() -> str:
    """Say why there can be no PostgreSQL here, or nothing."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if absent:
        return f"PostgreSQL is not installed: {', '.join(absent)} not found"
    if os.geteuid() == 0 and not (_user() and shutil.which("setpriv")):
        return "PostgreSQL does not run as root, and there is no other user to run it as"
    return ""


def _user() -> str:
    import pwd

    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), "")


def _as_user(command: list[str]) -> list[str]:
    if os.geteuid() != 0:
        return command
    return ["setpriv", f"--reuid={_user()}", "--clear-groups", "--", *command]


@dataclass
class Cluster:
    """A running PostgreSQL; it can be stopped and started again."""

    folder: Path
    port: int
    _numbers: count[int] = field(default_factory=count)

    @classmethod
    def make(cls) -> Cluster:
        folder = Path(tempfile.mkdtemp(prefix="lwpg"))  # a short path: it also holds a Unix socket
        if os.geteuid() == 0:
            shutil.chown(folder, _user())
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        cluster = cls(folder, port)
        command = ["initdb", "-D", str(folder / "data"), "-U", "bank", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(_as_user(command), check=True, capture_output=True, cwd=folder)
        cluster.start()
        return cluster

    def start(self) -> None:
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=60"
        self._control("start", "-l", str(self.folder / "log.txt"), "-o", options)

    def stop(self) -> None:
        self._control("stop", "-m", "immediate")

    def remove(self) -> None:
        self._control("stop", "-m", "immediate")
        shutil.rmtree(self.folder)

    def _control(self, *arguments: str) -> None:
        command = ["pg_ctl", "-D", str(self.folder / "data"), "-w", "-t", "60", *arguments]
        # pg_ctl leaves the server with its own output, so nothing here may wait for that to end
        subprocess.run(_as_user(command), check=True, stdout=subprocess.DEVNULL, cwd=self.folder)

    def database(self) -> str:
        """Make an empty database; returns its URL."""
        name = f"bank{next(self._numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return self.url(name)

    def url(self, name: str) -> str:
        return f"postgresql://bank@127.0.0.1:{self.port}/{name}"
