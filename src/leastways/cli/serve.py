"""`leastways serve`: answers over HTTP."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leastways.cli.exits import errors_shown
from leastways.cli.screen import notes, say, screen

if TYPE_CHECKING:
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
        from leastways.server.config import read_config

        changes = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
        with _log_on_stderr():
            _serve(read_config(config, **changes))


def _serve(config: ServiceConfig) -> None:
    from leastways.server.app import create_app
    from leastways.server.engine import cause_told
    from leastways.server.running import check_exposure, open_socket, run
    from leastways.server.service import Service

    notes().print("Loading the model; what has to be compiled is compiled now ...")
    with cause_told(config.database):
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
    """Write what happens to stderr, with the time, while the command runs; a service has no other place to say it."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    loggers = [(logger, logger.level) for logger in map(logging.getLogger, ("leastways", "uvicorn"))]
    for logger, _ in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:  # whoever called the command in a process of their own keeps their logging, and maybe not this stream
        for logger, level in loggers:
            logger.removeHandler(handler)
            logger.setLevel(level)


def _write_example(folder: Path) -> None:
    """Write a service of the embedded loans: config, model, schema, data."""

    from leastways._extras import require
    from leastways.cli.demo_run import check_folder, train_model
    from leastways.cli.writing import Target
    from leastways.datasets import load_credit
    from leastways.server.example import EXAMPLE

    io = require("skops.io", "server", "The example")
    check_folder(folder)
    credit = load_credit()
    schema = credit.schema()
    model: Any = train_model(credit, schema)
    writers = {
        "service.yaml": lambda path: path.write_text(EXAMPLE, encoding="utf-8"),
        "schema.yaml": schema.to_yaml,
        "train.csv": lambda path: credit.train.to_csv(path, index=False),
        "model.skops": lambda path: io.dump(model, path),
    }
    targets = [Target.check(folder / name, (Path(name).suffix,), force=False) for name in writers]
    for target, write in zip(targets, writers.values(), strict=True):
        target.write(write)
    written = f"Written to {folder}: {', '.join(writers)}."
    say(f"{written}\nNext: leastways serve --config {folder / 'service.yaml'}")
