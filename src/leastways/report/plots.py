"""Pictures of plans, as matplotlib figures. No pyplot: nothing global is left behind, and no window opens.

Each is readable without colour: lines differ in dash, markers in fill, bars carry their figure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastways._extras import require
from leastways.evaluation import SimulatedPeople
from leastways.plans import NOT_SEARCHED, RecoursePlans
from leastways.report.svg import INK, ONE, STYLE, TWO, inline_svg

MAX_BARS, MAX_PEOPLE = 12, 40
_SIZE = (5.0, 3.5)


@dataclass(frozen=True)
class Picture:
    """A figure with its heading, what it shows in words for those who cannot see it, and how to read it."""

    name: str
    title: str
    figure: Any  # matplotlib.figure.Figure
    alt: str
    caption: str

    def svg(self) -> str:
        """Return the picture as an element of an HTML page."""
        return inline_svg(self.figure, self.name, f"{self.title}. {self.alt}")


def can_draw() -> bool:
    """Say whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw_all(plans: RecoursePlans, truth: SimulatedPeople | None = None) -> list[Picture]:
    """Draw every picture that the plans allow; none at all where nobody has an option."""
    if plans.options.empty:
        return []
    return [served(plans), costs(plans, truth), changed_features(plans), chances(plans)]


def served(plans: RecoursePlans) -> Picture:
    """Draw the share of plausible preferences that each person's options serve, best served first."""
    need = plans.summary[~plans.summary["status"].isin(NOT_SEARCHED)]
    covered, cheap = (100 * np.sort(need[c].to_numpy(dtype=np.float64))[::-1] for c in ("covered", "satisfied"))
    x = 100 * (np.arange(len(need)) + 0.5) / len(need)

    def draw(axes: Any) -> None:
        axes.plot(x, covered, color=ONE, linewidth=3.5, label="an option can be taken")
        axes.plot(x, cheap, color=TWO, linewidth=1.6, dashes=(4, 2), label="and costs less than 1")
        axes.set(xlim=(0, 100), ylim=(0, 103), xlabel="people, best served first (%)")
        axes.set_ylabel("plausible preferences served (%)")
        legend(axes)

    half = _quartiles(covered)
    return Picture(
        "served",
        "How many plausible preferences are served",
        figure(draw),
        f"For half of the people some option can be taken under at least {half[1]:.0f} % of the plausible "
        f"preferences, for three quarters of them under at least {half[0]:.0f} %.",
        "We do not know what anybody prefers, so we draw many preferences they might have. The higher the line "
        "stays, the surer it is that everybody finds something among their options.",
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
        axes.plot(k, _below(expected, k), color=ONE, label="average over the preferences served")
        if hidden is not None:
            axes.plot(k, _below(hidden, k), color=TWO, dashes=(4, 2), label="simulated people, hidden costs")
        axes.axvline(1, color=INK, linewidth=0.9, linestyle=":")
        axes.set(xlim=(0, top), ylim=(0, 103), xlabel="cost k (0: no effort, 1: the most one change can cost)")
        axes.set_ylabel("people with an option below k (%)")
        legend(axes, columns=1)

    said = f"{_below(expected, np.array([0.5]))[0]:.0f} % of the people have an expected cost below 0.5"
    if hidden is not None:
        said += f"; {_below(hidden, np.array([1.0]))[0]:.0f} % of simulated people have an option below cost 1"
    note = " The dashed line counts everybody, by costs that the search never saw." if hidden is not None else ""
    return Picture(
        "costs",
        "What the cheapest option costs",
        figure(draw),
        f"{said}.",
        f"The further left a line rises, the cheaper the options. Preferences that no option serves do not count in "
        f"the solid line.{note}",
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
    """Draw each person's chance now and after their first option; a spread of people where there are many."""
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
    """Make a figure of one drawing, in the style of the report."""
    matplotlib = require("matplotlib", "plots", "A picture")
    figures = require("matplotlib.figure", "plots", "A picture")
    with matplotlib.rc_context(STYLE):
        made = figures.Figure(figsize=(width, height), layout="constrained")
        draw(made.add_subplot())
    return made


def legend(axes: Any, columns: int = 2) -> None:
    """Put the legend above the drawing, where it can hide nothing."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.3, borderpad=0)


def _below(values: NDArray[np.float64], k: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the percentage of values below each k; what is undefined or infinite never is."""
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
    """Leave out what is too much in the middle: names may differ at their ends."""
    end = most // 3
    return line if len(line) <= most else f"{line[: most - end - 1]}…{line[-end:]}"
