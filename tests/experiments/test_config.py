"""Configs: blocks become all combinations, mistakes are named, and every difference makes another key."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from experiments.config import Cell, load, names, only


def test_a_block_becomes_all_combinations(configs: Path) -> None:
    experiment = load("small", "paper", configs)
    assert [(c.method, c.seed) for c in experiment.cells] == [("random", 0), ("random", 1), ("cols", 0), ("cols", 1)]
    assert {c.data for c in experiment.cells} == {"credit"}
    assert [(c.method, c.seed) for c in load("small", "smoke", configs).cells] == [("random", 0), ("cols", 0)]
    assert [c.method for c in only(experiment, ["cols"], None).cells] == ["cols", "cols"]


def test_mistakes_are_named(configs: Path) -> None:
    with pytest.raises(SystemExit, match="no experiment 'smal'; known: small"):
        load("smal", "paper", configs)
    with pytest.raises(SystemExit, match="no size 'huge'; known: smoke, paper"):
        load("small", "huge", configs)
    (configs / "odd.yaml").write_text("order: 2\nquestion: q\nruns: [{data: credit, budge: 3}]", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"odd.yaml: unknown setting 'budge'; known: budget, data"):
        load("odd", "paper", configs)


def test_every_setting_is_part_of_the_key(cell: Cell) -> None:
    other = {"data": "german", "method": "cols", "model": "own", "design": "shift"}
    for field in fields(Cell):
        change: dict[str, Any] = {field.name: other.get(field.name, 0.25 if "alpha" in field.name else 77)}
        assert replace(cell, **change).key != cell.key, field.name


def test_the_papers_experiments_are_all_there() -> None:
    wanted = ["main", "ablation", "fairness", "study", "alpha", "shift", "budget", "set-size", "samples", "examples"]
    assert names() == [*wanted, "non-binary", "models", "credit", "timing", "sets"]
    for name in names():
        experiment = load(name, "paper")
        assert experiment.cells
        assert experiment.question.endswith("?")
