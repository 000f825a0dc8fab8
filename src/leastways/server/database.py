"""The database: SQLite in a file or PostgreSQL, its tables, and the migrations between releases."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from weakref import WeakSet

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import (
    URL,
    Connection,
    DateTime,
    Dialect,
    Engine,
    ForeignKey,
    Index,
    MetaData,
    String,
    Text,
    create_engine,
    event,
    make_url,
    text,
)
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    InternalError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.types import TypeDecorator

from leastways._extras import require
from leastways.errors import DatabaseDown, SettingError


def now() -> datetime:
    """Return this moment."""
    return datetime.now(UTC)


def days_ago(days: int) -> datetime:
    """Return the time that many days ago, or the earliest representable one."""
    try:
        return now() - timedelta(days=days)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


_BUSY_SECONDS = 5
# If the connection to the server breaks silently, a request must not hang for the two hours that TCP allows.
_ALIVE = {
    "connect_timeout": _BUSY_SECONDS,
    "keepalives_idle": _BUSY_SECONDS,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 2000 * _BUSY_SECONDS,
}
_WRITES = "leastways_writes"  # an execution option: this transaction is going to write
_suspect: WeakSet[Engine] = WeakSet()  # databases in which a write failed, and no trial write has succeeded since


def open_engine(url: str) -> Engine:
    """Return an engine whose errors do not show the values of a statement."""
    settings = {"hide_parameters": True, "pool_size": 5, "max_overflow": 10, "pool_timeout": _BUSY_SECONDS}
    if url.startswith("sqlite"):
        _keep_private(str(make_url(url).database))
        engine = create_engine(url, **settings)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    require("psycopg", "postgres", "A PostgreSQL database")
    _check_address(url)
    return create_engine(url, pool_pre_ping=True, connect_args=_ALIVE, **settings)


def _check_address(url: str) -> None:
    """Refuse a malformed address without repeating it; an @ in a password would end up in the host."""
    try:
        fine = "@" not in (make_url(url).host or "")
    except (ArgumentError, ValueError):
        fine = False
    if not fine:
        raise SettingError(
            "database: the PostgreSQL URL cannot be read; write postgresql://user:password@host:port/name, and in a "
            "password %40 for @, %3A for :, %2F for /, %25 for %."
        )
    _check_options(make_url(url))


def _check_options(url: URL) -> None:
    """Refuse connection options that PostgreSQL does not know; it checks their values itself."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import make_conninfo

    for name in url.query:
        try:
            make_conninfo("", **{name: ""})
        except ProgrammingError:
            raise SettingError(
                f"database: PostgreSQL has no connection option {name!r}; there are sslmode, application_name, options "
                "and others, see its manual under libpq."
            ) from None


