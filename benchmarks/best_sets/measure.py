"""People measured one by one: their accepted states, the best sets of them, and what guided search offers."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.best_sets.bounds import best_sets, share_served
from benchmarks.best_sets.states import axes_of, minimal_states, served
from benchmarks.paper import LOADERS, recourse
from leastways._random import keys_of_labels, stream
from leastways.costs import CostDistribution, CostModel
from leastways.models import as_model
from leastways.models.encoder_table import FastPath, FastPeople

SEARCHES: dict[str, dict[str, Any]] = {
    "guided": {"n_costs": 1000},
    **{f"guided, satisfaction, M {n}": {"n_costs": n, "objective": "satisfaction"} for n in (4000, 16_000)},
}
ELSEWHERE = ", judged by others"  # cost functions that it was not chosen by


class Asked(NamedTuple):
    """What decides the figures."""

    data: str
    samples: int
    options: tuple[int, ...]
    noise: float
    budget: int


def measure(asked: Asked, first: int, last: int) -> list[dict[str, Any]]:
    """Measure people first .. last of a data set."""
    data = LOADERS[asked.data]()
    schema, crowd = data.schema(), data.people.iloc[first:last]
    people = schema.encode(crowd)
    options = {}
    for name, settings in SEARCHES.items():
        found = recourse(data, "guided", 0, n_options=10, budget=asked.budget, **settings).recommend(crowd).options
        whose = people.index.get_indexer(found["person"])
        options[name] = schema.encode_options(found, people, whose), whose
    fast_path = FastPath.find(as_model(data.model, target=1), schema)
    judge = fast_path.people(people)
    if judge is None or not judge.held.all():
        reason = fast_path.reason if judge is None else judge.reason
        raise TypeError(f"{asked.data}: the model's encoder cannot be tabulated: {reason}")
    costs = CostModel.fit(schema, CostDistribution(noise_std=asked.noise), data.frame)
    keys = keys_of_labels(people.index.tolist(), 0)
    rows = []
    for p, label in enumerate(people.index):
        began = time.perf_counter()
        here = slice(p, p + 1)
        t, other = (
            costs.sample(people.take(here), stream(keys[here], name), asked.samples, [None]).tables
            for name in ("hidden truth", "other truth")
        )
        states = minimal_states(partial(_accepted, judge, p), axes_of(t, 0))
        serves, serves_others = served(t, 0, states), served(other, 0, states)
        row = {"person": str(label), "states": len(states)}
        row |= {"all": float(serves.any(axis=0).mean()), f"all{ELSEWHERE}": float(serves_others.any(axis=0).mean())}
        for name, (codes, whose) in options.items():
            row[name] = float(served(t, 0, codes[whose == p]).any(axis=0).mean())
        for n, best in zip(asked.options, best_sets(serves, asked.options), strict=True):
            row |= {f"best {n}, at most": best.bound, f"best {n}": share_served(serves, best.states)}
            row[f"best {n}{ELSEWHERE}"] = share_served(serves_others, best.states)
        rows.append(row | {"seconds": time.perf_counter() - began})
    return rows


def _accepted(judge: FastPeople, p: int, codes: NDArray[np.int32]) -> NDArray[np.bool_]:
    return judge.probability(codes, np.full(len(codes), p)) >= 0.5
