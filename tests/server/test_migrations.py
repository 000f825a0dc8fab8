"""Migrations: from nothing and back, as the tables say, and never on a database that a newer release made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, inspect, text

from leastways.errors import SettingError
from leastways.server import migrate
from leastways.server.config import database_url
from leastways.server.engine import open_engine
from leastways.server.tables import Base


def engine_of(url: str) -> Engine:
    return open_engine(database_url(url, Path()))


def test_up_down_and_up_again(new_database: Callable[[], str]) -> None:
    engine = engine_of(new_database())
    assert migrate.revision(engine) is None
    migrate.upgrade(engine)
    head = migrate.revision(engine)
    assert head == "0001"
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
    migrate.downgrade(engine, "base")
    assert migrate.revision(engine) is None
    assert inspect(engine).get_table_names() == ["alembic_version"]
    migrate.upgrade(engine)
    migrate.upgrade(engine)  # nothing left to do
    assert migrate.revision(engine) == head
    assert set(inspect(engine).get_table_names()) == {*Base.metadata.tables, "alembic_version"}
    engine.dispose()


def test_a_newer_database_is_refused_by_name(new_database: Callable[[], str]) -> None:
    engine = engine_of(new_database())
    migrate.upgrade(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0999'"))
    with pytest.raises(SettingError, match=r"form '0999'.*up to '0001'.*a newer leastways"):
        migrate.upgrade(engine)
    engine.dispose()