def _keep_private(path: str) -> None:
    """Create the file, readable by its owner only; SQLite gives its log the same permissions."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError:
        return  # it exists with permissions of its own, or cannot be made, which SQLite reports later


def _prepare_sqlite(connection: Any, record: Any) -> None:
    """Make commits durable through a crash, and let readers work beside one writer."""
    connection.isolation_level = None  # transactions begin where `_begin_sqlite` says
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_BUSY_SECONDS * 1000}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA secure_delete = ON")  # erased rows are overwritten; `forget_erased` does the rest
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    """Take the write lock at the start: SQLite refuses a reader that turns writer later, without waiting."""
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def reading(engine: Engine) -> Iterator[Session]:
    """Open a session for reading."""
    with database_errors(), Session(engine) as session:
        yield session


@contextmanager
def writing(engine: Engine) -> Iterator[Session]:
    """Open a session that is committed at the end, or rolled back as a whole."""
    try:
        with database_errors(), Session(for_writing(engine)) as session, session.begin():
            yield session
    except DatabaseDown:
        _suspect.add(engine)
        raise


def try_writing(engine: Engine, trial: Callable[[Session], None]) -> None:
    """Try a write if one has failed before and none has succeeded since; raises `DatabaseDown` if it fails too.

    A full disk or a read-only server cannot be noticed otherwise. After successful writes nothing is written here.
    """
    if engine in _suspect:
        with writing(engine) as session:
            trial(session)
        _suspect.discard(engine)


def for_writing(engine: Engine) -> Engine:
    """Return the same engine, for transactions that write."""
    return engine.execution_options(**{_WRITES: True})


@contextmanager
def database_errors() -> Iterator[None]:
    """Turn errors of a database that is gone, full or locked into `DatabaseDown`; other errors pass unchanged."""
    try:
        yield
    except (OperationalError, InterfaceError, InternalError, PoolTimeout) as error:
        raise DatabaseDown(f"the database cannot be used just now: {_short(error)}") from error
    except DBAPIError as error:
        if error.connection_invalidated:
            raise DatabaseDown("the connection to the database was lost") from error
        if type(error.orig) is sqlite3.DatabaseError:  # the file is damaged, or not a SQLite file
            raise DatabaseDown(f"the database cannot be used: {_short(error)}") from error
        raise


@contextmanager
def with_driver_message(url: str) -> Iterator[None]:
    """Add the driver's message to `DatabaseDown`, for the operator who starts a service.

    The message names hosts and users, so callers over HTTP must not see it. The password of the URL is left out.
    """
    try:
        yield
    except DatabaseDown as error:
        cause = getattr(error.__cause__, "orig", None)
        if cause is None or isinstance(cause, sqlite3.Error):  # SQLite's message is in it already
            raise
        first = (str(cause).strip().splitlines() or [""])[0]
        parts = make_url(url)
        for secret in filter(None, (parts.password, parts.query.get("password"))):
            first = re.sub(rf"(?<!\w){re.escape(str(secret))}(?!\w)", "***", first)
        raise DatabaseDown(f"{error}: {first}") from error


def forget_erased(engine: Engine, whole: bool) -> bool:
    """Empty SQLite's log, which still holds erased rows; with `whole`, rewrite the file first.

    Deleted rows are overwritten (`secure_delete`), but copies may remain where rows moved between pages. Rewriting
    the file takes seconds per gigabyte, during which no other writer can work. Returns False if the file was in use
    all the time, or there is no space for the new file.
    """
    if engine.dialect.name != "sqlite":
        return True
    try:
        with engine.connect() as connection:
            cursor = connection.connection.cursor()
            if whole:
                cursor.execute("VACUUM")
            return _empty_log(cursor)
    except (sqlite3.Error, SQLAlchemyError):  # the rows are erased, even if traces remain
        return False


def _empty_log(cursor: Any) -> bool:
    """Empty SQLite's log; retried for some seconds, since another writer may be using it."""
    end = monotonic() + _BUSY_SECONDS
    while cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if monotonic() >= end:
            return False
        sleep(0.05)
    return True


def _short(error: Exception) -> str:
    cause = getattr(error, "orig", None)
    if isinstance(cause, sqlite3.Error):
        return str(cause)  # SQLite's messages are fixed texts without values
    return type(cause or error).__name__


class UtcTime(TypeDecorator[datetime]):
    """A moment, stored in UTC without a zone, since SQLite has no zones."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert a moment to UTC without a zone."""
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return a moment with the zone UTC."""
        return None if value is None else value.replace(tzinfo=UTC)


class Base(DeclarativeBase):
    """Base of all tables; names constraints so that migrations can refer to them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class OriginRow(Base):
    """Origin of answers, shared by all of them until a file, a setting or a version changes."""

    __tablename__ = "origins"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    created: Mapped[datetime] = mapped_column(UtcTime)
    version: Mapped[str] = mapped_column(String(40))
    schema_fingerprint: Mapped[str] = mapped_column(String(64))
    model_fingerprint: Mapped[str] = mapped_column(String(64))
    data_fingerprint: Mapped[str] = mapped_column(String(64))
    settings: Mapped[str] = mapped_column(Text)
    libraries: Mapped[str] = mapped_column(Text)


