"""Settings of a `Recourse`: checked once, recorded in plans, and the size of a chunk that follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leastways._fingerprint import setting_text
from leastways._messages import listed
from leastways._validation import check_choice, check_count, check_number, check_seed, check_threshold
from leastways._values import plain
from leastways.costs import CostDistribution, CostModel
from leastways.errors import SchemaError, SettingError
from leastways.plans import FIGURES, SUMMARY
from leastways.schema import Schema
from leastways.search import Guided, Preparing, Searcher, as_searcher

_CHUNK_BYTES = 100 * 2**20  # small enough to stay in the cache, large enough for few model calls
_ROWS_TOUCHED = 250  # rows of a person's cost table that a long search looks at
_RECORDED = ("n_options", "budget", "n_costs", "threshold", "uncovered_cost", "random_state")


@dataclass(frozen=True)
class Settings:
    """All settings of a `Recourse` but its model, checked when made."""

    schema: Schema
    method: Any
    n_options: int
    budget: int
    n_costs: int
    target: Any
    threshold: float
    costs: Any
    uncovered_cost: float
    objective: str
    satisfied_below: float
    time_limit: float | None
    random_state: int

    def __post_init__(self) -> None:
        if not isinstance(self.schema, Schema):
            raise SchemaError(f"schema must be a leastways Schema, not {type(self.schema).__name__}.")
        clash = sorted({"person", "option", *FIGURES, *SUMMARY} & set(self.schema.names))
        if clash:
            raise SchemaError(f"columns {listed(clash)} have names that the tables of a plan use; rename them.")
        for name in ("n_options", "n_costs", "budget"):
            check_count(name, getattr(self, name))
            object.__setattr__(self, name, int(getattr(self, name)))  # numpy's short integers would overflow
        if self.budget < self.n_options:
            raise SettingError(
                f"budget {self.budget} is smaller than n_options {self.n_options}: each option has to be asked "
                "about at least once. Raise the budget or ask for fewer options."
            )
        check_threshold(self.threshold)
        check_number("uncovered_cost", self.uncovered_cost, 0, 1e6)
        check_choice("objective", self.objective, ("emc", "satisfaction"))
        check_number("satisfied_below", self.satisfied_below, 0, 1e6)
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, 0, 1e9)
        check_seed(self.random_state)
        as_searcher(self.method)
        CostDistribution.of(self.costs)

    @property
    def searcher(self) -> Searcher | Preparing:
        """The search method, not yet prepared."""
        return as_searcher(self.method)

    @property
    def distribution(self) -> CostDistribution:
        """The distribution from which cost functions are drawn."""
        return CostDistribution.of(self.costs)

    @property
    def seed(self) -> int:
        """The seed of all random streams."""
        return check_seed(self.random_state)

    @property
    def satisfied(self) -> float | None:
        """The cost below which a sample is satisfied, where that is the objective; None for EMC."""
        return self.satisfied_below if self.objective == "satisfaction" else None

    def recorded(self, distill_rows: int = 0) -> dict[str, Any]:
        """Return the settings as plans record them; `distill_rows` taught the surrogate that all people share."""
        searcher, target = self.searcher, plain(self.target)
        record: dict[str, Any] = {name: plain(getattr(self, name)) for name in _RECORDED}
        record |= {"objective": self.objective, "satisfied_below": plain(self.satisfied_below)}
        if self.time_limit is not None:
            record["time_limit"] = plain(self.time_limit)
        if distill_rows and isinstance(searcher, Guided):
            record["distill_rows"] = distill_rows
        return {
            **record,
            "method": setting_text(searcher),
            "costs": repr(self.distribution),
            "target": target if isinstance(target, str | int | float) else repr(target),
        }

    def people_together(self, cost_model: CostModel) -> int:
        """Return how many people are searched for together: as many as their tables leave memory for."""
        searcher, features = self.searcher, self.schema.features
        sets = 8 * self.n_costs * (int(getattr(searcher, "runs", 1)) + 1) * (self.n_options + 4)
        cells = 8 * self.n_costs * min(int(self.schema.offsets[-1]), _ROWS_TOUCHED)
        learned = 0
        if isinstance(searcher, Guided):  # the answers, and the regression on them
            columns = sum(2 if f.ordered else len(f.values) for f in features if f.direction != "fixed")
            learned = self.budget * (4 * len(features) + 60) + 8 * columns**2
        each = cost_model.bytes_per_person(self.n_costs) + sets + cells + learned
        return max(1, int(_CHUNK_BYTES // each))
