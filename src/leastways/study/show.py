"""Show a study's result: tables for a terminal, Markdown, and a picture."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from leastways._extras import require
from leastways.report import INK, ONE, STYLE, TWO, folded
from leastways.study.analyse import Difference, Share, StudyResult
from leastways.study.collect import Collected
from leastways.study.folder import NO_PREFERENCE

MAX_PROBLEMS = 30  # rows on a screen; the file has all of them
_HEADS = ("What", "Share", "95 % interval", "Items")


def share_rows(result: StudyResult) -> list[tuple[str, str, str, str]]:
    """Return what, share, interval and counts, in the order of a reader's questions."""
    rows = [(f"prefer {name}", result.preferred[name]) for name in result.methods]
    rows.append((NO_PREFERENCE, result.preferred[NO_PREFERENCE]))
    rows += [(f"find {name} reasonable", result.reasonable[name]) for name in result.methods]
    return [(what, _percent(s.share), _interval(s), f"{s.count} of {s.of}") for what, s in rows]


def comparison_rows(result: StudyResult) -> list[tuple[str, str, str, str]]:
    """Return question, difference, p-value and agreement, one row per question."""
    rows = (
        ("preferred", result.preference, result.preference_kappa),
        ("reasonable", result.reasonableness, result.reasonable_kappa),
    )
    return [(what, _points(d), p_value_text(d.p_value), _kappa(kappa)) for what, d, kappa in rows]


def verdict(result: StudyResult, level: float = 0.05) -> str:
    """Return the result of the study in one sentence."""
    one, two = result.methods
    d = result.preference
    if math.isnan(d.p_value):
        return "No item has a vote on which set is preferred."
    if d.p_value >= level:
        return (
            f"The study shows no preference between {one} and {two} that chance would not explain "
            f"(p = {p_value_text(d.p_value)})."
        )
    better, worse = (one, two) if d.value > 0 else (two, one)
    return (
        f"{better} is preferred to {worse}: {_percent(result.preferred[better].share)} against "
        f"{_percent(result.preferred[worse].share)} of the items (p = {p_value_text(d.p_value)})."
    )


def remarks(result: StudyResult) -> list[str]:
    """Describe the data behind the figures, and what is missing."""
    size = (
        f"{result.n_items} items, {result.n_annotators} annotators, {result.per_item} annotations per item; majority "
        f"votes, a tie is {NO_PREFERENCE!r}."
    )
    lines = [size]
    if result.n_incomplete:
        kappa = "kappa leaves them out"
        lines.append(f"{result.n_incomplete} items lack some answer: they count by the answers they have; {kappa}.")
    if result.n_without_votes:
        lines.append(f"{result.n_without_votes} items have no vote on a preference and do not count.")
    a = result.chose_a
    if a.of:
        lines.append(
            f"Set A was chosen in {_percent(a.share)} of {a.of} votes for a set ({_interval(a)}); each method was A "
            "half of the time."
        )
    return lines


def result_tables(result: StudyResult) -> tuple[Table, Table]:
    """Return the shares and the tests as tables for a terminal."""
    return _table(_HEADS, share_rows(result)), _table(_test_heads(result), comparison_rows(result))


def problems_table(collected: Collected) -> Table:
    """Return the problems as a table for a terminal, the first ones where there are many."""
    shown = collected.problems.head(MAX_PROBLEMS)
    table = Table(box=box.SIMPLE_HEAD, header_style="bold")
    for name in ("Problem", "File", "Annotator", "Item", "Detail"):
        table.add_column(name, overflow="fold", no_wrap=name == "File")  # a name cut in two is hard to find
    for row in shown.to_dict("records"):
        table.add_row(*(Text(str(row[c])) for c in ("problem", "file", "annotator", "item", "detail")))
    return table


def to_markdown(result: StudyResult, title: str = "Which method do people prefer?") -> str:
    """Return the result as a Markdown page."""
    lines = [f"# {title}", "", verdict(result), ""]
    for heads, rows in ((_HEADS, share_rows(result)), (_test_heads(result), comparison_rows(result))):
        lines += [_line(heads), "|---|" + "---:|" * (len(heads) - 1), *(_line(row) for row in rows), ""]
    lines += [f"- {remark}" for remark in remarks(result)]
    lines += [
        "- Intervals: Wilson's for shares, Tango's score interval of paired shares for differences.",
        "- p-values, two-sided: the exact sign test for the preference, McNemar's exact test for what is reasonable.",
    ]
    return "\n".join(lines) + "\n"


