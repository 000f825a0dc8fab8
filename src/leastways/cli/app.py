"""The commands and their order in the help."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from leastways.cli.audit import audit
from leastways.cli.demo import demo
from leastways.cli.exits import MEANINGS
from leastways.cli.explain import explain
from leastways.cli.recommend import recommend
from leastways.cli.schema import schema_app
from leastways.cli.serve import serve
from leastways.cli.service_tools import erase, keys_app, replay
from leastways.cli.study import study_app


class _Group(TyperGroup):
    """The commands together. A message on a value that cannot be read shows it, whichever typer is installed."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            faults = getattr(error.__cause__, "errors", None)  # newer releases check with pydantic, and leave it out
            given = faults()[0].get("input") if callable(faults) else None
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
    epilog=MEANINGS,
)


def _version(wanted: bool) -> None:
    if wanted:
        from leastways import __version__

        typer.echo(f"leastways {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
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


app.command(epilog=MEANINGS)(demo)
app.add_typer(schema_app, name="schema")
app.command(epilog=MEANINGS)(recommend)
app.command(epilog=MEANINGS)(explain)
app.command(epilog=MEANINGS)(audit)
app.add_typer(study_app, name="study")
app.command(epilog=MEANINGS)(serve)
app.add_typer(keys_app, name="keys")
app.command(epilog=MEANINGS)(replay)
app.command(epilog=MEANINGS)(erase)
