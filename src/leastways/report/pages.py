"""The HTML report on plans: one file that holds no script and loads nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leastways import __version__
from leastways._messages import plain
from leastways.evaluation import SimulatedPeople
from leastways.plans import STATUSES, RecourseOption, RecoursePlan, RecoursePlans
from leastways.plans.wording import change_values, miss_headline, value_text
from leastways.report.css import SHEET
from leastways.report.plots import Picture, can_draw, draw_all, without_styles
from leastways.report.totals import COST_MEANING, Judged, Totals, percent
from leastways.schema import Schema


def page(title: str, lead: str, sheet: str, sections: Iterable[str]) -> str:
    """Put sections into a page of its own; `sheet` is the element that gives it its looks."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            '<head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"{sheet}</head>",
            "<body>",
            f'<header><h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p></header>',
            "<main>",
            *sections,
            "</main>",
            f"<footer>Made by leastways {escape(__version__)}.</footer>",
            "</body></html>\n",
        ]
    )


def cards(figures: Iterable[tuple[str, str]]) -> str:
    """Show the figures a reader looks for first, each with what it counts."""
    items = "".join(f"<li><strong>{escape(n)}</strong><span>{escape(what)}</span></li>" for n, what in figures)
    return f'<ul class="cards">{items}</ul>'


def gallery(pictures: Iterable[Picture], *, styles: bool) -> str:
    """Show pictures side by side; without `styles` in them where a page may forbid these."""
    figures = "".join(
        f"<figure><h3>{escape(p.title)}</h3>{p.svg() if styles else without_styles(p.svg())}"
        f"<figcaption>{escape(p.caption)}</figcaption></figure>"
        for p in pictures
    )
    return f'<div class="pictures">{figures}</div>' if figures else ""


def no_pictures(what: str) -> str:
    """Say, in place of pictures, how `what` would get them."""
    return (
        f'<p class="note">This {what} has no pictures, because matplotlib is not installed where it was made. '
        "This brings them: <code>pip install 'leastways[plots]'</code></p>"
    )


def words_section(entries: Iterable[tuple[str, str]]) -> str:
    """Explain the words that a page uses."""
    words = "".join(f"<dt>{escape(word)}</dt><dd>{escape(meaning)}</dd>" for word, meaning in entries)
    return f"<section><h2>What the words mean</h2><dl>{words}</dl></section>"


def settings_section(settings: Iterable[tuple[str, Any]]) -> str:
    """Say how it was made, so that it can be made again."""
    rows = "".join(
        f'<tr><th scope="row"><code>{escape(str(name))}</code></th><td><code>{escape(str(value))}</code></td></tr>'
        for name, value in settings
    )
    return (
        "<section><h2>How this was made</h2><details><summary>Settings</summary>"
        f'<div class="wide"><table><tbody>{rows}</tbody></table></div></details></section>'
    )


_WORDS = (
    ("Option", "One way to a yes: a set of changes after which the model accepts the person."),
    (
        "Plausible preferences",
        "What a person would change, and how gladly, is not known. Many preferences that they might have are drawn "
        "at random (within what they told us, if anything), and the options are chosen so that one of them suits "
        "as many of these preferences as possible.",
    ),
    ("Cost", f"How hard a change is under one preference: {COST_MEANING}. The costs of several changes add up."),
    ("Cheapest for", "The share of plausible preferences under which this option is the cheapest of the set."),
    ("Chance of a yes", "The probability that the model itself gives. It is the model's word, not a promise."),
)


def write_report(
    plans: RecoursePlans,
    path: str | Path,
    *,
    title: str = "Ways to a yes",
    max_people: int = 12,
    truth: SimulatedPeople | None = None,
) -> Path:
    """Write plans as one self-contained HTML file, and return its path.

    Parameters
    ----------
    plans
        What `Recourse.recommend` returned.
    path
        Where to write. An existing file is replaced.
    title
        The heading.
    max_people
        How many people's plans are written out: people with options first, then those for whom nothing was found,
        then those whom the model accepts as they are; within each, in the order of the table.
    truth
        Simulated people to judge the plans by (`lw.simulate_people`); adds their verdict, labelled as simulated.

    Pictures need matplotlib (``pip install 'leastways[plots]'``). Without it the report has none, and says so.
    """
    path = Path(path)
    path.write_text(report_html(plans, title=title, max_people=max_people, truth=truth), encoding="utf-8")
    return path


def report_html(plans: RecoursePlans, *, title: str, max_people: int = 12, truth: SimulatedPeople | None = None) -> str:
    """Return the text of the report."""
    judged = None if truth is None else Judged.of(plans, truth)
    totals = Totals.of(plans)
    sections = [
        _glance(totals, judged),
        _pictures(draw_all(plans, truth) if can_draw() else None),
        people_section(plans, max_people),
        words_section(_WORDS),
        settings_section(sorted(plans.settings.items())),
    ]
    lead = f"{totals.people} people looked at, {totals.in_need} of them refused by the model."
    return page(title, lead, f"<style>{SHEET}</style>", sections)


def _glance(totals: Totals, judged: Judged | None) -> str:
    """The figures a reader looks for first, then all of them as tables."""
    figures = [
        (f"{totals.with_options} of {totals.in_need}", "refused people have at least one option"),
        (percent(totals.covered), "of plausible preferences are served by an option"),
        (percent(totals.satisfied), "of plausible preferences have an option below cost 1"),
    ]
    if judged is not None:
        figures.append((percent(judged.satisfied), "of simulated people have an option that costs them less than 1"))
    tables = _figures_table("All people", totals.rows())
    if judged is not None:
        tables += _figures_table("Judged by simulated people, whose costs the search did not see", judged.rows())
    return (
        f"<section><h2>At a glance</h2>{cards(figures)}"
        f"<details><summary>All figures</summary>{tables}</details></section>"
    )


def _figures_table(caption: str, rows: Sequence[tuple[str, str]]) -> str:
    body = "".join(f'<tr><th scope="row">{escape(w.strip())}</th><td>{escape(n)}</td></tr>' for w, n in rows)
    return (
        f'<div class="wide"><table class="figures"><caption>{escape(caption)}</caption><tbody>{body}</tbody>'
        "</table></div>"
    )


def _pictures(pictures: Sequence[Picture] | None) -> str:
    if pictures is None:
        return f"<section><h2>Pictures</h2>{no_pictures('report')}</section>"
    if not pictures:
        return ""
    return f"<section><h2>Pictures</h2>{gallery(pictures, styles=True)}</section>"


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
