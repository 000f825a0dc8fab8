"""The way to the database: SQLite in a file or PostgreSQL, and one error for all that is the database's fault."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any
from weakref import WeakSet

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    InternalError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from leastways._extras import require
from leastways.errors import SettingError
from leastways.server.faults import StoreDown

_BUSY_SECONDS = 5
# A server that is cut off without a word must not hold a request for the two hours that TCP allows.
_ALIVE = {
    "connect_timeout": _BUSY_SECONDS,
    "keepalives_idle": _BUSY_SECONDS,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 2000 * _BUSY_SECONDS,
}
_WRITES = "leastways_writes"  # an execution option: this transaction is going to write
_suspect: WeakSet[Engine] = WeakSet()  # databases in which a write failed, and no trial has succeeded since


def open_engine(url: str) -> Engine:
    """Return an engine whose errors never show what was in a statement."""
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
    """Refuse what is no address, without repeating it; an @ in a password would pass its rest off as the host."""
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
    """Refuse what stands behind the question mark where PostgreSQL knows no such option; values are left to it."""
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
    """Make the file before SQLite does, for nobody else on this machine to read; its log gets the same rights."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError:
        return  # it is there, with the rights its owner gave it; or it cannot be, which SQLite says when asked


def _prepare_sqlite(connection: Any, record: Any) -> None:
    """Keep what was committed through a crash of the machine, and let readers and one writer work side by side."""
    connection.isolation_level = None  # transactions begin where `_begin_sqlite` says
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_BUSY_SECONDS * 1000}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA secure_delete = ON")  # what is erased is overwritten, see `forget_erased` for the rest
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    """Take the writer's lock at once: a reader that turns writer half-way is refused without waiting."""
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def reading(engine: Engine) -> Iterator[Session]:
    """Open a session to read in."""
    with database_errors(), Session(engine) as session:
        yield session


@contextmanager
def writing(engine: Engine) -> Iterator[Session]:
    """Open a session whose work is committed at the end, whole or not at all."""
    try:
        with database_errors(), Session(for_writing(engine)) as session, session.begin():
            yield session
    except StoreDown:
        _suspect.add(engine)
        raise


def try_writing(engine: Engine, trial: Callable[[Session], None]) -> None:
    """Make a trial where a write failed before, until one succeeds; `StoreDown` where it fails too.

    A disk that is full, or a server that only reads, shows in no other way. Where all is well nothing is written.
    """
    if engine in _suspect:
        with writing(engine) as session:
            trial(session)
        _suspect.discard(engine)


def for_writing(engine: Engine) -> Engine:
    """Return the same engine, for transactions that are going to write."""
    return engine.execution_options(**{_WRITES: True})


@contextmanager
def database_errors() -> Iterator[None]:
    """Turn what a database does when it is gone, full or locked into `StoreDown`; faults of ours stay what they are."""
    try:
        yield
    except (OperationalError, InterfaceError, InternalError, PoolTimeout) as error:
        raise StoreDown(f"the database cannot be used just now: {_short(error)}") from error
    except DBAPIError as error:
        if error.connection_invalidated:
            raise StoreDown("the connection to the database was lost") from error
        if type(error.orig) is sqlite3.DatabaseError:  # the file is damaged, or none of SQLite's
            raise StoreDown(f"the database cannot be used: {_short(error)}") from error
        raise


@contextmanager
def cause_told(url: str) -> Iterator[None]:
    """Add what the driver says to `StoreDown`, for whoever starts a service: it names hosts and users, so that no
    caller over HTTP may see it. The password of the URL is left out.
    """
    try:
        yield
    except StoreDown as error:
        cause = getattr(error.__cause__, "orig", None)
        if cause is None or isinstance(cause, sqlite3.Error):  # SQLite's is told already
            raise
        first = (str(cause).strip().splitlines() or [""])[0]
        parts = make_url(url)
        for secret in filter(None, (parts.password, parts.query.get("password"))):
            first = re.sub(rf"(?<!\w){re.escape(str(secret))}(?!\w)", "***", first)
        raise StoreDown(f"{error}: {first}") from error


def forget_erased(engine: Engine, whole: bool) -> bool:
    """Empty SQLite's log, which still holds what was erased, and with `whole` write its file anew first.

    What is deleted is overwritten (`secure_delete`), but copies may be left where rows once moved between pages. To
    write the file anew takes seconds for a gigabyte, in which nobody else can write. False where something was in the
    way all the time, or there is no room for the new file.
    """
    if engine.dialect.name != "sqlite":
        return True
    try:
        with engine.connect() as connection:
            cursor = connection.connection.cursor()
            if whole:
                cursor.execute("VACUUM")
            return _empty_log(cursor)
    except (sqlite3.Error, SQLAlchemyError):  # what was erased is erased, whatever becomes of its traces
        return False


def _empty_log(cursor: Any) -> bool:
    """Empty SQLite's log; tried for some time, since another writer may be about to do a part of it."""
    end = monotonic() + _BUSY_SECONDS
    while cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if monotonic() >= end:
            return False
        sleep(0.05)
    return True


def _short(error: Exception) -> str:
    cause = getattr(error, "orig", None)
    if isinstance(cause, sqlite3.Error):
        return str(cause)  # SQLite's messages are fixed texts
    return type(cause or error).__name__
