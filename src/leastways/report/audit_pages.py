"""The HTML report on an audit, and the folder of its page, figures and data."""

from __future__ import annotations

import io
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from leastways import __version__
from leastways._extras import require
from leastways._templates import render, static_text
from leastways.audit import (
    HIGHER,
    LOWER,
    MEASURES,
    REFERENCE,
    SAME,
    TOO_FEW,
    Audit,
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
from leastways.io import draft_of
from leastways.plans import STATUSES
from leastways.report.plots import KINDS, STYLE, Picture, can_draw, draw_audit

TITLE = "Is recourse fair?"
MAX_UNSERVED = 200
GROUPS_ABREAST = 6  # groups side by side in one table: paper does not scroll
PAGE, DATA, FIGURES = "report.html", "audit.json", "figures"
_FIGURE = re.compile(rf"({'|'.join(KINDS)})-\d+(-[a-z0-9-]+)?\.(svg|png)")
_Pictures = Mapping[str, Sequence[Picture]]


def audit_html(
    audit: Audit, *, title: str = TITLE, stylesheet_href: str | None = None, pictures: _Pictures | None = None
) -> str:
    """Return the audit as a self-contained page.

    Parameters
    ----------
    audit
        What `lw.audit.audit_plans` returned.
    title
        The heading.
    stylesheet_href
        Where a server gives out `leastways.report.audit_style()`. The page then holds no style at all, so that a strict
        content security policy lets it pass; else the sheet stands in the page.
    pictures
        What `draw_audit` returned, to draw them once for several uses. Else they are drawn here, if matplotlib is
        installed.
    """
    shown = _shown(audit, pictures)
    text = f"{lead(audit)} {basis(audit)}"
    return render(
        "audit.html", "report", version=__version__, title=title, lead=text, stylesheet_href=stylesheet_href, **shown
    )


def audit_body(audit: Audit, pictures: _Pictures | None = None) -> str:
    """Return the sections of the audit's page, as HTML for a page that links to `audit_style()`."""
    return render("audit_body.html", "report", **_shown(audit, pictures))


def audit_style() -> str:
    """Return the style sheet of the audit's page."""
    return static_text("report.css", "report") + static_text("audit.css", "report")


def write_audit(audit: Audit, folder: str | Path, *, title: str = TITLE) -> list[Path]:
    """Write `report.html`, `audit.json`, and each figure as .svg and .png under `figures`; returns the paths.

    The folder is made if it is not there; files of these names are replaced, and figures of an earlier audit that this
    one does not have are removed, so that they are not taken for its own. Everything is made before the first file is
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
    """Return a figure as a self-contained file: its own colours, on white."""
    matplotlib = require("matplotlib", "plots", "A picture")
    buffer = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else None
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": picture.name}):
        picture.figure.savefig(buffer, format=kind, dpi=160, facecolor="white", metadata=metadata)
    return buffer.getvalue()


@dataclass(frozen=True)
class _Cell:
    """A figure in a table, a note below it in small letters, and the verdict on it."""

    text: str
    small: str | None = None
    verdict: str = ""
    kind: str = "unsure"


@dataclass(frozen=True)
class _Table:
    """A table of the page; each row has a heading and cells."""

    label: str
    heads: Sequence[str]
    rows: Sequence[tuple[str, Sequence[_Cell]]]
    caption: str = ""
    kind: str = "groups"


def _shown(audit: Audit, pictures: _Pictures | None) -> dict[str, Any]:
    """Return the values for the template."""
    if pictures is None:
        pictures = draw_audit(audit) if can_draw() else {}
    return {
        "figures": _glance(audit),
        "findings": findings(audit),
        "warnings": audit.warnings,
        "pictures": bool(pictures),
        "groupings": [_grouping(audit, name, pictures.get(name, ())) for name in audit.groupings],
        "separation": [] if audit.oracle is None else [_separation(audit, name) for name in audit.groupings],
        "unserved": None if audit.unserved.empty else _unserved(audit),
        "more_unserved": f"{max(0, len(audit.unserved) - MAX_UNSERVED):,}"
        if len(audit.unserved) > MAX_UNSERVED
        else "",
        "words": _words(audit),
        "settings": [(name, value) for name, value in audit.settings.items() if name != "features"],
    }


def _glance(audit: Audit) -> list[tuple[str, str]]:
    row = audit.overall.iloc[0]
    measures = [m for m in ("coverage", "satisfied", "cost") if not np.isnan(row[m])]
    return [
        (f"{int(row['refused']):,}", "refused people compared"),
        *((value_text(m, row[m]), f"{measure_name(audit, m)}: {_meaning_of(audit, m)}") for m in measures),
        (f"{len(audit.unserved):,}", "refused people have no option at all"),
    ]


def _grouping(audit: Audit, name: str, pictures: Sequence[Picture]) -> dict[str, Any]:
    """Return one grouping: each group's measures, comparisons, pictures, and suggested changes."""
    return {
        "name": name,
        "reference": audit.settings["references"][name],
        "table": _values(audit, name),
        "ratios": _ratios(audit, name),
        "pictures": pictures,
        "changes": _changes(audit, name),
    }


def _values(audit: Audit, name: str) -> _Table:
    heads = ["Group", "Refused", "Without option", *_measure_heads(audit)]
    rows = []
    for group, row in zip(audit.grouping(name).index, audit.grouping(name).to_dict("records"), strict=True):
        apart = [f"{row[c]:,} {what}" for c, what in (("accepted", "accepted"), ("unusable", "unusable")) if row[c]]
        cells = [_Cell(f"{row['refused']:,}", ", ".join(apart)), _Cell(f"{row['none_exists'] + row['none_found']:,}")]
        for m in MEASURES:
            ends = "" if np.isnan(row[f"{m}_low"]) else range_text(m, row[f"{m}_low"], row[f"{m}_high"])
            cells.append(_Cell(value_text(m, row[m]), ends))
        rows.append((str(group), cells))
    return _Table(f"Figures by {name}", heads, rows)


def _measure_heads(audit: Audit) -> list[str]:
    return [_capital(measure_name(audit, m)) for m in MEASURES]


def _ratios(audit: Audit, name: str) -> _Table:
    rows = []
    table = audit.ratios[audit.ratios.index.get_level_values("grouping") == name].droplevel("grouping")
    for group in dict.fromkeys(table.index.get_level_values("group")):
        mine = {m: row for (g, m), row in zip(table.index, table.to_dict("records"), strict=True) if g == group}
        if all(row["note"] == REFERENCE for row in mine.values()):
            continue
        rows.append((str(group), [_ratio_cell(metric, mine[metric]) for metric in MEASURES]))
    return _Table(f"Ratios by {name}", ["Group", *_measure_heads(audit)], rows)


def _ratio_cell(metric: str, row: Mapping[Hashable, Any]) -> _Cell:
    ratio, low, high, p = (float(row[c]) for c in ("ratio", "low", "high", "p_adjusted"))
    note = str(row["note"])
    if np.isnan(ratio):
        return _Cell("–", None, note)
    ends = "" if np.isnan(low) else f"{ratio_text(low)} to {ratio_text(high)}"
    tested = "" if np.isnan(p) else f", p {p_text(p)}"
    return _Cell(ratio_text(ratio), f"{ends}{tested}", note, _kind(metric, note))


def _kind(metric: str, note: str) -> str:
    """Return the CSS class of a verdict; whether a high ratio is good depends on the measure."""
    for word, side in ((LOWER, "low"), (HIGHER, "high")):
        if note.endswith(word) and MEASURES[metric].better:
            return "better" if MEASURES[metric].better == side else "worse"
    return "same" if note == SAME else "unsure"


def _changes(audit: Audit, name: str) -> list[_Table]:
    """Return how often each change is suggested to each group: to how many people, and in how many options."""
    table = audit.changes[audit.changes.index.get_level_values("grouping") == name].droplevel("grouping")
    groups = list(dict.fromkeys(table.index.get_level_values("group")))
    shares = table.to_dict("index")
    asked = [
        feature
        for feature in dict.fromkeys(table.index.get_level_values("feature"))
        if any(shares[group, feature]["options"] > 0 for group in groups)
    ]
    if not asked:
        return []
    caption = (
        "Share of a group's options that ask it; below, share of the people with options whom at least one asks it."
    )
    tables = []
    for first in range(0, len(groups), GROUPS_ABREAST):
        some, rows = groups[first : first + GROUPS_ABREAST], []
        for feature in asked:
            pairs = [shares[group, feature] for group in some]
            cells = [_Cell(_percent(p["options"]), f"{_percent(p['people'])} of people") for p in pairs]
            rows.append((audit.settings["features"].get(feature, feature), cells))
        label = f"Changes by {name}" + (f", {first // GROUPS_ABREAST + 1}" if first else "")
        tables.append(_Table(label, ["Asked to change", *map(str, some)], rows, "" if first else caption))
    return tables


def _percent(share: float) -> str:
    return "–" if np.isnan(share) else f"{100 * share:.0f} %"


_SEPARATION = (
    "Group",
    "Measure",
    "Reached",
    "Best possible",
    "Lost by the search",
    "Gap",
    "Model's part",
    "Search's part",
    "Not settled",
)


def _separation(audit: Audit, name: str) -> _Table:
    """Return what the best possible options would reach in each group, and the two parts of each gap."""
    assert audit.oracle is not None
    reference, notes = audit.settings["references"][name], audit.ratios["note"].to_dict()
    table = audit.oracle[audit.oracle.index.get_level_values("grouping") == name]
    rows = []
    for (_, group, metric), row in zip(table.index.tolist(), table.to_dict("records"), strict=True):
        gaps = [_Cell("reference"), _Cell(""), _Cell("")]
        if group != reference:
            few = notes[name, group, metric] == TOO_FEW
            gaps = [_gap(row, "gap", TOO_FEW if few else ""), _gap(row, "model_gap"), _gap(row, "search_gap")]
        cells = [
            _Cell(measure_name(audit, metric)),
            _Cell(value_text(metric, row["value"])),
            _Cell(value_text(metric, row["oracle"]), range_text(metric, row["oracle_low"], row["oracle_high"])),
            _Cell(points_text(-row["lost"])),
            *gaps,
            _Cell(value_text(metric, row["unsettled"])),
        ]
        rows.append((str(group), cells))
    caption = f"By {name}. Gaps in percentage points, to {reference}."
    return _Table(f"The model's part and the search's by {name}", _SEPARATION, rows, caption)


def _gap(row: Mapping[Hashable, Any], part: str, verdict: str = "") -> _Cell:
    ends = f"{points_text(row[f'{part}_low'])} to {points_text(row[f'{part}_high'])}"
    return _Cell(points_text(row[part]), ends, verdict)


def _unserved(audit: Audit) -> _Table:
    """Return the people without options, with reasons."""
    table = audit.unserved.head(MAX_UNSERVED)
    heads = ["Person", *(str(c) if c not in ("status", "reason") else str(c).capitalize() for c in table.columns)]
    rows = [
        (str(label), [_Cell(str(row[c])) for c in table.columns])
        for label, row in zip(table.index, table.to_dict("records"), strict=True)
    ]
    return _Table("People with no recourse", heads, rows, kind="people")


def _words(audit: Audit) -> list[tuple[str, str]]:
    """Return the words that the page uses, each with its meaning."""
    entries = [(_capital(measure_name(audit, m)), f"{_capital(_meaning_of(audit, m))}.") for m in MEASURES]
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
        *((f"Status {name}", f"{_capital(text)}.") for name, text in STATUSES.items()),
    ]
    return entries


def _meaning_of(audit: Audit, metric: str) -> str:
    measure = MEASURES[metric]
    text = measure.truth if audit.settings["truths"] else measure.plans
    return text.removeprefix("FS@k: ").replace("less than k", f"less than {audit.settings['k']:g}")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
