"""Tables of plans, totals and schemas for a terminal.

Text from data is passed as `rich.text.Text`, so that no value is read as markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from leastways._messages import listed
from leastways.plans import STATUSES, RecourseOption, RecoursePlan, change_values, closing, miss_headline
from leastways.report.totals import SimulatedTotals, Totals, percent
from leastways.schema import Feature, Schema

_HARDLY = 0.005  # a share that is printed as 0 %
_DIRECTIONS = {"any": "either way", "up": "only up", "down": "only down", "fixed": "never changes"}


def plan_panel(plan: RecoursePlan, schema: Schema, max_options: int | None = None) -> Panel:
    """Return one person's plan as a panel: what to change, from now to then, and the probability after."""
    parts: list[RenderableType] = []
    if plan.reason:
        parts.append(Text(plan.reason, style="yellow"))
    shown = _worth_showing(plan.options, max_options)
    if shown:
        parts.append(_options_table(shown, schema))
        parts.append(Text(_closing(plan, len(shown)), style="dim"))
    elif not plan.reason:
        parts.append(Text(f"{STATUSES[plan.status]}."))
    if plan.nearest_miss is not None:
        changes = "".join(f"\n  - {change.text}" for change in plan.nearest_miss.changes)
        parts.append(Text(miss_headline(plan.nearest_miss) + changes))
    if plan.certificate is not None:
        parts.append(Text(plan.certificate.to_text(any_options=bool(plan.options)), style="dim"))
    title = Text.assemble((f"Person {plan.person}", "bold"))
    if not np.isnan(plan.probability):
        title.append(f" · chance of a yes now: {percent(plan.probability)}")
    return Panel(Group(*parts), title=title, title_align="left", border_style="blue", padding=(0, 1))


def _worth_showing(options: Sequence[RecourseOption], most: int | None) -> Sequence[RecourseOption]:
    """Return all options, or the first `most` except those with a share that would be printed as 0 %."""
    if most is None:
        return options
    return [o for place, o in enumerate(options[:most]) if place == 0 or o.best_for >= _HARDLY]


def _options_table(options: Sequence[RecourseOption], schema: Schema) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, expand=True, header_style="bold")
    table.add_column("Option", justify="right", no_wrap=True)
    table.add_column("What to change", ratio=3)
    table.add_column("Now", justify="right", ratio=2)
    table.add_column("")
    table.add_column("Then", ratio=2)
    table.add_column("Chance of a yes", justify="right", width=9)
    table.add_column("Cheapest for", justify="right", width=8)
    for option in options:
        for line, change in enumerate(option.changes):
            feature = schema.by_name[change.feature]
            head = [str(option.number)] if line == 0 else [""]
            tail = [percent(option.probability), percent(option.best_for)] if line == 0 else ["", ""]
            now, then = change_values(feature, change.before, change.after)
            cells = [*head, feature.wording, now, "→", then, *tail]
            styles = ["bold cyan", "", "dim", "dim", "bold", "green", ""]
            table.add_row(*(Text(c, style=s) for c, s in zip(cells, styles, strict=True)))
    return table


def _closing(plan: RecoursePlan, shown: int) -> str:
    more = len(plan.options) - shown
    and_more = f" {more} more option{'s' if more > 1 else ''} not shown." if more else ""
    return f"This person's preferences are not known. {closing(plan)}{and_more}"


def summary_table(totals: Totals, simulated: SimulatedTotals | None = None) -> Table:
    """Return the figures over all people as a table, with those of simulated people below."""
    table = Table(title="All people", title_justify="left", title_style="bold", box=box.SIMPLE, show_header=False)
    table.add_column("What")
    table.add_column("How much", justify="right", no_wrap=True)
    rows = totals.rows()
    for place, row in enumerate(rows):
        table.add_row(*map(Text, row), end_section=place == len(rows) - 1)
    if simulated is not None:
        for row in simulated.rows():
            table.add_row(*map(Text, row), style="cyan")
    return table


def schema_table(schema: Schema) -> Table:
    """Return a schema's features as a table: kind, values and direction of each."""
    title = f"{len(schema.features)} features" + (f", target {schema.target!r}" if schema.target else "")
    table = Table(title=Text(title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, header_style="bold")
    for name in ("Feature", "Kind", "Values", "May move"):
        table.add_column(name)
    for feature in schema.features:
        cells = (feature.name, feature.kind, _values(feature), _DIRECTIONS[feature.direction])
        table.add_row(*(Text(c) for c in cells))
    return table


def _values(feature: Feature) -> str:
    end = ", or missing" if feature.missing else ""
    if not feature.numeric:
        return listed(feature.values, 6) + end + feature.excluded_text()
    ends = (_short(feature.values[0]), _short(feature.values[-1]))
    unit = f" {feature.unit}" if feature.unit else ""
    points = f"{len(feature.values)} grid points{end}"
    return f"{ends[0]} to {ends[1]}{unit}, {points}{feature.valid_range_text()}{feature.excluded_text()}"


def _short(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
