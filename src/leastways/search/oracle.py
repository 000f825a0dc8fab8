"""The exact yardstick: the cheapest state the model accepts, for one known cost function.

Best-first over the grid: states are asked about in order of cost, many to a call, until one is accepted. Nothing
cheaper is left then, whatever the model is, so the answer is exact; at a limit, the cost reached is a proven bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.best_first import Heap, Ladder, next_states
from leastways.kernels.rules import RuleTables, meets_rules
from leastways.kernels.tables import Tables, row_of

Judge = Callable[[NDArray[np.int32]], NDArray[np.bool_]]


@dataclass(frozen=True)
class CheapestState:
    """What the oracle found for one cost function.

    `exact`: `cost` is the minimum and `codes` a state that has it. `none_exists`: no permitted state is accepted.
    `bounded`: the limit was reached first; whatever there is costs at least `bound`.
    """

    status: Literal["exact", "none_exists", "bounded"]
    cost: float
    bound: float
    codes: NDArray[np.int32] | None
    queries: int


def cheapest_state(
    tables: Tables,
    rules: RuleTables,
    p: int,
    m: int,
    judge: Judge,
    *,
    most_cost: float = np.inf,
    most_queries: int = 10_000_000,
    batch: int = 4096,
) -> CheapestState:
    """Find the cheapest accepted state of person p under cost function m; `judge` says which of many states are."""
    ladder = ladder_of(tables, p, m)
    K = len(ladder.feature)
    if K == 0:
        return CheapestState("none_exists", np.inf, np.inf, None, 0)
    heap, n = _first_heap(ladder, 4 * batch), 1
    queries = 0
    size = min(64, batch)  # cheap answers are common: begin small
    while True:
        if most_queries - queries <= 0:
            return CheapestState("bounded", np.inf, float(heap.cost[0]), None, queries)
        size = min(size, most_queries - queries)
        heap = _with_room(heap, n, 3 * size)
        codes, costs = np.empty((size, tables.start.shape[1]), np.int32), np.empty(size)
        popped, n = next_states(ladder, heap, n, most_cost, tables.start[p], codes, costs)
        keep = np.array([meets_rules(rules, tables.offsets, p, tables.start[p], c) for c in codes[:popped]], np.bool_)
        if keep.any():
            accepted = judge(codes[:popped][keep])
            queries += int(keep.sum())
            if accepted.any():
                first = int(np.flatnonzero(keep)[int(np.argmax(accepted))])
                return CheapestState("exact", float(costs[first]), float(costs[first]), codes[first], queries)
        if n == 0:
            return CheapestState("none_exists", np.inf, np.inf, None, queries)
        if heap.cost[0] > most_cost:
            return CheapestState("bounded", np.inf, float(heap.cost[0]), None, queries)
        size = min(2 * size, batch)


def ladder_of(tables: Tables, p: int, m: int) -> Ladder:
    """List person p's reachable alternatives under cost function m, sorted as the search needs them."""
    rungs = []
    for f in range(tables.start.shape[1]):
        codes = [
            j for j in range(tables.used[p, f]) if j != tables.start[p, f] and tables.allowed[p, tables.offsets[f] + j]
        ]
        costs = []
        for j in codes:
            free = tables.scores[p, f, m] == 1.0 and np.isnan(tables.given[p, tables.offsets[f] + j])
            cost = tables.cells[row_of(tables, p, f, j), m]
            costs.append(0.0 if free and np.isfinite(cost) else cost)
        order = [i for i in np.argsort(costs, kind="stable") if np.isfinite(costs[i])]
        if order:
            rungs.append((f, [codes[i] for i in order], [costs[i] for i in order]))
    rungs.sort(key=lambda rung: rung[2][0])
    return Ladder(
        first=np.cumsum([0, *(len(codes) for _, codes, _ in rungs)]).astype(np.int64),
        feature=np.array([f for f, _, _ in rungs], dtype=np.int64),
        code=np.array([c for _, codes, _ in rungs for c in codes], dtype=np.int32),
        cost=np.array([c for _, _, costs in rungs for c in costs], dtype=np.float64),
    )


def _first_heap(ladder: Ladder, room: int) -> Heap:
    K = len(ladder.feature)
    heap = Heap(np.empty(room), np.zeros((room, K), np.int16), np.zeros(room, np.int64))
    heap.ranks[0, 0] = 1
    heap.cost[0] = ladder.cost[0]
    return heap


def _with_room(heap: Heap, n: int, more: int) -> Heap:
    """Return a heap with room for `more` states, doubling so that growth stays cheap."""
    if n + more <= len(heap.cost):
        return heap
    room = max(2 * len(heap.cost), n + more)
    bigger = Heap(np.empty(room), np.zeros((room, heap.ranks.shape[1]), np.int16), np.zeros(room, np.int64))
    bigger.cost[:n], bigger.ranks[:n], bigger.last[:n] = heap.cost[:n], heap.ranks[:n], heap.last[:n]
    return bigger
