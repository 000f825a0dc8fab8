"""Pictures of plans and of audits, as matplotlib figures and as SVG for a page.

No pyplot: nothing global changes and no window opens. Each picture is readable without colour: lines differ in dash,
markers in fill, bars carry their figure.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways._extras import require
from leastways._templates import render
from leastways.audit import CROSS, Audit, measure_name
from leastways.evaluation import SimulatedPeople
from leastways.plans import NOT_SEARCHED, RecoursePlans

MAX_BARS, MAX_PEOPLE = 12, 40
_SIZE = (5.0, 3.5)


@dataclass(frozen=True)
class Picture:
    """A figure with its heading, a description for readers who do not see it, and a caption."""

    name: str
    title: str
    figure: Any  # matplotlib.figure.Figure
    alt: str
    caption: str

    def svg(self, styles: bool = True) -> str:
        """Return the picture as an element of an HTML page; see `inline_svg`."""
        return inline_svg(self.figure, self.name, f"{self.title}. {self.alt}", styles)


def can_draw() -> bool:
    """Return whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw_all(plans: RecoursePlans, truth: SimulatedPeople | None = None) -> list[Picture]:
    """Draw every picture that the plans allow; none where there are no options."""
    if plans.options.empty:
        return []
    return [served(plans), costs(plans, truth), changed_features(plans), chances(plans)]


def served(plans: RecoursePlans) -> Picture:
    """Draw the share of each person's cost samples under which an option is possible, largest first."""
    need = plans.summary[~plans.summary["status"].isin(NOT_SEARCHED)]
    covered, cheap = (100 * np.sort(need[c].to_numpy(dtype=np.float64))[::-1] for c in ("covered", "satisfied"))
    x = 100 * (np.arange(len(need)) + 0.5) / len(need)

    def draw(axes: Any) -> None:
        axes.plot(x, covered, color=ONE, linewidth=3.5, label="an option can be taken")
        axes.plot(x, cheap, color=TWO, linewidth=1.6, dashes=(4, 2), label="and costs less than 1")
        axes.set(xlim=(0, 100), ylim=(0, 103), xlabel="people, best served first (%)")
        axes.set_ylabel("simulated preferences (%)")
        legend(axes)

    half = _quartiles(covered)
    return Picture(
        "served",
        "How many preferences have a possible option",
        figure(draw),
        f"For half of the people some option is possible under at least {half[1]:.0f} % of the simulated "
        f"preferences, for three quarters of them under at least {half[0]:.0f} %.",
        "People's preferences are not known, so many that they might have are drawn. The higher the line, the more "
        "likely it is that each person has a possible option.",
    )


def costs(plans: RecoursePlans, truth: SimulatedPeople | None = None) -> Picture:
    """Draw how many people have an option below a cost, expected and (given `truth`) for simulated people."""
    need = ~plans.summary["status"].isin(NOT_SEARCHED).to_numpy()
    expected = plans.summary["emc"].to_numpy(dtype=np.float64)[need]
    hidden = None if truth is None else truth.min_costs(plans)[need]
    lines = [expected] if hidden is None else [expected, hidden]
    top = max(1.1, *(float(np.nanmax(v[np.isfinite(v)], initial=0.0)) for v in lines))
    k = np.linspace(0, top, 800)

    def draw(axes: Any) -> None:
        axes.plot(k, _below(expected, k), color=ONE, label="average over preferences with an option")
        if hidden is not None:
            axes.plot(k, _below(hidden, k), color=TWO, dashes=(4, 2), label="simulated people, hidden costs")
        axes.axvline(1, color=INK, linewidth=0.9, linestyle=":")
        axes.set(xlim=(0, top), ylim=(0, 103), xlabel="cost k (0: no effort, 1: the most one change can cost)")
        axes.set_ylabel("people with an option below k (%)")
        legend(axes, columns=1)

    said = f"{_below(expected, np.array([0.5]))[0]:.0f} % of the people have an expected cost below 0.5"
    if hidden is not None:
        said += f"; {_below(hidden, np.array([1.0]))[0]:.0f} % of simulated people have an option below cost 1"
    note = " The dashed line counts all people, by costs that the search never saw." if hidden is not None else ""
    return Picture(
        "costs",
        "What the cheapest option costs",
        figure(draw),
        f"{said}.",
        f"The further left a line rises, the cheaper the options. Preferences without a possible option do not count "
        f"in the solid line.{note}",
    )