class PersonRow(Base):
    """A person: state, groups and reference, and the hash of the token of their page."""

    __tablename__ = "people"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    created: Mapped[datetime] = mapped_column(UtcTime, index=True)
    reference: Mapped[str | None] = mapped_column(String(200), index=True)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    state: Mapped[str] = mapped_column(Text)
    groups: Mapped[str] = mapped_column(Text)


class AnswerRow(Base):
    """An answer. The first one of a person has the person's id, and no parent."""

    __tablename__ = "answers"
    __table_args__ = (Index("ix_answers_person_number", "person_id", "number", unique=True),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    person_id: Mapped[str] = mapped_column(ForeignKey("people.id", ondelete="CASCADE"))
    number: Mapped[int]  # 1 for the first, then counted up
    created: Mapped[datetime] = mapped_column(UtcTime, index=True)
    origin_id: Mapped[str] = mapped_column(ForeignKey("origins.id"))
    preferences: Mapped[str | None] = mapped_column(Text)
    entries: Mapped[str | None] = mapped_column(Text)  # as they were entered on the person's page
    status: Mapped[str] = mapped_column(String(20))
    plan: Mapped[str] = mapped_column(Text)


class ChoiceRow(Base):
    """The person's latest choice for an answer."""

    __tablename__ = "choices"

    answer_id: Mapped[str] = mapped_column(ForeignKey("answers.id", ondelete="CASCADE"), primary_key=True)
    option: Mapped[int | None]
    reason: Mapped[str] = mapped_column(Text)
    created: Mapped[datetime] = mapped_column(UtcTime)


class JobRow(Base):
    """A long batch. `owner` is the process that works on it, until its lease ends."""

    __tablename__ = "jobs"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    created: Mapped[datetime] = mapped_column(UtcTime, index=True)
    state: Mapped[str] = mapped_column(String(10), index=True)
    total: Mapped[int]  # people without an answer are in `pending`
    failed: Mapped[int]
    error: Mapped[str] = mapped_column(Text)
    owner: Mapped[str | None] = mapped_column(String(32))
    lease_until: Mapped[datetime | None] = mapped_column(UtcTime)


class PendingRow(Base):
    """A person of a job without an answer yet."""

    __tablename__ = "pending"

    person_id: Mapped[str] = mapped_column(ForeignKey("people.id", ondelete="CASCADE"), primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    position: Mapped[int]
    preferences: Mapped[str | None] = mapped_column(Text)

    __table_args__ = (Index("ix_pending_job_position", "job_id", "position"),)


class KeyRow(Base):
    """An API key: a salted hash of its secret, and its scopes."""

    __tablename__ = "keys"

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    created: Mapped[datetime] = mapped_column(UtcTime)
    revoked: Mapped[datetime | None] = mapped_column(UtcTime)
    salt: Mapped[str] = mapped_column(String(32))
    secret_hash: Mapped[str] = mapped_column(String(64))
    scopes: Mapped[str] = mapped_column(String(60))


class ErasureRow(Base):
    """How many people were erased, when and why; nothing about the people themselves."""

    __tablename__ = "erasures"

    id: Mapped[int] = mapped_column(primary_key=True)
    created: Mapped[datetime] = mapped_column(UtcTime)
    why: Mapped[str] = mapped_column(String(20))  # asked, retention
    people: Mapped[int]
    answers: Mapped[int]


_FOLDER = Path(__file__).parent / "migrations"
_LOCK = 0x6C656173  # any number: two processes that start at the same time take turns


def upgrade_database(engine: Engine, to: str = "head") -> None:
    """Run every missing migration, in one transaction."""
    with _changing(engine) as config:
        command.upgrade(config, to)


def downgrade_database(engine: Engine, to: str) -> None:
    """Run migrations backwards."""
    with _changing(engine) as config:
        command.downgrade(config, to)


def database_revision(engine: Engine) -> str | None:
    """Return the revision of a database, None if it is empty."""
    with database_errors(), engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


@contextmanager
def _changing(engine: Engine) -> Iterator[Config]:
    """Yield the configuration for alembic, inside one transaction and under a lock; refuses newer databases."""
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
