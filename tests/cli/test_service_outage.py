"""A database that cannot be reached at the start: the operator is told why, and nobody the password."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
import yaml

from tests.support.command_line import run

pytest.importorskip("psycopg")

from leastways.errors import DatabaseDown, SettingError
from leastways.server.database import open_engine, reading, with_driver_message
from tests.support.loan_service import write_shop

NOBODY = "postgresql://desk:s3cret@127.0.0.1:1/bank"  # port 1: nothing listens there


@pytest.mark.parametrize("command", [["serve"], ["keys", "list"], ["erase", "--reference", "x"]])
def test_an_unreachable_database_is_named_without_its_password(tmp_path: Path, command: list[str]) -> None:
    file = write_shop(tmp_path)
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | {"database": NOBODY}))
    result = run(*command, "--config", file)
    assert result.exit_code == 2
    assert "cannot be used just now: OperationalError: " in result.stderr
    assert "127.0.0.1" in result.stderr
    assert "refused" in result.stderr
    assert "s3cret" not in result.stderr
    assert "Traceback" not in result.stderr


def test_log_handlers_are_removed_after_the_command(tmp_path: Path) -> None:
    """A handler that stayed would go on writing to a stderr that may be closed by then."""
    file = write_shop(tmp_path)
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | {"database": NOBODY}))
    loggers = [logging.getLogger(name) for name in ("leastways", "uvicorn")]
    before = [(list(logger.handlers), logger.level) for logger in loggers]
    assert run("serve", "--config", file).exit_code == 2
    assert [(logger.handlers, logger.level) for logger in loggers] == before


def test_the_password_is_left_out_where_the_driver_repeats_it() -> None:
    class DriverError(Exception):
        orig = RuntimeError("no server takes s%3cret\nnor this line")

    with pytest.raises(DatabaseDown) as error, with_driver_message("postgresql+psycopg://desk:s%253cret@host/bank"):
        raise DatabaseDown("gone") from DriverError()
    assert str(error.value) == "gone: no server takes ***"


def test_callers_over_http_do_not_see_the_cause() -> None:
    """Callers over HTTP get the message of this error."""
    engine = open_engine(NOBODY.replace("://", "+psycopg://"))
    with pytest.raises(DatabaseDown) as error, reading(engine) as session:
        session.connection()
    assert str(error.value) == "the database cannot be used just now: OperationalError"


@pytest.mark.parametrize("url", ["desk:s3@cret@host/bank", "desk:s3cret@host:port/bank"])
def test_an_invalid_database_url_does_not_show_its_password(url: str) -> None:
    with pytest.raises(SettingError, match="%40 for @") as error:
        open_engine(f"postgresql+psycopg://{url}")
    assert "cret" not in str(error.value)
