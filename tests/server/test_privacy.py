"""What must never be told: personal data in logs and in faults; and what erasing leaves behind."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from leastways.errors import ModelError
from leastways.server import Applicant, Service
from leastways.server.problems import problem_of
from tests.server.shop import Client, states

SECRET = "Zyxwv-4711"


def test_logs_hold_no_paths_bodies_queries_or_tokens(lite: Service, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="leastways")
    _, key = lite.keys.create("desk", ["apply", "read"])
    client = Client(lite, key)
    (one,) = client.apply({"state": states(1)[0], "reference": SECRET}).json()["answers"]
    client.get(f"/v1/recourse/{one['id']}?name={SECRET}")
    client.post(f"/v1/recourse/{one['id']}/choice", {"option": 1, "reason": SECRET})
    client.apply({"state": {**states(1)[0], "job": SECRET}})
    client.get(f"/p/{one['token']}")
    client.get(f"/{SECRET}")
    lines = caplog.text
    assert "GET /v1/recourse/{answer_id} 200" in lines
    assert "key=" in lines
    for private in (SECRET, one["id"], one["token"], key, key.split("_", 2)[2], str(states(1)[0]["income"])):
        assert private not in lines


def test_a_fault_tells_where_but_not_what(
    lite: Service, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError(f"cannot handle {SECRET}")

    monkeypatch.setattr(lite.store, "read", broken)
    answer = Client(lite).get("/v1/recourse/x")
    assert (answer.status_code, answer.json()["type"]) == (500, "urn:leastways:problem:fault")
    assert "RuntimeError at" in caplog.text
    assert "test_privacy.py" in caplog.text
    assert SECRET not in caplog.text + answer.text


def test_a_failing_model_does_not_tell_the_row() -> None:
    answer = problem_of(ModelError(f"asked about {SECRET}"))
    assert answer.status_code == 502
    assert SECRET not in bytes(answer.body).decode()


def test_what_is_erased_is_not_left_in_the_file(lite: Service, tmp_path: Path) -> None:
    (issued,) = lite.answer([Applicant(states(1)[0], reference=SECRET, groups={"region": SECRET})])
    lite.choose(issued.answer.id, None, SECRET)
    assert lite.erase(issued.answer.id) == 1
    lite.close()  # the log of SQLite is put into the file, and overwritten
    left = b"".join(file.read_bytes() for file in tmp_path.glob("answers.db*"))
    assert SECRET.encode() not in left


def test_statements_that_fail_do_not_show_their_values(lite: Service) -> None:
    from sqlalchemy import text
    from sqlalchemy.exc import IntegrityError

    from leastways.server.engine import writing

    with pytest.raises(IntegrityError) as error, writing(lite.engine) as session:
        session.execute(text("INSERT INTO choices VALUES (:a, 1, :a, 1)"), {"a": SECRET})
    assert SECRET not in str(error.value)
