"""One person who asks again and again: what was said last is what is recorded last, however long a search takes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from leastways.costs import Preferences
from leastways.recourse import Recourse
from leastways.server import Answer, Applicant, Issued, NotFound, Service, Superseded
from leastways.server.database import now
from tests.support.loan_service import counts, same, serve, states, until

FIRST, SECOND = Preferences(editable=["income"]), Preferences(editable=["school", "job"])


class Held:
    """Holds back every search for one person's entries, until it is let go."""

    def __init__(self, service: Service, entries: Preferences) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        work = service._batcher._work

        def held(tickets: Any) -> None:
            if any(ask.preferences == entries for ticket in tickets for ask in ticket.requests):
                self.begun.set()
                assert self.go.wait(30)
            work(tickets)

        service._batcher._work = held


@pytest.fixture
def aside() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


@pytest.fixture
def two_threads(shop: Path, recourse: Recourse, new_database: Callable[[], str]) -> Iterator[Service]:
    """A service that searches for two people at a time, on both kinds of database."""
    with serve(shop, recourse, database=new_database(), threads=2) as opened:
        yield opened


def begin(service: Service, issued: Issued, aside: ThreadPoolExecutor) -> tuple[Held, Future[Answer]]:
    """Ask for something whose search does not end."""
    held = Held(service, FIRST)
    asked = aside.submit(service.refine, issued.token, FIRST)
    assert held.begun.wait(30)
    return held, asked


def test_a_slow_answer_is_not_recorded_after_a_newer_one(two_threads: Service, aside: ThreadPoolExecutor) -> None:
    service = two_threads
    (issued,) = service.answer([Applicant(states(1)[0])])
    held, slow = begin(service, issued, aside)
    newer = service.refine(issued.token, SECOND)
    with pytest.raises(Superseded):
        slow.result(30)  # at once: a superseded request ends before its search
    held.go.set()
    service.close()  # whatever was begun has ended
    assert counts(service)["answers"] == 2
    assert same(service.read_by_token(issued.token), newer)
    assert service.served(which="latest").plans is not None
    assert service._latest._open == {}


def test_undone_entry_supersedes_the_running_search(two_threads: Service, aside: ThreadPoolExecutor) -> None:
    """The newer preferences equal those of the recorded answer, so no new answer is recorded."""
    service = two_threads
    (issued,) = service.answer([Applicant(states(1)[0])])
    held, slow = begin(service, issued, aside)
    assert service.refine(issued.token, None).id == issued.answer.id
    held.go.set()
    with pytest.raises(Superseded):
        slow.result(30)
    service.close()
    assert service.read_by_token(issued.token).id == issued.answer.id


def test_entries_that_need_no_search_supersede_too(two_threads: Service, aside: ThreadPoolExecutor) -> None:
    service = two_threads
    (issued,) = service.answer([Applicant(states(1)[0])])
    held, slow = begin(service, issued, aside)
    said = {"income": {"locked": True, "ease": "not_stated"}}
    assert service.set_entries(issued.token, said).id == issued.answer.id
    held.go.set()
    with pytest.raises(Superseded):
        slow.result(30)
    service.close()
    latest = service.read_by_token(issued.token)
    assert (latest.id, latest.preferences, latest.entries) == (issued.answer.id, None, said)


def test_of_two_equivalent_entries_the_latest_is_recorded(
    two_threads: Service, aside: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = two_threads
    (issued,) = service.answer([Applicant(states(1)[0])])
    read, reading, go = service.read_by_token, threading.Event(), threading.Event()

    def slowly(token: str) -> Any:
        found = read(token)
        reading.set()
        assert go.wait(30)
        return found

    with monkeypatch.context() as slow:
        slow.setattr(service, "read_by_token", slowly)
        older = aside.submit(service.set_entries, issued.token, {"income": {"locked": False, "ease": "hard"}})
        assert reading.wait(30)
    said = {"income": {"locked": False, "ease": "easy"}}
    service.set_entries(issued.token, said)
    go.set()
    with pytest.raises(Superseded):
        older.result(30)
    assert read(issued.token).entries == said
    assert service.refine(issued.token, None).entries == said  # a program that says nothing of them leaves them


def test_entries_for_an_erased_person_are_refused(two_threads: Service) -> None:
    (issued,) = two_threads.answer([Applicant(states(1)[0])])
    assert two_threads.erase(issued.answer.id) == 1
    with pytest.raises(NotFound):
        two_threads.store.set_entries(issued.answer.id, None)


def test_an_answer_that_is_being_recorded_is_waited_for(
    two_threads: Service, aside: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = two_threads
    (issued,) = service.answer([Applicant(states(1)[0])])
    record, recording, go = service.store.record, threading.Event(), threading.Event()

    def slowly(*args: Any) -> Any:
        recording.set()
        assert go.wait(30)
        return record(*args)

    monkeypatch.setattr(service.store, "record", slowly)
    older = aside.submit(service.refine, issued.token, FIRST)
    assert recording.wait(30)
    newer = aside.submit(service.refine, issued.token, SECOND)
    until(lambda: len(service._latest._open[issued.token]) == 2)
    go.set()
    assert older.result(30).preferences == FIRST
    assert newer.result(30).preferences == SECOND
    assert same(service.read_by_token(issued.token), newer.result())


def test_two_processes_can_share_one_database(
    shop: Path, recourse: Recourse, new_database: Callable[[], str], aside: ThreadPoolExecutor
) -> None:
    database = new_database()
    with serve(shop, recourse, database=database) as one, serve(shop, recourse, database=database) as other:
        (issued,) = one.answer([Applicant(states(1)[0])])
        held, slow = begin(one, issued, aside)
        newer = other.refine(issued.token, SECOND)
        held.go.set()
        with pytest.raises(Superseded):
            slow.result(30)
        assert same(one.read_by_token(issued.token), newer)
        last = one.refine(issued.token, FIRST)  # said once more, it is the last
        assert same(other.read_by_token(issued.token), last)
        assert counts(one)["answers"] == 3


def test_a_clock_that_was_set_back_does_not_block_a_person(lite: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    from leastways.server import service as service_room

    (issued,) = lite.answer([Applicant(states(1)[0])])
    lite.refine(issued.token, FIRST)
    monkeypatch.setattr(service_room, "now", lambda: now() - timedelta(hours=1))
    again = lite.refine(issued.token, SECOND)
    assert same(lite.read_by_token(issued.token), again)


def test_a_person_erased_during_the_search(two_threads: Service, aside: ThreadPoolExecutor) -> None:
    service = two_threads
    (issued,) = service.answer([Applicant(states(1)[0])])
    held, slow = begin(service, issued, aside)
    assert service.erase(issued.answer.id) == 1
    held.go.set()
    with pytest.raises(NotFound):
        slow.result(30)
