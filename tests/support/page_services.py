"""Services for the tests of the pages: a small bank, and one whose columns hold what would upset a careless page."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import uvicorn
from fastapi import FastAPI
from numpy.typing import NDArray

import leastways as lw
from leastways._values import plain
from leastways.server import Applicant, Issued, Limits, Service, ServiceConfig
from leastways.server.app import create_app
from leastways.server.pages.site import DEMO_TEXTS

FINGERPRINTS = {"model": "1", "schema": "2", "data": "3"}
SCRIPT = "<script>document.title = 'broken'</script>"
AMPERSAND = "\"a\" & 'b' </textarea>"
LONG = "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz漢字🙂"


def config(folder: Path, **changes: Any) -> ServiceConfig:
    settings: dict[str, Any] = {
        "n_options": 5,
        "budget": 120,
        "n_costs": 150,
        "title": "Test bank",
        "texts": DEMO_TEXTS,
        "limits": Limits(request_seconds=300.0),  # a machine that runs tests may be slow
    } | changes
    database = f"sqlite:///{(folder / 'answers.db').as_posix()}"
    return ServiceConfig("own", folder / "schema.yaml", folder / "train.csv", database=database, **settings)


@cache
def fitted_recourse(settings: tuple[tuple[str, Any], ...]) -> tuple[lw.Recourse, pd.DataFrame]:
    """A fitted search on the embedded data, shared by all services with these settings, and the refused people."""
    credit = lw.datasets.load_credit(n=1200)
    assert credit.model is not None
    recourse = lw.Recourse(credit.model, credit.schema(), **dict(settings)).fit(credit.train)
    recourse.recommend(credit.train.head(20))  # compiles, on a machine that never did
    return recourse, credit.people[credit.model(credit.people) < 0.5]


def credit_service(folder: Path, **changes: Any) -> tuple[Service, pd.DataFrame]:
    """A service on the embedded data, and the people it refuses."""
    chosen = config(folder, **changes)
    recourse, refused = fitted_recourse(tuple(chosen.settings().items()))
    return Service(chosen, recourse, FINGERPRINTS), refused.copy()


def odd_service(folder: Path) -> Service:
    """Columns, categories, labels and units full of markup."""
    rng = np.random.default_rng(0)
    names = [SCRIPT, AMPERSAND, "plain"]
    train = pd.DataFrame(
        {
            "<b>kind</b>": rng.choice(names, 200),
            'points "x"': rng.integers(0, 100, 200),
            LONG: rng.choice([f"{LONG} {i}" for i in range(7)], 200),
        }
    )
    unit = {"unit": "<i>p</i>", "label": "</option><img src=x onerror=alert(1)>"}
    schema = lw.Schema.infer(train).update({'points "x"': unit})

    def model(frame: pd.DataFrame) -> NDArray[np.float64]:
        kind = frame["<b>kind</b>"].map({SCRIPT: 0.3, AMPERSAND: 0.1, "plain": 0.0}).to_numpy(dtype=np.float64)
        return np.clip(kind + frame['points "x"'].to_numpy(dtype=np.float64) / 150, 0, 1)

    chosen = config(folder, n_options=3, title="<u>Bank</u>", texts=None)
    return Service(chosen, lw.Recourse(model, schema, **chosen.settings()).fit(train), FINGERPRINTS)


def applicants(people: pd.DataFrame) -> list[Applicant]:
    rows = [{str(name): plain(value) for name, value in row.items()} for _, row in people.iterrows()]
    return [Applicant(row, reference=str(label)) for label, row in zip(people.index, rows, strict=True)]


def issue(service: Service, people: pd.DataFrame) -> list[Issued]:
    return service.answer(applicants(people))


class Visitor:
    """A browser without scripts: it keeps cookies and sends back what forms hold."""

    def __init__(self, service: Service, scheme: str = "http") -> None:
        self._transport = httpx.ASGITransport(create_app(service))
        self._base = f"{scheme}://127.0.0.1"
        self.cookies = httpx.Cookies()

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self._request("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self._request("POST", path, **options)

    def csrf(self, path: str) -> str:
        found = re.search(r'name="csrf" value="([0-9a-f]{64})"', self.get(path).text)
        assert found is not None
        return found[1]

    def send(self, path: str, form: dict[str, Any], **options: Any) -> httpx.Response:
        """Send a form as the page with that form would."""
        return self.post(path, data={"csrf": self.csrf(path.removesuffix("/choice"))} | form, **options)

    def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            client = httpx.AsyncClient(transport=self._transport, base_url=self._base, cookies=self.cookies)
            async with client:
                response = await client.request(method, path, **options)
                self.cookies = client.cookies
                return response

        return asyncio.run(ask())


@contextmanager
def running(app: FastAPI) -> Iterator[str]:
    """Serve an app on a free port of this machine; gives its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", log_config=None, access_log=False, ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while not server.started:
        assert time.monotonic() < deadline, "the server did not start"
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:  # a test that failed leaves no server behind, which would go on without its service
        server.should_exit = True
        thread.join(60)
    assert not thread.is_alive()
