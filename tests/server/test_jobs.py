"""Long batches: accepted whole, worked on bit by bit, and carried on whatever happens."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leastways.errors import JobFailed, ModelError, NotReady
from leastways.recourse import Recourse
from leastways.server import Applicant, NotFound, Service
from leastways.server import jobs as jobs_room
from leastways.server.answers import JobState, Pending
from leastways.server.database import now
from leastways.server.store import NewPerson
from tests.support.bank_people import chance
from tests.support.loan_service import (
    BANK,
    LABELLED,
    SMALL,
    Client,
    counts,
    finished,
    frame,
    many,
    serve,
    slow_down,
    states,
    until,
)


def women(n: int) -> list[dict[str, Any]]:
    return [{**row, "sex": "f"} for row in many(n)]


def test_a_large_request_becomes_a_job_with_the_same_answers(
    service: Service, client: Client, recourse: Recourse
) -> None:
    rows = many(40)
    said = {"editable": ["income", "school", "job"]}
    people = [{"state": row, "reference": f"case {i}", "preferences": said} for i, row in enumerate(rows)]
    taken = client.apply(*people)
    assert taken.status_code == 202
    body = taken.json()
    assert taken.headers["location"] == f"/v1/jobs/{body['job']['id']}"
    assert (body["job"]["total"], body["job"]["state"]) == (40, "queued")
    assert [p["reference"] for p in body["people"]] == [f"case {i}" for i in range(40)]
    job = finished(client, body["job"]["id"])
    assert job == body["job"] | {"state": "done", "done": 40}
    from leastways.costs import Preferences

    plans = recourse.recommend(frame(states(6)), Preferences(editable=said["editable"]))
    for i, pending in enumerate(body["people"]):
        answer = client.get(f"/v1/recourse/{pending['id']}").json()
        assert answer["state"] == rows[i]
        assert [o["probability"] for o in answer["options"]] == [o.probability for o in plans[i % 6].options]
        if i % 13 == 0:
            assert service.read_by_token(pending["token"]).id == pending["id"]
    assert counts(service) == {"people": 40, "answers": 40, "choices": 0, "jobs": 1, "pending": 0}


def test_nothing_of_a_job_with_a_wrong_row_is_stored(lite: Service) -> None:
    people: list[dict[str, Any]] = [{"state": row} for row in many(40)]
    people[33]["state"] = {**people[33]["state"], "job": "baker"}
    answer = Client(lite).apply(*people)
    assert answer.status_code == 422
    assert [e["pointer"] for e in answer.json()["errors"]] == ["/people/33/state/job"]
    assert counts(lite)["people"] == counts(lite)["jobs"] == 0


def test_a_pending_answer_is_not_ready(service: Service) -> None:
    job, person = waiting_job(service)
    with pytest.raises(NotReady, match=job):
        service.read(person)
    answer = Client(service).get(f"/v1/recourse/{person}")
    assert (answer.status_code, answer.json()["type"]) == (404, "urn:leastways:problem:not-ready")
    assert answer.headers["retry-after"] == "1"
    assert service.erase(person) == 1  # before its turn
    assert service.jobs.read(job).total == 0
    with pytest.raises(NotFound):
        service.jobs.read("nothing")


def waiting_job(service: Service) -> tuple[str, str]:
    """Put a job in the table that another process has a lease on."""
    from sqlalchemy import update

    from leastways.io import canonical_json
    from leastways.server.database import JobRow, writing

    service._runner.stop()
    service._runner._thread.join()
    person = NewPerson("p" * 32, now(), None, "hash", canonical_json(states(1)[0]), "{}")
    job = service.jobs.add([(person, None)])
    lease = {"owner": "other", "state": "running", "lease_until": now() + timedelta(hours=1)}
    with writing(service.engine) as session:
        session.execute(update(JobRow).values(**lease))
    return job.id, person.id


def test_a_lease_excludes_other_workers_until_it_expires(service: Service) -> None:
    from sqlalchemy import update

    from leastways.server.database import JobRow, writing

    job, _ = waiting_job(service)
    assert service.jobs.claim("me") is None
    assert not service.jobs.renew(job, "me")
    assert service.jobs.claim("other") == job  # who has it takes it up again: the database was away for a moment
    with writing(service.engine) as session:
        session.execute(update(JobRow).values(lease_until=now() - timedelta(seconds=1)))
    assert service.jobs.claim("me") == job
    assert service.jobs.claim("you") is None
    assert service.jobs.renew(job, "me")
    service.jobs.end(job, "you", "done")  # not yours
    assert service.jobs.read(job).state == "running"
    service.jobs.give_back("me")
    assert service.jobs.read(job).state == "queued"


def test_of_two_simultaneous_claims_one_wins(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    from leastways.server.database import writing

    job, _ = waiting_job(service)
    service.jobs.give_back("other")

    def late(engine: Any) -> Any:
        monkeypatch.setattr(jobs_room, "writing", writing)
        assert service.jobs.claim("quick") == job
        return writing(engine)

    monkeypatch.setattr(jobs_room, "writing", late)
    assert service.jobs.claim("slow") is None
    assert service.jobs.renew(job, "quick")


def test_a_worker_that_lost_its_lease_stops(lite: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlalchemy import update

    from leastways.server.database import JobRow, writing

    monkeypatch.setattr(jobs_room, "_PART", 4)
    renew, claim, lost, looked = lite.jobs.renew, lite.jobs.claim, threading.Event(), threading.Event()

    def late(job_id: str, owner: str) -> bool:
        """Take longer than the lease: another process has it by now."""
        with writing(lite.engine) as session:
            session.execute(update(JobRow).values(owner="other", lease_until=now() + timedelta(hours=1)))
        lost.set()
        return renew(job_id, owner)

    def looking(owner: str) -> str | None:
        if lost.is_set():
            looked.set()
        return claim(owner)

    monkeypatch.setattr(lite.jobs, "renew", late)
    monkeypatch.setattr(lite.jobs, "claim", looking)
    job, _ = lite.add_job([Applicant(row) for row in many(12)])
    assert looked.wait(60)  # for another one
    assert (lite.jobs.read(job.id).state, lite.jobs.read(job.id).done) == ("running", 4)


def test_only_jobs_that_failed_are_tried_again(lite: Service) -> None:
    job, _ = waiting_job(lite)
    lite.jobs.requeue_failed()
    assert lite.jobs.read(job).state == "running"  # in another process
    lite.jobs.end(job, "other", "failed", "the model failed")
    lite.jobs.requeue_failed()
    assert (lite.jobs.read(job).state, lite.jobs.read(job).error) == ("queued", "")
    assert lite.jobs.claim("me") == job
    lite.jobs.end(job, "me", "done")
    lite.jobs.requeue_failed()
    assert lite.jobs.read(job).state == "done"


def test_ended_jobs_are_kept_as_long_as_people(service: Service) -> None:
    job, _ = waiting_job(service)
    later = now() + timedelta(hours=1)
    assert service.store.erase_before(later) == 1
    assert service.jobs.read(job).total == 0  # a process works on it still
    service.jobs.end(job, "other", "done")
    assert service.store.erase_before(now() - timedelta(hours=1)) == 0
    assert service.jobs.read(job).state == "done"
    assert service.store.erase_before(later) == 0
    with pytest.raises(NotFound):
        service.jobs.read(job)


def test_a_job_continues_where_another_process_left_it(
    shop: Path, recourse: Recourse, new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_room, "_PART", 4)
    database = new_database()
    with serve(shop, recourse, database=database) as first:
        slow_down(first)
        job, people = first.add_job([Applicant(row) for row in many(30)])
        until(lambda: first.jobs.read(job.id).done >= 4)
    assert first.jobs.read(job.id).state == "queued"  # given back, and not held until the lease ends
    first.engine.dispose()
    with serve(shop, recourse, database=database) as second:
        begun = second.jobs.read(job.id)
        until(lambda: second.jobs.read(job.id).state == "done")
        done = second.jobs.read(job.id)
        assert (done.state, done.done, done.total) == ("done", 30, 30)
        assert begun.done >= 4
        assert all(second.read(p.id).plan.options for p in people)
        assert counts(second)["answers"] == 30


class Breaks:
    """A model that fails on men, or from a moment on for all people."""

    def __init__(self) -> None:
        self.broken = False

    def __call__(self, table: Any) -> Any:
        if self.broken:
            raise OSError("the licence of the model ran out")
        return np.where(table["sex"] == "m", np.nan, chance(table))


@pytest.fixture
def breaking(shop: Path, new_database: Callable[[], str]) -> Any:
    model = Breaks()
    search = Recourse(model, BANK, **SMALL).fit(LABELLED)
    with serve(shop, search, database=new_database()) as service:
        yield model, service


def test_finished_answers_survive_a_model_that_fails_mid_job(
    breaking: tuple[Breaks, Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_room, "_PART", 4)
    model, service = breaking
    slow_down(service)
    job, people = service.add_job([Applicant(row) for row in women(80)])
    until(lambda: service.jobs.read(job.id).done >= 8)
    model.broken = True
    ended = finished(Client(service), job.id)
    assert ended["state"] == "failed"
    assert "16 people in a row" in ended["error"]
    kept = ended["done"]
    assert 8 <= kept <= 80 - 16
    assert ended["failed"] == 0  # no answer is recorded whose only cause is the broken model
    assert all(service.read(p.id).plan.options for p in people[:kept])
    with pytest.raises(NotReady):
        service.read(people[kept].id)
    model.broken = False
    service.jobs.requeue_failed()  # what the next start does
    assert finished(Client(service), job.id)["state"] == "done"
    assert all(service.read(p.id).plan.options for p in people)


def test_a_failure_for_one_person_does_not_affect_the_others(breaking: tuple[Breaks, Service]) -> None:
    model, service = breaking
    client = Client(service)
    odd = {**states(1)[0], "sex": "m"}
    answers = client.apply({"state": women(1)[0]}, {"state": odd}).json()["answers"]
    assert [a["status"] for a in answers] == ["found", "invalid_input"]
    assert "model" in answers[1]["reason"]
    alone = client.apply({"state": odd})
    assert (alone.status_code, alone.json()["type"]) == (502, "urn:leastways:problem:model-failed")
    model.broken = True
    with pytest.raises(ModelError, match="all 2 people"):
        service.answer([Applicant(row) for row in women(2)])
    assert counts(service)["people"] == 2
    model.broken = False
    assert client.apply({"state": women(1)[0]}).status_code == 200
    job, _ = service.add_job([Applicant(row) for row in (*women(20), odd)])
    ended = finished(client, job.id)
    assert (ended["state"], ended["done"], ended["failed"]) == ("done", 21, 1)


@pytest.fixture
def fails_on_men(shop: Path, tmp_path: Path) -> Iterator[Service]:
    """On SQLite alone: who is recorded when has nothing to do with the database."""
    search = Recourse(Breaks(), BANK, **SMALL).fit(LABELLED)
    with serve(shop, search, database=str(tmp_path / "answers.db")) as service:
        yield service


def work_off(service: Service, n: int, men: range) -> tuple[JobState, list[Pending]]:
    """Wait for the end of a job with men in some places."""
    rows = [{**row, "sex": "m"} if i in men else row for i, row in enumerate(women(n))]
    job, people = service.add_job([Applicant(row) for row in rows])
    until(lambda: service.jobs.read(job.id).state in ("done", "failed"))
    return service.jobs.read(job.id), people


@pytest.mark.parametrize("part", [4, 16])
@pytest.mark.parametrize(
    ("n", "men"),
    [(17, range(16, 17)), (36, range(10, 25)), (20, range(5, 20)), (1, range(1))],
    ids=["alone in the last part", "across parts", "up to the end", "no one else"],
)
def test_fewer_than_sixteen_failures_in_a_row_are_recorded_as_answers(
    fails_on_men: Service, monkeypatch: pytest.MonkeyPatch, part: int, n: int, men: range
) -> None:
    monkeypatch.setattr(jobs_room, "_PART", part)
    job, people = work_off(fails_on_men, n, men)
    assert (job.state, job.done, job.failed, job.error) == ("done", n, len(men), "")
    for i, pending in enumerate(people):
        assert (fails_on_men.read(pending.id).plan.status == "invalid_input") == (i in men)


@pytest.mark.parametrize("part", [4, 16])
@pytest.mark.parametrize("men", [range(10, 26), range(24, 40)], ids=["amid others", "up to the end"])
def test_sixteen_failures_in_a_row_stop_a_job_wherever_they_begin(
    fails_on_men: Service, monkeypatch: pytest.MonkeyPatch, part: int, men: range
) -> None:
    monkeypatch.setattr(jobs_room, "_PART", part)
    job, people = work_off(fails_on_men, 40, men)
    assert (job.state, job.done, job.failed) == ("failed", men.start, 0)
    assert "16 people in a row" in job.error
    assert all(fails_on_men.read(p.id).plan.options for p in people[: men.start])
    with pytest.raises(NotReady):
        fails_on_men.read(people[men.start].id)
    with pytest.raises(JobFailed):  # their page tells them that no answer is about to come
        fails_on_men.read_by_token(people[men.start].token)
