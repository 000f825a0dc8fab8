"""People's plans in words, as a section of the HTML report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from leastways._messages import plain
from leastways.plans import STATUSES, RecourseOption, RecoursePlan, RecoursePlans
from leastways.plans.wording import change_values, miss_headline, value_text
from leastways.report.totals import percent
from leastways.schema import Schema

MAX_REJECTED = 50  # rows listed as unusable


def people_section(plans: RecoursePlans, max_people: int) -> str:
    """Write out the plans of some people, those with options first, and list the rows that could not be used."""
    rejected = plans.summary.index[plans.summary["status"] == "invalid_input"]
    kinds = _kinds(plans)
    usable = [label for labels in kinds.values() for label in labels]
    shown = [_person(plans[label], plans.schema) for label in usable[:max_people]]
    parts = []
    if shown:
        who = _which(kinds, len(shown), len(usable))
        note = f"{who}The changes of one option go together; the options are alternatives."
        parts.append(f'<section><h2>People and their options</h2><p class="note">{note}</p>{"".join(shown)}</section>')
    if len(rejected):
        parts.append(_rejected(plans, rejected))
    return "\n".join(parts)


def _kinds(plans: RecoursePlans) -> dict[str, list[Any]]:
    """Return the usable people, who has most to read first, each kind in the order of the table.

    Where a model accepts most people, the first of the table would be cards without anything on them.
    """
    summary = plans.summary
    usable = summary["status"] != "invalid_input"
    accepted = summary["status"] == "already_positive"
    some = summary["n_options"] > 0
    kinds = {
        "people with options": usable & some,
        "those for whom nothing was found": usable & ~some & ~accepted,
        "those whom the model accepts as they are": usable & ~some & accepted,
    }
    return {name: summary.index[which].tolist() for name, which in kinds.items() if which.any()}


def _which(kinds: Mapping[str, Sequence[Any]], shown: int, all_of_them: int) -> str:
    """Say who is shown and in what order, as far as that is not plain from the page."""
    count = f"The first {shown} of {all_of_them}" if all_of_them > shown else ""
    first, *others = kinds
    order = ", then ".join([f"{first} come first", *others]) if others else ""
    told = ": ".join(filter(None, (count, order)))
    return f"{_sentence(told)} " if told else ""


def _person(plan: RecoursePlan, schema: Schema) -> str:
    now = "" if np.isnan(plan.probability) else f"chance of a yes now: {percent(plan.probability)}"
    reason = f"<p>{escape(_sentence(plan.reason))}</p>" if plan.reason else ""
    if plan.options:
        body = reason + _options_table(plan, schema) + _closing(plan)
    else:
        body = f"<p>{escape(_sentence(STATUSES[plan.status]))}</p>{reason}{_without_options(plan)}"
    return (
        f'<article class="person"><div class="head"><h3>Person {escape(str(plan.person))}</h3>'
        f'<span class="note">{escape(now)}</span></div>{_state(plan, schema)}{body}</article>'
    )


def _sentence(text: str) -> str:
    """Write a phrase as a sentence of its own; only its first letter changes, since values may stand in it."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


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
