"""What must never be told: personal data in logs and in faults; and what erasing leaves behind."""

from __future__ import annotations

import logging
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from leastways.errors import ModelError
from leastways.server import Applicant, Service
from leastways.server.database import _prepare_sqlite, now
from leastways.server.problems import problem_of
from tests.support.loan_service import Client, states

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


def test_a_fault_is_logged_without_values(
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


def test_a_failing_model_does_not_reveal_the_row() -> None:
    answer = problem_of(ModelError(f"asked about {SECRET}"))
    assert answer.status_code == 502
    assert SECRET not in bytes(answer.body).decode()


def test_erased_values_are_not_left_in_the_file(lite: Service, tmp_path: Path) -> None:
    (issued,) = lite.answer([Applicant(states(1)[0], reference=SECRET, groups={"region": SECRET})])
    lite.choose(issued.answer.id, None, SECRET)
    files = list(tmp_path.glob("answers.db*"))
    assert any(SECRET.encode() in file.read_bytes() for file in files)
    assert lite.erase(issued.answer.id) == 1  # at once, also from the log of SQLite, while the service runs on
    assert not any(SECRET.encode() in file.read_bytes() for file in files)


@pytest.mark.parametrize("whole", [True, False])
def test_values_erased_by_age_are_not_left_in_the_file(lite: Service, tmp_path: Path, whole: bool) -> None:
    """Also where the file is not written anew, as by a service that erases while it runs."""
    lite.answer([Applicant(states(1)[0], reference=SECRET)])
    assert lite.store.erase_before(now(), whole) == 1
    assert not any(SECRET.encode() in file.read_bytes() for file in tmp_path.glob("answers.db*"))


def test_every_connection_overwrites_what_it_deletes(tmp_path: Path) -> None:
    """Some builds of SQLite do by themselves, others do not."""
    connection = sqlite3.connect(tmp_path / "answers.db")
    connection.execute("PRAGMA secure_delete = OFF")
    _prepare_sqlite(connection, None)
    names = ("secure_delete", "foreign_keys", "synchronous")
    assert [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names] == [1, 1, 2]
    connection.close()


def test_a_log_in_use_is_reported(lite: Service, caplog: pytest.LogCaptureFixture) -> None:
    from sqlalchemy import event, text

    event.listen(lite.engine, "checkout", lambda connection, *_: connection.execute("PRAGMA busy_timeout = 50"))
    (issued,) = lite.answer([Applicant(states(1)[0], reference=SECRET)])
    with lite.engine.connect() as reader:
        reader.execute(text("SELECT * FROM people")).all()
        assert lite.erase(reference=SECRET) == 1
        assert "erased rows may remain in the log" in caplog.text
    assert issued.answer.id not in caplog.text


def test_the_file_is_readable_by_its_owner_only(lite: Service, tmp_path: Path) -> None:
    lite.answer([Applicant(states(1)[0])])
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.glob("answers.db*")}
    assert set(modes.values()) == {0o600}, modes
    assert len(modes) == 3  # with the log and its index


def test_statements_that_fail_do_not_show_their_values(lite: Service) -> None:
    from sqlalchemy import text
    from sqlalchemy.exc import IntegrityError

    from leastways.server.database import writing

    with pytest.raises(IntegrityError) as error, writing(lite.engine) as session:
        session.execute(text("INSERT INTO choices VALUES (:a, 1, :a, 1)"), {"a": SECRET})
    assert SECRET not in str(error.value)
