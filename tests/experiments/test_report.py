"""The report: its arithmetic against numbers worked out by hand, its pages, and its figures."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from experiments.cells import Outcome
from experiments.config import Cell, Experiment, load, names
from experiments.report import collect, draw, render
from experiments.report.differences import UNKNOWN, cause_of, differences, gaps
from experiments.report.fairness import collect as collect_groups
from experiments.report.layout import Table
from experiments.report.summary import mean_of, measures, shown
from experiments.store import Store

from experiments import published

INF = float("inf")


def test_measures_of_a_cell_by_hand() -> None:
    rows = pd.DataFrame(
        {"min_cost": [0.5, 1.0, 2.0, INF], "diversity": [0.1, 0.3, np.nan, np.nan], "validity": [1.0, 1.0, 0.5, 0.0]}
    )
    found = measures(rows)
    assert found["people"] == 4
    assert found["means"] == pytest.approx({"FS@1": 25.0, "Cov": 75.0, "PAC": 3.5 / 3, "Div": 20.0, "Val": 62.5})
    assert found["errors"]["FS@1"] == pytest.approx(25.0)  # sd of 100, 0, 0, 0 is 50, over the root of 4
    assert found["errors"]["Div"] == pytest.approx(10.0)


def cells(*values: float, error: float = 2.0) -> list[dict[str, Any]]:
    return [{"means": {"FS@1": v}, "errors": {"FS@1": error}} for v in values]


def test_means_and_intervals_by_hand() -> None:
    mean, half = mean_of(cells(70.0, 74.0, 72.0), "FS@1") or (0.0, 0.0)
    assert mean == pytest.approx(72.0)
    assert half == pytest.approx(4.3027 * 2.0 / math.sqrt(3), rel=1e-4)  # Student's t, two degrees of freedom
    assert mean_of(cells(70.0), "FS@1") == pytest.approx((70.0, 1.96 * 2.0))
    assert mean_of(cells(70.0), "PAC") is None


def put(store: Store, cell: Cell, rows: dict[str, Any]) -> None:
    table = pd.DataFrame({"person": [str(i) for i in range(len(rows["min_cost"]))], **rows})
    store.put(cell, Outcome(table, {"seconds": 2.0, "people": len(table), "queries": 10 * len(table)}))


def experiment(view: str, *made: Cell, **settings: Any) -> Experiment:
    return Experiment("try", "Why?", "", "smoke", made, {"view": view, **settings})


def test_ratios_between_groups_by_hand(tmp_path: Path) -> None:
    cell, store = Cell("adult_binary", "cols-paper"), Store("smoke", tmp_path)
    sex = ["Male"] * 4 + ["Female"] * 4
    put(store, cell, {"min_cost": [0.5, 0.5, 0.5, INF, 0.5, 3.0, INF, INF], "group_sex": sex})
    (found,) = collect_groups(experiment("fairness", cell), store)["groups"]
    assert [(m["name"], m["FS@1"], m["Cov"]) for m in found["members"]] == [
        ("Male", 75.0, 75.0),
        ("Female", 25.0, 50.0),
    ]
    assert found["DIR FS@1"]["ratio"] == pytest.approx(3.0)
    assert found["DIR Cov"]["ratio"] == pytest.approx(1.5)
    assert found["DIR Cov"]["low"] <= 1.5 <= found["DIR Cov"]["high"]
    put(store, cell, {"min_cost": [0.5] * 4 + [INF] * 4, "group_sex": sex})
    (found,) = collect_groups(experiment("fairness", cell), store)["groups"]
    assert found["DIR FS@1"]["ratio"] is None  # nobody below: undefined, not infinite


def test_a_ratio_of_shares_of_all_people_is_not_certain(tmp_path: Path) -> None:
    """Everybody of either group is served: the interval is that of an audit, not a point."""
    cell, store = Cell("adult_binary", "cols-paper"), Store("smoke", tmp_path)
    put(store, cell, {"min_cost": [0.5] * 40, "group_sex": ["Male", "Female"] * 20})
    (found,) = collect_groups(experiment("fairness", cell), store)["groups"]
    assert found["DIR Cov"]["ratio"] == 1.0
    assert found["DIR Cov"]["low"] < 0.95
    assert found["DIR Cov"]["high"] > 1.05


def test_a_share_that_does_not_vary_is_not_certain() -> None:
    """If the share is 0, or equal in all seeds, there is no interval, rather than one of width 0."""
    assert shown(mean_of(cells(73.6, 73.6, 73.6), "FS@1"), "FS@1") == "73.6"
    assert shown(mean_of(cells(0.0, error=0.0), "FS@1"), "FS@1") == "0.0"
    same = [{"means": {"Val": 50.0}, "errors": {"Val": 1.0}}] * 3
    assert shown(mean_of(same, "Val"), "Val") == "50.0 ± 0.0"  # no hidden function has a part in it


def test_differences_are_found_and_unknown_causes_are_stated(tmp_path: Path) -> None:
    store = Store("smoke", tmp_path)
    near, far = Cell("adult_binary", "cols-paper"), Cell("adult_binary", "random-paper")
    costs = np.full(100, INF)
    costs[:73] = 0.1  # FS@1 73, the paper's is 72.57
    put(store, near, {"min_cost": costs})
    put(store, far, {"min_cost": costs})
    numbers, _ = collect([experiment("measures", near, far, paper={"own": "main"})], store)
    found = {(g.method, g.measure): g for g in gaps(numbers)}
    assert ("cols-paper", "FS@1") not in found
    assert found["random-paper", "FS@1"].paper == 6.27
    assert found["random-paper", "FS@1"].ours == pytest.approx(73.0)
    assert cause_of(found["random-paper", "FS@1"]._replace(method="no such method")) == UNKNOWN
    assert "+66.7" in differences(numbers).markdown()


def test_tables_are_written_in_both_forms() -> None:
    table = Table("A <title>", ("a", "b"), [["1 & 2", "3\nsmall"]], "note")
    assert "| 1 & 2 | 3<br>small |" in table.markdown()
    assert "A &lt;title&gt;" in table.html()
    assert "3<br><small>small</small>" in table.html()


def test_the_papers_figures_are_there() -> None:
    assert published.figures("main", "adult_binary", "COLS")["FS@1"] == 72.57
    assert published.figures("logistic", "compas_binary", "DICE").get("PAC") is None  # a dash in the paper
    assert published.figures("main", "adult_binary", "Nobody") == {}
    assert len(published.table("fairness")) == 28


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of made-up results for every experiment."""
    out = tmp_path_factory.mktemp("pages")
    store = Store("smoke", out / "results")
    draw_costs = np.random.default_rng(1)
    chosen = [load(name, "smoke") for name in names()]
    for cell in dict.fromkeys(cell for e in chosen for cell in e.cells):
        n = 60
        rows: dict[str, Any] = {"min_cost": np.where(draw_costs.random(n) < 0.2, INF, draw_costs.random(n) * 1.3)}
        rows |= {name: draw_costs.random(n) for name in ("diversity", "proximity", "sparsity", "validity")}
        rows |= {"group_sex": ["Male", "Female"] * (n // 2), "group_race": ["White", "Non-White"] * (n // 2)}
        rows["group_Gender"] = rows["group_sex"]
        if cell.design == "shift":
            rows["distance"] = np.sqrt(draw_costs.integers(0, 2, n))
        put(store, cell, rows)
        if cell.design == "examples":
            store.manifest["cells"][cell.key]["examples"] = [PERSON]
        if cell.design == "study":
            store.manifest["cells"][cell.key]["study"] = votes(cell.method)
    (out / "results" / "smoke" / "manifest.json").write_text(json.dumps(store.manifest), encoding="utf-8")
    render(chosen, "smoke", out / "results", out / "report")
    return out / "report"


PERSON = {
    "person": "7",
    "state": {"age": "30", "hours": "40"},
    "scores": {"hours": 0.4},
    "options": [{"changes": {"hours": ["40", "50"]}, "cost": 0.31}, {"changes": {"age": ["30", "35"]}, "cost": None}],
}
SHARE = {"share": 0.5, "low": 0.4, "high": 0.6, "count": 5, "of": 10}
APART = {"value": 0.1, "low": 0.0, "high": 0.2, "p_value": 0.04}


def votes(pair: str) -> dict[str, Any]:
    one, other = pair.split(":")
    return {
        "preferred": {one: SHARE, other: SHARE, "no preference": SHARE},
        "reasonable": {one: SHARE, other: SHARE},
        "preference_kappa": 0.7,
        "preference": APART,
        "reasonableness": APART,
        "n_items": 10,
        "per_item": 3,
    }


def test_every_experiment_has_its_section_and_every_figure_is_drawn(pages: Path) -> None:
    text, html = (pages / "README.md").read_text(encoding="utf-8"), (pages / "report.html").read_text(encoding="utf-8")
    for name in names():
        assert load(name, "smoke").question in text
        assert f"<section id={name}>" in html
    drawn = sorted(path.stem for path in (pages / "figures").glob("*.svg"))
    assert drawn == sorted(path.stem for path in (pages / "figures").glob("*.png"))
    assert {"budget", "set-size", "samples", "shift", "alpha-guided", "alpha-cols-paper"} <= set(drawn)
    for path in (pages / "figures").iterdir():
        assert path.stat().st_size > 5000, path.name
        assert f"figures/{path.stem}.png" in text
    assert "http" not in html.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    ).replace("https://matplotlib.org", "")
    assert "hours: 40 -&gt; 50" in html
    assert "1 further options change something this person would not." in html


def test_pages_come_from_the_numbers_alone(pages: Path) -> None:
    before = {path.name: path.read_bytes() for path in pages.iterdir() if path.is_file()}
    draw(pages)
    assert before == {path.name: path.read_bytes() for path in pages.iterdir() if path.is_file()}
    numbers = json.loads((pages / "numbers.json").read_text(encoding="utf-8"))
    assert list(numbers) == names()  # told in their order
