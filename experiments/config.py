"""What an experiment is: a question, and the cells (one search of one data set each) that answer it.

A config is a YAML file. `runs` is a list of blocks; in a block every setting may be a value or a list, and the cells
are all combinations. `smoke` holds what is smaller when it only has to be seen to work.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent / "configs"
SIZES = ("smoke", "paper")


@dataclass(frozen=True)
class Cell:
    """One method on the people of one data set, judged by hidden functions of one seed."""

    data: str
    method: str
    model: str = "own"
    seed: int = 0
    budget: int = 5000
    n_options: int = 10
    n_costs: int = 1000
    people: int | None = None  # a random subset of so many, the same for every cell; None: everyone refused
    rows: int | None = None  # train and fit on so many rows only; None: all
    search_alpha: float | None = None  # mixing weight of the sampled functions; None: drawn for each
    person_alpha: float | None = None  # the same of the hidden ones
    design: str = "plain"  # "plain", "shift", "examples" or "study" (of two methods, "one:other")

    @property
    def search(self) -> Cell:
        """The same search, whoever judges it."""
        return replace(self, person_alpha=None)

    @property
    def key(self) -> str:
        """A name for its files: readable, and different for every difference in settings."""
        digest = hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:12]
        return f"{self.data}-{self.method.replace(':', '-or-')}-{self.seed}-{digest}"


@dataclass(frozen=True)
class Experiment:
    """A config at one size."""

    id: str
    question: str
    where: str  # in the paper; empty if it is beyond it
    size: str
    cells: tuple[Cell, ...]
    settings: Mapping[str, Any]  # whatever else the config holds for its report


def names(folder: Path = FOLDER) -> list[str]:
    """Return the experiments there are, in the order they are told."""
    known = {
        path.stem: int(yaml.safe_load(path.read_text(encoding="utf-8"))["order"]) for path in folder.glob("*.yaml")
    }
    return sorted(known, key=lambda name: known[name])


def load(name: str, size: str, folder: Path = FOLDER) -> Experiment:
    """Read a config; a mistake in it is named."""
    if size not in SIZES:
        raise SystemExit(f"no size {size!r}; known: {', '.join(SIZES)}.")
    path = folder / f"{name}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in folder.glob("*.yaml")))
        raise SystemExit(f"no experiment {name!r}; known: {known}.")
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    smoke = content.pop("smoke", {})
    smaller = smoke if size == "smoke" else {}
    runs = content.pop("runs")
    cells = tuple(dict.fromkeys(cell for block in runs for cell in _cells({**block, **smaller}, path)))
    return Experiment(
        id=content.pop("id", name),
        question=content.pop("question"),
        where=content.pop("where", ""),
        size=size,
        cells=cells,
        settings=content,
    )


def _cells(block: Mapping[str, Any], path: Path) -> Iterator[Cell]:
    known = {field.name for field in fields(Cell)}
    unknown = sorted(set(block) - known)
    if unknown:
        raise SystemExit(f"{path.name}: unknown setting {unknown[0]!r}; known: {', '.join(sorted(known))}.")
    axes = [
        value if isinstance(value, Sequence) and not isinstance(value, str) else [value] for value in block.values()
    ]
    for values in product(*axes):
        yield Cell(**dict(zip(block, values, strict=True)))


def only(experiment: Experiment, methods: Sequence[str] | None, data: Sequence[str] | None) -> Experiment:
    """Return an experiment with some of its cells: those of these methods, on these data."""
    cells = tuple(
        cell
        for cell in experiment.cells
        if (methods is None or cell.method in methods) and (data is None or cell.data in data)
    )
    return replace(experiment, cells=cells)
