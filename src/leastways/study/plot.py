"""The result of a study as a picture: shares as bars with their intervals, told apart without colour too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from leastways._extras import require
from leastways.report.plots import folded
from leastways.report.svg import INK, ONE, STYLE, TWO
from leastways.study.analyse import Share, StudyResult
from leastways.study.folder import NO_PREFERENCE
from leastways.study.show import p_value_text

PLOT_FILES = ("result.png", "result.svg")
_GREY = "#8c959f"
_LOOKS = ((ONE, ""), (TWO, "////"), (_GREY, ""))  # the methods differ in hatching as well


def draw_result(result: StudyResult) -> Any:
    """Return a matplotlib figure: who is preferred, and who is found reasonable."""
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
