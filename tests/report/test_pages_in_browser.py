"""The report in a real browser: it fits a phone, follows the reader's letters, and leaves nothing off paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leastways.report import write_report
from tests.support.browsers import with_letters
from tests.support.plans_with_markup import plans, truth

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(plans(), tmp_path_factory.mktemp("page") / "report.html", truth=truth())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 700])
def test_report_fits_and_axe_finds_nothing(browser: Any, file: Path, width: int, scheme: str) -> None:
    tab = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme).new_page()
    tab.goto(file.as_uri())
    tab.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe")
    serious = [v for v in axe.Axe().run(tab).response["violations"] if v["impact"] in ("serious", "critical")]
    assert [(v["id"], v["nodes"][0]["html"]) for v in serious] == []


def test_font_size_follows_the_readers_setting(browser: Any, file: Path) -> None:
    sizes = []
    for chosen in (16, 32):
        large = with_letters(browser, chosen)
        tab = large.new_page(viewport={"width": 390, "height": 800})
        tab.goto(file.as_uri())
        sizes.append(tab.evaluate("parseFloat(getComputedStyle(document.querySelector('.lead')).fontSize)"))
        large.close()
    assert sizes[1] == pytest.approx(2 * sizes[0])


def test_folded_parts_are_printed(browser: Any, file: Path) -> None:
    tab = browser.new_context(viewport={"width": 1000, "height": 800}).new_page()
    tab.goto(file.as_uri())
    parts = tab.locator("details > :not(summary)")
    assert parts.count() > 3
    assert not any(part.is_visible() for part in parts.all())
    tab.emulate_media(media="print")
    assert all(part.is_visible() and part.bounding_box()["height"] > 10 for part in parts.all())
