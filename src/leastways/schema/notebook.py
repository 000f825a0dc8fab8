"""A schema as notebooks show it: a row per feature, in the notebook's own style."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leastways.schema.schema import Schema

_HEADS = ("Feature", "Kind", "May move", "Values")
_MOVES = {"any": "either way", "up": "only up", "down": "only down", "fixed": "never"}


def schema_html(schema: Schema) -> str:
    """Return the features as a table, and the rules as a list."""
    rows = [
        (f.name, f.kind, _MOVES[f.direction], f.allowed_text() + f.limits_text() + f.never_text())
        for f in schema.features
    ]
    head = "".join(f'<th style="text-align: left">{name}</th>' for name in _HEADS)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align: left">{escape(cell)}</td>' for cell in row) + "</tr>" for row in rows
    )
    title = f"{len(schema.features)} features" + (f", target {schema.target!r}" if schema.target else "")
    rules = "".join(f"<li><code>{escape(str(rule))}</code></li>" for rule in schema.rules)
    ending = f"<p>Rules:</p><ul>{rules}</ul>" if rules else ""
    return (
        f"<div><p><strong>{escape(title)}</strong></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{ending}</div>"
    )
