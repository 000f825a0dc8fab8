"""A database that goes away and a disk that fills: 503 with a problem, nothing half written, and back by itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import OperationalError

from leastways.errors import SettingError
from leastways.recourse import Recourse
from leastways.server import Applicant, DatabaseDown, Service
from leastways.server.database import database_errors, with_driver_message
from tests.support.loan_service import Client, counts, finished, many, serve, slow_down, states, until
from tests.support.postgres import Cluster


def down(client: Client, method: str, path: str, json: object = None) -> None:
    answer = client.get(path) if method == "GET" else client.post(path, json)
    assert answer.status_code == 503, answer.text
    assert answer.json()["type"] == "urn:leastways:problem:database-down"
    assert int(answer.headers["retry-after"]) >= 1


def test_the_service_recovers_after_a_lost_postgresql(shop: Path, recourse: Recourse, cluster: Cluster) -> None:
    with serve(shop, recourse, database=cluster.database()) as service:
        client = Client(service)
        (before,) = client.apply({"state": states(1)[0]}).json()["answers"]
        cluster.stop()
        try:
            down(client, "GET", "/health")
            down(client, "GET", f"/v1/recourse/{before['id']}")
            down(client, "POST", "/v1/recourse", {"people": [{"state": states(1)[0]}]})
            down(client, "POST", "/v1/recourse", {"people": [{"state": row} for row in many(30)]})
            down(client, "POST", f"/v1/recourse/{before['id']}/choice", {"option": None})
        finally:
            cluster.start()
        assert client.get("/health").status_code == 200
        assert client.get(f"/v1/recourse/{before['id']}").json()["options"] == before["options"]
        assert client.apply({"state": states(1)[0]}).status_code == 200
        job = client.apply(*({"state": row} for row in many(30))).json()["job"]
        assert finished(client, job["id"])["done"] == 30
        assert counts(service)["people"] == 32


def test_a_job_survives_a_restart_of_the_database(shop: Path, recourse: Recourse, cluster: Cluster) -> None:
    with serve(shop, recourse, database=cluster.database()) as service:
        slow_down(service)
        job, people = service.add_job([Applicant(row) for row in many(60)])
        until(lambda: service.jobs.read(job.id).done >= 16)
        cluster.stop()
        cluster.start()
        assert finished(Client(service), job.id)["done"] == 60
        assert all(service.read(p.id).plan.options for p in people)


@pytest.fixture
def full_disk(lite: Service) -> Callable[[bool], None]:
    """Let the database grow no further, or let it again: to SQLite that is what a full disk is."""

    def fill(full: bool) -> None:
        lite.engine.dispose()
        with lite.engine.connect() as connection:
            pages = connection.execute(text("PRAGMA page_count")).scalar_one()
        limit = pages if full else 2**30

        def cap(connection: object, record: object) -> None:
            connection.execute(f"PRAGMA max_page_count = {limit}")  # type: ignore[attr-defined]

        lite.engine.dispose()
        event.listen(lite.engine, "connect", cap)

    return fill


def test_a_full_disk_is_reported_and_recovered_from(lite: Service, full_disk: Callable[[bool], None]) -> None:
    client = Client(lite)
    (before,) = client.apply({"state": states(1)[0]}).json()["answers"]
    full_disk(True)
    accepted = []
    for _ in range(40):  # what room there is in the last pages is used first
        answer = client.apply({"state": states(1)[0]})
        if answer.status_code != 200:
            break
        accepted.append(answer.json()["answers"][0]["id"])
    assert answer.status_code == 503, answer.text
    assert "full" in answer.json()["detail"]
    down(client, "POST", "/v1/recourse", {"people": [{"state": row} for row in many(30)]})
    assert client.get(f"/v1/recourse/{before['id']}").status_code == 200
    assert counts(lite)["people"] == counts(lite)["answers"] == 1 + len(accepted)
    full_disk(False)
    assert client.apply({"state": states(1)[0]}).status_code == 200
    assert all(client.get(f"/v1/recourse/{one}").status_code == 200 for one in accepted)


def test_health_reports_a_full_disk_and_its_end(lite: Service, full_disk: Callable[[bool], None]) -> None:
    client, begun = Client(lite), []
    event.listen(lite.engine, "before_cursor_execute", lambda c, cursor, said, *rest: begun.append(said.split()[0]))
    assert client.get("/health").status_code == 200
    assert "INSERT" not in begun  # nothing failed: it only reads
    full_disk(True)
    for _ in range(40):  # what room there is in the last pages is used first
        if client.apply({"state": states(1)[0]}).status_code == 503:
            break
    for _ in range(3):
        down(client, "GET", "/health")
    people = counts(lite)["people"]
    full_disk(False)
    assert client.get("/health").status_code == 200  # by itself: no caller has to try first
    begun.clear()
    assert client.get("/health").status_code == 200
    assert "INSERT" not in begun
    assert counts(lite)["people"] == people
    with lite.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM origins")).scalar_one() == 1


def test_health_reports_a_read_only_postgresql(shop: Path, recourse: Recourse, cluster: Cluster) -> None:
    """As one that took over from a lost one may for a while."""
    database = cluster.database()
    with serve(shop, recourse, database=database) as service:
        client = Client(service)
        for mode, status in (("on", 503), ("off", 200)):
            with psycopg.connect(cluster.url("postgres"), autocommit=True) as connection:
                name = database.rpartition("/")[2]
                connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = {mode}".encode())
                # all connections of the service are closed
                connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
            answer = client.apply({"state": states(1)[0]})
            assert answer.status_code == status, answer.text
            assert client.get("/health").status_code == status


def test_a_file_that_is_no_database_is_reported(shop: Path, recourse: Recourse, tmp_path: Path) -> None:
    (tmp_path / "d.db").write_text("age,income\n" * 500)
    with pytest.raises(DatabaseDown, match="not a database"):
        serve(shop, recourse, database=str(tmp_path / "d.db"))


def test_a_database_that_cannot_be_opened_is_reported(shop: Path, recourse: Recourse, tmp_path: Path) -> None:
    with pytest.raises(DatabaseDown):
        serve(shop, recourse, database=str(tmp_path / "nowhere" / "d.db"))
    with pytest.raises(DatabaseDown):
        serve(shop, recourse, database="postgresql://bank@127.0.0.1:1/bank")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgresql://bank@127.0.0.1:1/bank?sslmod=require", "no connection option 'sslmod'"),
        ("postgresql://bank:p@ss@word@127.0.0.1:1/bank", "cannot be read"),
        ("postgresql://bank@127.0.0.1:port/bank", "cannot be read"),
    ],
)
def test_a_wrong_address_is_refused(shop: Path, recourse: Recourse, url: str, told: str) -> None:
    with pytest.raises(SettingError, match=told) as error:
        serve(shop, recourse, database=url)
    assert "ss@word" not in str(error.value)


def test_options_of_an_address_are_checked(shop: Path, recourse: Recourse) -> None:
    """The options are PostgreSQL's, so that what is missing here is the server alone."""
    with pytest.raises(DatabaseDown):
        serve(shop, recourse, database="postgresql://bank@127.0.0.1:1/bank?sslmode=disable&application_name=lw")


@pytest.mark.parametrize("url", ["postgresql://bank:tomcat9@db/bank", "postgresql://bank@db/bank?password=tomcat9"])
def test_the_operator_sees_the_cause_without_the_password(url: str) -> None:
    driver = psycopg.OperationalError("no user bank with the password tomcat9 at db\nand more\n")
    with pytest.raises(DatabaseDown) as told, with_driver_message(url), database_errors():
        raise OperationalError("SELECT 1", {}, driver)
    assert str(told.value).endswith(": no user bank with the password *** at db")
