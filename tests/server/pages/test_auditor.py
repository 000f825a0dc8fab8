"""The auditor's page without a browser: who may enter, what it shows, what can be taken away."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from starlette.datastructures import QueryParams

from leastways._values import plain
from leastways.audit import Audit
from leastways.server import Applicant, Service
from leastways.server.pages.auditor import Question, RecentAudits, as_csv, columns_of, groups_of
from leastways.server.pages.rendering import SESSION_COOKIE, Sessions
from tests.support.page_services import Visitor, applicants, credit_service, issue


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service, refused = credit_service(tmp_path_factory.mktemp("audited"))
    with service:
        issue(service, refused.head(70))
        yield service


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service, refused = credit_service(tmp_path_factory.mktemp("guarded"), require_keys=True)
    with service:
        issue(service, refused.head(40))
        yield service


def test_the_audit_covers_the_served_answers(service: Service) -> None:
    page = Visitor(service).get("/audit?by=sex")
    assert page.status_code == 200
    assert "By sex" in page.text
    assert "70" in page.text
    assert "<style" not in page.text
    assert " style=" not in page.text
    assert page.text.count("<svg") >= 2
    assert "By group" not in page.text


def test_by_default_fixed_features_are_compared(service: Service) -> None:
    columns, usual = columns_of(service)
    assert usual == ["sex", "group"]
    assert set(columns) == set(service.schema.names)


def test_downloads_equal_the_shown_audit(service: Service) -> None:
    visitor = Visitor(service)
    visitor.get("/audit?by=sex")
    audit = Audit.from_json(visitor.get("/audit/download/audit.json?by=sex").text)
    assert audit.groupings == ["sex"]
    assert int(audit.overall["refused"].iloc[0]) == 70
    table = visitor.get("/audit/download/by_group.csv?by=sex")
    assert table.headers["content-disposition"] == 'attachment; filename="by_group.csv"'
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert {row["group"] for row in rows} == {"female", "male"}
    assert sum(int(row["refused"]) for row in rows) == 70
    report = visitor.get("/audit/download/report.html?by=sex")
    assert "attachment" in report.headers["content-disposition"]
    assert "<!DOCTYPE html>" in report.text
    for name in ("nothing.csv", "audit.csv", "by_group.json", "settings.csv", "unserved.csv"):
        assert visitor.get(f"/audit/download/{name}?by=sex").status_code == 404, name


def test_shown_audits_are_kept_for_a_limited_time(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names people, who may be erased meanwhile."""
    recent, question = RecentAudits(service), Question(("sex",))
    shown = recent.make(question)
    assert recent.seen(question) is shown
    later = time.monotonic() + 3600
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert recent.seen(question) is not shown
    recent.make(Question(("group",)))
    assert len(recent._kept) == 2


def test_audits_shown_before_an_erasure_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service, refused = credit_service(tmp_path)
    with service:
        issued = issue(service, refused.head(8))
        recent, question = RecentAudits(service), Question(("sex",))
        assert int(recent.make(question).overall["refused"].iloc[0]) == 8
        service.erase(issued[0].answer.id)
        assert int(recent.seen(question).overall["refused"].iloc[0]) == 7
        audit = service.audit

        def erased_meanwhile(*args: Any, **named: Any) -> Any:
            made = audit(*args, **named)
            service.erase(issued[1].answer.id)
            return made

        monkeypatch.setattr(service, "audit", erased_meanwhile)
        assert Visitor(service).get("/audit?by=sex").status_code == 200
        assert int(recent.make(question).overall["refused"].iloc[0]) == 6


def test_numbers_are_not_offered_as_groups(tmp_path: Path) -> None:
    service, refused = credit_service(tmp_path, groups=("score", "region", "agreed"))
    with service:
        people = applicants(refused.head(8))
        said = [{"score": i / 7, "region": "north", "agreed": i > 3} for i in range(8)]
        service.answer([replace(person, groups=groups) for person, groups in zip(people, said, strict=True)])
        offered = {name for name, _ in groups_of(service).values()}
        assert {"region", "agreed", "sex"} <= offered
        assert "score" not in offered


def test_a_time_without_answers_is_explained(service: Service) -> None:
    page = Visitor(service).get("/audit?by=sex&until=2001-01-01")
    assert page.status_code == 200
    assert "nothing to audit" in page.text
    assert "No answer was handed out" in page.text
    assert 'value="2001-01-01"' in page.text
    page = Visitor(service).get("/audit?by=sex&since=2026-02-01&until=2026-01-31")
    assert "no day lies between them" in page.text
    assert "No answer was handed out" not in page.text


