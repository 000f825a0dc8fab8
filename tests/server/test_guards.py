"""Limits: size, rows, rate, queue and time; and what every response carries."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leastways.errors import PreferenceError, ShuttingDown
from leastways.recourse import Recourse
from leastways.server import Applicant, Busy, RefinementLimit, Service, TimedOut
from leastways.server.guards import Rates
from leastways.server.problems import problem_of
from leastways.server.queue import Batcher, Ticket
from tests.support.bank_people import chance
from tests.support.loan_service import BANK, LABELLED, SMALL, Client, counts, serve, states, until


@pytest.fixture
def limited(shop: Path, recourse: Recourse, tmp_path: Path) -> Callable[..., Any]:
    @contextmanager
    def make(search: Recourse = recourse, **limits: float) -> Iterator[Service]:
        with serve(shop, search, database=str(tmp_path / "d.db"), limits=limits, threads=1) as service:
            yield service

    return make


class Gate:
    """A model that answers only while its gate is open."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.entered = threading.Event()
        self.open.set()

    def __call__(self, frame: Any) -> Any:
        self.entered.set()
        assert self.open.wait(60)
        return chance(frame)

    def recourse(self) -> Recourse:
        return Recourse(self, BANK, **SMALL).fit(LABELLED)


def test_a_body_that_is_too_large_is_refused(limited: Callable[..., Any]) -> None:
    with limited(body_bytes=400) as service:
        client = Client(service)
        assert client.apply({"state": states(1)[0]}).status_code == 200
        large = client.apply(*({"state": row} for row in states(6)))
        assert (large.status_code, large.json()["title"]) == (413, "The request is too large")

        async def pieces() -> Any:
            for _ in range(9):
                yield b"x" * 100

        streamed = client.request("POST", "/v1/recourse", content=pieces())
        assert streamed.status_code == 413
        assert counts(service)["people"] == 1


@pytest.mark.parametrize("streamed", [False, True])
def test_a_body_of_exactly_the_largest_size_is_accepted(limited: Callable[..., Any], streamed: bool) -> None:
    body = json.dumps({"people": [{"state": states(1)[0]}]}).encode()

    async def pieces() -> Any:
        yield body[:10]
        yield body[10:]

    with limited(body_bytes=len(body)) as service:
        for more, status in ((b"", 200), (b" ", 413)):
            if more:
                body += more
            content = pieces() if streamed else body
            headers = {"Content-Type": "application/json"}
            answer = Client(service).request("POST", "/v1/recourse", content=content, headers=headers)
            assert answer.status_code == status


def test_a_body_declared_too_large_is_not_read(lite: Service) -> None:
    import asyncio

    from leastways.server.guards import Guards

    async def never(*_: Any) -> Any:
        raise AssertionError("the body must not be read")

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    length = str(lite.config.limits.body_bytes + 1).encode()
    headers = [(b"host", b"localhost"), (b"content-length", length)]
    scope = {"type": "http", "method": "POST", "path": "/v1/recourse", "headers": headers}
    asyncio.run(Guards(never, lite)(scope, never, send))
    assert sent[0]["status"] == 413


def test_more_rows_than_allowed_are_refused(limited: Callable[..., Any]) -> None:
    with limited(rows=3) as service:
        answer = Client(service).apply(*({"state": row} for row in states(4)))
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["message"] == "has 4 people; allowed: 1 to 3"


def test_the_rate_is_limited_by_address_and_by_key(limited: Callable[..., Any]) -> None:
    with limited(requests_per_second=0.01, burst=3) as service:
        _, text = service.keys.create("a", ["read"])
        client = Client(service)
        assert [client.get("/health").status_code for _ in range(4)] == [200, 200, 200, 429]
        away = client.get("/health")
        assert int(away.headers["retry-after"]) >= 90
        assert away.json()["type"].endswith("too-many")
        service.keys.check(text)
        holder = Client(client.app, text)
        assert [holder.get("/v1/model").status_code for _ in range(4)] == [200, 200, 200, 429]


def test_buckets_fill_again() -> None:
    moment = [0.0]
    rates = Rates(2.0, 2, clock=lambda: moment[0])
    assert [rates.take("a") for _ in range(3)] == [0, 0, 1]
    assert rates.take("b") == 0
    moment[0] = 0.5
    assert [rates.take("a"), rates.take("a")] == [0, 1]
    moment[0] = 100.0
    assert [rates.take("a") for _ in range(3)] == [0, 0, 1]


def test_recent_buckets_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leastways.server.guards._MOST_BUCKETS", 2)
    rates = Rates(1.0, 1, clock=lambda: 0.0)
    assert [rates.take(name) for name in "abac"] == [0, 0, 1, 0]  # b asked longest ago, and is forgotten
    assert [rates.take(name) for name in "ac"] == [1, 1]


