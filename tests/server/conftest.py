"""Fixtures of a bank's service: its files, a fitted search, and a database of each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from leastways.recourse import Recourse
from leastways.server import Service
from tests.support import postgres
from tests.support.loan_service import BANK, LABELLED, SMALL, Client, pipeline, serve, write_shop


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The config file of a service, with its files beside it."""
    return write_shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="session")
def recourse() -> Recourse:
    return Recourse(pipeline(), BANK, **SMALL).fit(LABELLED)


@pytest.fixture(scope="session")
def cluster() -> Iterator[postgres.Cluster]:
    """A PostgreSQL of our own."""
    reason = postgres.missing()
    if reason:
        pytest.skip(reason)
    made = postgres.Cluster.make()
    yield made
    made.remove()


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def new_database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str]:
    """Make empty databases, of one kind after the other."""
    if request.param == "sqlite":
        return lambda: f"sqlite:///{tmp_path_factory.mktemp('database') / 'answers.db'}"
    made: postgres.Cluster = request.getfixturevalue("cluster")
    return made.database


@pytest.fixture
def service(shop: Path, recourse: Recourse, new_database: Callable[[], str]) -> Iterator[Service]:
    """A service on an empty database, on each kind of database in turn."""
    with serve(shop, recourse, database=new_database()) as opened:
        yield opened


@pytest.fixture
def client(service: Service) -> Client:
    return Client(service)


@pytest.fixture
def lite(shop: Path, recourse: Recourse, tmp_path: Path) -> Iterator[Service]:
    """A service on SQLite alone, for what has nothing to do with the database."""
    with serve(shop, recourse, database=str(tmp_path / "answers.db")) as opened:
        yield opened
