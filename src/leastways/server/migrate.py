"""Bringing a database to the form this release knows, and refusing one that a newer release made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from leastways.errors import SettingError
from leastways.server.engine import database_errors, for_writing

_FOLDER = Path(__file__).parent / "migrations"
_LOCK = 0x6C656173  # any number: two processes that start together take turns


def upgrade(engine: Engine, to: str = "head") -> None:
    """Take every step that is missing, in one transaction."""
    with _changing(engine) as config:
        command.upgrade(config, to)


def downgrade(engine: Engine, to: str) -> None:
    """Take steps back."""
    with _changing(engine) as config:
        command.downgrade(config, to)


def revision(engine: Engine) -> str | None:
    """Return the form that a database has, None where it is empty."""
    with database_errors(), engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


@contextmanager
def _changing(engine: Engine) -> Iterator[Config]:
    """Give alembic what it needs to change a database that is not too new, in one transaction and in our turn."""
    with database_errors(), for_writing(engine).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        config = Config()
        config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
        config.attributes["connection"] = connection
        _refuse_newer(connection, config)
        yield config


def _refuse_newer(connection: Connection, config: Config) -> None:
    found = MigrationContext.configure(connection).get_current_revision()
    scripts = ScriptDirectory.from_config(config)
    known = [script.revision for script in scripts.walk_revisions()]
    if found is not None and found not in known:
        raise SettingError(
            f"the database has the form {found!r}, which this release does not know (it knows up to "
            f"{scripts.get_current_head()!r}): a newer leastways made it. Install that one, or name another database."
        )
