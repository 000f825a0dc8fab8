"""Pictures: what they draw, that they leave nothing behind, and that they fit into a page."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from leastways.errors import MissingExtraError
from leastways.report import can_draw
from leastways.report.plots import chances, changed_features, costs, draw_all, served
from tests.support.plans_with_markup import NASTY, nobody, plans, truth

pytest.importorskip("matplotlib")


def test_served_people_are_sorted_best_first() -> None:
    (axes,) = served(plans()).figure.axes
    covered, cheap = (line.get_ydata() for line in axes.lines)
    assert (np.diff(covered) <= 0).all()
    assert (cheap <= covered + 1e-9).all()
    assert covered.max() == pytest.approx(100 * plans().summary["covered"].max())


def test_cost_lines_are_cumulative_shares() -> None:
    (axes,) = costs(plans(), truth()).figure.axes
    expected, hidden, _ = axes.lines
    for line in (expected, hidden):
        assert (np.diff(line.get_ydata()) >= 0).all()
    need = ~plans().summary["status"].isin(["already_positive", "invalid_input"]).to_numpy()
    below = (truth().min_costs(plans())[need] < 1).mean()
    at_one = hidden.get_ydata()[np.searchsorted(hidden.get_xdata(), 1.0)]
    assert at_one == pytest.approx(100 * below, abs=5)
    assert len(costs(plans()).figure.axes[0].lines) == 2


def test_changed_features_count_options() -> None:
    picture = changed_features(plans())
    (axes,) = picture.figure.axes
    share = 100 * (plans().changes["feature"] == "pay").sum() / len(plans().options)
    widths = {
        label.get_text(): bar.get_width() for label, bar in zip(axes.get_yticklabels(), axes.patches, strict=True)
    }
    assert widths[next(name for name in widths if "perks" in name)] == pytest.approx(share)
    assert f"{NASTY} {share:.0f} %" in picture.alt


def test_chances_start_below_and_end_above_the_threshold() -> None:
    (axes,) = chances(plans()).figure.axes
    now, then = axes.lines[0].get_xdata(), axes.lines[1].get_xdata()
    assert (now < 50).all()
    assert (then >= 50).all()


def test_thinning_of_many_people_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = chances(plans())
    n = len(whole.figure.axes[0].lines[0].get_xdata())
    assert whole.figure.axes[0].get_ylabel() == f"{n} people, by their chance now"
    monkeypatch.setattr("leastways.report.plots.MAX_PEOPLE", 2)
    spread = chances(plans())
    assert len(spread.figure.axes[0].lines[0].get_xdata()) == 2 < n
    assert spread.figure.axes[0].get_ylabel() == f"2 of {n} people, by their chance now"
    assert spread.alt == whole.alt  # the median is everybody's


def test_axes_are_labelled() -> None:
    for picture in draw_all(plans(), truth()):
        (axes,) = picture.figure.axes
        assert axes.get_xlabel()
        assert axes.get_ylabel() or picture.name == "changes"  # the bars carry names
        assert picture.alt
        assert picture.caption


def test_inline_svg_fits_into_a_page() -> None:
    ids: list[str] = []
    for picture in draw_all(plans(), truth()):
        svg = picture.svg()
        root = ET.fromstring(svg)
        assert root.get("role") == "img"
        assert "viewBox" in root.attrib
        assert "width" not in root.attrib  # as wide as the page lets it be
        assert "currentColor" in svg
        assert not re.search(r"#(0072b2|d55e00|1b1f24)", svg)  # colours are the page's
        assert "<metadata" not in svg
        own = re.findall(r'id="([^"]+)"', svg)
        assert set(re.findall(r'(?:href="|url\()#([^")]+)', svg)) <= set(own)
        ids += own
    assert len(ids) == len(set(ids))


def test_pictures_are_deterministic() -> None:
    assert [p.svg() for p in draw_all(plans())] == [p.svg() for p in draw_all(plans())]


def test_matplotlib_settings_are_unchanged() -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    draw_all(plans())[0].svg()
    assert dict(matplotlib.rcParams) == before


def test_no_options_give_no_pictures() -> None:
    assert draw_all(nobody()) == []


def test_missing_matplotlib_is_a_named_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert can_draw()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert not can_draw()
    with pytest.raises(MissingExtraError, match=r"leastways\[plots\]"):
        served(plans())
