"""Downloads over real HTTP, from a server on this machine: right, altered, cut short, too long, absent."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from leastways.datasets import load_adult, load_german
from leastways.datasets.files import REMOTES, DataNotFoundError, DownloadError, Remote, cache_dir, fetch
from leastways.errors import DataError, LeastwaysError
from tests.support.public_data_files import write_adult

CONTENT = b"39, State-gov, 77516\n" * 20_000


class _Handler(BaseHTTPRequestHandler):
    asked: list[str]
    content: bytes

    def do_GET(self) -> None:  # the name http.server calls
        self.asked.append(self.path)
        body = {
            "/good": self.content,
            "/altered": b"X" + self.content[1:],
            "/short": self.content[: len(self.content) // 2],
            "/long": self.content * 5,
        }.get(self.path)
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.content) if self.path == "/short" else len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            assert self.path == "/long"  # the client hangs up once it has more than the file can be

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""


class Server:
    """An HTTP server that remembers what it was asked for."""

    def __init__(self, content: bytes) -> None:
        self.asked: list[str] = []
        handler = type("Handler", (_Handler,), {"asked": self.asked, "content": content})
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def remote(self, page: str, content: bytes = CONTENT) -> Remote:
        url = f"http://127.0.0.1:{self.http.server_address[1]}/{page}"
        return Remote(url, "adult/adult.data", hashlib.sha256(content).hexdigest(), len(content))

    def close(self) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server(CONTENT)
    yield running
    running.close()


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_downloaded_file_is_kept_in_the_cache(server: Server, tmp_path: Path) -> None:
    for _ in range(2):
        path = fetch(server.remote("good"), tmp_path)
        assert path == tmp_path / "adult" / "adult.data"
        assert path.read_bytes() == CONTENT
    assert server.asked == ["/good"]
    assert left_in(tmp_path) == ["adult.data"]


def test_a_damaged_copy_in_the_cache_is_replaced(server: Server, tmp_path: Path) -> None:
    path = fetch(server.remote("good"), tmp_path)
    path.write_bytes(CONTENT[:-1])
    assert fetch(server.remote("good"), tmp_path).read_bytes() == CONTENT
    assert len(server.asked) == 2


@pytest.mark.parametrize("page", ["altered", "short", "long"])
def test_a_wrong_file_is_deleted_and_named(server: Server, tmp_path: Path, page: str) -> None:
    with pytest.raises(DownloadError, match="is not the file it should be: its SHA-256 is") as caught:
        fetch(server.remote(page), tmp_path)
    assert isinstance(caught.value, LeastwaysError)
    assert left_in(tmp_path) == []


def test_a_wrong_download_keeps_the_old_file(server: Server, tmp_path: Path) -> None:
    path = fetch(server.remote("good"), tmp_path)
    path.write_bytes(b"mine")
    with pytest.raises(DownloadError):
        fetch(server.remote("altered"), tmp_path)
    assert path.read_bytes() == b"mine"


def test_missing_pages_and_servers_are_named(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"could not download .*404"):
        fetch(server.remote("gone"), tmp_path)
    closed = Server(CONTENT)
    closed.close()
    with pytest.raises(DownloadError, match="Check the connection, or put the file into a folder"):
        fetch(closed.remote("good"), tmp_path, timeout=2)
    assert left_in(tmp_path) == []


def test_loaders_download_only_on_request(tmp_path: Path, no_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = (write_adult(tmp_path) / "adult" / "adult.data").read_bytes()
    server = Server(content)
    try:
        monkeypatch.setitem(REMOTES, "adult", (server.remote("good", content),))
        with pytest.raises(DataNotFoundError, match="set LEASTWAYS_DATA to it, or pass download=True"):
            load_adult()
        assert server.asked == []
        assert len(load_adult(download=True).people) == 1000
        assert left_in(no_data) == ["adult.data"]
        assert len(load_adult().people) == 1000
        assert len(load_adult(download=True).people) == 1000
        monkeypatch.setenv("LEASTWAYS_DATA", str(tmp_path / "without adult"))
        assert len(load_adult().people) == 1000
        with pytest.raises(DataNotFoundError, match=r"adult/adult.data not found in"):
            load_adult(tmp_path / "without adult")  # a folder that was named is the only one looked in
        assert server.asked == ["/good"]
    finally:
        server.close()


def test_a_folder_is_preferred_to_a_download(tmp_path: Path, no_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("urllib.request.urlopen", lambda *a, **k: pytest.fail("connected"))
    folder = write_adult(tmp_path)
    assert len(load_adult(folder, download=True).people) == 1000
    monkeypatch.setenv("LEASTWAYS_DATA", str(folder))
    assert len(load_adult(download=True).people) == 1000


def test_missing_files_are_named(tmp_path: Path, no_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEASTWAYS_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"german/german.csv not found in") as caught:
        load_german()
    assert isinstance(caught.value, FileNotFoundError)
    assert str(tmp_path) in str(caught.value)
    assert "download=True" not in str(caught.value)
    with pytest.raises(DataError, match=r"'german' has no public download.*german/german.csv"):
        load_german(download=True)


def test_the_cache_folder_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEASTWAYS_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_dir() == tmp_path / ".cache" / "leastways"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_dir() == tmp_path / "xdg" / "leastways"
    monkeypatch.setenv("LEASTWAYS_CACHE", str(tmp_path / "own"))
    assert cache_dir() == tmp_path / "own"


@pytest.mark.real_data
def test_the_known_checksum_is_that_of_the_real_file(real_data_dir: Path) -> None:
    (remote,) = REMOTES["adult"]
    content = (real_data_dir / remote.path).read_bytes()
    assert hashlib.sha256(content).hexdigest() == remote.sha256
    assert len(content) == remote.size
