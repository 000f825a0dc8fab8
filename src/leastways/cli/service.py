"""`leastways serve`, `replay`, `erase` and `keys`: run a service, and maintain it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leastways.cli.console import (
    EXIT_CODES,
    SOME_FAILED,
    JsonFlag,
    errors_shown,
    notes,
    print_json,
    say,
    screen,
    stdout_aside,
)

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from leastways.server import ServiceConfig


ConfigFile = Annotated[
    Path, typer.Option("--config", "-c", metavar="FILE.yaml", help="The settings of the service.", show_default=True)
]


def serve(
    config: ConfigFile = Path("service.yaml"),
    host: Annotated[str | None, typer.Option(help="The address to listen on, instead of the config's.")] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="The port to listen on, instead of the config's; 0: any free one."),
    ] = None,
    example: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a commented service.yaml, with a model and data to try, and exit."),
    ] = None,
) -> None:
    """Serve options over HTTP, record every answer, and serve the pages.

    The database is created or brought up to date at the start. On SIGTERM,
    running requests are answered, and jobs continue at the next start.

    \b
    Examples:
      leastways serve --example shop
      leastways serve --config shop/service.yaml
      leastways serve --config service.yaml --port 8080
    """
    with errors_shown(False, from_file=True):
        if example is not None:
            _write_example(example)
            return
        from leastways.server import read_config

        changes = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
        with _log_on_stderr():
            _serve(read_config(config, **changes))


def _serve(config: ServiceConfig) -> None:
    from leastways.server import Service, check_exposure, create_app, open_socket, run, with_driver_message

    notes().print("Loading the model; what has to be compiled is compiled now ...")
    with with_driver_message(config.database):
        opened = Service.open(config)
    with opened as service:
        check_exposure(config, service.keys)
        app = create_app(service)
        listening = open_socket(config)
        name, number = listening.getsockname()[:2]
        shown = f"[{name}]" if ":" in name else name
        run(app, config, listening, lambda: screen().print(f"Serving on http://{shown}:{number}", soft_wrap=True))
    notes().print("Ended. What was accepted is recorded; unfinished jobs go on at the next start.")


@contextmanager
def _log_on_stderr() -> Iterator[None]:
    """Log to stderr, with the time, while the command runs."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    loggers = [(logger, logger.level) for logger in map(logging.getLogger, ("leastways", "uvicorn"))]
    for logger, _ in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:  # a program that called the command keeps its own logging
        for logger, level in loggers:
            logger.removeHandler(handler)
            logger.setLevel(level)


def _write_example(folder: Path) -> None:
    """Write the files of a service on the built-in data: config, model, schema, data."""
    from leastways._extras import require
    from leastways.cli.demo import train_model
    from leastways.datasets import load_credit
    from leastways.io import OutputFile, make_folder
    from leastways.server import EXAMPLE

    io = require("skops.io", "server", "The example")
    make_folder(folder)
    credit = load_credit()
    schema = credit.schema()
    model: Any = train_model(credit, schema)
    writers = {
        "service.yaml": lambda path: path.write_text(EXAMPLE, encoding="utf-8"),
        "schema.yaml": schema.to_yaml,
        "train.csv": lambda path: credit.train.to_csv(path, index=False),
        "model.skops": lambda path: io.dump(model, path),
    }
    targets = [OutputFile.check(folder / name, (Path(name).suffix,), force=False) for name in writers]
    for target, write in zip(targets, writers.values(), strict=True):
        target.write(write)
    written = f"Written to {folder}: {', '.join(writers)}."
    say(f"{written}\nNext: leastways serve --config {folder / 'service.yaml'}")


keys_app = typer.Typer(no_args_is_help=True)
_Config = Path("service.yaml")


@contextmanager
def _database(path: Path) -> Iterator[tuple[ServiceConfig, Engine]]:
    """Open the database of a service, brought up to date."""
    from leastways.server import open_engine, read_config, upgrade_database, with_driver_message

    config = read_config(path)
    engine = open_engine(config.database)
    try:
        with with_driver_message(config.database):
            upgrade_database(engine)
        yield config, engine
    finally:
        engine.dispose()


def replay(
    answer: Annotated[str, typer.Argument(metavar="ID", help="The id of a recorded answer.")],
    config: ConfigFile = _Config,
    as_json: JsonFlag = False,
) -> None:
    """Compute a recorded answer again, and compare it byte for byte.

    Refuses if model, schema or training data are not the files of that
    answer. The exit code is 4 if the answers differ.

    \b
    Examples:
      leastways replay 5ad3eaa3f353d707a354b328ac75b289
      leastways replay 5ad3eaa3f353d707a354b328ac75b289 --config shop/service.yaml --json
    """
    with errors_shown(as_json, from_file=True):
        from leastways.server import replay as compute_again

        with _database(config) as (settings, engine), stdout_aside():
            result = compute_again(settings, engine, answer)
        if as_json:
            print_json(vars(result))
        else:
            verdict = "the same, byte for byte" if result.same else "not the same"
            say(f"Answer {answer}: {verdict}.")
            for line in (*result.differences, *(f"Note: {note}" for note in result.notes)):
                say(f"  {line}")
        if not result.same:
            raise typer.Exit(SOME_FAILED)


