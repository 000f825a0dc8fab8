"""The HTML report on an audit, and the folder of its page, figures and data."""

from __future__ import annotations

import io
import re
from collections.abc import Hashable, Mapping, Sequence
from html import escape
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from leastways._extras import require
from leastways.audit import Audit
from leastways.audit.comparison import HIGHER, LOWER, REFERENCE, SAME, TOO_FEW
from leastways.audit.measures import MEASURES
from leastways.audit.wording import (
    basis,
    findings,
    lead,
    measure_name,
    p_text,
    points_text,
    range_text,
    ratio_text,
    value_text,
)
from leastways.io.files import draft_of
from leastways.plans import STATUSES
from leastways.report.audit_css import AUDIT_SHEET
from leastways.report.pages import cards, gallery, no_pictures, page, settings_section, words_section
from leastways.report.plots import KINDS, STYLE, Picture, can_draw, draw_audit

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


MAX_UNSERVED = 200
GROUPS_ABREAST = 6  # groups side by side in one table


def grouping_section(audit: Audit, name: str, pictures: str = "") -> str:
    """One grouping: what each group has, how it compares, the pictures, and what it is asked to change."""
    reference = audit.settings["references"][name]
    return (
        f"<section><h2>By {escape(name)}</h2>{_values(audit, name)}"
        f'<h3>Compared with {escape(reference)}</h3><p class="note">Each group\'s figure over that of '
        f"{escape(reference)}, its 95 % interval, and the p-value, adjusted for the number of groups.</p>"
        f"{_ratios(audit, name)}{pictures}{_changes(audit, name)}</section>"
    )


def _values(audit: Audit, name: str) -> str:
    heads = ["Group", "Refused", "Without option", *(capital(measure_name(audit, m)) for m in MEASURES)]
    rows = []
    for group, row in zip(audit.grouping(name).index, audit.grouping(name).to_dict("records"), strict=True):
        apart = [f"{row[c]:,} {what}" for c, what in (("accepted", "accepted"), ("unusable", "unusable")) if row[c]]
        cells = [f"{row['refused']:,}<small>{escape(', '.join(apart))}</small>"]
        cells.append(f"{row['none_exists'] + row['none_found']:,}")
        for m in MEASURES:
            ends = "" if np.isnan(row[f"{m}_low"]) else range_text(m, row[f"{m}_low"], row[f"{m}_high"])
            cells.append(f"{value_text(m, row[m])}<small>{escape(ends)}</small>")
        rows.append(_row(str(group), cells))
    return _table(heads, rows, f"Figures by {name}")


def _ratios(audit: Audit, name: str) -> str:
    rows = []
    table = audit.ratios[audit.ratios.index.get_level_values("grouping") == name].droplevel("grouping")
    for group in dict.fromkeys(table.index.get_level_values("group")):
        mine = {m: row for (g, m), row in zip(table.index, table.to_dict("records"), strict=True) if g == group}
        if all(row["note"] == REFERENCE for row in mine.values()):
            continue
        rows.append(_row(str(group), [_ratio_cell(metric, mine[metric]) for metric in MEASURES]))
    return _table(["Group", *(capital(measure_name(audit, m)) for m in MEASURES)], rows, f"Ratios by {name}")


def _ratio_cell(metric: str, row: dict[object, object]) -> str:
    ratio, low, high, p = (float(row[c]) for c in ("ratio", "low", "high", "p_adjusted"))  # type: ignore[arg-type]
    note = str(row["note"])
    if np.isnan(ratio):
        return f'–<span class="verdict unsure">{escape(note)}</span>'
    ends = "" if np.isnan(low) else f"{ratio_text(low)} to {ratio_text(high)}"
    tested = "" if np.isnan(p) else f", p {p_text(p)}"
    verdict = f'<span class="verdict {_kind(metric, note)}">{escape(note)}</span>'
    return f"{ratio_text(ratio)}<small>{ends}{tested}</small>{verdict}"


def _kind(metric: str, note: str) -> str:
    """Return the class of a verdict: whether it is good or bad for the group depends on the measure."""
    for word, side in ((LOWER, "low"), (HIGHER, "high")):
        if note.endswith(word) and MEASURES[metric].better:
            return "better" if MEASURES[metric].better == side else "worse"
    return "same" if note == SAME else "unsure"


def _changes(audit: Audit, name: str) -> str:
    """How often each thing is asked of each group: of how many people, and in how many options."""
    table = audit.changes[audit.changes.index.get_level_values("grouping") == name].droplevel("grouping")
    groups = list(dict.fromkeys(table.index.get_level_values("group")))
    shares = table.to_dict("index")
    asked = [
        feature
        for feature in dict.fromkeys(table.index.get_level_values("feature"))
        if any(shares[group, feature]["options"] > 0 for group in groups)
    ]
    if not asked:
        return ""
    caption = (
        "Share of a group's options that ask it; below, share of the people with options whom at least one asks it."
    )
    tables = []
    for first in range(0, len(groups), GROUPS_ABREAST):  # paper does not scroll: a table is no wider than a page
        some, rows = groups[first : first + GROUPS_ABREAST], []
        for feature in asked:
            pairs = [shares[group, feature] for group in some]
            cells = [f"{_percent(p['options'])}<small>{_percent(p['people'])} of people</small>" for p in pairs]
            rows.append(_row(audit.settings["features"].get(feature, feature), cells))
        label = f"Changes by {name}" + (f", {first // GROUPS_ABREAST + 1}" if first else "")
        tables.append(_table(["Asked to change", *map(str, some)], rows, label, "" if first else caption))
    return f"<details><summary>What people are asked to change, as a table</summary>{''.join(tables)}</details>"


def _percent(share: float) -> str:
    return "–" if np.isnan(share) else f"{100 * share:.0f} %"


