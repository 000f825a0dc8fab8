"""Small made-up worlds for tests: mixed tables, schemas with rules, models that are cheap to ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from numpy.typing import NDArray

from leastways import _random as rng
from leastways.costs import CostDistribution, CostModel, Preferences
from leastways.schema import AtMost, Encoded, Forbidden, IfThen, Linked, Schema
from leastways.search import Chosen, Problem
from tests.support import reference_kernels as reference

SCHOOLS = ["none", "middle", "high", "college"]


@dataclass(frozen=True)
class World:
    """A table, its schema, and a linear model on it."""

    frame: pd.DataFrame
    schema: Schema
    weights: NDArray[np.float64]
    cut: float

    def probability(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """A logistic model on codes of the raw values."""
        columns = []
        for feature in self.schema.features:
            column = frame[feature.name]
            if feature.numeric:
                x = (column.to_numpy(dtype=float) - feature.values[0]) / max(feature.range, 1.0)
            else:
                x = feature.index.get_indexer(pd.Index(column.to_numpy(dtype=object))) / max(len(feature.values) - 1, 1)
            columns.append(x)
        score = np.stack(columns, axis=1) @ self.weights - self.cut
        return np.asarray(1.0 / (1.0 + np.exp(-8.0 * score)), dtype=np.float64)

    def refused(self) -> pd.DataFrame:
        """The rows the model says no to."""
        return self.frame[self.probability(self.frame) < 0.5]


def make_world(seed: int = 0, n: int = 60, rules: bool = True, directions: tuple[str, ...] = ("any", "up")) -> World:
    """Make a world with every kind of feature; `directions` are dealt to the ordered ones."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": draw.integers(18, 40, n),
            "income": draw.gamma(2.0, 500.0, n),
            "school": draw.choice(SCHOOLS, n),
            "job": draw.choice(["a", "b", "c"], n),
            "owner": draw.random(n) < 0.5,
            "sex": draw.choice(["f", "m"], n),
        }
    )
    frame.loc[: len(SCHOOLS) - 1, "school"] = SCHOOLS  # every value occurs, whatever was drawn
    frame.loc[:2, "job"] = ["a", "b", "c"]
    frame.loc[:1, "owner"] = [True, False]
    frame.loc[:1, "sex"] = ["f", "m"]
    deal = [directions[i % len(directions)] for i in range(3)]
    schema = Schema.infer(frame).update(
        age={"direction": "up"},
        income={"direction": deal[1]},
        school={"order": SCHOOLS, "direction": deal[2]},
        sex={"direction": "fixed"},
    )
    if rules:
        schema = schema.update(
            rules=[
                IfThen({"owner": True}, {"job": ["a", "b"]}),
                Forbidden({"school": "none", "income": (1500, None)}),
                Linked("school", requires="age", at_least=2),
                AtMost(4),
            ]
        )
    weights = draw.uniform(0.2, 1.0, 6) * np.array([0.5, 2.0, 1.0, 0.5, 0.5, 0.3])
    return World(frame, schema, weights, cut=float(draw.uniform(1.0, 1.8)))


def make_problem(
    world: World,
    people: pd.DataFrame,
    n_samples: int = 40,
    n_options: int = 4,
    budget: int = 60,
    seed: int = 0,
    distribution: CostDistribution | None = None,
    preferences: Preferences | None = None,
) -> tuple[Problem, Encoded]:
    """Lay out a search problem for some people."""
    encoded = world.schema.encode(people)
    keys = rng.keys_of_rows(encoded.content(), seed)
    model = CostModel.fit(world.schema, distribution or CostDistribution(), world.frame)
    samples = model.sample(encoded, keys, n_samples, [preferences] * len(encoded))
    present = world.probability(people)
    return Problem(samples, encoded, rng.stream(keys, "search"), n_options, budget, present, 0.5), encoded


def check_options(world: World, problem: Problem, chosen: Chosen) -> None:
    """Options are distinct, not too many, permitted, within the rules, and accepted as likely as is said."""
    t = problem.samples.tables
    for p in range(problem.n_people):
        options = chosen.codes[p, : chosen.n[p]]
        assert len(np.unique(options, axis=0)) == len(options) <= problem.n_options
        for codes in options:
            assert t.space.allowed[p, t.space.offsets[:-1] + codes].all(), "fixed feature, direction or range broken"
            assert reference.meets_rules(t.space, p, codes.tolist())
        again = world.probability(world.schema.decode(options, problem.people, np.full(len(options), p)))
        assert (again >= 0.5).all()
        np.testing.assert_allclose(again, chosen.probability[p, : len(options)], atol=1e-6)


def evaluator_of(world: World, people: Encoded) -> Any:
    """Return a evaluate that asks the world's model."""

    def evaluate(questions: Any) -> Any:
        return world.probability(world.schema.decode(questions.codes, people, questions.people)), {}

    return evaluate


seeds = st.integers(0, 2**31 - 1)
