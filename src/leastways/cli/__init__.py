"""The command `leastways`: its commands, in the order of the help. What a command needs is imported when it runs."""

from __future__ import annotations

import io
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from leastways.cli import audit, demo, plans, recommend, schema, service, study
from leastways.cli.console import EXIT_CODES, INTERRUPTED

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; the entry point of the `leastways` script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without a sign for the euro still gets the rest
    try:
        app()
    except KeyboardInterrupt:  # outside of a command: while starting or ending
        sys.exit(INTERRUPTED)


class _Group(TyperGroup):
    """The commands together. A message on a value that cannot be read shows it, with any release of typer."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            errors = getattr(error.__cause__, "errors", None)  # newer releases check with pydantic, and leave it out
            given = errors()[0].get("input") if callable(errors) else None
            if given is not None:
                error.message = f"{error.message}: {given!r}."
            raise


app = typer.Typer(
    name="leastways",
    cls=_Group,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,  # a bug shows as Python shows it, whole
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EXIT_CODES,
)


def _print_version(asked: bool) -> None:
    if asked:
        from leastways import __version__

        typer.echo(f"leastways {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Least-cost ways to a yes: what people whom a model refused can change, when their costs are unknown.

    \b
    Examples, from a first look to one person's options:
      leastways demo
      leastways schema infer train.csv --target approved -o schema.yaml
      leastways recommend --model model.onnx --schema schema.yaml \\
          --data train.csv --people refused.csv --out plans.json
      leastways explain plans.json --person 7
    """


app.command(epilog=EXIT_CODES)(demo.demo)
app.add_typer(schema.schema_app, name="schema")
app.command(epilog=EXIT_CODES)(recommend.recommend)
app.command(epilog=EXIT_CODES)(plans.explain)
app.command(epilog=EXIT_CODES)(audit.audit)
app.add_typer(study.study_app, name="study")
app.command(epilog=EXIT_CODES)(service.serve)
app.add_typer(service.keys_app, name="keys")
app.command(epilog=EXIT_CODES)(service.replay)
app.command(epilog=EXIT_CODES)(service.erase)
