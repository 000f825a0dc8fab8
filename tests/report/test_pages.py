"""The HTML report: complete, self-contained, and safe whatever the data hold."""

from __future__ import annotations

import re
import sys
from html import escape
from pathlib import Path

import pandas as pd
import pytest

from leastways.plans import CERTIFICATE
from leastways.report import Totals, write_report
from leastways.report.pages import report_html
from tests.support.html_page import Page, check_self_contained
from tests.support.plans_with_markup import JOB, hopeless, mixed, nobody, plans, truth


@pytest.fixture(scope="module")
def page() -> Page:
    pytest.importorskip("matplotlib")
    return Page(report_html(plans(), title="A <title> & more", truth=truth()))


def test_report_has_every_section(page: Page) -> None:
    totals = Totals.of(plans())
    for words in (
        "A <title> & more",
        f"{totals.with_options} of {totals.in_need}",
        "simulated people",
        "People and their options",
        "What the words mean",
        "Rows that could not be used",
        "is missing",
        "n_costs",
    ):
        assert words in page.words
    assert [tag for tag, _ in page.tags].count("svg") == 4
    assert [tag for tag, _ in page.tags].count("article") == 12


def test_certificate_is_shown(page: Page) -> None:
    pytest.importorskip("matplotlib")
    first = plans().options["person"].iloc[0]
    figures = pd.DataFrame([dict(zip(CERTIFICATE, (0.125, 0.25, 0.125, 0.5, 1.0, 9), strict=True))], index=[first])
    certified = Page(report_html(plans().with_certificates(figures), title="Proven", truth=None))
    words = "No set of options could cost less than 0.12 on average; this one costs 0.25 (gap 0.12)."
    assert words in certified.words
    assert words not in page.words


def test_nearest_miss_is_shown() -> None:
    page = Page(report_html(hopeless(), title="t"))
    assert "The nearest miss: with these changes the chance is" in page.words
    miss = next(plan.nearest_miss for plan in hopeless() if plan.nearest_miss is not None)
    assert miss.changes[0].text in page.words


def test_values_are_escaped(page: Page) -> None:
    tags = {tag for tag, _ in page.tags}
    assert "script" not in tags
    assert "b" not in tags
    assert JOB in page.words
    assert "p<0>" in page.words


def test_report_is_self_contained(page: Page) -> None:
    check_self_contained(page)


def test_report_is_accessible(page: Page) -> None:
    html = next(attributes for tag, attributes in page.tags if tag == "html")
    assert html["lang"] == "en"
    assert any(attributes.get("name") == "viewport" for _, attributes in page.tags)
    for tag, attributes in page.tags:
        if tag == "th":
            assert attributes.get("scope") in ("row", "col", "rowgroup")
        if tag == "svg":
            assert attributes["role"] == "img"
            assert attributes["aria-labelledby"]
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert "prefers-color-scheme: dark" in page.words
    assert "@media print" in page.words


def test_max_people_limits_the_cards() -> None:
    text = report_html(plans(), title="t", max_people=2)
    assert text.count("<article") == 2
    assert (
        "The first 2 of 39: people with options come first, then those whom the model accepts as they are. The changes"
    ) in text


def test_people_with_options_come_first_and_accepted_people_last() -> None:
    order = ["p<2>", "p<5>", "p<1>", "p<4>", "p<0>", "p<3>"]
    text = report_html(mixed(), title="t")
    assert re.findall("<h3>Person (.*?)</h3>", text) == [escape(label) for label in order]
    assert (
        '<p class="note">People with options come first, then those for whom nothing was found, then those whom the '
        "model accepts as they are. The changes of one option"
    ) in text
    assert "The first 4 of 6: people with options come first, then" in report_html(mixed(), title="t", max_people=4)


def test_order_is_not_stated_for_one_kind_of_people() -> None:
    assert '<p class="note">The changes of one option' in report_html(nobody(), title="t", max_people=40)
    assert '<p class="note">The first 2 of 40. The changes' in report_html(nobody(), title="t", max_people=2)


def test_status_precedes_reason_as_sentences() -> None:
    assert (
        "<p>No option exists within what this person may change.</p>"
        "<p>Nothing this person may change has another permitted value.</p>"
    ) in report_html(mixed(), title="t")


def test_report_on_accepted_people_has_no_pictures() -> None:
    page = Page(report_html(nobody(), title="t"))
    assert "0 of 0" in page.words
    assert "the model accepts this person as they are" in page.words.lower()
    assert "svg" not in {tag for tag, _ in page.tags}


def test_report_states_that_matplotlib_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = Page(report_html(plans(), title="t"))
    assert "svg" not in {tag for tag, _ in page.tags}
    assert "pip install 'leastways[plots]'" in page.words


def test_existing_file_is_replaced(tmp_path: Path) -> None:
    path = write_report(plans(), str(tmp_path / "r.html"), title="Ünïcode €", max_people=1, truth=truth())
    assert path == tmp_path / "r.html"
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "Ünïcode €" in text
    write_report(plans(), path)  # replaces it
    assert "Ways to a yes" in path.read_text(encoding="utf-8")