def changed_features(plans: RecoursePlans) -> Picture:
    """Draw which features the options change, the most frequent on top."""
    counts = plans.changes["feature"].value_counts()
    order = [f for f in plans.schema.features if f.name in counts.index]
    order.sort(key=lambda f: -int(counts[f.name]))
    names = [f.wording for f in order][:MAX_BARS]
    shares = [100 * int(counts[f.name]) / len(plans.options) for f in order][:MAX_BARS]

    def draw(axes: Any) -> None:
        places = np.arange(len(names))
        bars = axes.barh(places, shares, color=ONE, height=0.7)
        axes.bar_label(bars, labels=[f"{s:.0f} %" for s in shares], padding=3, color=INK)
        axes.set_yticks(places, [folded(n) for n in names])
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        axes.set(xlim=(0, max(shares) * 1.18), xlabel="options that change it (%)")

    listing = ", ".join(f"{name} {share:.0f} %" for name, share in zip(names, shares, strict=True))
    return Picture(
        "changes",
        "What the options change",
        figure(draw, height=max(_SIZE[1], 0.32 * len(names) + 0.6)),
        f"Share of options that change each thing: {listing}.",
        "An option may change several things, so the shares add up to more than 100 %.",
    )


def chances(plans: RecoursePlans) -> Picture:
    """Draw each person's probability now and after their first option; of many people, an even selection."""
    first = plans.options[plans.options["option"] == 1]
    now = plans.summary["probability"].reindex(first["person"]).to_numpy(dtype=np.float64)
    then = first["probability"].to_numpy(dtype=np.float64)
    order = np.argsort(now, kind="stable")
    medians = 100 * np.median(now), 100 * np.median(then)
    people = f"{len(order)} people"
    if len(order) > MAX_PEOPLE:
        people = f"{MAX_PEOPLE} of {people}"
        order = order[np.linspace(0, len(order) - 1, MAX_PEOPLE).round().astype(np.intp)]
    now, then = 100 * now[order], 100 * then[order]
    threshold = 100 * float(plans.settings.get("threshold", 0.5))

    def draw(axes: Any) -> None:
        y = np.arange(len(now))
        axes.hlines(y, now, then, color=INK, linewidth=0.8, alpha=0.5)
        axes.plot(now, y, "o", color=TWO, markerfacecolor="none", markersize=4.5, label="now")
        axes.plot(then, y, "o", color=ONE, markersize=4.5, label="with option 1")
        axes.axvline(threshold, color=INK, linewidth=0.9, linestyle=":")
        axes.set(xlim=(-2, 102), xlabel="chance of a yes, by the model (%)", yticks=[])
        axes.set_ylabel(f"{people}, by their chance now")
        axes.grid(visible=False, axis="y")
        legend(axes)

    return Picture(
        "chances",
        "The chance of a yes, now and then",
        figure(draw),
        f"The median chance rises from {medians[0]:.0f} % to {medians[1]:.0f} %; a yes needs {threshold:.0f} %.",
        f"Each line is a person. The dotted line at {threshold:.0f} % is where the model says yes. The cheapest way "
        "there often ends just beyond it.",
    )


def figure(draw: Callable[[Any], None], height: float = _SIZE[1], width: float = _SIZE[0]) -> Any:
    """Return a figure of one drawing, in the style of the report."""
    matplotlib = require("matplotlib", "plots", "A picture")
    figures = require("matplotlib.figure", "plots", "A picture")
    with matplotlib.rc_context(STYLE):
        made = figures.Figure(figsize=(width, height), layout="constrained")
        draw(made.add_subplot())
    return made


def legend(axes: Any, columns: int = 2) -> None:
    """Put the legend above the drawing."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.3, borderpad=0)


def _below(values: NDArray[np.float64], k: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the percentage of values below each k; undefined and infinite values count as above."""
    known = np.sort(values[np.isfinite(values)])
    return np.asarray(100 * np.searchsorted(known, k, side="left") / len(values), dtype=np.float64)


def _quartiles(values: NDArray[np.float64]) -> tuple[float, float]:
    low, middle = np.quantile(values, [0.25, 0.5])
    return float(low), float(middle)


