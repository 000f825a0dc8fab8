"""Several threads, as of several servers, at the same people: nothing is lost, counted twice, or a fault."""

from __future__ import annotations

import json
import random
import secrets
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, insert, select, update
from sqlalchemy.exc import TimeoutError as PoolTimeout

from leastways.server import database
from leastways.server.database import AnswerRow, OriginRow, PendingRow, PersonRow, now, open_engine, reading, writing
from leastways.server.jobs import JobStore
from leastways.server.store import NewAnswer, NewPerson, Store

AT_ONCE = 4


def fresh(url: str) -> Engine:
    """An empty database that knows one origin."""
    engine = open_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    database.upgrade_database(engine)
    texts = ("version", "schema_fingerprint", "model_fingerprint", "data_fingerprint", "settings", "libraries")
    with writing(engine) as session:
        session.execute(insert(OriginRow), [{"id": "o", "created": now(), **dict.fromkeys(texts, "{}")}])
    return engine


@pytest.fixture
def engine(new_database: Callable[[], str]) -> Iterator[Engine]:
    made = fresh(new_database())
    yield made
    made.dispose()


def new_person(reference: str = "", state: str = "{}") -> NewPerson:
    return NewPerson(secrets.token_hex(16), now(), reference, secrets.token_hex(32), state, "{}")


def answer_to(person_id: str, answer_id: str = "", person: NewPerson | None = None, plan: str = "{}") -> NewAnswer:
    return NewAnswer(answer_id or secrets.token_hex(16), person_id, now(), None, "found", plan, person)


def all_at_once(work: Callable[[str], object], items: Sequence[str]) -> None:
    """Do something with each item, some at a time; raises what any of them raised."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(work, items))


def test_answers_to_one_person_are_numbered_one_by_one(engine: Engine) -> None:
    store, person = Store(engine), new_person()
    store.record([answer_to(person.id, person.id, person)], "o")
    all_at_once(lambda answer_id: store.record([answer_to(person.id, answer_id)], "o"), [f"a{n}" for n in range(40)])
    with reading(engine) as session:
        assert sorted(session.scalars(select(AnswerRow.number))) == list(range(1, 42))


def test_people_of_a_job_are_answered_in_the_order_of_the_request(engine: Engine) -> None:
    people = [new_person() for _ in range(20)]
    jobs = JobStore(engine)
    job = jobs.add([(person, None) for person in people])
    assert [ask.id for ask in jobs.pending(job.id, 12)] == [person.id for person in people[:12]]
    with writing(engine) as session:  # however the rows lie in the table
        session.execute(update(PendingRow).values(position=100 - PendingRow.position))
    assert [ask.id for ask in jobs.pending(job.id, 12)] == [person.id for person in people[:7:-1]]


def test_two_workers_on_one_job_answer_each_person_once(engine: Engine) -> None:
    store, jobs = Store(engine), JobStore(engine)
    one, other = new_person(), new_person()
    job = jobs.add([(one, None), (other, None)])
    assert store.record([answer_to(one.id, one.id)], "o") == {one.id}
    assert Store(engine).record([answer_to(p.id, p.id) for p in (one, other)], "o") == {other.id}
    with reading(engine) as session:
        assert list(session.scalars(select(AnswerRow.number))) == [1, 1]
    state = jobs.read(job.id)
    assert (state.total, state.done) == (2, 2)


def test_people_are_erased_while_their_job_runs(engine: Engine) -> None:
    store, jobs = Store(engine), JobStore(engine)
    people = [new_person(f"r{n}") for n in range(200)]
    job = jobs.add([(person, None) for person in people])
    gone = [person.reference or "" for person in people[::3]]
    parts = [people[first : first + 8] for first in range(0, 200, 8)]

    def work(item: str) -> None:
        if item.startswith("r"):
            store._erase_all(PersonRow.reference == item, "asked")
        else:
            store.record([answer_to(p.id, p.id) for p in parts[int(item)]], "o")

    mixed = [*gone, *map(str, range(len(parts)))]
    random.Random(3).shuffle(mixed)
    all_at_once(work, mixed)
    kept = len(people) - len(gone)
    state = jobs.read(job.id)
    assert (state.total - state.done) == 0
    with reading(engine) as session:
        assert len(list(session.scalars(select(PersonRow.id)))) == kept
        assert len(list(session.scalars(select(AnswerRow.id)))) == kept


def test_pending_people_who_are_erased_leave_their_job(engine: Engine) -> None:
    store, jobs = Store(engine), JobStore(engine)
    job = jobs.add([(new_person(f"r{n}"), None) for n in range(100)])
    erase = lambda reference: store._erase_all(PersonRow.reference == reference, "asked")  # noqa: E731
    all_at_once(erase, [f"r{n}" for n in range(60)])
    state = jobs.read(job.id)
    assert (state.total, state.done) == (40, 0)


def test_a_reference_of_very_many_people_is_erased(engine: Engine) -> None:
    """More than a statement of PostgreSQL takes; those of SQLite take more than a test has time for."""
    many = 66_000 if engine.dialect.name == "postgresql" else 2_000
    with writing(engine) as session:
        session.execute(insert(PersonRow), [vars(new_person("batch-7")) for _ in range(many)])
    assert Store(engine).erase_reference("batch-7") == many
    assert Store(engine).erased() == {"asked": many}


def test_erase_before_keeps_people_of_the_same_moment(engine: Engine) -> None:
    store, person = Store(engine), new_person()
    store.record([answer_to(person.id, person.id, person)], "o")
    assert store.erase_before(person.created) == 0
    assert store.erase_before(person.created + timedelta(microseconds=1)) == 1


@pytest.mark.parametrize("retention", [False, True])
def test_a_completed_erasure_is_not_reported_as_failed(tmp_path: Path, retention: bool) -> None:
    """For example, if the traces cannot be removed because another connection is in use."""
    engine = fresh(f"sqlite:///{tmp_path / 'answers.db'}")
    store = Store(engine)
    person = new_person("case-7")
    store.record([answer_to(person.id, person.id, person)], "o")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("leastways.server.database._empty_log", busy)
        assert store.erase_reference("case-7") == 1
        assert store._log_unclean
    again = store.erase_before(person.created, whole=False) if retention else store.erase_reference("case-7")
    assert again == 0
    assert not store._log_unclean  # cleaned up, although no person was found
    engine.dispose()


def busy(*args: object) -> None:
    raise PoolTimeout("all connections are in use")


def test_nothing_erased_is_left_in_the_file(tmp_path: Path) -> None:
    """SQLite leaves copies behind where rows once moved between pages."""
    draw = random.Random(1)
    engine = fresh(f"sqlite:///{tmp_path / 'answers.db'}")
    store = Store(engine)
    people = []
    for _ in range(150):
        some = [new_person(f"REF{secrets.token_hex(8)}", json.dumps("x" * draw.randrange(50, 600))) for _ in range(10)]
        store.record([answer_to(p.id, p.id, p, json.dumps("y" * draw.randrange(100, 3000))) for p in some], "o")
        people += some
    gone = draw.sample(people, 1000)
    assert store.erase_families(person.id for person in gone) == 1000
    engine.dispose()
    kept = b"".join(file.read_bytes() for file in tmp_path.glob("answers.db*"))
    assert not [person for person in gone if (person.reference or "").encode() in kept or person.id.encode() in kept]
    assert all((person.reference or "").encode() in kept for person in people if person not in gone)
