"""The audit as one page for a compliance officer. It holds no script and loads nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from leastways.audit import Audit
from leastways.audit.figures import MEASURES
from leastways.audit.words import basis, findings, lead, measure_name, value_text
from leastways.plans import STATUSES
from leastways.report.audit_css import AUDIT_SHEET
from leastways.report.audit_plots import draw_audit
from leastways.report.audit_tables import bulleted, capital, grouping_section, separation_section, unserved_section
from leastways.report.page import cards, gallery, no_pictures, page, settings_section, words_section
from leastways.report.plots import Picture, can_draw

TITLE = "Is recourse fair?"
_LIMITS = (
    "It speaks of the people in these plans. Others may fare differently.",
    "What things cost people is assumed, not observed: figures say who would be served if the assumed costs were true.",
    "It compares what refused people are offered. Whether refusing them was fair is another question.",
    "A difference is not yet an injustice, and no difference is not yet fairness: groups differ in much besides, and "
    "the model's own probability is taken at its word.",
    "“Cannot say” means just that: it does not mean that groups are equal.",
)


def audit_html(
    audit: Audit,
    *,
    title: str = TITLE,
    stylesheet_href: str | None = None,
    pictures: Mapping[str, Sequence[Picture]] | None = None,
) -> str:
    """Return the audit as a page that needs nothing else.

    Parameters
    ----------
    audit
        What `lw.audit.audit_plans` returned.
    title
        The heading.
    stylesheet_href
        Where a server gives out `leastways.report.audit_css.AUDIT_SHEET`. The page then holds no style at all, so that
        a strict content security policy lets it pass; else the sheet stands in the page.
    pictures
        What `draw_audit` returned, to draw them once for several uses. Else they are drawn here, if matplotlib is
        installed.
    """
    if pictures is None:
        pictures = draw_audit(audit) if can_draw() else {}
    sheet = f"<style>{AUDIT_SHEET}</style>"
    if stylesheet_href is not None:
        sheet = f'<link rel="stylesheet" href="{escape(stylesheet_href)}">'
    sections = [
        _glance(audit),
        "" if pictures else no_pictures("page"),
        *(grouping_section(audit, name, gallery(pictures.get(name, ()), styles=False)) for name in audit.groupings),
        separation_section(audit),
        unserved_section(audit),
        _meaning(audit),
        settings_section((name, value) for name, value in audit.settings.items() if name != "features"),
    ]
    return page(title, f"{lead(audit)} {basis(audit)}", sheet, sections)


def _glance(audit: Audit) -> str:
    row = audit.overall.iloc[0]
    measures = [m for m in ("coverage", "satisfied", "cost") if not np.isnan(row[m])]
    figures = [
        (f"{int(row['refused']):,}", "refused people compared"),
        *((value_text(m, row[m]), f"{measure_name(audit, m)}: {_meaning_of(audit, m)}") for m in measures),
        (f"{len(audit.unserved):,}", "refused people have no option at all"),
    ]
    return (
        f"<section><h2>At a glance</h2>{cards(figures)}"
        + bulleted("What differs between groups", findings(audit))
        + (bulleted("Mind", audit.warnings, "mind") if audit.warnings else "")
        + "</section>"
    )


def _meaning(audit: Audit) -> str:
    entries = [(capital(measure_name(audit, m)), f"{capital(_meaning_of(audit, m))}.") for m in MEASURES]
    entries += [
        ("Ratio", "A group's figure over the reference group's: the disparate impact ratio. 1 is equal."),
        (
            "Interval",
            f"Found by drawing the people of each group anew, {audit.settings['bootstraps']:,} times. About 95 of 100 "
            "such intervals hold the true figure; fewer do of a mean over few people, a few of whom have very large "
            "figures. They are not adjusted for the number of groups.",
        ),
        (
            "p-value",
            f"How often groups would differ so much by chance: labels are shuffled {audit.settings['permutations']:,} "
            "times. Adjusted by Holm's method over all groups of a measure, which keeps the chance of one false alarm "
            "among them below 5 %: for each measure by itself, not for all measures together.",
        ),
        (
            "Verdicts",
            "Lower, higher: adjusted p below 0.05; slightly, if the whole interval lies within 0.8 to 1.25. No "
            "large difference: none is shown, and the interval lies within these. Cannot say: none is shown, but the "
            "interval does not exclude a large one. Too few people: the figure is of fewer than "
            f"{audit.settings['min_group']} people, here or in the reference group, and not tested.",
        ),
        *((f"Status {name}", f"{capital(text)}.") for name, text in STATUSES.items()),
    ]
    limits = "".join(f"<li>{escape(line)}</li>" for line in _LIMITS)
    return f"<section><h2>What this cannot say</h2><ul>{limits}</ul></section>{words_section(entries)}"


def _meaning_of(audit: Audit, metric: str) -> str:
    measure = MEASURES[metric]
    text = measure.truth if audit.settings["truths"] else measure.plans
    return text.removeprefix("FS@k: ").replace("less than k", f"less than {audit.settings['k']:g}")
