"""Drawings: colours that colour-blind readers can tell apart, markers and dashes for those who print in grey."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.figure import Figure as Drawing

from experiments.report.layout import Figure

# Okabe and Ito's colours, darkest and lightest apart in grey, each with a marker and a dash of its own.
_STYLES: dict[str, tuple[str, str, str]] = {
    "guided": ("#000000", "o", "-"),
    "cols": ("#0072B2", "s", "-"),
    "cols-paper": ("#0072B2", "s", "--"),
    "pcols-paper": ("#56B4E9", "D", "--"),
    "ar": ("#D55E00", "^", "-"),
    "face-knn": ("#009E73", "v", "-"),
    "face-eps": ("#009E73", "<", ":"),
    "random-paper": ("#999999", "x", ":"),
    "dice": ("#CC79A7", "P", "-."),
}
# For the rest: markers that none of those has, and no two alike before all colours and markers are through.
_COLOURS = ("#E69F00", "#0072B2", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
_MARKERS = ("*", "h", "p", "X", "d", ">")
_DASHES = ("-.", "-", "--", ":")

mpl.rcParams.update(
    {
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "svg.hashsalt": "leastways",
        "svg.fonttype": "path",
    }
)


def styles(lines: Iterable[str]) -> dict[str, tuple[str, str, str]]:
    """Give each line of a figure a colour, marker and dash: its method's, unless another line has them."""
    out: dict[str, tuple[str, str, str]] = {}
    spare = (
        (_COLOURS[k % len(_COLOURS)], _MARKERS[k % len(_MARKERS)], _DASHES[k // len(_MARKERS) % len(_DASHES)])
        for k in count()
    )
    for line in lines:
        own = _STYLES.get(line.split()[0])
        out[line] = own if own is not None and own not in out.values() else next(spare)
    return out


def curves(
    name: str, title: str, lines: Mapping[str, Sequence[tuple[float, float, float]]], axis: str, logarithmic: bool
) -> Figure:
    """Draw a line a method: (x, mean, spread) points with error bars."""
    drawing, ax = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
    looks = styles(lines)
    for method, points in lines.items():
        colour, marker, dash = looks[method]
        x, y, spread = zip(*sorted(points), strict=True)
        ax.errorbar(
            x, y, yerr=spread, color=colour, marker=marker, linestyle=dash, markersize=5, capsize=2, label=method
        )
    if logarithmic:
        ax.set_xscale("log")
        ticks = sorted({p[0] for points in lines.values() for p in points})
        ax.set_xticks(ticks, [f"{v:g}" for v in ticks], rotation=45 if len(ticks) > 8 else 0, fontsize=8)
        ax.minorticks_off()
    ax.set(xlabel=axis, ylabel="people satisfied (FS@1), %", ylim=(0, 100))
    ax.grid(axis="y", alpha=0.3)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return _kept(name, title, drawing)


def heat_map(
    name: str, title: str, values: Sequence[Sequence[float]], ticks: Sequence[float], axes: tuple[str, str]
) -> Figure:
    """Draw a grid of numbers, each written in its square."""
    drawing, ax = plt.subplots(figsize=(5.6, 4.6), layout="constrained")
    known = [v for line in values for v in line if not math.isnan(v)]
    low = 10 * math.floor(min(known, default=0) / 10)  # whole tens around the numbers: small differences can be seen
    high = max(10 * math.ceil(max(known, default=100) / 10), low + 10)
    image = ax.imshow(values, origin="lower", cmap="cividis", vmin=low, vmax=high)
    for row, line in enumerate(values):
        for column, value in enumerate(line):
            ink = "black" if value > (low + high) / 2 else "white"
            ax.text(column, row, f"{value:.0f}", ha="center", va="center", color=ink)
    labels = [f"{t:g}" for t in ticks]
    ax.set_xticks(range(len(ticks)), labels)
    ax.set_yticks(range(len(ticks)), labels)
    ax.set(xlabel=axes[0], ylabel=axes[1])
    ax.spines[:].set_visible(False)
    drawing.colorbar(image, label="people satisfied (FS@1), %")
    return _kept(name, title, drawing)


def bars(name: str, title: str, groups: Mapping[str, Mapping[str, tuple[float, float, float]]], axis: str) -> Figure:
    """Draw bars with intervals, side by side: groups -> label -> (height, from, to)."""
    drawing, ax = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
    labels = list(dict.fromkeys(label for group in groups.values() for label in group))
    hatches, fills = ("", "//", "..", "xx"), ("#0072B2", "#E69F00", "#56B4E9", "#009E73")
    width = 0.8 / max(len(groups), 1)
    for k, (group, heights) in enumerate(groups.items()):
        at = [labels.index(label) + (k - (len(groups) - 1) / 2) * width for label in heights]
        tall, low, high = map(np.array, zip(*heights.values(), strict=True))
        style: dict[str, Any] = {"color": fills[k % 4], "hatch": hatches[(k + k // 4) % 4], "edgecolor": "white"}
        ax.bar(at, tall, width * 0.92, yerr=[tall - low, high - tall], capsize=3, label=group, **style)
    ax.set_xticks(range(len(labels)), labels)
    ax.set(xlabel=axis, ylabel="people satisfied (FS@1), %", ylim=(0, 100))
    ax.grid(axis="y", alpha=0.3)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return _kept(name, title, drawing)


def _kept(name: str, title: str, drawing: Drawing) -> Figure:
    """Finish a drawing: the figure holds its vector form and its pixels."""
    vector, pixels = io.StringIO(), io.BytesIO()
    nothing: dict[str, Any] = {"Date": None}
    drawing.savefig(vector, format="svg", metadata=nothing)
    drawing.savefig(pixels, format="png", dpi=150)
    plt.close(drawing)
    return Figure(name, title, vector.getvalue(), pixels.getvalue())
