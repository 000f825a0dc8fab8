"""Plans and hidden costs made by hand, so that every figure of an audit is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leastways.evaluation import SimulatedPeople
from leastways.plans import RecoursePlans
from leastways.schema import Feature, Schema

SCHEMA = Schema(
    (
        Feature("sex", "category", ("female", "male"), direction="fixed", dtype="str"),
        Feature("age", "integer", tuple(range(18, 81)), direction="up", dtype="int64"),
        Feature("pay", "integer", tuple(range(101)), direction="up", dtype="int64", label="monthly pay"),
    )
)


def row(table: pd.DataFrame | None, *keys: Any) -> dict[str, Any]:
    """Return one row of a table by its grouping, group and so on."""
    assert table is not None
    places = table.index.tolist()
    values = table.to_dict("records")[places.index(keys if len(keys) > 1 else keys[0])]
    return {str(name): value for name, value in values.items()}


def some(table: pd.DataFrame | None, keys: Sequence[Any], columns: Sequence[str]) -> list[Any]:
    """Return some figures of one row."""
    found = row(table, *keys)
    return [found[name] for name in columns]


@dataclass(frozen=True)
class Known(SimulatedPeople):
    """People whose cheapest option costs what is written here, whatever it is."""

    costs: Mapping[Any, float]

    def positions(self, labels: Any) -> NDArray[np.intp]:
        assert all(label in self.costs for label in labels)
        return np.arange(len(labels))

    def check_states(self, people: pd.DataFrame) -> None:
        self.positions(people.index)

    def min_costs(self, plans: RecoursePlans) -> NDArray[np.float64]:
        return np.array([self.costs.get(label, np.inf) for label in plans.summary.index])


def truth(costs: Any, index: Any = None) -> Known:
    labels = range(len(costs)) if index is None else index
    nothing: Any = None
    return Known(SCHEMA, nothing, nothing, dict(zip(labels, map(float, costs), strict=True)))


def oracle(costs: Any, **changes: Any) -> pd.DataFrame:
    """Return a table as `oracle_people` does, all of it exact."""
    cost = np.asarray(costs, dtype=np.float64)
    status = pd.Series(np.where(np.isfinite(cost), "exact", "none_exists"), dtype="str")
    return pd.DataFrame({"status": status, "cost": cost, "bound": cost, "queries": 5}).assign(**changes)


def plans(
    sex: Sequence[str],
    covered: Any,
    *,
    age: Sequence[int] | None = None,
    options: Any = None,
    status: Sequence[str] | None = None,
    emc: Any = None,
    index: Any = None,
) -> RecoursePlans:
    """Return plans in which each person has so many options; odd ones raise age, even ones pay and age."""
    n = len(sex)
    labels = pd.Index(range(n) if index is None else index, name="person")
    share = np.asarray(covered, dtype=np.float64)
    count = np.asarray([1 if c > 0 else 0 for c in share] if options is None else options)
    people = pd.DataFrame(
        {"sex": pd.Series(list(sex), dtype="str"), "age": [30] * n if age is None else list(age), "pay": [20] * n}
    ).set_axis(labels, axis=0)
    found = ["found" if c else "none_found" for c in count] if status is None else list(status)
    apart = np.isin(found, ["already_positive", "invalid_input"])
    cost = np.where(share > 0, 0.5, np.nan) if emc is None else np.asarray(emc, dtype=np.float64)
    summary = pd.DataFrame(
        {
            "status": pd.Series(found, dtype="str"),
            "n_options": count,
            "covered": np.where(apart, np.nan, share),
            "emc": np.where(apart, np.nan, cost),
            "satisfied": np.where(apart, np.nan, share / 2),
            "queries": [10] * n,
            "probability": [0.25] * n,
            "reason": pd.Series(["the model failed" if f == "partial" else "" for f in found], dtype="str"),
        }
    ).set_axis(labels, axis=0)
    who = np.repeat(np.arange(n), count)
    number = np.concatenate([np.arange(1, c + 1) for c in count]) if count.sum() else np.zeros(0, np.int64)
    table = pd.DataFrame(
        {
            "person": labels[who],
            "option": number,
            "sex": people["sex"].to_numpy()[who],
            "age": people["age"].to_numpy()[who] + 1,
            "pay": people["pay"].to_numpy()[who] + np.where(number % 2 == 0, 10, 0),
            "probability": 0.75,
            "expected_cost": 0.5,
            "best_for": 0.5,
        }
    )
    failed = table[["person"]].iloc[:0].assign(error=pd.Series(dtype="str"))
    return RecoursePlans(SCHEMA, people, summary, table, failed, {"n_options": 5, "method": "Guided()"})


def drawn(seed: int = 0, women: int = 60, men: int = 80) -> tuple[RecoursePlans, list[Known]]:
    """Return plans and two sets of hidden costs by which women fare worse."""
    random = np.random.default_rng(seed)
    sex = ["female"] * women + ["male"] * men
    chance = np.where(np.array(sex) == "female", 0.5, 0.85)
    truths = [
        truth(np.where(random.random(len(sex)) < chance, random.random(len(sex)) * 1.6, np.inf)) for _ in range(2)
    ]
    made = plans(sex, chance, age=random.integers(20, 60, len(sex)).tolist(), options=random.integers(1, 4, len(sex)))
    return made, truths