def separation_section(audit: Audit) -> str:
    """What the best possible options would reach in each group, and the two parts of each gap."""
    if audit.oracle is None:
        return ""
    heads = [
        "Group",
        "Measure",
        "Reached",
        "Best possible",
        "Lost by the search",
        "Gap",
        "Model's part",
        "Search's part",
        "Not settled",
    ]
    parts, notes = [], audit.ratios["note"].to_dict()
    for name in audit.groupings:
        table = audit.oracle[audit.oracle.index.get_level_values("grouping") == name]
        rows = []
        for (_, group, metric), row in zip(table.index.tolist(), table.to_dict("records"), strict=True):
            best = range_text(metric, row["oracle_low"], row["oracle_high"])
            gaps = ["reference", "", ""]
            if group != audit.settings["references"][name]:
                gaps = [_gap(row, part) for part in ("gap", "model_gap", "search_gap")]
                if notes[name, group, metric] == TOO_FEW:
                    gaps[0] += f'<span class="verdict unsure">{TOO_FEW}</span>'
            cells = [
                escape(measure_name(audit, metric)),
                value_text(metric, row["value"]),
                f"{value_text(metric, row['oracle'])}<small>{best}</small>",
                points_text(-row["lost"]),
                *gaps,
                value_text(metric, row["unsettled"]),
            ]
            rows.append(_row(str(group), cells))
        caption = f"By {name}. Gaps in percentage points, to {audit.settings['references'][name]}."
        parts.append(_table(heads, rows, f"The model's part and the search's by {name}", caption))
    note = (
        "The oracle knows each person's hidden costs and finds the cheapest state that the model accepts. What even it "
        "cannot give a group is due to the model, to what the schema lets people change, and to the costs, and no "
        "search can mend it; the rest of a gap is the search's. The two parts add up to the gap. Not settled: where "
        "the oracle stopped too early to say, what the search reached counts as the best possible."
    )
    return f"<section><h2>The model, or the search?</h2><p>{note}</p>{''.join(parts)}</section>"


def _gap(row: Mapping[Hashable, Any], part: str) -> str:
    ends = f"{points_text(row[f'{part}_low'])} to {points_text(row[f'{part}_high'])}"
    return f"{points_text(row[part])}<small>{ends}</small>"


def unserved_section(audit: Audit) -> str:
    """Who has no option, and why."""
    head = "<section><h2>People with no recourse</h2>"
    if audit.unserved.empty:
        return f"{head}<p>Every refused person has at least one option.</p></section>"
    table = audit.unserved.head(MAX_UNSERVED)
    heads = ["Person", *(str(c) if c not in ("status", "reason") else str(c).capitalize() for c in table.columns)]
    rows = [
        _row(str(label), [escape(str(row[c])) for c in table.columns])
        for label, row in zip(table.index, table.to_dict("records"), strict=True)
    ]
    more = len(audit.unserved) - len(table)
    rest = f'<p class="note">and {more:,} more, in audit.json</p>' if more else ""
    listing = _table(heads, rows, "People with no recourse", kind="people")
    return f"{head}{listing}{rest}</section>"


def bulleted(heading: str, lines: list[str], kind: str = "") -> str:
    """Make a box of sentences under a heading."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<div class="{f"findings {kind}".strip()}"><h3>{heading}</h3><ul>{items}</ul></div>'


def capital(text: str) -> str:
    """Begin a text with a capital letter."""
    return text[:1].upper() + text[1:]


def _row(name: str, cells: list[str]) -> str:
    """Make a row; cells are HTML already."""
    return f'<tr><th scope="row">{escape(name)}</th>' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _table(heads: list[str], rows: list[str], label: str, caption: str = "", kind: str = "groups") -> str:
    """Make a table that scrolls by itself where it is too wide, by keyboard too."""
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    region = f'class="wide" tabindex="0" role="region" aria-label="{escape(label)}"'
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<div {region}><table class="{kind}">{title}{body}</table></div>'


PAGE, DATA, FIGURES = "report.html", "audit.json", "figures"
_FIGURE = re.compile(rf"({'|'.join(KINDS)})-\d+(-[a-z0-9-]+)?\.(svg|png)")


def write_audit(audit: Audit, folder: str | Path, *, title: str = TITLE) -> list[Path]:
    """Write `report.html`, `audit.json`, and each figure as .svg and .png under `figures`; returns the paths.

    The folder is made if it is not there; files of these names are replaced, and figures of an earlier audit that this
    one does not have are removed, so that nobody takes them for its own. Everything is made before the first file is
    written, and each is written whole or not at all. Without matplotlib there are no figures, and the page says so.
    """
    folder = Path(folder)
    pictures = draw_audit(audit) if can_draw() else {}
    files: dict[Path, bytes] = {
        folder / PAGE: audit_html(audit, title=title, pictures=pictures).encode(),
        folder / DATA: audit.to_json().encode(),
    }
    for picture in chain.from_iterable(pictures.values()):
        for kind in ("svg", "png"):
            files[folder / FIGURES / f"{picture.name}.{kind}"] = _drawn(picture, kind)
    for path, content in files.items():
        with draft_of(path) as draft:
            draft.write_bytes(content)
    for path in list((folder / FIGURES).glob("*-*.*")):
        if _FIGURE.fullmatch(path.name) and path not in files:
            path.unlink(missing_ok=True)
    return list(files)


def _drawn(picture: Picture, kind: str) -> bytes:
    """Return a figure as a file that stands alone: its own colours, on white."""
    matplotlib = require("matplotlib", "plots", "A picture")
    buffer = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else None
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": picture.name}):
        picture.figure.savefig(buffer, format=kind, dpi=160, facecolor="white", metadata=metadata)
    return buffer.getvalue()