def folded(name: str, width: int = 22) -> str:
    """Break a long name over two lines, and shorten these, so that it leaves room for the bars."""
    lines = [name]
    if len(name) > width and " " in name:
        cut = min((i for i, c in enumerate(name) if c == " "), key=lambda i: abs(i - len(name) // 2))
        lines = [name[:cut], name[cut + 1 :]]
    return "\n".join(shortened(line) for line in lines)


def shortened(line: str, most: int = 28) -> str:
    """Shorten a name in the middle, since names may differ at their ends."""
    end = most // 3
    return line if len(line) <= most else f"{line[: most - end - 1]}…{line[-end:]}"


# The figure's colours (Okabe and Ito's blue and vermilion, safe for the colour-blind), and what stands for each in a
# page: variables, so that a page in dark colours can choose lighter ones.
INK, FAINT, ONE, TWO = "#1b1f24", "#d0d7de", "#0072b2", "#d55e00"
_IN_PAGE = {INK: "currentColor", FAINT: "var(--faint)", ONE: "var(--one)", TWO: "var(--two)"}
# More of the same authors' colours, for as many lines as one picture can hold; a page may name others.
LINES = (ONE, TWO, "#009e73", "#cc79a7", "#a6761d", "#666666")
_IN_PAGE |= {colour: f"var(--line-{place}, {colour})" for place, colour in enumerate(LINES) if place > 1}

STYLE: dict[str, Any] = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": 9.5,
    "font.size": 9.5,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 2.0,
    "text.parse_math": False,  # a dollar sign in a label is a dollar sign
    "svg.fonttype": "none",  # text stays text: to be searched, read aloud, and set in the page's font
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def inline_svg(figure: Any, name: str, alt: str, styles: bool = True) -> str:
    """Return a figure as an SVG element for a page: the page's colours and font, and ids of its own.

    Parameters
    ----------
    figure
        The matplotlib figure.
    name
        What begins each id, so that no two drawings in a page share one.
    alt
        What is to be seen, in words.
    styles
        False writes plain attributes in place of styles, for pages whose policy forbids these.
    """
    matplotlib = require("matplotlib", "plots", "A picture")
    buffer = io.StringIO()
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(href="|url\()#', rf"\g<1>#{name}-", text)
    for colour, variable in _IN_PAGE.items():
        text = text.replace(colour, variable)
    if not styles:
        text = re.sub(r"<(style)\b.*?</\1>", "", text, flags=re.DOTALL)
        text = re.sub(r'style="([^"]*)"', lambda found: _attributes(found[1]), text)
    head, body = text.split(">", 1)
    view = re.search(r'viewBox="([^"]*)"', head)
    if view is None:  # matplotlib has always written one
        raise RuntimeError("the drawing has no viewBox")
    return render("drawing.svg", "report", view=view[1], name=name, alt=alt, body=body.strip(), styles=styles)


def _attributes(style: str) -> str:
    """Turn `fill: none; stroke-width: 2` into attributes. The font is the page's: only its size and weight stay."""
    found = dict(part.split(":", 1) for part in style.split(";") if ":" in part)
    pairs = {name.strip(): value.strip() for name, value in found.items()}
    short = pairs.pop("font", "")
    if size := re.search(r"[\d.]+px", short):
        pairs["font-size"] = size[0]
    if weight := re.match(r"\s*(bold|[1-9]00)\b", short):
        pairs["font-weight"] = weight[1]
    pairs.pop("font-family", None)
    return " ".join(f'{name}="{value}"' for name, value in pairs.items())


MAX_LINES, MAX_GROUPS, MAX_COLUMNS, MAX_ROWS = len(LINES), 24, 9, 24
_DASHES: tuple[tuple[float, ...], ...] = ((), (5, 2), (1.2, 1.5), (6, 2, 1.2, 2), (3, 1, 1, 1, 1, 1), (8, 3))
_WIDTH = 5.4
KINDS = ("coverage", "curves", "changes")  # how the names of pictures begin


def draw_audit(audit: Audit) -> dict[str, list[Picture]]:
    """Draw every picture that the audit allows, by grouping."""
    pictures = {}
    anything_asked = bool((audit.changes["options"] > 0).any())
    for place, grouping in enumerate(audit.groupings):
        curves = [cost_curves(audit, grouping, place)] if len(audit.curves) else []
        changes = [change_map(audit, grouping, place)] if anything_asked else []
        pictures[grouping] = [coverage_bars(audit, grouping, place), *curves, *changes]
    return pictures


def cost_curves(audit: Audit, grouping: str, place: int = 0) -> Picture:
    """Draw FS@k by cost k, a line for each group that is large enough, the best possible beside it."""
    shown, left_out = _largest(audit, grouping, MAX_LINES)
    rows = audit.curves[audit.curves.index.get_level_values("grouping") == grouping].droplevel("grouping")
    has_oracle = audit.oracle is not None

    def draw(axes: Any) -> None:
        for group, colour, dashes in zip(shown, LINES, _DASHES, strict=False):
            line = rows.loc[[group]]
            look = {"color": colour, "dashes": dashes} if dashes else {"color": colour}
            axes.plot(line["k"], 100 * line["satisfied"], label=shortened(group), linewidth=1.8, **look)
            if len(shown) <= 4:
                ends = (100 * line["low"], 100 * line["high"])
                axes.fill_between(line["k"], *ends, color=colour, alpha=0.14, linewidth=0)
            if has_oracle:
                axes.plot(line["k"], 100 * line["oracle"], color=colour, linewidth=0.8, linestyle=":")
        axes.axvline(audit.settings["k"], color=INK, linewidth=0.9, linestyle=":")
        axes.set(xlim=(0, float(rows["k"].max())), ylim=(0, 103), xlabel="cost k (1: the most one change can cost)")
        axes.set_ylabel("people with an option below k (%)")
        legend(axes)

    at_k = "; ".join(f"{g} {100 * _at(audit, grouping, g, 'satisfied'):.0f} %" for g in shown)
    bands = " Shaded: 95 % intervals, of each cost by itself." if len(shown) <= 4 else ""
    oracle = " Thin dotted lines: the best that any search could reach." if has_oracle else ""
    return Picture(
        _name("curves", grouping, place),
        f"What an option costs, by {grouping}",
        figure(draw, 3.7, _WIDTH),
        f"{measure_name(audit, 'satisfied')}: {at_k}.",
        f"The further left a line rises, the cheaper the options of that group.{bands}{oracle}{left_out}",
    )


def coverage_bars(audit: Audit, grouping: str, place: int = 0) -> Picture:
    """Draw coverage by group as bars with intervals, and what the oracle reaches beside."""
    table = audit.grouping(grouping).head(MAX_GROUPS)
    names = [f"{group} ({n})" for group, n in zip(table.index, table["refused"], strict=True)]
    value, low, high = (100 * table[f"coverage{end}"].to_numpy() for end in ("", "_low", "_high"))
    best = _oracle_of(audit, grouping, table.index)

    def draw(axes: Any) -> None:
        y = np.arange(len(names))
        axes.barh(y, np.nan_to_num(value), height=0.6, color=ONE, alpha=0.45)
        axes.errorbar(value, y, xerr=[value - low, high - value], fmt="none", ecolor=INK, capsize=3, elinewidth=1.2)
        if best is not None:
            ends = [100 * (best["oracle"] - best["oracle_low"]), 100 * (best["oracle_high"] - best["oracle"])]
            axes.errorbar(
                100 * best["oracle"],
                y + 0.38,
                xerr=ends,
                fmt="D",
                markersize=4.5,
                markerfacecolor="none",
                color=TWO,
                elinewidth=0.9,
                label="the best possible (oracle)",
            )
            legend(axes, columns=1)
        axes.set_yticks(y, [folded(name, 26) for name in names])
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        axes.set(xlim=(0, 103), xlabel="coverage (%)")

    listing = "; ".join(
        f"{name}: {v:.0f} % ({a:.0f} to {b:.0f})" for name, v, a, b in zip(names, value, low, high, strict=True)
    )
    more = len(audit.grouping(grouping)) - len(table)
    both = (
        ""
        if best is None
        else " Diamonds: what the best options there are would reach; a gap they share is the model's."
    )
    return Picture(
        _name("coverage", grouping, place),
        f"Who has an option that they can take, by {grouping}",
        figure(draw, max(1.7, 0.46 * len(names) + 1.0), _WIDTH),
        f"Coverage: {listing}.",
        f"Lines: 95 % intervals. In brackets: refused people.{both}"
        + (f" {more} more groups are not drawn." if more else ""),
    )


def change_map(audit: Audit, grouping: str, place: int = 0) -> Picture:
    """Draw which features the options of each group change: the darker, the more options."""
    shown, left_out = _largest(audit, grouping, MAX_COLUMNS)
    rows = audit.changes[audit.changes.index.get_level_values("grouping") == grouping]["options"].droplevel("grouping")
    table = rows.unstack("group").reindex(columns=shown)
    table = table.loc[table.max(axis=1).sort_values(ascending=False, kind="stable").index].dropna(how="all")
    table = table[table.max(axis=1) > 0].head(MAX_ROWS)
    top = float(np.nanmax(table.to_numpy(), initial=0.01))
    labels = audit.settings["features"]
    names = [labels.get(feature, feature) for feature in table.index]

    def draw(axes: Any) -> None:
        patches = require("matplotlib.patches", "plots", "A picture")
        for (y, x), share in np.ndenumerate(table.to_numpy()):
            if np.isnan(share):
                continue
            cell = patches.Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=ONE, alpha=0.6 * share / top, linewidth=0)
            axes.add_patch(cell)
            axes.text(x, y, f"{100 * share:.0f}", ha="center", va="center")
        axes.set(xlim=(-0.5, len(shown) - 0.5), ylim=(max(len(names), 1) - 0.5, -0.5))
        axes.set_xticks(range(len(shown)), [_narrow(group, len(shown)) for group in shown])
        axes.set_yticks(range(len(names)), [folded(name, 24) for name in names])
        axes.tick_params(length=0, labeltop=True, labelbottom=False)
        if len(shown) > 4:
            axes.tick_params(axis="x", labelrotation=40)
            for label in axes.get_xticklabels():
                label.set(ha="left", rotation_mode="anchor")
        axes.grid(visible=False)
        for side in ("left", "bottom"):
            axes.spines[side].set_color(FAINT)

    most = "; ".join(
        f"{group}: {labels.get(table[group].idxmax(), '')}" for group in shown if table[group].notna().any()
    )
    return Picture(
        _name("changes", grouping, place),
        f"What people are asked to change, by {grouping}",
        figure(draw, max(2.2, 0.3 * len(names) + 1.2), _WIDTH),
        f"Asked most often: {most}." if most else "There are no options.",
        f"Share of a group's options that ask it, in %. An option may ask several things.{left_out}",
    )


def _narrow(name: str, n: int) -> str:
    """Break a group's name into short lines, over one of `n` narrow columns; over many, slant it."""
    lines = name.split(CROSS) if CROSS in name else folded(name, 12).split("\n")
    most = min(28, 48 // n) if n <= 4 else 28
    lines = [shortened(line, most) for line in lines]
    return f"{CROSS.rstrip()}\n".join(lines) if CROSS in name else "\n".join(lines)


def _largest(audit: Audit, grouping: str, most: int) -> tuple[list[str], str]:
    """Return the largest of the large enough groups, in order, and the groups left out."""
    refused = audit.grouping(grouping)["refused"]
    enough = refused[refused >= audit.settings["min_group"]]
    chosen = (enough if len(enough) else refused[refused > 0]).nlargest(most).index
    shown = [str(group) for group in refused.index if group in chosen]
    n = len(refused) - len(shown)
    return shown, f" {n} smaller group{'s are' if n > 1 else ' is'} not drawn." if n else ""


def _at(audit: Audit, grouping: str, group: str, metric: str) -> float:
    return float(audit.grouping(grouping)[metric][group])


def _oracle_of(audit: Audit, grouping: str, groups: pd.Index[Any]) -> pd.DataFrame | None:
    if audit.oracle is None:
        return None
    keys = [(grouping, group, "coverage") for group in groups]
    return audit.oracle.loc[keys].reset_index(drop=True)


def _name(kind: str, grouping: str, place: int) -> str:
    """Return a name that is valid in files and ids; the position distinguishes groupings."""
    plain = re.sub(r"[^a-z0-9]+", "-", grouping.lower()).strip("-")
    return f"{kind}-{place + 1}-{plain}".rstrip("-")[:60]
