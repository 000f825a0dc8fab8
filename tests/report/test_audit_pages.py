"""The audit's page and files: complete, self-contained, safe whatever the data hold, and the same each time."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leastways.audit import Audit, audit_plans
from leastways.errors import DataError
from leastways.report import audit_html, audit_style, write_audit
from leastways.report.plots import change_map, cost_curves, coverage_bars, draw_audit
from tests.support.audited_plans import drawn, oracle, plans, row
from tests.support.html_page import Page, check_self_contained

NASTY = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def audit() -> Audit:
    """Three groups with names like markup, one of them small; the oracle beside; some people without recourse."""
    made, truths = drawn(women=50, men=70)
    best = [oracle([min(c, 0.9) for c in t.costs.values()]) for t in truths]
    origin = np.array([NASTY, "a & b", "$x_{1}$"], dtype=object)[np.minimum(np.arange(120) // 55, 2)]
    groups = pd.DataFrame({"<origin>": origin}, index=made.people.index)
    return audit_plans(
        made,
        ["sex", "<origin>"],
        groups=groups,
        truth=truths,
        oracle=best,
        bootstraps=50,
        permutations=50,
        min_group=12,
    )


@pytest.fixture(scope="module")
def unserved() -> Audit:
    made = plans(["female"] * 6 + ["male"] * 6, [0, 0, 1] * 4, index=[f"p<{n}>" for n in range(12)])
    return audit_plans(made, "sex", bootstraps=20, permutations=20, min_group=2)


@pytest.fixture(scope="module")
def page(audit: Audit) -> Page:
    pytest.importorskip("matplotlib")
    return Page(audit_html(audit, title="A <title> & more"))


def test_page_has_every_section_and_warning(page: Page, audit: Audit) -> None:
    for words in (
        "A <title> & more",
        "120 refused people",
        "What differs between groups",
        "By sex × <origin>",
        "Compared with male",
        "The model, or the search?",
        "People with no recourse",
        "What this cannot say",
        "Holm",
        "monthly pay",
        "too few to compare",
        "bootstraps",
        NASTY,
    ):
        assert words in page.words
    for warning in audit.warnings:
        assert warning in page.words
    assert [tag for tag, _ in page.tags].count("svg") == 3 * len(audit.groupings)
    ratio = row(audit.ratios, "sex", "female", "coverage")
    assert f"{ratio['low']:.2f} to {ratio['high']:.2f}, p {ratio['p_adjusted']:.3f}" in page.words


def test_gaps_of_small_groups_are_marked(audit: Audit) -> None:
    section = audit_html(audit, pictures={}).split("The model, or the search?")[1].split("</section>")[0]
    small = (audit.ratios["note"] == "too few people") & audit.ratios.index.get_level_values("metric").isin(
        ["coverage", "satisfied"]
    )
    assert section.count("too few people") == small.sum() > 0
    assert "Not settled" in section


def test_page_is_self_contained(page: Page) -> None:
    check_self_contained(page)
    tags = [tag for tag, _ in page.tags]
    assert "b" not in tags
    assert tags.count("style") == 1
    assert not any("style" in attributes for _, attributes in page.tags)


def test_page_is_accessible(page: Page) -> None:
    for tag, attributes in page.tags:
        if tag == "th":
            assert attributes.get("scope") in ("row", "col")
        if tag == "svg":
            assert attributes["role"] == "img"
            assert attributes["aria-labelledby"]
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for words in ("prefers-color-scheme: dark", "@media print", "max-width: 40rem"):
        assert words in audit_style()


def test_linked_style_sheet_leaves_no_style_in_the_page(audit: Audit) -> None:
    text = audit_html(audit, stylesheet_href="/static/audit.css?a=1&b=2", pictures=draw_audit(audit))
    strict = Page(text)
    assert "style" not in {tag for tag, _ in strict.tags}
    assert not any("style" in attributes for _, attributes in strict.tags)
    (link,) = [attributes for tag, attributes in strict.tags if tag == "link"]
    assert link == {"rel": "stylesheet", "href": "/static/audit.css?a=1&b=2"}


def test_people_without_recourse_are_listed(unserved: Audit) -> None:
    words = Page(audit_html(unserved)).words
    for label in unserved.unserved.index:
        assert label in words
    assert "no option was found" in words
    assert "The model, or the search?" not in words
    assert "no curve of FS@k" in words


def test_pictures_show_the_audits_figures(audit: Audit) -> None:
    pytest.importorskip("matplotlib")
    bars = coverage_bars(audit, "sex")
    (axes,) = bars.figure.axes
    table = audit.grouping("sex")
    assert [bar.get_width() for bar in axes.patches] == pytest.approx((100 * table["coverage"]).tolist())
    assert [label.get_text() for label in axes.get_yticklabels()] == ["female (50)", "male (70)"]
    assert "the best possible (oracle)" in axes.get_legend_handles_labels()[1]
    (axes,) = cost_curves(audit, "sex").figure.axes
    curve = audit.curves[audit.curves.index.map(lambda keys: keys == ("sex", "male"))]
    drawn_line = next(line for line in axes.lines if line.get_label() == "male")
    assert drawn_line.get_ydata() == pytest.approx((100 * curve["satisfied"]).to_numpy())
    (axes,) = change_map(audit, "sex").figure.axes
    shown = {text.get_text() for text in axes.texts}
    assert f"{100 * row(audit.changes, 'sex', 'female', 'pay')['options']:.0f}" in shown
    for picture in chain.from_iterable(draw_audit(audit).values()):
        assert picture.alt
        assert picture.caption
        ET.fromstring(picture.svg())


def test_many_groups_are_split_into_several_tables() -> None:
    """Paper does not scroll: no table of changes is wider than a page, and no group is left out."""
    made, _ = drawn(women=60, men=60)
    found = audit_plans(made, ["sex", "age"], bootstraps=20, permutations=20, min_group=5)
    section = audit_html(found, pictures={}).split("By sex × age</h2>")[1].split("<details>")[1].split("</details>")[0]
    tables = section.split("<table")[1:]
    assert len(tables) == 2
    assert all(table.count('scope="col"') <= 7 for table in tables)
    for group in found.grouping("sex × age").index:
        assert section.count(f">{group}</th>") == 1


def test_small_groups_are_not_drawn_as_curves(audit: Audit) -> None:
    pytest.importorskip("matplotlib")
    (axes,) = cost_curves(audit, "<origin>").figure.axes
    assert sorted(axes.get_legend_handles_labels()[1]) == [NASTY, "a & b"]
    assert "1 smaller group is not drawn" in cost_curves(audit, "<origin>").caption


def test_page_without_any_option_or_with_an_empty_group() -> None:
    pytest.importorskip("matplotlib")
    status = ["none_found"] * 6 + ["already_positive"] * 3
    made = plans(["female"] * 6 + ["male"] * 3, [0] * 9, options=[0] * 9, status=status)
    found = audit_plans(made, "sex", bootstraps=20, permutations=20, min_group=2)
    words = Page(audit_html(found)).words
    assert "What people are asked to change" not in words
    assert "3 accepted" in words
    assert row(found.ratios, "sex", "male", "coverage")["note"] == "undefined"


def test_folder_holds_page_data_and_figures(audit: Audit, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    files = write_audit(audit, tmp_path / "new" / "report", title="T")
    assert [path.name for path in files[:2]] == ["report.html", "audit.json"]
    assert Audit.from_json(files[1]) == audit
    figures = files[2:]
    assert len(figures) == 2 * 3 * len(audit.groupings)
    assert len({path.name for path in figures}) == len(figures)
    for path in figures:
        content = path.read_bytes()
        assert len(content) > 5000
        assert content.startswith(b"\x89PNG") if path.suffix == ".png" else b"<svg" in content[:500]
        assert re.fullmatch(r"[a-z0-9-]+\.(svg|png)", path.name)
    assert sorted(p.name for p in (tmp_path / "new" / "report").iterdir()) == ["audit.json", "figures", "report.html"]
    before = [path.read_bytes() for path in files]
    write_audit(audit, tmp_path / "new" / "report", title="T")  # replaces them, by the same
    assert [path.read_bytes() for path in files] == before


def test_figures_of_an_earlier_audit_are_removed(audit: Audit, unserved: Audit, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    before = {path.name for path in write_audit(audit, tmp_path)}
    mine = [tmp_path / "figures" / name for name in ("notes.svg", "coverage.png", "curves-mine.svg")]
    for path in mine:
        path.write_text("x")
    files = write_audit(unserved, tmp_path)
    assert {path.name for path in files} < before
    assert set((tmp_path / "figures").iterdir()) == {*files[2:], *mine}


def test_unwritable_folder_is_an_error(unserved: Audit, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("x")
    with pytest.raises(DataError, match="cannot write"):
        write_audit(unserved, tmp_path / "taken")


def test_page_states_that_matplotlib_is_missing(
    unserved: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    files = write_audit(unserved, tmp_path)
    assert [path.name for path in files] == ["report.html", "audit.json"]
    assert "pip install 'leastways[plots]'" in Page(files[0].read_text(encoding="utf-8")).words
