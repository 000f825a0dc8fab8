from __future__ import annotations

from pathlib import Path

import pytest
from experiments.config import Cell

CONFIG = """
order: 1
question: Which of two is better here?
where: ""
view: measures
runs:
  - {data: credit, model: logistic, method: [random, cols], people: 5, budget: 60, n_costs: 20, seed: [0, 1]}
smoke: {seed: [0]}
"""


@pytest.fixture
def configs(tmp_path: Path) -> Path:
    """A folder with one small experiment on the embedded data."""
    folder = tmp_path / "configs"
    folder.mkdir()
    (folder / "small.yaml").write_text(CONFIG, encoding="utf-8")
    return folder


@pytest.fixture
def cell() -> Cell:
    return Cell("credit", "random", "logistic", budget=40, n_costs=10, people=3)