def test_a_full_queue_refuses_at_once_and_keeps_accepted_requests(limited: Callable[..., Any]) -> None:
    gate = Gate()
    search = gate.recourse()
    search.recommend(LABELLED.drop(columns="approved").head(2))
    with limited(search, pending_people=2) as service:
        gate.open.clear()
        gate.entered.clear()
        first = service.submit([Applicant(states(1)[0])])
        assert gate.entered.wait(60)  # it is at work; the next ones wait
        taken = [service.submit([Applicant(row)]) for row in states(2)]
        began = time.perf_counter()
        answer = Client(service).apply({"state": states(1)[0]})
        assert time.perf_counter() - began < 5
        assert (answer.status_code, answer.json()["type"]) == (503, "urn:leastways:problem:busy")
        assert int(answer.headers["retry-after"]) >= 1
        with pytest.raises(Busy):
            service.answer([Applicant(states(1)[0])])
        gate.open.set()
        ids = {issued.answer.id for ticket in (first, *taken) for issued in ticket.future.result(60)}
        assert len(ids) == 3
        assert counts(service)["answers"] == 3
        assert all(service.read(one).plan.options for one in ids)


def test_an_answer_that_takes_too_long_stores_nothing(limited: Callable[..., Any]) -> None:
    gate = Gate()
    search = gate.recourse()
    with limited(search, request_seconds=0.2) as service:
        gate.open.clear()
        answer = Client(service).apply({"state": states(1)[0]})
        assert (answer.status_code, answer.json()["type"]) == (504, "urn:leastways:problem:timed-out")
        with pytest.raises(TimedOut):
            service.answer([Applicant(states(1)[0])])
        gate.open.set()
        (issued,) = service.submit([Applicant(states(1)[0])]).future.result(60)
        assert counts(service)["people"] == 1  # those given up are not in the database
        assert service.read(issued.answer.id).id == issued.answer.id


def test_more_refinements_than_allowed_are_refused(limited: Callable[..., Any]) -> None:
    from leastways.costs import Preferences

    with limited(refinements=2) as service:
        (issued,) = service.answer([Applicant(states(1)[0])])
        service.refine(issued.token, Preferences(editable=["income"]))
        with pytest.raises(RefinementLimit, match="2 times") as caught:
            service.refine(issued.token, Preferences(editable=["job"]))
        problem = problem_of(caught.value)
        assert (problem.status_code, "retry-after" in problem.headers) == (409, False)  # later is no better than now
        latest = service.read_by_token(issued.token)
        assert latest.preferences == Preferences(editable=["income"])
        assert service.refine(issued.token, latest.preferences).id == latest.id  # which asks for nothing new


def test_more_jobs_than_allowed_are_refused(limited: Callable[..., Any]) -> None:
    gate = Gate()
    search = gate.recourse()
    with limited(search, inline_rows=1, pending_jobs=1) as service:
        gate.open.clear()
        client = Client(service)
        pair = [{"state": row} for row in states(2)]
        assert client.apply(*pair).status_code == 202
        assert client.apply(*pair).status_code == 503
        gate.open.set()


