"""People's plans in words, as a section of the HTML report."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import pandas as pd

from leastways.errors import plain
from leastways.plans import STATUSES, RecourseOption, RecoursePlan, RecoursePlans
from leastways.plans.text import miss_headline
from leastways.plans.wording import change_values, value_text
from leastways.report.totals import percent
from leastways.schema import Schema

MAX_REJECTED = 50  # rows listed as unusable


def people_section(plans: RecoursePlans, max_people: int) -> str:
    """Write out the plans of the first people, and list the rows that could not be used."""
    rejected = plans.summary.index[plans.summary["status"] == "invalid_input"]
    usable = plans.summary.index.difference(rejected, sort=False)
    shown = [_person(plans[label], plans.schema) for label in usable[:max_people]]
    parts = []
    if shown:
        count = f"The first {len(shown)} of {len(usable)}." if len(usable) > len(shown) else ""
        note = f'<p class="note">{count} The changes of one option go together; the options are alternatives.</p>'
        parts.append(f"<section><h2>People and their options</h2>{note}{''.join(shown)}</section>")
    if len(rejected):
        parts.append(_rejected(plans, rejected))
    return "\n".join(parts)


def _person(plan: RecoursePlan, schema: Schema) -> str:
    now = "" if np.isnan(plan.probability) else f"chance of a yes now: {percent(plan.probability)}"
    reason = f"<p>{escape(plan.reason)}</p>" if plan.reason else ""
    if plan.options:
        body = _options_table(plan, schema) + _closing(plan)
    else:
        body = f"<p>{escape(STATUSES[plan.status].capitalize())}.</p>{_without_options(plan)}"
    return (
        f'<article class="person"><div class="head"><h3>Person {escape(str(plan.person))}</h3>'
        f'<span class="note">{escape(now)}</span></div>{_state(plan, schema)}{reason}{body}</article>'
    )


def _state(plan: RecoursePlan, schema: Schema) -> str:
    """Who this is, on one line: every feature as it stands."""
    items = [f"{f.wording}: {value_text(f, plan.state[f.name])}" for f in schema.features]
    return f'<details><summary>As things stand</summary><p class="note">{escape("; ".join(items))}.</p></details>'


def _options_table(plan: RecoursePlan, schema: Schema) -> str:
    heads = (
        ("Option", "num"),
        ("What to change", ""),
        ("Now", "num"),
        ("Then", ""),
        ("Chance of a yes", "num"),
        ("Cheapest for", "num"),
        ("Cost", "num"),
    )
    head = "".join(f'<th scope="col" class="{c}">{h}</th>' if c else f'<th scope="col">{h}</th>' for h, c in heads)
    bodies = "".join(_option_rows(option, schema) for option in plan.options)
    return f"<table><thead><tr>{head}</tr></thead>{bodies}</table>"


def _option_rows(option: RecourseOption, schema: Schema) -> str:
    """An option is a table body of its own; its figures stand beside its changes."""
    span = f' rowspan="{len(option.changes)}"' if len(option.changes) > 1 else ""
    rows = []
    for line, change in enumerate(option.changes):
        feature = schema.by_name[change.feature]
        before, after = change_values(feature, change.before, change.after)
        cells = (
            f'<td class="what">{escape(feature.wording)}</td>'
            f'<td class="now">{escape(before)}</td>'
            f'<td class="then">{escape(after)}</td>'
        )
        if line == 0:
            first = f'<th scope="rowgroup" class="option num"{span}>{option.number}</th>'
            cells = first + cells + _figures(option, span)
        rows.append(f"<tr>{cells}</tr>")
    return f"<tbody>{''.join(rows)}</tbody>"


def _figures(option: RecourseOption, span: str) -> str:
    figures = (
        ("chance of a yes", "num chance", percent(option.probability)),
        ("cheapest for", "num", percent(option.best_for)),
        ("cost", "num", f"{option.expected_cost:.2f}" if np.isfinite(option.expected_cost) else "–"),
    )
    return "".join(f'<td class="{c}" data-label="{label}"{span}>{value}</td>' for label, c, value in figures)


def _without_options(plan: RecoursePlan) -> str:
    """How close somebody came to whom nothing can be offered, and what is proven of it."""
    text = ""
    if plan.nearest_miss is not None:
        items = "".join(f"<li>{escape(change.text)}</li>" for change in plan.nearest_miss.changes)
        text += f"<p>{miss_headline(plan.nearest_miss)}</p><ul>{items}</ul>"
    if plan.certificate is not None:
        text += f'<p class="note">{plan.certificate.to_text(any_options=False)}</p>'
    return text


def _closing(plan: RecoursePlan) -> str:
    proven = "" if plan.certificate is None else f" {plan.certificate}"
    return (
        f'<p class="note">Some option is open to {percent(plan.covered)} of plausible preferences, and cheap '
        f"(cost below 1) for {percent(plan.satisfied)}.{proven}</p>"
    )


def _rejected(plans: RecoursePlans, labels: pd.Index[Any]) -> str:
    reasons = plans.summary["reason"]
    rows = "".join(
        f'<tr><th scope="row">{escape(str(plain(label)))}</th><td>{escape(str(reasons[label]))}</td></tr>'
        for label in labels[:MAX_REJECTED]
    )
    more = f'<p class="note">and {len(labels) - MAX_REJECTED} more</p>' if len(labels) > MAX_REJECTED else ""
    return (
        '<section><h2>Rows that could not be used</h2><div class="wide"><table>'
        '<thead><tr><th scope="col">Person</th><th scope="col">Reason</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{more}</section>"
    )
