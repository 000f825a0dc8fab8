"""Draw the pictures of the documentation into docs/images: ``python docs/make_images.py`` (a minute or two).

Needs matplotlib. The data are the embedded ones, so anybody gets the same pictures.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

import leastways as lw

FOLDER = Path(__file__).parent / "images"
INK, PALE, BLUE, ORANGE, GREEN, RED = "#222222", "#9a9a9a", "#0b5394", "#c55a11", "#2f7d4f", "#a3123f"
STYLE: Any = {
    "font.size": 10,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": PALE,
    "axes.labelcolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
}
TITLE: Any = {"x": 0.01, "ha": "left", "fontsize": 11.5, "fontweight": "bold"}
METHODS: dict[str, tuple[lw.Searcher, str, Any]] = {  # name -> searcher, colour, dashes
    "guided": (lw.Guided(), RED, (None, None)),
    "COLS": (lw.COLS(), BLUE, (None, None)),
    "local search": (lw.LocalSearch(), GREEN, (5, 2)),
    "random sets": (lw.RandomSearch(), ORANGE, (1.5, 1.5)),
}
CREDIT = lw.datasets.load_credit()
SCHEMA = CREDIT.schema()


def model(frame: pd.DataFrame) -> NDArray[np.float64]:
    """The true probability of approval in the embedded data."""
    assert CREDIT.model is not None
    return CREDIT.model(frame)


def refused(n: int) -> pd.DataFrame:
    """The first people whom the model refuses."""
    return CREDIT.people[model(CREDIT.people) < 0.5].head(n)


def plans_of(people: pd.DataFrame, searcher: lw.Searcher, budget: int, n_options: int = 6) -> lw.RecoursePlans:
    """Find options at a budget."""
    recourse = lw.Recourse(model, SCHEMA, searcher, n_options=n_options, budget=budget, n_costs=500)
    return recourse.fit(CREDIT.train).recommend(people)


def options_image() -> Figure:
    """Draw one person's menu, and how many simulated people find something affordable on theirs."""
    people = refused(200)
    figure = Figure(figsize=(11, 4.3), layout="constrained")
    halves: Any = figure.subfigures(1, 2, width_ratios=[1.5, 1], wspace=0.04)
    left, right = (half.add_subplot() for half in halves)
    plans = plans_of(people, lw.Guided(), 200)
    person = max(plans, key=lambda plan: (sum(o.best_for >= 0.05 for o in plan.options), plan.covered)).person
    halves[0].suptitle(_menu(left, plans[person]), **TITLE)
    halves[1].suptitle("200 people: who finds one cheap enough?", **TITLE)
    costs = np.linspace(0, 1.5, 400)
    for name, (searcher, colour, dashes) in METHODS.items():
        mine = plans_of(people, searcher, 200)
        shares = [
            (lw.simulate_people(people, SCHEMA, CREDIT.train, random_state=s).min_costs(mine)[:, None] < costs).mean(0)
            for s in range(5)
        ]
        curve = 100 * np.mean(shares, axis=0)
        right.plot(costs, curve, color=colour, dashes=dashes, linewidth=2)
        right.annotate(name, (1.5, curve[-1]), xytext=(-2, 6), textcoords="offset points", ha="right", color=colour)
    right.axvline(1, color=PALE, linewidth=0.9, linestyle=":")
    right.set(xlim=(0, 1.5), ylim=(0, 100), xlabel="cost k (1: the most one single change can cost)")
    right.set_ylabel("simulated people with an option below k (%)")
    return figure


def _menu(axes: Any, plan: lw.RecoursePlan) -> str:
    """Draw a person's options as bars, each as long as the share of preferences for which it is the cheapest."""
    options = [option for option in plan.options if option.best_for >= 0.005]
    rest = 1 - plan.covered
    labels = ["\n".join(_short(change.text) for change in option.changes) for option in options]
    places = np.arange(len(options) + 1)
    shares = [100 * option.best_for for option in options] + [100 * rest]
    bars = axes.barh(places, shares, color=[BLUE] * len(options) + ["#dddddd"], height=0.62)
    axes.bar_label(bars, labels=[f"{share:.0f} %" for share in shares], padding=4)
    axes.set_yticks(places, [*labels, "none of them fits"])
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.spines["left"].set_visible(False)
    axes.set(xlim=(0, max(shares) * 1.15), xlabel="plausible preferences for which it is the cheapest way (%)")
    return f"One refused person (chance of a yes now: {plan.probability:.0%}), {len(options)} ways to a yes"


def _short(text: str) -> str:
    """Leave out the verb: 'savings from 200 € to 3,000 €' reads as a change without it."""
    verb, _, rest = text.partition(" ")
    what, _, values = rest.partition(" from ")
    return f"{what}: {values.replace(' to ', ' → ')}" if values else f"{verb} {rest}"


