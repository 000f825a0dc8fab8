"""Pictures of an audit: cost curves, coverage and what is asked to change, by group; readable without colour."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from leastways._extras import require
from leastways.audit import Audit
from leastways.audit.groups import CROSS
from leastways.audit.words import measure_name
from leastways.report.plots import Picture, figure, folded, legend, shortened
from leastways.report.svg import FAINT, INK, LINES, ONE, TWO

MAX_LINES, MAX_BARS, MAX_COLUMNS, MAX_ROWS = len(LINES), 24, 9, 24
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
    table = audit.grouping(grouping).head(MAX_BARS)
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
    """Draw which features each group is asked to change: the darker, the more of its options ask it."""
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
        f"Asked most often: {most}." if most else "Nobody has an option.",
        f"Share of a group's options that ask it, in %. An option may ask several things.{left_out}",
    )


def _narrow(name: str, n: int) -> str:
    """Write a group's name in short lines, over one of `n` narrow columns; over many it stands aslant."""
    lines = name.split(CROSS) if CROSS in name else folded(name, 12).split("\n")
    most = min(28, 48 // n) if n <= 4 else 28
    lines = [shortened(line, most) for line in lines]
    return f"{CROSS.rstrip()}\n".join(lines) if CROSS in name else "\n".join(lines)


def _largest(audit: Audit, grouping: str, most: int) -> tuple[list[str], str]:
    """Return the groups that are large enough, the largest of them if there are many, in order; and who is left out."""
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
    """Return a name that a file and an id can have; the place keeps two groupings apart."""
    plain = re.sub(r"[^a-z0-9]+", "-", grouping.lower()).strip("-")
    return f"{kind}-{place + 1}-{plain}".rstrip("-")[:60]
