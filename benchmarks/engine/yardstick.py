"""The yardstick: what the best possible option of each person costs them. The only place that calls the oracle."""

from __future__ import annotations

from typing import Any

import leastways as lw


def oracle(
    truth: lw.SimulatedPeople, model: Any, threshold: float = 0.5, most_queries: int = 10_000_000, target: Any = 1
) -> dict[str, Any]:
    """Return the oracle's FS@1 in percent, as bounds: they are equal unless the query limit left people undecided."""
    found = lw.evaluation.oracle_people(
        model, truth, target=target, threshold=threshold, max_cost=1.0, max_queries=most_queries
    )
    n = len(found)
    satisfied = int((found["cost"] < 1.0).sum())
    undecided = int(((found["status"] == "bounded") & (found["bound"] < 1.0)).sum())
    return {
        "people": n,
        "FS@1": 100 * satisfied / n,
        "FS@1_at_most": 100 * (satisfied + undecided) / n,
        "undecided": undecided,
        "queries_mean": float(found["queries"].mean()),
    }