def costs_image() -> Figure:
    """Draw sampled cost functions of one person for three kinds of features."""
    person = refused(2).iloc[[1]]
    crowd = pd.concat([person] * 2000, ignore_index=True)
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    titles = {
        "hours_per_week": "a number, both ways",
        "monthly_income": "a number, up only",
        "education": "levels, up only",
    }
    for axes, (name, title) in zip(panels, titles.items(), strict=True):
        for distribution, colour in (("linear", BLUE), ("percentile", ORANGE)):
            _curves(axes, crowd, name, distribution, colour)
        axes.set(title=title, xlabel=SCHEMA.by_name[name].wording, ylim=(0, 1.02))
    panels[0].set_ylabel("cost of a change to this value")
    panels[1].plot([], [], color=BLUE, label="linear: counts steps")
    panels[1].plot([], [], color=ORANGE, label="percentile: counts people")
    panels[1].legend(loc="lower right", handlelength=1.2)
    panels[2].tick_params(axis="x", labelsize=8.5)
    return figure


def _curves(axes: Any, crowd: pd.DataFrame, name: str, distribution: str, colour: str, most: int = 8) -> None:
    """Draw the costs of one feature under some of the sampled functions in which it is editable."""
    truth = lw.simulate_people(crowd, SCHEMA, CREDIT.train, costs=distribution)
    own = crowd[name].iloc[0]
    feature = SCHEMA.by_name[name]
    values = sorted({*feature.values, own}) if feature.numeric else list(feature.values)
    chosen = [
        label
        for label, told in truth.preferences.items()
        if name in (told.editable or ()) and len(told.editable or ()) > 1
    ]
    for label in chosen[:most]:
        costs = _costs(truth, crowd, label, name, values)
        x = values if feature.numeric else np.arange(len(values))
        axes.plot(x, costs, color=colour, linewidth=1, alpha=0.75)
    if not feature.numeric:
        axes.set_xticks(np.arange(len(values)), [str(value).replace(" ", "\n", 1) for value in values])
    axes.plot([own if feature.numeric else values.index(own)], [0], "o", color=INK, markersize=5, clip_on=False)


def _costs(truth: lw.SimulatedPeople, crowd: pd.DataFrame, label: Any, name: str, values: list[Any]) -> Any:
    """Return what each value of one feature costs one simulated person; NaN where they cannot go."""
    options = pd.concat([crowd.loc[[label]]] * len(values), ignore_index=True)
    options[name] = pd.Series(values).astype(options[name].dtype)
    options.insert(0, "person", label)
    options.insert(1, "option", range(1, len(options) + 1))
    blank = pd.DataFrame(index=pd.Index([label]))
    plans = lw.RecoursePlans(SCHEMA, crowd.loc[[label]], blank, options, blank, {})
    costs = truth.option_costs(plans)
    return np.where(np.isfinite(costs), costs, np.nan)


def budget_image() -> Figure:
    """Draw how many simulated people are satisfied, by the rows that the model was asked about."""
    people = refused(200)
    truths = [lw.simulate_people(people, SCHEMA, CREDIT.train, random_state=s) for s in range(5)]
    budgets = [30, 60, 125, 250, 500, 1000, 2000, 5000]
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.add_subplot()
    lines: dict[str, tuple[lw.Searcher, str, Any]] = {
        "guided": METHODS["guided"],
        "COLS": METHODS["COLS"],
        "COLS as in the paper": (lw.COLS(gain="paper", proposals="paper"), "#5b8fc7", (6, 1.5, 1, 1.5)),
        "local search": METHODS["local search"],
        "random sets": METHODS["random sets"],
    }
    for name, (searcher, colour, dashes) in lines.items():
        shares = []
        for budget in budgets:
            mine = plans_of(people, searcher, budget, n_options=10)
            shares.append(float(np.mean([lw.evaluate(mine, truth)["FS@1"].iloc[0] for truth in truths])))
        axes.plot(budgets, shares, "o", linestyle="-", dashes=dashes, color=colour, markersize=4, label=name)
        axes.annotate(name, (budgets[-1], shares[-1]), xytext=(8, -3), textcoords="offset points", color=colour)
    axes.set(xscale="log", ylim=(0, 100), xlabel="rows per person that the model was asked about (budget)")
    axes.set_xticks(budgets, [f"{b:,}" for b in budgets], minor=False)
    axes.minorticks_off()
    axes.set_title("Simulated people with an option below cost 1 (FS@1, %)")
    return figure


IMAGES: dict[str, Callable[[], Figure]] = {
    "options.png": options_image,
    "costs.png": costs_image,
    "budget.png": budget_image,
}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    wanted = sys.argv[1:] or list(IMAGES)
    with matplotlib.rc_context(STYLE):
        for image in wanted:
            IMAGES[image]().savefig(FOLDER / image, dpi=150)
            sys.stdout.write(f"docs/images/{image}\n")
