"""Migrations: from nothing and back, as the tables say, and never on a database that a newer release made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, inspect, text

from leastways.errors import SettingError
from leastways.server import database
from leastways.server.config import database_url
from leastways.server.database import Base, open_engine


def engine_of(url: str) -> Engine:
    return open_engine(database_url(url, Path()))


def test_migrations_run_up_down_and_up_again(new_database: Callable[[], str]) -> None:
    engine = engine_of(new_database())
    assert database.database_revision(engine) is None
    database.upgrade_database(engine)
    head = database.database_revision(engine)
    assert head == "0001"
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
    database.downgrade_database(engine, "base")
    assert database.database_revision(engine) is None
    assert inspect(engine).get_table_names() == ["alembic_version"]
    database.upgrade_database(engine)
    database.upgrade_database(engine)  # nothing left to do
    assert database.database_revision(engine) == head
    assert set(inspect(engine).get_table_names()) == {*Base.metadata.tables, "alembic_version"}
    engine.dispose()


def test_a_newer_database_is_refused_by_name(new_database: Callable[[], str]) -> None:
    engine = engine_of(new_database())
    database.upgrade_database(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0999'"))
    with pytest.raises(SettingError, match=r"form '0999'.*up to '0001'.*a newer leastways"):
        database.upgrade_database(engine)
    engine.dispose()