def test_a_time_without_refusals_is_explained(tmp_path: Path) -> None:
    service, refused = credit_service(tmp_path, threshold=1e-9)  # accepts all people
    with service:
        issue(service, refused.head(3))
        page = Visitor(service).get("/audit?by=sex")
        assert "nothing to audit" in page.text
        assert "nobody of them was refused" in page.text
        assert "cannot be audited" not in page.text
        answer = Visitor(service).get("/v1/audit?by=sex&lang=en", headers={"Accept": "application/json"})
    assert answer.status_code == 404  # nothing is wrong with what was asked
    assert answer.json()["detail"] == "none of the 3 people who were answered in this time was refused."


def test_one_group_can_be_audited(service: Service) -> None:
    visitor = Visitor(service)
    page = visitor.get("/audit?by=group&only=sex:+female&lang=de").text
    assert '<option value="sex: female" selected>Geschlecht: weiblich</option>' in page
    assert "Only people with sex: female are counted here." in page
    counted = {}
    for sex in ("female", "male"):
        audit = Audit.from_json(visitor.get(f"/audit/download/audit.json?by=group&only=sex:+{sex}").text)
        assert audit.warnings[0] == f"Only people with sex: {sex} are counted here."
        counted[sex] = int(audit.overall["refused"].iloc[0])
    people = service.served().plans
    assert people is not None
    assert counted == people.people["sex"].value_counts().to_dict()
    assert "By sex" in visitor.get("/audit?by=sex&only=sex:+male").text  # of no use, but no fault
    asked = Question.read(QueryParams("only=sex:+nobody"), ["sex"], ["sex"], groups_of(service))
    assert asked.only is None


def test_a_group_of_an_audit_attribute_can_be_audited(tmp_path: Path) -> None:
    service, refused = credit_service(tmp_path, groups=("region",))
    with service:
        places = ["north", "south"] * 20
        rows = zip(applicants(refused.head(40)), places, strict=True)
        service.answer([replace(one, groups={"region": place}) for one, place in rows])
        page = Visitor(service).get("/audit?by=sex&only=region:+north").text
        assert '<option value="region: north" selected>' in page
        assert "Only people with region: north" in page
        assert int(service.audit("sex", only=("region", "south")).overall["refused"].iloc[0]) == 20


def test_groups_of_equal_python_values_can_each_be_chosen(tmp_path: Path) -> None:
    service, refused = credit_service(tmp_path, groups=("tag",))
    with service:
        said = [1, True, "1", None] * 3
        rows = zip(applicants(refused.head(12)), said, strict=True)
        service.answer([replace(one, groups={"tag": tag}) for one, tag in rows])
        visitor = Visitor(service)
        page = visitor.get("/audit?by=sex&only=tag:+True&lang=de").text
        assert '<option value="tag: 1">tag: 1</option>' in page
        assert '<option value="tag: True" selected>tag: True</option>' in page
        assert '<option value="tag: not stated">tag: keine Angabe</option>' in page
        for tag, people in (("1", 6), ("True", 3), ("not+stated", 3)):
            audit = Audit.from_json(visitor.get(f"/audit/download/audit.json?by=sex&only=tag:+{tag}").text)
            assert int(audit.overall["people"].iloc[0]) == people, tag


def test_another_language_keeps_the_question(service: Service) -> None:
    page = unescape(Visitor(service).get("/audit?by=job&until=2001-01-31&only=sex:+female&lang=en").text)
    assert 'href="?by=job&until=2001-01-31&only=sex%3A+female&lang=de"' in page


def test_too_many_columns_are_reported(service: Service) -> None:
    visitor = Visitor(service)
    assert "more than three" in visitor.get("/audit?by=sex&by=group&by=job&by=housing&until=2001-01-01").text
    assert "more than three" not in visitor.get("/audit?by=sex&by=group&by=job&by=nothing&until=2001-01-01").text


@pytest.mark.parametrize("query", ["by=<script>", "by=nothing&since=soon&until=99999-01-01", "which=all", "by="])
def test_invalid_parts_of_a_question_are_left_out(service: Service, query: str) -> None:
    page = Visitor(service).get(f"/audit?{query}")
    assert page.status_code == 200
    assert "By sex" in page.text
    assert "<script>" not in page.text


def test_questions_round_trip() -> None:
    columns = ["sex", "group", "age", "job"]
    asked = Question.read(QueryParams("by=job&by=sex&by=age&by=group&since=2026-01-31&which=latest"), columns, ["sex"])
    assert asked.by == ("sex", "group", "age")  # three at most
    assert Question.read(QueryParams(asked.address()), columns, ["sex"]) == asked
    day = Question(("sex",), until=asked.since).filters()["until"]
    assert day == datetime(2026, 2, 1, tzinfo=UTC)  # the day itself counts


