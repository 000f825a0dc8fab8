"""Tables for a terminal."""

from __future__ import annotations

import dataclasses
import io

from rich.console import Console, RenderableType

from leastways.plans import Certificate
from leastways.report import Totals, plan_panel, schema_table, summary_table
from leastways.report.totals import SimulatedTotals
from tests.support.plans_with_markup import NASTY, hopeless, nobody, plans, schema, truth


def shown(thing: RenderableType) -> str:
    out = io.StringIO()
    Console(file=out, width=200, color_system=None).print(thing)
    return out.getvalue()


def test_panel_shows_values_now_and_then() -> None:
    plan = next(p for p in plans() if p.options and any(c.feature == "pay" for o in p.options for c in o.changes))
    text = shown(plan_panel(plan, plans().schema))
    assert f"Person {plan.person}" in text
    assert NASTY in text
    assert "$a$" in text
    assert "→" in text
    for option in plan.options:
        assert f"{option.probability:.0%}" in text


def test_values_are_not_read_as_markup() -> None:
    plan = next(p for p in plans() if any("clerk" in c.text for o in p.options for c in o.changes))
    assert "[bold]clerk[/bold]" in shown(plan_panel(plan, plans().schema))


def test_max_options_states_how_many_are_left_out() -> None:
    plan = next(p for p in plans() if len(p.options) == 3)
    text = shown(plan_panel(plan, plans().schema, max_options=1))
    assert "2 more options not shown" in text
    assert "not shown" not in shown(plan_panel(plan, plans().schema))


def test_panel_of_people_without_options_gives_the_reason() -> None:
    accepted = next(iter(nobody()))
    assert "the model accepts this person as they are" in shown(plan_panel(accepted, nobody().schema))
    invalid = next(p for p in plans() if p.status == "invalid_input")
    text = shown(plan_panel(invalid, plans().schema))
    assert "is missing" in text
    assert "chance" not in text


def test_panel_shows_nearest_miss_and_certificate() -> None:
    plan = next(p for p in hopeless() if p.nearest_miss is not None)
    assert plan.nearest_miss is not None
    proven = dataclasses.replace(plan, certificate=Certificate.of(4.0, 5.0, 1.0, 9))
    text = shown(plan_panel(proven, hopeless().schema))
    assert "The nearest miss" in text
    assert plan.nearest_miss.changes[0].text in text
    assert "No set of options could cost less than 4.00 on average" in text


def test_summary_shows_simulated_people_only_if_given() -> None:
    totals = Totals.of(plans())
    assert "imulated people" not in shown(summary_table(totals))
    text = shown(summary_table(totals, SimulatedTotals.of(plans(), truth())))
    assert "Simulated people" in text
    assert "FS@1" in text
    assert "invalid_input" in text


def test_schema_table_shows_values_and_directions() -> None:
    text = shown(schema_table(schema()))
    pay = schema().by_name["pay"].values
    assert f"{pay[0]} to {pay[-1]} $a$, {len(pay)} grid points" in text
    assert "only down" in text
    assert "[bold]clerk[/bold]" in text
