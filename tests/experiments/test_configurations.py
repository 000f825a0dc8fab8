"""Reports never mix: the oracle on the same people and seeds, a row a configuration, a table a data set and model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.config import Cell, Experiment, load
from experiments.report import collect
from experiments.report.curves import share_interval
from experiments.report.differences import gaps
from experiments.report.layout import Figure, Table
from experiments.report.pages import VIEWS
from experiments.report.plots import styles
from experiments.store import Store

from tests.experiments.test_report import INF, SHARE, experiment, put, votes

CELL = Cell("adult_binary", "cols-paper")


def shown(store: Store, told: Experiment) -> list[Table | Figure]:
    """Return what a report shows of an experiment."""
    numbers, _ = collect([told], store)
    found = numbers["try"]
    return list(VIEWS[found["settings"]["view"]][1](found["settings"], found))


def tables(store: Store, told: Experiment) -> dict[str, dict[str, dict[str, str]]]:
    """Return the tables of a report by title, then by the first cell of a row, then by column."""
    return {
        part.title: {row[0]: dict(zip(part.columns, row, strict=True)) for row in part.rows}
        for part in shown(store, told)
        if isinstance(part, Table)
    }


def costs(satisfied: int, people: int) -> dict[str, Any]:
    return {"min_cost": [0.5] * satisfied + [INF] * (people - satisfied)}


class TestOracle:
    """FS@1 in percent of what the oracle has, by hand."""

    def share(self, store: Store, *cells: Cell) -> str:
        (found,) = tables(store, experiment("measures", *cells)).values()
        return next(row.get("% of oracle", "") for name, row in found.items() if name != "oracle")

    def test_only_the_same_people_count(self, tmp_path: Path) -> None:
        store = Store("smoke", tmp_path)
        few, oracle = replace(CELL, people=4), replace(CELL, method="oracle")
        put(store, few, costs(2, 4))
        put(store, oracle, costs(3, 8))  # three of the first four, and none of the others
        assert self.share(store, few, oracle) == "66.7"

    def test_only_the_same_seeds_count(self, tmp_path: Path) -> None:
        store = Store("smoke", tmp_path)
        oracles = [replace(CELL, method="oracle", seed=seed) for seed in (0, 1, 2)]
        for oracle, satisfied in zip(oracles, (4, 8, 1), strict=True):
            put(store, oracle, costs(satisfied, 8))
        cells = [replace(CELL, seed=seed) for seed in (0, 1)]
        for cell in cells:
            put(store, cell, costs(3, 8))
        assert self.share(store, *cells, *oracles) == "50.0"  # 3 + 3 of 4 + 8
        assert self.share(store, cells[0], *oracles) == "75.0"

    @pytest.mark.parametrize("other", [{"seed": 1}, {"model": "network"}, {"person_alpha": 0.5}, {"people": 2}])
    def test_oracle_is_left_out_where_it_was_not_run(self, tmp_path: Path, other: dict[str, Any]) -> None:
        store = Store("smoke", tmp_path)
        oracle = replace(CELL, method="oracle", **other)
        put(store, CELL, costs(2, 4))
        put(store, oracle, costs(1, 2) if "people" in other else costs(3, 4))
        titles = tables(store, experiment("measures", CELL, oracle))
        rows = next(found for found in titles.values() if any(name.startswith("cols-paper") for name in found))
        row = next(row for name, row in rows.items() if name.startswith("cols-paper"))
        assert row.get("% of oracle", "") == ""

    def test_every_measured_method_of_the_papers_models_has_its_oracle(self) -> None:
        cells = load("models", "paper").cells
        oracles = {(c.data, c.model, c.seed) for c in cells if c.method == "oracle"}
        rest = {(c.data, c.model, c.seed) for c in cells if c.model in ("network", "logistic")}
        assert rest == oracles


class TestRows:
    """What differs in anything but the seed has a row, a line or a table of its own."""

    @pytest.mark.parametrize(
        ("setting", "names"),
        [
            ({"n_options": 1}, {"cols-paper N 10", "cols-paper N 1"}),
            ({"budget": 200}, {"cols-paper B 5000", "cols-paper B 200"}),
            ({"search_alpha": 0.5}, {"cols-paper sampled alpha drawn", "cols-paper sampled alpha 0.5"}),
        ],
    )
    def test_measures(self, tmp_path: Path, setting: dict[str, Any], names: set[str]) -> None:
        store, other = Store("smoke", tmp_path), replace(CELL, **setting)
        put(store, CELL, costs(3, 4))
        put(store, other, costs(1, 4))
        (found,) = tables(store, experiment("measures", CELL, other)).values()
        assert set(found) == names
        assert [row["FS@1"][:4] for row in found.values()] == ["75.0", "25.0"]

    def test_published_figures_are_shown_beside_the_same_settings_only(self, tmp_path: Path) -> None:
        store, other = Store("smoke", tmp_path), replace(CELL, n_options=1)
        for cell in (CELL, other):
            put(store, cell, costs(1, 4))
        told = experiment("measures", CELL, other, paper={"own": "main"})
        (found,) = tables(store, told).values()
        assert "\n72.6" in found["cols-paper N 10"]["FS@1"]
        assert "\n" not in found["cols-paper N 1"]["FS@1"]
        numbers, _ = collect([told], store)
        assert [gap.ours for gap in gaps(numbers) if gap.measure == "FS@1"] == [25.0]

    def test_oracle_is_shared_by_all_budgets(self, tmp_path: Path) -> None:
        store = Store("smoke", tmp_path)
        oracles = [replace(CELL, method="oracle", budget=budget) for budget in (200, 5000)]
        for oracle in oracles:
            put(store, oracle, costs(3, 4))
        (found,) = tables(store, experiment("measures", *oracles)).values()
        assert found["oracle"]["people x seeds"] == "4 x 1"

    @pytest.mark.parametrize("view", ["curve", "alpha", "ablation", "timing", "shift", "study", "fairness"])
    def test_every_data_set_has_a_table_of_its_own(self, tmp_path: Path, view: str) -> None:
        store = Store("smoke", tmp_path)
        method = {"study": "cols-paper:ar"}.get(view, "cols-paper")
        alpha = 0.5 if view == "alpha" else None
        same = replace(CELL, method=method, n_costs=100, search_alpha=alpha, person_alpha=alpha)
        cells = [replace(same, data=data) for data in ("adult_binary", "compas_binary")]
        for cell, satisfied in zip(cells, (30, 15), strict=True):
            groups = {"group_sex": ["Male", "Female"] * 20}
            put(store, cell, {**costs(satisfied, 40), "distance": [0.0] * 40, **groups})
            study = votes("cols-paper:ar")
            chosen = {key: {**SHARE, "share": satisfied / 100} for key in study["preferred"]}
            store.manifest["cells"][cell.key]["study"] = {**study, "preferred": chosen}
        told = experiment(view, *cells, axis="budget", id="try")
        titles = [part.title for part in shown(store, told)]
        for data in ("adult_binary", "compas_binary"):
            assert sum(title.startswith(f"{data}, the network published with the data") for title in titles), data
        figures = [part.name for part in shown(store, told) if isinstance(part, Figure)]
        assert len(set(figures)) == len(figures)
        texts = " ".join(part.markdown() for part in shown(store, told) if isinstance(part, Table))
        assert "52.5" not in texts  # nor 22.5: that would be both together
        assert "22.5" not in texts
        assert texts.count("as the paper's") == (view == "timing")  # on Adult, and nowhere else

    def test_lines_of_a_curve_are_configurations(self, tmp_path: Path) -> None:
        store = Store("smoke", tmp_path)
        cells = [replace(CELL, budget=budget, n_options=n) for budget in (100, 200) for n in (1, 10)]
        for cell, satisfied in zip(cells, (1, 2, 3, 4), strict=True):
            put(store, cell, costs(satisfied, 4))
        (found,) = tables(store, experiment("curve", *cells, axis="budget", id="try")).values()
        assert {name: (row["100"], row["200"]) for name, row in found.items()} == {
            "cols-paper N 1": ("25.0", "75.0"),
            "cols-paper N 10": ("50.0", "100.0"),
        }


class TestGroups:
    """Groups are the protected attributes of the data, however they are spelled and however many there are."""

    def found(self, tmp_path: Path, cells: list[Cell], race: list[str], **settings: Any) -> dict[str, Any]:
        store = Store("smoke", tmp_path)
        for cell in cells:
            put(store, cell, {**costs(len(race) // 2, len(race)), "group_race": race})
        return tables(store, experiment("fairness", *cells, **settings))

    def test_no_person_is_dropped(self, tmp_path: Path) -> None:
        found = self.found(tmp_path, [replace(CELL, data="adult")], ["Black"] * 3 + ["white"] * 12 + ["Other"] * 2)
        head = "adult, the network published with the data, by race: white and "
        assert list(found) == [head + "Black", head + "Other"]
        assert [row["cols-paper"]["people x seeds"] for row in found.values()] == ["12 + 3 x 1", "12 + 2 x 1"]

    def test_single_group_is_shown(self, tmp_path: Path) -> None:
        ((title, rows),) = self.found(tmp_path, [CELL], ["A"] * 4).items()
        assert title.endswith("by race: A")
        assert rows["cols-paper"]["FS@1 A"] == "50.0"
        assert rows["cols-paper"]["DIR-FS"] == "-"
        (table,) = shown(Store("smoke", tmp_path), experiment("fairness", CELL))
        assert "Everybody is in one group" in table.markdown()

    def test_configurations_have_distinct_names(self, tmp_path: Path) -> None:
        cells = [replace(CELL, budget=budget, seed=seed) for budget in (200, 5000) for seed in (0, 1)]
        (rows,) = self.found(tmp_path, cells, ["A", "B"] * 2).values()
        assert {name: row["people x seeds"] for name, row in rows.items()} == {
            "cols-paper B 200": "2 + 2 x 2",
            "cols-paper B 5000": "2 + 2 x 2",
        }

    @pytest.mark.parametrize(("size", "interval"), [(9, "1.000 (-)"), (10, "1.000 (0.")])
    def test_few_people_have_no_interval(self, tmp_path: Path, size: int, interval: str) -> None:
        race = ["A", "B"] * size  # every second one, so that half of each is satisfied
        store = Store("smoke", tmp_path)
        put(store, CELL, {"min_cost": np.where(np.arange(2 * size) % 4 < 2, 0.5, INF), "group_race": race})
        (rows,) = tables(store, experiment("fairness", CELL)).values()
        assert rows["cols-paper"]["DIR-FS"].startswith(interval)

    def test_missing_attribute_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(
            SystemExit, match=r"adult_binary has no 'Gender' among the protected attributes.*known: race"
        ):
            self.found(tmp_path, [CELL], ["A", "B"], groups=["Gender"])


def test_no_two_lines_share_a_style() -> None:
    names = ["guided B 200", "guided B 5000", "cols", *(f"method-{k}" for k in range(30))]
    looks = styles(names)
    assert len(set(looks.values())) == len(names)
    assert len({look[:2] for look in looks.values()}) == len(names)  # in colour and marker, dashes apart
    assert styles(["cols"])["cols"] == looks["cols"]  # a method looks the same in every figure


def test_an_interval_of_a_share_stays_within_what_is_possible() -> None:
    low, high = share_interval(np.array([1.0] * 21 + [0.0] * 3), np.ones(24))
    n = 24 - 1  # what the variance between people says
    middle, z = 21 / 24, 1.96
    centre = (middle + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(middle * (1 - middle) / n + z**2 / (4 * n**2))
    assert (low, high) == pytest.approx((100 * (centre - half), 100 * (centre + half)))
    assert high < 100
    assert share_interval(np.ones(5), np.ones(5))[1] == 100.0
    assert share_interval(np.zeros(5), np.ones(5))[0] == 0.0
    assert np.isnan(share_interval(np.ones(1), np.ones(1))).all()


def test_one_person_many_functions_is_one_answer() -> None:
    often = share_interval(np.array([10.0, 0.0] * 5), np.full(10, 10.0))
    once = share_interval(np.array([1.0, 0.0] * 5), np.ones(10))
    assert often == pytest.approx(once)


def test_examples_name_their_source(tmp_path: Path) -> None:
    store, cell = Store("smoke", tmp_path), replace(CELL, design="examples")
    put(store, cell, costs(1, 1))
    person = {"person": "7", "state": {"age": "30"}, "scores": {}, "options": []}
    store.manifest["cells"][cell.key]["examples"] = [person]
    (table,) = shown(store, experiment("examples", cell, shown=1))
    assert table.title == "adult_binary, the network published with the data: person 7, options by cols-paper"
