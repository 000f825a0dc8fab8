"""One HTML file that says it all: figures, pictures, and people's plans in words.

It holds no script and loads nothing, so it can be mailed, archived and opened anywhere, also offline.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from leastways.evaluation import SimulatedPeople
from leastways.plans import RecoursePlans
from leastways.report.css import SHEET
from leastways.report.html_people import people_section
from leastways.report.page import cards, gallery, no_pictures, page, settings_section, words_section
from leastways.report.plots import Picture, can_draw, draw_all
from leastways.report.totals import COST_MEANING, Judged, Totals, percent

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
