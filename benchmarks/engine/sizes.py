"""How large each part is: `full` as the targets say, `smoke` to see that everything works."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Size:
    """Everything that is smaller in a smoke run. None: all people."""

    name: str
    seeds: int
    people: int | None  # quality and time
    n_costs: int
    budgets: tuple[int, ...]  # guided search, quality
    cols_budget: int
    distill: int
    repeats: int  # of a guided timing; COLS and points of a curve get fewer
    latency_people: int
    models_people: int
    models_costs: int
    models_budgets: tuple[int, int]  # guided, COLS
    models_truths: int  # hidden functions a person
    baseline_seeds: int
    baseline_slow_people: int  # for methods that take seconds a person
    oracle_queries: int  # most rows the oracle may ask about one person, on models that are slow
    growth: dict[str, tuple[int, ...]]
    base: dict[str, int]
    memory_people: tuple[int, int]
    imports: int
    first_method: str  # whose first search is timed with nothing compiled; "": of none

    def settings(self, *names: str) -> dict[str, Any]:
        """Return some of the numbers, to be noted beside a result."""
        return {name: getattr(self, name) for name in names}


FULL = Size(
    name="full",
    seeds=5,
    people=None,
    n_costs=1000,
    budgets=(50, 200, 500, 5000),
    cols_budget=5000,
    distill=5000,
    repeats=5,
    latency_people=200,
    models_people=250,
    models_costs=300,
    models_budgets=(500, 5000),
    models_truths=10,
    baseline_seeds=3,
    baseline_slow_people=100,
    oracle_queries=5000,
    growth={
        "people": (10, 30, 100, 300, 1000, 3000, 10_000),
        "n_costs": (10, 30, 100, 300, 1000, 3000, 10_000),
        "budget": (50, 100, 200, 500, 1000, 2000, 5000),
        "n_options": (1, 2, 5, 10, 20, 30),
        "features": (10, 20, 50, 100, 200),
    },
    base={"people": 100, "n_costs": 1000, "budget": 200, "n_options": 10, "features": 12},
    memory_people=(1000, 20_000),
    imports=7,
    first_method="guided",
)

SMOKE = Size(
    name="smoke",
    seeds=1,
    people=12,
    n_costs=100,
    budgets=(50, 200),
    cols_budget=300,
    distill=300,
    repeats=2,
    latency_people=2,
    models_people=8,
    models_costs=50,
    models_budgets=(50, 200),
    models_truths=3,
    baseline_seeds=1,
    baseline_slow_people=3,
    oracle_queries=300,
    growth={
        "people": (5, 10, 20),
        "n_costs": (10, 30, 100),
        "budget": (50, 100, 200),
        "n_options": (1, 3, 9),
        "features": (10, 20, 30),
    },
    base={"people": 10, "n_costs": 100, "budget": 50, "n_options": 10, "features": 12},
    memory_people=(50, 200),
    imports=2,
    first_method="",  # compiling takes longer than all the rest
)

SIZES = {size.name: size for size in (FULL, SMOKE)}