def erase(
    answers: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Any answer id of each person to erase.")
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="Or all people with this reference, which the caller gave.")
    ] = None,
    older_than: Annotated[
        int | None,
        typer.Option(min=0, metavar="DAYS", help="Or all people sent more than this many days ago."),
    ] = None,
    config: ConfigFile = _Config,
    as_json: JsonFlag = False,
) -> None:
    """Erase people for good: what was sent, every answer, every choice.

    Only the number of erased people is kept. Naming any answer of a person
    erases all of them.

    \b
    Examples:
      leastways erase 5ad3eaa3f353d707a354b328ac75b289
      leastways erase --reference case-2041
      leastways erase --older-than 90
    """
    with errors_shown(as_json, from_file=True):
        from leastways.errors import SettingError
        from leastways.server import Store, days_ago

        given = [bool(answers), reference is not None, older_than is not None]
        if sum(given) != 1:
            raise SettingError("say whom to erase by one of: ids of answers, --reference, --older-than.")
        with _database(config) as (_, engine):
            store = Store(engine)
            unknown = set(answers or ()) - store.people_of(answers or ()).keys()
            if reference is not None:
                erased = store.erase_reference(reference)
            elif older_than is not None:
                erased = store.erase_before(days_ago(older_than))
            else:
                erased = store.erase_families(answers or ())
        if as_json:
            print_json({"erased": erased})
        else:
            screen().print(f"Erased {erased} {'person' if erased == 1 else 'people'}.")
        if unknown:
            notes().print("Some ids were not found: they were erased before, or never existed.", style="yellow")


@keys_app.callback()
def _group() -> None:
    """API keys of a service: create, list, revoke.

    \b
    Example:
      leastways keys create --name "loan desk" --scope apply --scope read
      leastways keys list
      leastways keys revoke 0f3a9c1b22d4
    """


@keys_app.command(epilog=EXIT_CODES)
def create(
    name: Annotated[str, typer.Option(help="Who uses it; it is shown in the list of keys.")],
    scope: Annotated[list[str], typer.Option(help="What it allows: apply, read or audit. Repeat it.")],
    config: ConfigFile = _Config,
    as_json: JsonFlag = False,
) -> None:
    """Create a key and print it. Only a hash of it is kept: copy it now.

    apply: send people, record choices. read: read answers. audit: the audit
    over all that was served.

    \b
    Examples:
      leastways keys create --name "loan desk" --scope apply --scope read
      leastways keys create --name compliance --scope audit --json
    """
    with errors_shown(as_json, from_file=True):
        from rich.text import Text

        from leastways.server import KeyStore

        with _database(config) as (_, engine):
            key, text = KeyStore(engine).create(name, scope)
        if as_json:
            print_json({"id": key.id, "name": key.name, "scopes": list(key.scopes), "key": text})
            return
        say(text)
        notes().print(Text(f"Key {key.id} for {', '.join(key.scopes)}. It is shown only once."))


@keys_app.command("list", epilog=EXIT_CODES)
def list_(config: ConfigFile = _Config, as_json: JsonFlag = False) -> None:
    """List the keys, revoked ones included.

    \b
    Examples:
      leastways keys list
      leastways keys list --config shop/service.yaml --json
    """
    with errors_shown(as_json, from_file=True):
        from rich.table import Table

        from leastways.server import KeyStore

        with _database(config) as (_, engine):
            keys = KeyStore(engine).all()
        rows: list[dict[str, Any]] = [
            {
                "id": key.id,
                "name": key.name,
                "scopes": ", ".join(key.scopes),
                "created": key.created.isoformat(timespec="seconds"),
                "revoked": "" if key.revoked is None else key.revoked.isoformat(timespec="seconds"),
            }
            for key in keys
        ]
        if as_json:
            print_json({"keys": rows})
            return
        table = Table("Id", "Name", "Scopes", "Created", "Revoked", box=None)
        for row in rows:
            table.add_row(*row.values())
        screen().print(table if rows else "There are no keys.")


@keys_app.command(epilog=EXIT_CODES)
def revoke(
    key: Annotated[str, typer.Argument(metavar="ID", help="The key's id: the part after lw_.")],
    config: ConfigFile = _Config,
    as_json: JsonFlag = False,
) -> None:
    """Revoke a key. A running service may accept it for five more seconds.

    \b
    Examples:
      leastways keys revoke 0f3a9c1b22d4
    """
    with errors_shown(as_json, from_file=True):
        from leastways.server import KeyStore

        with _database(config) as (_, engine):
            gone = KeyStore(engine).revoke(key)
        if as_json:
            print_json({"id": gone.id, "name": gone.name, "revoked": True})
        else:
            say(f"Key {gone.id} ({gone.name}) is revoked.")
