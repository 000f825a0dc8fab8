"""The tables of the service's database.

A person and what was said of them are one row in `people`; deleting it deletes everything about them. An answer names
the origin it was made by: versions, fingerprints, settings. Times are UTC.
"""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import DateTime, Dialect, ForeignKey, Index, MetaData, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator


class UtcTime(TypeDecorator[datetime]):
    """A moment, kept as UTC without a zone, since SQLite knows none."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Turn a moment into UTC."""
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Say that it is UTC."""
        return None if value is None else value.replace(tzinfo=UTC)


class Base(DeclarativeBase):
    """All tables, with names of constraints that migrations can refer to."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class OriginRow(Base):
    """By what answers were made: the same for all of them until a file, a setting or a version changes."""

    __tablename__ = "origins"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    created: Mapped[datetime] = mapped_column(UtcTime)
    version: Mapped[str] = mapped_column(String(40))
    schema_print: Mapped[str] = mapped_column(String(64))
    model_print: Mapped[str] = mapped_column(String(64))
    data_print: Mapped[str] = mapped_column(String(64))
    settings: Mapped[str] = mapped_column(Text)
    libraries: Mapped[str] = mapped_column(Text)


class PersonRow(Base):
    """A person: all that was said of them, and the hash of the token of their page."""

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
    status: Mapped[str] = mapped_column(String(20))
    plan: Mapped[str] = mapped_column(Text)


class ChoiceRow(Base):
    """What the person said to an answer last."""

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
    total: Mapped[int]  # those who still wait are in `waiting`, the others are done
    failed: Mapped[int]
    error: Mapped[str] = mapped_column(Text)
    owner: Mapped[str | None] = mapped_column(String(32))
    lease_until: Mapped[datetime | None] = mapped_column(UtcTime)


class WaitingRow(Base):
    """A person of a job who has no answer yet."""

    __tablename__ = "waiting"

    person_id: Mapped[str] = mapped_column(ForeignKey("people.id", ondelete="CASCADE"), primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    position: Mapped[int]
    preferences: Mapped[str | None] = mapped_column(Text)

    __table_args__ = (Index("ix_waiting_job_position", "job_id", "position"),)


class KeyRow(Base):
    """An API key: a salted hash of its secret, and what it is good for."""

    __tablename__ = "keys"

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    created: Mapped[datetime] = mapped_column(UtcTime)
    revoked: Mapped[datetime | None] = mapped_column(UtcTime)
    salt: Mapped[str] = mapped_column(String(32))
    secret_hash: Mapped[str] = mapped_column(String(64))
    scopes: Mapped[str] = mapped_column(String(60))


class ErasureRow(Base):
    """How many people were erased, when and why; nothing of who they were."""

    __tablename__ = "erasures"

    id: Mapped[int] = mapped_column(primary_key=True)
    created: Mapped[datetime] = mapped_column(UtcTime)
    why: Mapped[str] = mapped_column(String(20))  # asked, retention
    people: Mapped[int]
    answers: Mapped[int]
