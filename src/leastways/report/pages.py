"""The HTML report on plans: one file that holds no script and loads nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from leastways import __version__
from leastways._templates import render
from leastways._values import plain
from leastways.evaluation import SimulatedPeople
from leastways.plans import (
    STATUSES,
    RecourseOption,
    RecoursePlan,
    RecoursePlans,
    change_values,
    closing,
    miss_headline,
    value_text,
)
from leastways.report.plots import can_draw, draw_all
from leastways.report.totals import COST_MEANING, SimulatedTotals, Totals, percent
from leastways.schema import Schema

MAX_REJECTED = 50  # rows listed as unusable
_WORDS = (
    ("Option", "One way to a yes: a set of changes after which the model accepts the person."),
    (
        "Simulated preferences",
        "What a person would change, and how willingly, is not known. Many preferences that they might have are drawn "
        "at random (within those that they stated, if any), and the options are chosen so that one of them suits "
        "as many of these as possible.",
    ),
    ("Cost", f"How hard a change is under one preference: {COST_MEANING}. The costs of several changes add up."),
    ("Cheapest for", "The share of simulated preferences under which this option is the cheapest of the set."),
    ("Chance of a yes", "The probability that the model itself gives. It is the model's word, not a promise."),
)


def write_report(
    plans: RecoursePlans,
    path: str | Path,
    *,
    title: str = "Ways to a yes",
    max_people: int = 12,
    truth: SimulatedPeople | None = None,
) -> Path:
    """Write plans as one self-contained HTML file, and return its path.

    Parameters
    ----------
    plans
        What `Recourse.recommend` returned.
    path
        Where to write. An existing file is replaced.
    title
        The heading.
    max_people
        How many people's plans are written out: people with options first, then those for whom nothing was found,
        then those whom the model accepts as they are; within each, in the order of the table.
    truth
        Simulated people (`lw.simulate_people`): adds figures under their hidden costs, labelled as simulated.

    Pictures need matplotlib (``pip install 'leastways[plots]'``). Without it the report has none, and says so.
    """
    path = Path(path)
    path.write_text(report_html(plans, title=title, max_people=max_people, truth=truth), encoding="utf-8")
    return path


def report_html(plans: RecoursePlans, *, title: str, max_people: int = 12, truth: SimulatedPeople | None = None) -> str:
    """Return the text of the report."""
    simulated = None if truth is None else SimulatedTotals.of(plans, truth)
    totals = Totals.of(plans)
    tables = [("All people", totals.rows())]
    if simulated is not None:
        tables.append(("Measured on simulated people, whose costs the search did not see", simulated.rows()))
    kinds = _kinds(plans)
    usable = [label for labels in kinds.values() for label in labels]
    rejected = plans.summary.index[plans.summary["status"] == "invalid_input"]
    reasons = plans.summary["reason"]
    return render(
        "report.html",
        "report",
        version=__version__,
        title=title,
        lead=f"{totals.people} people, {totals.in_need} of them refused by the model.",
        figures=_figures(totals, simulated),
        tables=tables,
        pictures=draw_all(plans, truth) if can_draw() else None,
        which=_which(kinds, min(max_people, len(usable)), len(usable)),
        people=[_person(plans[label], plans.schema) for label in usable[:max_people]],
        rejected=[(plain(label), reasons[label]) for label in rejected[:MAX_REJECTED]],
        more_rejected=max(0, len(rejected) - MAX_REJECTED),
        words=_WORDS,
        settings=sorted(plans.settings.items()),
    )


def _figures(totals: Totals, simulated: SimulatedTotals | None) -> list[tuple[str, str]]:
    """Return the main figures, each with what it counts."""
    figures = [
        (f"{totals.with_options} of {totals.in_need}", "refused people have at least one option"),
        (percent(totals.covered), "of the simulated preferences have a possible option"),
        (percent(totals.satisfied), "of the simulated preferences have an option below cost 1"),
    ]
    if simulated is not None:
        figures.append((percent(simulated.satisfied), "of simulated people have an option that costs them less than 1"))
    return figures


def _kinds(plans: RecoursePlans) -> dict[str, list[Any]]:
    """Return the usable people by kind, people with options first, each kind in the order of the table."""
    summary = plans.summary
    usable = summary["status"] != "invalid_input"
    accepted = summary["status"] == "already_positive"
    some = summary["n_options"] > 0
    kinds = {
        "people with options": usable & some,
        "those for whom nothing was found": usable & ~some & ~accepted,
        "those whom the model accepts as they are": usable & ~some & accepted,
    }
    return {name: summary.index[which].tolist() for name, which in kinds.items() if which.any()}


def _which(kinds: Mapping[str, Sequence[Any]], shown: int, all_of_them: int) -> str:
    """Describe which people are shown, and their order; empty if all have one status and all are shown."""
    if not shown:
        return ""
    count = f"The first {shown} of {all_of_them}" if all_of_them > shown else ""
    first, *others = kinds
    order = ", then ".join([f"{first} come first", *others]) if others else ""
    text = ": ".join(filter(None, (count, order)))
    return f"{_sentence(text)} " if text else ""


def _person(plan: RecoursePlan, schema: Schema) -> dict[str, Any]:
    """Return the values for the card of one person."""
    items = [f"{f.wording}: {value_text(f, plan.state[f.name])}" for f in schema.features]
    shown: dict[str, Any] = {
        "label": plan.person,
        "now": "" if np.isnan(plan.probability) else f"chance of a yes now: {percent(plan.probability)}",
        "state": "; ".join(items),
        "sentences": [_sentence(plan.reason)] if plan.reason else [],
        "options": [_option(option, schema) for option in plan.options],
        "miss": "",
        "note": "",
    }
    if plan.options:
        proven = "" if plan.certificate is None else f" {plan.certificate}"
        return shown | {"note": closing(plan) + proven}
    shown["sentences"].insert(0, _sentence(STATUSES[plan.status]))
    if plan.nearest_miss is not None:
        changes = [change.text for change in plan.nearest_miss.changes]
        shown |= {"miss": miss_headline(plan.nearest_miss), "miss_changes": changes}
    if plan.certificate is not None:
        shown["note"] = plan.certificate.to_text(any_options=False)
    return shown


def _sentence(text: str) -> str:
    """Return a phrase as a sentence; only its first letter changes, since it may hold values."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def _option(option: RecourseOption, schema: Schema) -> dict[str, Any]:
    features = [schema.by_name[change.feature] for change in option.changes]
    pairs = [change_values(f, c.before, c.after) for f, c in zip(features, option.changes, strict=True)]
    return {
        "number": option.number,
        "changes": [(feature.wording, *pair) for feature, pair in zip(features, pairs, strict=True)],
        "chance": percent(option.probability),
        "cheapest_for": percent(option.best_for),
        "cost": f"{option.expected_cost:.2f}" if np.isfinite(option.expected_cost) else "–",
    }
