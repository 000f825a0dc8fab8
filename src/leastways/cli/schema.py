"""`leastways schema infer`: a first schema from a table, to be edited by hand."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leastways.cli.console import EXIT_CODES, JsonFlag, errors_shown, notes, print_json, screen

if TYPE_CHECKING:
    import pandas as pd

    from leastways.schema import Feature, Schema

schema_app = typer.Typer(no_args_is_help=True)


@schema_app.callback()
def _group() -> None:
    """Make schema files: what each column is, and how people may change it.

    \b
    Example:
      leastways schema infer train.csv --target approved -o schema.yaml
    """


@schema_app.command(epilog=EXIT_CODES)
def infer(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The training table: .csv or .parquet.")],
    target: Annotated[str, typer.Option("--target", "-t", help="The column that the model predicts.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The schema file to write.")] = Path("schema.yaml"),
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Leave this column out, as the model does. Repeat it.")
    ] = None,
    index: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column with the people's labels; it is not a feature.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Infer a schema from a table, and write it to a file to be edited.

    Data do not show what people can change: every direction is `any` at first.
    Edit the file: write `fixed`, `up` or `down` where that is so.
    Notes name columns that look wrong, such as numbers written as text, or
    categories that differ only by case.

    \b
    Examples:
      leastways schema infer train.csv --target approved -o schema.yaml
      leastways schema infer train.parquet -t approved --force --json
      leastways schema infer train.csv -t approved --index customer \\
          --drop branch --drop applied_on
    """
    with errors_shown(as_json):
        from rich.text import Text

        from leastways.io import OutputFile, read_table
        from leastways.schema import Schema

        file = OutputFile.check(out, (".yaml", ".yml"), force, [data])
        table = read_table(data, None, index)
        table = table.drop(columns=_dropped(table, drop or (), target, data))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            schema = Schema.infer(table, target=target)
        warned = [str(warning.message) for warning in caught]
        file.write(schema.to_yaml)
        if as_json:
            print_json(_as_dict(schema, out) | {"warnings": warned})
        else:
            _show(schema, out)
        for text in warned:
            notes().print(Text(f"Note: {text}"), style="yellow", soft_wrap=True)


def _dropped(table: pd.DataFrame, names: Sequence[str], target: str, data: Path) -> list[str]:
    """Return the columns to leave out; the index may be named too, though it is no column."""
    from leastways._messages import nearest
    from leastways.errors import SettingError

    for name in names:
        if name == target:
            raise SettingError(f"--drop {name!r} is the target.")
        if name not in table.columns and name != table.index.name:
            raise SettingError(f"{str(data)!r} has no column {name!r} to drop.{nearest(name, table.columns)}")
    return [name for name in dict.fromkeys(names) if name in table.columns]


def _show(schema: Schema, out: Path) -> None:
    from rich.text import Text

    from leastways.report import schema_table

    screen().print(schema_table(schema))
    screen().print(Text(f"Written to {out}. Next, edit it: say which features are fixed, or may only go up or down."))
    screen().print(Text("To keep options short, end it with `rules: [{at_most: 3}]`: three changes at most."))


def _as_dict(schema: Schema, out: Path) -> dict[str, Any]:
    return {"out": str(out), "target": schema.target, "features": [_feature(f) for f in schema.features]}


def _feature(feature: Feature) -> dict[str, Any]:
    """Return a feature for JSON: a number with its ends, a category with its values."""
    what: dict[str, Any] = {"name": feature.name, "kind": feature.kind, "direction": feature.direction}
    if feature.missing:
        what["missing"] = True
    if feature.valid_range != (None, None):
        what["valid_range"] = list(feature.valid_range)
    if feature.numeric:
        return what | {"min": feature.values[0], "max": feature.values[-1], "grid_points": len(feature.values)}
    return what | {"values": list(feature.values)}
