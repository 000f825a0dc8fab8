"""The stored texts: what the package says about some of the stored decisions, to a program, a terminal and a person."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from tests.golden import data, package, readers
from tests.golden.cases import AT_MOST, CASES, FORBIDDEN, IF_THEN, LINKED, Case, Run

# Cases of every status, with certificates, rules and preferences.
PLANS = (
    *("guided", "guided, one option", "guided, satisfaction", "rules: all, guided", "preferences: one feature"),
    *("own numbers beside the grids", "a missing value", "unusable rows", "already accepted", "none exists"),
    *("none found, nearest miss", "no time", "the model fails on some", "certified", "certified with few rows"),
    *("certified, none found", "preferences: everything, cols"),
)
REPORTS = ("guided", "unusable rows", "the model fails on some")
PAGES = (
    *("guided", "rules: all, guided", "own numbers beside the grids", "a missing value", "preferences: editable"),
    *("preferences: one feature", "preferences: everything, cols", "preferences: ranges", "none exists"),
    *("none found, nearest miss", "already accepted", "the model fails on some"),
)
ALL_RULES = (IF_THEN, FORBIDDEN, LINKED, AT_MOST)
LANGUAGES = ("en", "de")


@cache
def run_of(name: str) -> Run:
    """Run a case, once."""
    return CASES[name].run()


def plan_texts(name: str) -> str:
    """Return each plan of a case as text, and as a panel of a terminal."""
    run = run_of(name)
    return _joined(part for plan in run.final() for part in (readers.plain_text(plan), readers.panel(plan, run.schema)))


def summary(name: str) -> str:
    """Return the totals of a case as a terminal shows them."""
    return readers.totals(run_of(name).plans)


def report(name: str) -> str:
    """Return the sentences of a case's report."""
    run = run_of(name)
    usable = run.plans.summary.index[run.plans.summary["status"] != "invalid_input"]
    truth = package.simulated(run.people.loc[usable], run.schema, data.train())
    return readers.report(run.final(), truth)


def page(name: str, language: str) -> str:
    """Return what the page of each person of a case says."""
    run = run_of(name)
    usable = [plan for plan in run.final() if plan.status != "invalid_input"]
    said = {plan.person: package.preferences_of(run.preferences, plan.person) for plan in usable}
    threshold = run.settings["threshold"]
    return _joined(readers.page(run.schema, plan, said[plan.person], threshold, language) for plan in usable)


def schema() -> str:
    """Return the schema in words, as YAML and as a table of a terminal."""
    return readers.schema(package.schema({}, ALL_RULES))


def audit() -> str:
    """Return what an audit finds."""
    people = "a b c d e f own beyond rich nowhere"
    return readers.audit(Case(people=people).run().plans)


def _joined(parts: Iterator[str]) -> str:
    return "\n\n".join(parts) + "\n"


TEXTS: dict[str, Callable[[], str]] = {
    **{f"plans: {name}": (lambda name=name: plan_texts(name)) for name in PLANS},  # type: ignore[misc]
    **{f"report: {name}": (lambda name=name: report(name)) for name in REPORTS},  # type: ignore[misc]
    "totals: guided": lambda: summary("guided"),
    **{
        f"page, {language}: {name}": (lambda name=name, language=language: page(name, language))  # type: ignore[misc]
        for name in PAGES
        for language in LANGUAGES
    },
    "schema": schema,
    "audit": audit,
}
