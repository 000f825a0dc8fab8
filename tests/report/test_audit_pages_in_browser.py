"""The audit's page in a real browser: it fits a phone, loads nothing, and axe finds nothing serious."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from leastways.audit import audit_plans
from leastways.report import audit_html, audit_style
from tests.support.audited_plans import drawn, oracle

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made, truths = drawn()
    best = [oracle([min(c, 0.9) for c in t.costs.values()]) for t in truths]
    audit = audit_plans(made, ["sex", "age:30,45"], truth=truths, oracle=best, bootstraps=40, permutations=40)
    folder = tmp_path_factory.mktemp("page")
    (folder / "report.html").write_text(audit_html(audit), encoding="utf-8")
    policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'self' file:\">"
    strict = audit_html(audit, stylesheet_href="audit.css").replace("<head>", f"<head>{policy}")
    (folder / "strict.html").write_text(strict, encoding="utf-8")
    (folder / "audit.css").write_text(audit_style(), encoding="utf-8")
    return folder / "report.html"


def opened(browser: Any, file: Path, **settings: Any) -> tuple[Any, list[str]]:
    """Open the page; what it loads beside itself, and every complaint of the browser, is listed."""
    tab = browser.new_context(**settings).new_page()
    faults: list[str] = []
    tab.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
    tab.on("request", lambda request: faults.append(request.url) if request.url != file.as_uri() else None)
    tab.goto(file.as_uri())
    return tab, faults


def test_long_group_names_fit(browser: Any, tmp_path: Path) -> None:
    made, truths = drawn()
    long = "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz"
    names = [f"{long} {('north', 'south')[i % 2]}{long}" for i in range(len(made.people))]
    groups = pd.DataFrame({"office": names, long: names}, index=made.people.index)
    audit = audit_plans(made, ["office", long], groups=groups, truth=truths, bootstraps=40, permutations=40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns if names leave no room for a picture
        (tmp_path / "report.html").write_text(audit_html(audit), encoding="utf-8")
    tab, _ = opened(browser, tmp_path / "report.html", viewport={"width": 360, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") == 360
    cut = """all => all.filter(text => {
      const [inner, outer] = [text, text.closest("svg")].map(x => x.getBoundingClientRect());
      return inner.left < outer.left - 1 || inner.right > outer.right + 1;
    }).map(text => text.textContent)"""
    assert tab.eval_on_selector_all("figure svg text", cut) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_fits_a_phone_and_axe_finds_nothing(browser: Any, file: Path, scheme: str) -> None:
    tab, faults = opened(browser, file, viewport={"width": 390, "height": 800}, color_scheme=scheme)
    assert tab.evaluate("document.documentElement.scrollWidth") == 390
    assert tab.locator("figure svg").count() == 9
    assert (
        min(tab.evaluate("[...document.querySelectorAll('figure svg')].map(x => x.getBoundingClientRect().height)"))
        > 80
    )
    assert faults == []
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe")
    serious = [v for v in axe.Axe().run(tab).response["violations"] if v["impact"] in ("serious", "critical")]
    assert [(v["id"], v["nodes"][0]["html"]) for v in serious] == []


def test_strict_policy_changes_no_pixel(browser: Any, file: Path) -> None:
    """Page and drawings have no inline styles, so a policy that forbids these has no effect."""
    plain, _ = opened(browser, file, viewport={"width": 1000, "height": 800})
    strict, faults = opened(browser, file.with_name("strict.html"), viewport={"width": 1000, "height": 800})
    assert faults == [file.with_name("audit.css").as_uri()]
    assert strict.locator("figure svg").first.screenshot() == plain.locator("figure svg").first.screenshot()


def test_folded_parts_are_printed(browser: Any, file: Path) -> None:
    """A printed page cannot be unfolded: the settings and the table of changes must be on it."""
    tab, _ = opened(browser, file, viewport={"width": 1000, "height": 800})
    tables = tab.locator("details table")
    assert tables.count() == 4
    assert not any(tables.nth(n).is_visible() for n in range(4))
    tab.emulate_media(media="print")
    assert all(tables.nth(n).is_visible() for n in range(4))
    heights = tab.evaluate("[...document.querySelectorAll('details table')].map(x => x.getBoundingClientRect().height)")
    assert min(heights) > 40
