"""Plans as notebooks show them: small tables in the notebook's own style."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from leastways.plans.wording import closing, headline, miss_headline

if TYPE_CHECKING:
    from leastways.plans.plan import RecourseOption, RecoursePlan
    from leastways.plans.plans import RecoursePlans
    from leastways.plans.wording import Change

_LEFT = "text-align: left; vertical-align: top"
_RIGHT = "text-align: right; vertical-align: top"
_HEADS = {
    "Option": _RIGHT,
    "What to change": _LEFT,
    "Chance of a yes": _RIGHT,
    "Cheapest for": _RIGHT,
    "Expected cost": _RIGHT,
}
_PEOPLE = 10  # rows of the summary that are shown


def plan_html(plan: RecoursePlan) -> str:
    """Return one person's plan: a sentence, then a row per option."""
    parts = [f"<p><strong>Person {escape(str(plan.person))}</strong>: {escape(headline(plan))}</p>"]
    if plan.reason:
        parts.append(f"<p>{escape(plan.reason)}</p>")
    if plan.options:
        head = "".join(f'<th style="{style}">{name}</th>' for name, style in _HEADS.items())
        rows = "".join(map(_option_row, plan.options))
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><p>{closing(plan)}</p>")
    if plan.nearest_miss is not None:
        parts.append(f"<p>{miss_headline(plan.nearest_miss)}</p><ul>{_items(plan.nearest_miss.changes)}</ul>")
    if plan.certificate is not None:
        parts.append(f"<p>{plan.certificate.to_text(any_options=bool(plan.options))}</p>")
    return f"<div>{''.join(parts)}</div>"


def plans_html(plans: RecoursePlans) -> str:
    """Return the head of the summary, and how to see more."""
    more = f"The first {_PEOPLE} of {len(plans)} people. " if len(plans) > _PEOPLE else ""
    hint = "One person: <code>plans[label]</code>. As tables: <code>.options</code>, <code>.changes</code>."
    table = plans.summary.head(_PEOPLE).to_html(float_format="{:.3g}".format)
    return f"<div><p><strong>{escape(repr(plans))}</strong></p>{table}<p>{more}{hint}</p></div>"


def _option_row(option: RecourseOption) -> str:
    cost = f"{option.expected_cost:.2f}" if np.isfinite(option.expected_cost) else "–"
    figures = (f"{option.probability:.0%}", f"{option.best_for:.0%}", cost)
    changes = f'<td style="{_LEFT}">{"<br>".join(escape(change.text) for change in option.changes)}</td>'
    cells = "".join(f'<td style="{_RIGHT}">{figure}</td>' for figure in figures)
    return f'<tr><th style="{_RIGHT}">{option.number}</th>{changes}{cells}</tr>'


def _items(changes: Iterable[Change]) -> str:
    return "".join(f"<li>{escape(change.text)}</li>" for change in changes)