def p_value_text(p: float) -> str:
    """Write a p-value as a reader expects it."""
    if math.isnan(p):
        return "–"
    return f"{p:.2g}" if p >= 1e-4 else f"{p:.0e}"


def _test_heads(result: StudyResult) -> tuple[str, ...]:
    one, two = result.methods
    return ("Question", f"{one} less {two}", "p-value", "Fleiss' kappa")


def _table(heads: tuple[str, ...], rows: list[tuple[str, str, str, str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold")
    for place, head in enumerate(heads):
        table.add_column(Text(head), justify="left" if place == 0 else "right")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{100 * share:.0f} %"


def _interval(share: Share) -> str:
    return "–" if math.isnan(share.share) else f"{100 * share.low:.0f} to {100 * share.high:.0f} %"


def _points(d: Difference) -> str:
    if math.isnan(d.value):
        return "–"
    return f"{100 * d.value:+.0f} points ({100 * d.low:+.0f} to {100 * d.high:+.0f})"


def _kappa(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"


PLOT_FILES = ("result.png", "result.svg")
_GREY = "#8c959f"
_LOOKS = ((ONE, ""), (TWO, "////"), (_GREY, ""))  # the methods differ in hatching as well


def draw_result(result: StudyResult) -> Any:
    """Return a matplotlib figure: the shares of preferences, and of options found reasonable, by method."""
    matplotlib = require("matplotlib", "plots", "A picture")
    figures = require("matplotlib.figure", "plots", "A picture")
    preferred = [result.preferred[name] for name in (*result.methods, NO_PREFERENCE)]
    reasonable = [result.reasonable[name] for name in result.methods]
    with matplotlib.rc_context(STYLE):
        figure = figures.Figure(figsize=(7.6, 3.7), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
        _bars(left, [*result.methods, NO_PREFERENCE], preferred)
        _bars(right, list(result.methods), reasonable)
        left.set_ylabel("items (%)")
        left.set_ylim(0, 100)
        _title(left, "preferred", result.preference.p_value, result.preference_kappa)
        _title(right, "found reasonable", result.reasonableness.p_value, result.reasonable_kappa)
    return figure


def _bars(axes: Any, names: list[str], shares: list[Share]) -> None:
    x = np.arange(len(names))
    for place, (share, (colour, hatch)) in enumerate(zip(shares, _LOOKS, strict=False)):
        height = 100 * np.nan_to_num(share.share)
        axes.bar(place, height, width=0.62, color=colour, hatch=hatch, edgecolor="white", linewidth=0)
        if share.of:
            ends = [[height - 100 * share.low], [100 * share.high - height]]
            axes.errorbar(place, height, yerr=ends, color=INK, capsize=5, linewidth=1.4)
            text = f"{height:.0f} %"
            axes.annotate(text, (place, 100 * share.high), (0, 4), textcoords="offset points", ha="center")
    axes.set_xticks(x, [folded(name, 14) for name in names])
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.tick_params(axis="x", length=0)
    axes.grid(visible=False, axis="x")


def _title(axes: Any, what: str, p_value: float, kappa: float) -> None:
    agreement = "" if np.isnan(kappa) else f", Fleiss' kappa {kappa:.2f}"
    axes.set_title(what, loc="left", fontsize=10.5, fontweight="bold", pad=22)
    axes.annotate(
        f"p = {p_value_text(p_value)}{agreement}", (0, 1), (0, 8), xycoords="axes fraction", textcoords="offset points"
    )


def save_plot(result: StudyResult, folder: Path) -> tuple[Path, ...]:
    """Write the picture as PNG and SVG, and return the paths."""
    matplotlib = require("matplotlib", "plots", "A picture")
    figure = draw_result(result)
    paths = tuple(folder / name for name in PLOT_FILES)
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": result.study, "hatch.linewidth": 1.2}):
        for path in paths:
            metadata = {"Date": None} if path.suffix == ".svg" else None
            figure.savefig(path, dpi=200, facecolor="white", metadata=metadata)
    return paths