def test_csv_texts_are_no_formulas() -> None:
    table = pd.DataFrame({"reason": ["=1+1", "@x", "fine", None], "cost": [-1.0, 2.0, 3.0, 4.0]})
    text = as_csv(table)
    assert "'=1+1" in text
    assert "'@x" in text
    assert ",-1.0" in text


def test_keys_open_the_page(guarded: Service) -> None:
    _, right = guarded.keys.create("auditor", ["audit"])
    _, other = guarded.keys.create("reader", ["read", "apply"])
    visitor = Visitor(guarded)
    for path in ("/audit?by=sex", "/audit/download/audit.json?by=sex", "/audit/download/by_group.csv?by=sex"):
        page = visitor.get(path)
        assert page.status_code == 401
        assert "Sign in to the audit" in page.text
        assert visitor.get(path, headers={"Authorization": f"Bearer {other}"}).status_code == 401
        assert visitor.get(path, headers={"Authorization": f"Bearer {right}"}).status_code == 200
    for wrong in (other, "lw_x_y", "", right[:-1]):
        said = visitor.post("/audit/login", data={"csrf": visitor.csrf("/audit"), "key": wrong})
        assert said.status_code == 401
        assert "does not allow the audit" in said.text
        assert SESSION_COOKIE not in visitor.cookies
        assert not wrong or wrong not in said.text


def test_a_session_opens_the_page_until_it_ends(guarded: Service) -> None:
    key, text = guarded.keys.create("auditor", ["audit"])
    visitor = Visitor(guarded)
    assert visitor.post("/audit/login", data={"key": text}).status_code == 403  # not from our form
    said = visitor.post("/audit/login", data={"csrf": visitor.csrf("/audit"), "key": f" {text} "})
    assert (said.status_code, said.headers["location"]) == (303, "/audit?by=sex&by=group&which=first")
    cookie = next(c for c in said.headers.get_list("set-cookie") if c.startswith(SESSION_COOKIE))
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Max-Age=1800" in cookie
    assert text not in cookie
    assert visitor.get("/audit?by=sex").status_code == 200
    assert json.loads(visitor.get("/audit/download/audit.json?by=sex").text)["format"] == "leastways audit"
    assert visitor.post("/audit/logout", data={}).status_code == 403
    guarded.keys.revoke(key.id)
    assert visitor.get("/audit").status_code == 401  # a session does not outlive its key


def test_signing_in_again_returns_to_the_question(guarded: Service) -> None:
    _, text = guarded.keys.create("auditor", ["audit"])
    visitor = Visitor(guarded)
    page = visitor.get("/audit?by=job&which=latest&lang=de&x=%22%3E").text
    action = unescape(re.findall(r'action="(/audit/login[^"]*)"', page)[0])
    wrong = visitor.post(action, data={"csrf": visitor.csrf("/audit"), "key": "wrong"})
    assert unescape(re.findall(r'action="(/audit/login[^"]*)"', wrong.text)[0]) == action
    said = visitor.post(action, data={"csrf": visitor.csrf("/audit"), "key": text})
    assert (said.status_code, said.headers["location"]) == (303, "/audit?by=job&which=latest")


def test_signing_out_ends_the_session(guarded: Service) -> None:
    _, text = guarded.keys.create("auditor", ["audit"])
    visitor = Visitor(guarded)
    visitor.post("/audit/login", data={"csrf": visitor.csrf("/audit"), "key": text})
    proof = visitor.csrf("/audit?by=sex")
    assert visitor.post("/audit/logout", data={"csrf": proof}).status_code == 303
    assert visitor.get("/audit").status_code == 401


def test_sessions_are_signed_and_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = Sessions(lasts=60)
    cookie = sessions.start("abc")
    assert sessions.key_of(cookie) == "abc"
    assert Sessions().key_of(cookie) is None
    said, _, signature = cookie.rpartition(".")
    forged = ["", ".", "..", "abc..", f"xyz{said[3:]}.{signature}", f"abc.99999999999.{signature}", f"{said}.é", None]
    assert [sessions.key_of(one) for one in forged] == [None] * len(forged)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 61)
    assert sessions.key_of(cookie) is None


def test_a_persons_page_needs_no_key(guarded: Service) -> None:
    plans = guarded.served().plans
    assert plans is not None
    again = Applicant({str(name): plain(value) for name, value in plans.people.iloc[0].items()})
    assert Visitor(guarded).get(f"/p/{guarded.answer([again])[0].token}").status_code == 200
