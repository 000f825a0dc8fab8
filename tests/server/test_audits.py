"""One audit at a time for the API and the pages, shared by those who ask the same; others are served meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from leastways.audit import Audit
from leastways.recourse import Recourse
from leastways.server import Applicant, DatabaseDown, Limits, Service
from leastways.server.audits import MOST_PENDING, Audits
from tests.support.loan_service import Client, app_of, many, serve

CALLERS = 60  # more than there are threads for requests
SOON = 20.0  # seconds, on a machine that is busy with other tests; an audit here takes as long as we like


class Gate:
    """An audit that is made only when its gate is open, and counts."""

    def __init__(self, audit: Audit) -> None:
        self.audit = audit
        self.open = threading.Event()
        self.entered = threading.Event()
        self.asked: list[list[str]] = []
        self._alone = threading.Lock()

    def __call__(self, by: list[str], **filters: Any) -> Audit:
        assert self._alone.acquire(blocking=False), "two audits at once"
        self.asked.append(by)
        self.entered.set()
        assert self.open.wait(60)
        self._alone.release()
        return self.audit


@pytest.fixture(scope="module")
def audited(shop: Path, recourse: Recourse, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    limits = {"request_seconds": 300.0, "burst": 1000}
    database = str(tmp_path_factory.mktemp("audited") / "d.db")
    with serve(shop, recourse, database=database, limits=limits, groups=["region", "town"]) as service:
        service.answer([Applicant(row, groups={"region": "north"}) for row in many(12)])
        yield service


@pytest.fixture
def gate(audited: Service, monkeypatch: pytest.MonkeyPatch) -> Gate:
    made = Gate(audited.audit("sex", bootstraps=50, permutations=50))
    monkeypatch.setattr(audited, "audit", made)
    return made


def meet(service: Service, talk: Callable[[httpx.AsyncClient], Awaitable[None]]) -> None:
    """Let many callers talk to the app at the same time."""

    async def all_of_it() -> None:
        transport = httpx.ASGITransport(app_of(service), client=("127.0.0.1", 5000))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            await asyncio.wait_for(talk(client), 3 * SOON)

    asyncio.run(all_of_it())


@pytest.mark.parametrize("path", ["/audit?by=sex", "/audit/download/report.html?by=job", "/v1/audit?by=sex"])
def test_callers_with_one_question_share_its_audit(
    audited: Service, gate: Gate, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined, join = [], Audits._join

    def counted(audits: Audits, *asked: Any) -> Any:
        joined.append(asked)
        return join(audits, *asked)

    monkeypatch.setattr(Audits, "_join", counted)

    async def talk(client: httpx.AsyncClient) -> None:
        callers = [asyncio.create_task(client.get(path)) for _ in range(CALLERS)]
        assert await asyncio.to_thread(gate.entered.wait, SOON)
        health = await asyncio.wait_for(client.get("/health"), SOON)
        assert health.status_code == 200
        while len(joined) < CALLERS:  # `meet` ends it, should they never come
            await asyncio.sleep(0.02)
        assert not any(one.done() for one in callers)
        gate.open.set()
        assert [answer.status_code for answer in await asyncio.gather(*callers)] == [200] * CALLERS
        assert len(gate.asked) == 1  # they share it

    meet(audited, talk)


def test_audits_of_api_and_page_are_queued_up_to_a_limit(audited: Service, gate: Gate) -> None:
    questions = [f"by={name}&which={which}" for name in ("sex", "job", "age") for which in ("first", "latest")]
    paths = [f"{page}?{question}" for question in questions for page in ("/audit", "/v1/audit")]

    async def talk(client: httpx.AsyncClient) -> None:
        callers = [asyncio.create_task(client.get(path)) for path in paths]
        sent_away = []
        for answer in asyncio.as_completed(callers):
            sent_away.append(await answer)
            if len(sent_away) == len(paths) - 1 - MOST_PENDING:
                break  # the others wait for the gate
        assert {answer.status_code for answer in sent_away} == {503}
        assert all(int(answer.headers["retry-after"]) >= 1 for answer in sent_away)
        gate.open.set()
        answers = await asyncio.gather(*callers)
        assert [answer.status_code for answer in answers].count(200) == 1 + MOST_PENDING == len(gate.asked)

    meet(audited, talk)


def test_an_audit_without_callers_is_not_made(audited: Service, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(client: httpx.AsyncClient) -> None:
        first = asyncio.create_task(client.get("/v1/audit?by=sex"))
        assert await asyncio.to_thread(gate.entered.wait, SOON)
        with monkeypatch.context() as impatient:
            impatient.setattr(audited, "config", replace(audited.config, limits=Limits(request_seconds=0.1)))
            late = [await client.get(path) for path in ("/v1/audit?by=job", "/audit?by=job")]
        assert [answer.status_code for answer in late] == [504, 503]
        gate.open.set()
        assert (await first).status_code == 200
        assert (await client.get("/v1/audit?by=age&by=sex")).status_code == 200
        assert gate.asked == [["sex"], ["age", "sex"]]

    meet(audited, talk)


def test_an_audit_begun_before_an_erasure_is_not_shared(audited: Service, gate: Gate) -> None:
    (gone,) = audited.answer([Applicant(many(1)[0])])

    async def talk(client: httpx.AsyncClient) -> None:
        before = asyncio.create_task(client.get("/v1/audit?by=sex"))
        assert await asyncio.to_thread(gate.entered.wait, SOON)
        assert audited.erase(gone.answer.id) == 1
        after = asyncio.create_task(client.get("/v1/audit?by=sex"))
        assert (await client.get("/health")).status_code == 200
        gate.open.set()
        assert [(await one).status_code for one in (before, after)] == [200, 200]
        assert len(gate.asked) == 2

    meet(audited, talk)


def test_an_error_reaches_all_callers(audited: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **filters: Any) -> Audit:
        raise DatabaseDown("the database cannot be used just now: locked")

    monkeypatch.setattr(audited, "audit", broken)
    client = Client(audited)
    for _ in range(2):  # the next one is made anew
        assert client.get("/v1/audit?by=sex").status_code == client.get("/audit?by=sex").status_code == 503
    monkeypatch.undo()
    assert client.get("/v1/audit?by=sex").status_code == 200