def test_a_slow_body_is_refused(lite: Service) -> None:
    import asyncio

    from leastways.server.guards import Guards

    async def never(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("the route must not see it")

    async def receive() -> Any:
        await asyncio.sleep(60)

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    guards = Guards(never, lite)
    guards._limits = type(guards._limits)(body_seconds=0.05)
    scope = {"type": "http", "method": "POST", "path": "/v1/recourse", "headers": [(b"host", b"localhost")]}
    asyncio.run(guards(scope, receive, send))
    assert sent[0]["status"] == 408


def test_an_incomplete_body_never_reaches_a_route(lite: Service) -> None:
    import asyncio

    from leastways.server.guards import Guards

    async def never(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("the route must not see it")

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    half = {"type": "http.request", "body": b"option=5", "more_body": True}
    for method, arrived in (("POST", [half]), ("POST", []), ("GET", [])):
        messages = iter([*arrived, {"type": "http.disconnect"}])

        async def receive(messages: Any = messages) -> Any:
            return next(messages)

        headers = [(b"host", b"localhost"), (b"content-length", b"9")]
        scope = {"type": "http", "method": method, "path": "/p/x/choice", "headers": headers}
        asyncio.run(Guards(never, lite)(scope, receive, send))
    assert sent == []  # no one receives a response


def test_bodies_not_declared_as_json_are_refused(lite: Service) -> None:
    """A page elsewhere can make a browser send a text or a form here, and without a type, but not JSON."""
    client = Client(lite)
    content = b'{"people": []}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "x+json"):
        for path in ("/v1/recourse", "/v1/recourse/x/choice"):
            answer = client.request("POST", path, content=content, headers={"Content-Type": kind} if kind else {})
            assert (answer.status_code, answer.json()["type"]) == (415, "urn:leastways:problem:wrong-kind"), kind
    for kind in ("application/json", "Application/JSON; charset=utf-8", "application/vnd.bank+json"):
        answer = client.request("POST", "/v1/recourse", content=content, headers={"Content-Type": kind})
        assert answer.status_code == 422


def test_answers_do_not_wait_for_an_acknowledgement(lite: Service) -> None:
    import socket

    from leastways.server.app import open_socket

    with (
        open_socket(replace(lite.config, port=0)) as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_every_response_carries_the_headers(lite: Service) -> None:
    client = Client(lite)
    for answer in (client.get("/health"), client.get("/nothing"), client.post("/v1/recourse", {})):
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", ""])
def test_an_unknown_host_is_refused(lite: Service, host: str) -> None:
    answer = Client(lite).get("/health", headers={"Host": host})
    assert answer.status_code == 400


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1", "[::1]:80", "LOCALHOST"])
def test_loopback_names_are_accepted(lite: Service, host: str) -> None:
    assert Client(lite).get("/health", headers={"Host": host}).status_code == 200


def test_unknown_paths_and_methods_are_problems(lite: Service) -> None:
    client = Client(lite)
    for method, path, status in (("GET", "/x", 404), ("DELETE", "/v1/recourse", 405), ("GET", "/docs", 404)):
        answer = client.request(method, path)
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/problem+json"


def test_jobs_proceed_among_requests() -> None:
    order: list[str] = []
    hold = threading.Event()

    def work(tickets: list[Ticket]) -> None:
        hold.wait(60)
        for ticket in tickets:
            order.append(ticket.requests[0])
            ticket.future.set_result(None)

    batcher = Batcher(work, pending_people=100, at_once=1)
    tickets = [batcher.submit(Ticket([f"r{i}"])) for i in range(8)]
    tickets += [batcher.submit(Ticket([f"j{i}"]), patient=True) for i in range(2)]
    hold.set()
    for ticket in tickets:
        ticket.future.result(60)
    assert order.index("j0") < order.index("r7")
    assert order.index("r0") < order.index("j0")
    batcher.close(5)
    with pytest.raises(ShuttingDown):
        batcher.submit(Ticket(["late"]))


def test_requests_during_a_batch_form_the_next_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leastways.server.queue._LINGER", 60)  # however slow this thread is with the third
    sizes: list[int] = []
    release = threading.Event()

    def work(tickets: list[Ticket]) -> None:
        sizes.append(len(tickets))
        if len(sizes) == 1:
            release.wait(60)
        for ticket in tickets:
            ticket.future.set_result(None)

    batcher = Batcher(work, pending_people=100, at_once=3, threads=2)
    first = batcher.submit(Ticket([0]))
    until(lambda: len(sizes) == 1)
    others = [batcher.submit(Ticket([i])) for i in range(3)]  # the second thread is idle, and lets them gather
    for ticket in others:
        ticket.future.result(60)
    release.set()
    first.future.result(60)
    assert sizes == [1, 3]
    batcher.close(5)


def test_abandoned_requests_are_not_searched() -> None:
    seen: list[int] = []
    begun, release = threading.Event(), threading.Event()

    def work(tickets: list[Ticket]) -> None:
        seen.extend(ticket.requests[0] for ticket in tickets)
        begun.set()
        assert release.wait(60)
        for ticket in tickets:
            ticket.future.set_result(None)

    batcher = Batcher(work, pending_people=100, at_once=3)
    tickets = [batcher.submit(Ticket([0]))]
    assert begun.wait(60)
    tickets += [batcher.submit(Ticket([i])) for i in (1, 2, 3)]
    assert tickets[2].abandon()
    release.set()
    for ticket in (tickets[1], tickets[3]):
        ticket.future.result(60)
    assert (seen, batcher.pending) == ([0, 1, 3], 0)
    batcher.close(5)


def test_an_error_does_not_reach_other_requests(lite: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in one request of a batch is that caller's alone: the others get their answers."""
    from leastways.server import solving

    real = solving.solve

    def solve(recourse: Any, requests: Any) -> Any:
        if any(ask.reference == "odd" for ask in requests):
            raise PreferenceError("odd wants what cannot be")
        return real(recourse, requests)

    monkeypatch.setattr(solving, "solve", solve)
    odd, fine = states(2)
    tickets = [
        Ticket([lite._new_request(Applicant(row, reference=label), row)])
        for row, label in ((fine, "fine"), (odd, "odd"))
    ]
    lite._solver.work(tickets)
    assert tickets[0].result(60)[0].answer.plan.options
    with pytest.raises(PreferenceError):
        tickets[1].result(60)
    assert counts(lite)["people"] == 1


def test_an_error_of_the_batch_reaches_all_its_requests() -> None:
    def work(tickets: list[Ticket]) -> None:
        raise ZeroDivisionError(str(np.pi))

    batcher = Batcher(work, pending_people=100, at_once=4)
    with pytest.raises(ZeroDivisionError):
        batcher.submit(Ticket([1])).result(60)
    with pytest.raises(ZeroDivisionError):  # and the thread is still there
        batcher.submit(Ticket([1])).result(60)
    batcher.close(5)
