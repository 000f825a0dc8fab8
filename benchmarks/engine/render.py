"""From the results file to a page and a screen: target and measured side by side, and what failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.engine.parts import PARTS
from benchmarks.engine.tables import MET, MISSED, VERDICT, Table


def markdown(content: dict[str, Any]) -> str:
    """Return the page."""
    lines = ["# The search engine, measured", "", *_head(content), ""]
    for table in all_tables(content):
        lines += [f"## {table.title}", ""]
        if table.rows:
            lines += [_bar(table.columns), _bar(["---"] * len(table.columns)), *map(_bar, table.rows), ""]
        else:
            lines += ["Nothing measured.", ""]
        lines += [table.note, ""] if table.note else []
    return "\n".join(lines)


def text(content: dict[str, Any]) -> str:
    """Return the same for a screen."""
    lines = [*_head(content), ""]
    for table in all_tables(content):
        if table.rows:
            lines += [table.title, *_columns([table.columns, *table.rows]), ""]
    return "\n".join(lines)


def all_tables(content: dict[str, Any]) -> list[Table]:
    """Return the tables of every part that was run, last the rows that could not be made, and warnings."""
    parts = {name: rows for name, rows in content["parts"].items() if name in PARTS}
    out = [table for name in PARTS if name in parts for table in PARTS[name].tables(parts[name])]
    lost = [
        [name, key, row["status"], row["error"].replace("\n", " ")]
        for name, rows in parts.items()
        for key, row in rows.items()
        if row["status"] != "ok"
    ]
    heard = [
        [name, key, said]
        for name, rows in parts.items()
        for key, row in rows.items()
        for said in row.get("warnings", [])
    ]
    ends = (
        Table("Not measured", ("part", "row", "status", "why"), lost),
        Table("Warnings", ("part", "row", "warning"), heard),
    )
    return out + [table for table in ends if table.rows]


def _head(content: dict[str, Any]) -> list[str]:
    words = [
        word
        for table in all_tables(content)
        for place, column in enumerate(table.columns)
        if column.startswith(VERDICT)
        for word in (row[place] for row in table.rows)
    ]
    rows = [row for part in content["parts"].values() for row in part.values()]
    codes = sorted({row["code"] for row in rows})
    machine = ", ".join(f"{k} {v}" for k, v in content["machine"].items())
    bad = sum(row["status"] == "failed" for row in rows)
    return [
        f"Size {content['size']}; code {', '.join(codes)}; {machine}.",
        *(["A smoke run shows that everything works; its figures mean nothing."] if content["size"] == "smoke" else []),
        f"Targets met: {words.count(MET)}; not met: {words.count(MISSED)}; rows failed: {bad}.",
    ]


def _bar(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
