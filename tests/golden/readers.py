"""What readers see, as plain lines: the only other file, beside `package.py`, that knows the package's names."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

import leastways as lw
from leastways.report import Totals, plan_panel, schema_table, summary_table
from leastways.server.pages.form import from_preferences
from leastways.server.pages.texts import Languages
from leastways.server.pages.view import PageState, person_view

_WIDTH = 110


def plain_text(plan: lw.RecoursePlan) -> str:
    """Return a plan as text."""
    return f"--- person {plan.person}, status {plan.status}, reason: {plan.reason or 'none'}\n{plan.to_text()}"


def panel(plan: lw.RecoursePlan, schema: lw.Schema) -> str:
    """Return a plan as a terminal shows it."""
    return _shown(plan_panel(plan, schema, max_options=None))


def totals(plans: lw.RecoursePlans) -> str:
    """Return the totals as a terminal shows them."""
    return _shown(summary_table(Totals.of(plans))) + "\n"


def schema(the_schema: lw.Schema) -> str:
    """Return a schema in words, as YAML and as a table."""
    return f"{the_schema}\n\n{the_schema.to_yaml()}\n{_shown(schema_table(the_schema))}\n"


def report(plans: lw.RecoursePlans, truth: lw.SimulatedPeople) -> str:
    """Return the sentences of a report, one a line, without its pictures and styles."""
    with TemporaryDirectory() as folder:
        path = lw.report.write_report(plans, Path(folder) / "report.html", title="Stored", max_people=8, truth=truth)
        return _lines(path.read_text(encoding="utf-8"))


def audit(plans: lw.RecoursePlans) -> str:
    """Return what an audit by region and age finds."""
    found = lw.audit.audit_plans(
        plans,
        ["region", "age:30,45"],
        groups=None,
        truth=None,
        oracle=None,
        reference=None,
        k=1.0,
        bootstraps=200,
        permutations=200,
        min_group=2,
        random_state=5,
        progress=False,
    )
    return found.to_text() + "\n"


def page(schema: lw.Schema, plan: lw.RecoursePlan, said: lw.Preferences | None, threshold: float, language: str) -> str:
    """Return all texts of a person's page, one a line."""
    texts = Languages().by_code[language]
    entries = from_preferences(schema, plan.state, said)
    view = person_view(schema, texts, PageState("answer", plan, entries, threshold))
    return f"--- person {plan.person}\n" + "\n".join(_words(view))


def _words(part: Any) -> Iterator[str]:
    """List the texts in a record, in order; each record in it begins a line of its own."""
    if isinstance(part, str):
        if part:
            yield part
    elif is_dataclass(part) and not isinstance(part, type):
        for one in fields(part):
            yield from _words(getattr(part, one.name))
    elif isinstance(part, tuple | list):
        for one in part:
            yield from _words(one)
    elif part is None:
        yield "-"
    else:
        yield str(part)


def _shown(table: Any) -> str:
    console = Console(file=io.StringIO(), width=_WIDTH, color_system=None, force_terminal=False, legacy_windows=False)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def _lines(html: str) -> str:
    """Return the text between tags, one piece a line."""
    html = re.sub(r"<(style|script|svg|head)\b.*?</\1>", "", html, flags=re.DOTALL)
    pieces = [unescape(piece).strip() for piece in re.split(r"<[^>]*>", html)]
    return "\n".join(re.sub(r"\s+", " ", piece) for piece in pieces if piece) + "\n"
