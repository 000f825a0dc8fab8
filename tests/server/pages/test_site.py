"""What goes wrong before a page is reached is told to a browser on a page, and to a program as problem details."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leastways.recourse import Recourse
from leastways.server import Applicant, Service
from tests.support.loan_service import Client, serve, states

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Accept-Language": "en"}


@pytest.fixture
def small(shop: Path, recourse: Recourse, tmp_path: Path) -> Any:
    limits = {"requests_per_second": 0.01, "burst": 3, "body_bytes": 200}
    with serve(shop, recourse, database=str(tmp_path / "d.db"), limits=limits) as opened:
        yield opened


def page(answer: Any, status: int, words: str) -> None:
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html"), answer.text
    assert words in answer.text
    assert "<script" not in answer.text
    assert "default-src 'self'" in answer.headers["content-security-policy"]


def test_too_many_requests_on_a_page(small: Service) -> None:
    client = Client(small)
    (issued,) = small.answer([Applicant(states(1)[0])])
    for _ in range(3):
        assert client.get(f"/p/{issued.token}", headers=BROWSER).status_code == 200
    away = client.get(f"/p/{issued.token}", headers=BROWSER)
    page(away, 429, "There are many visitors just now")
    assert int(away.headers["retry-after"]) >= 90
    german = client.get("/audit", headers=BROWSER | {"Accept-Language": "de"})
    assert german.headers["content-language"] == "de"
    for program in (client.get("/v1/model", headers=BROWSER), client.get("/p/x"), client.get("/health")):
        assert (program.status_code, program.headers["content-type"]) == (429, "application/problem+json")


def test_problems_are_shown_as_pages(small: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(small)
    page(client.get("/nothing", headers=BROWSER), 404, "There is nothing here")
    wrong = client.request("DELETE", "/audit", headers=BROWSER)
    page(wrong, 405, "There is nothing here")
    assert wrong.headers["allow"] == "GET"
    page(client.post("/p/x", None, content=b"x" * 300, headers=BROWSER), 413, "We did not understand this")


def test_an_unexpected_fault_is_shown_as_a_page(lite: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("no")

    monkeypatch.setattr(lite.store, "latest_of_token", broken)
    page(Client(lite).get("/p/x", headers=BROWSER), 500, "This does not work just now")
    assert Client(lite).get("/p/x").json()["type"] == "urn:leastways:problem:fault"


@pytest.mark.parametrize(("url", "secure"), [("https://bank.example", True), ("http://bank.example", False)])
def test_cookies_behind_a_proxy(shop: Path, recourse: Recourse, tmp_path: Path, url: str, secure: bool) -> None:
    """The proxy speaks plain HTTP to us; the browser that keeps the cookie speaks what the public address says."""
    with serve(shop, recourse, database=str(tmp_path / "d.db"), public_url=url) as service:
        answer = Client(service, host="bank.example").get("/p/x", headers=BROWSER)
        assert ("Secure" in answer.headers["set-cookie"]) == secure
        assert "Secure" not in Client(service).get("/p/x", headers=BROWSER).headers["set-cookie"]
