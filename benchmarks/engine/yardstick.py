"""The yardstick: what the best possible option of each person costs them. The only place that calls the oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import leastways as lw
from leastways.search.oracle import cheapest_state

Probability = Callable[[pd.DataFrame], NDArray[np.float64]]


def oracle(
    truth: lw.SimulatedPeople, probability: Probability, threshold: float = 0.5, most_queries: int = 10_000_000
) -> dict[str, Any]:
    """Return the oracle's FS@1 in percent, as bounds: they are equal unless the query limit left people undecided."""
    tables, rules = truth.samples.tables, truth.samples.rules
    satisfied = undecided = queries = 0
    for p in range(len(truth.index)):

        def judge(codes: NDArray[np.int32], p: int = p) -> NDArray[np.bool_]:
            frame = truth.schema.decode(codes, truth.people, np.full(len(codes), p))
            return np.asarray(probability(frame) >= threshold)

        found = cheapest_state(tables, rules, p, 0, judge, most_cost=1.0, most_queries=most_queries)
        satisfied += found.cost < 1.0
        undecided += found.status == "bounded" and found.bound < 1.0
        queries += found.queries
    n = len(truth.index)
    return {
        "people": n,
        "FS@1": 100 * satisfied / n,
        "FS@1_at_most": 100 * (satisfied + undecided) / n,
        "undecided": undecided,
        "queries_mean": queries / n,
    }
