"""What is searched, and the alternatives of each search: features by their cheapest one, alternatives by cost."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.compiled import compiled

Ranks = NDArray[np.signedinteger[Any]]  # 16 bits, or 32 where a grid has more points than those can count


class Searches(NamedTuple):
    """What is to be searched: S cost functions of P people. The searches of one person stand together."""

    start: NDArray[np.int32]  # [P, F]
    offsets: NDArray[np.int64]  # [F + 1]
    first: NDArray[np.int64]  # [P + 1] where each person's searches begin
    person: NDArray[np.int64]  # [S]
    costs: NDArray[np.float64]  # [S, V] of moving to a slot, infinite where that cannot be
    free: NDArray[np.bool_]  # [S, F] changes of this feature count 0; `costs` only says which is the smaller


class Ladders(NamedTuple):
    """The alternatives of each search's open features: features by their cheapest alternative, alternatives by cost."""

    n: NDArray[np.int64]  # [S] open features
    first: NDArray[np.int64]  # [S, F + 1] where each open feature's alternatives begin
    feature: NDArray[np.int64]  # [S, F]
    code: NDArray[np.int32]  # [S, V]
    cost: NDArray[np.float64]  # [S, V]


@compiled
def _gather(q: Searches, s: int, f: int, codes: NDArray[np.int32], costs: NDArray[np.float64]) -> int:
    """List the alternatives of feature f that search s can pay for."""
    n = 0
    own = q.start[q.person[s], f]
    for j in range(q.offsets[f + 1] - q.offsets[f]):
        cost = q.costs[s, q.offsets[f] + j]
        if j != own and cost < np.inf:
            codes[n] = j
            costs[n] = cost
            n += 1
    return n


@compiled
def build_ladders(q: Searches, out: Ladders) -> None:
    """Sort the alternatives of every search; `out` is written."""
    S, F = q.free.shape
    V = q.costs.shape[1]
    codes, costs = np.empty(V, np.int32), np.empty(V)
    cheapest, order = np.empty(F), np.empty(F, np.int64)
    for s in range(S):
        K = 0
        for f in range(F):
            n = _gather(q, s, f, codes, costs)
            if n == 0:
                continue
            least = 0.0
            if not q.free[s, f]:
                least = costs[0]
                for i in range(1, n):
                    least = min(least, costs[i])
            place = K
            while place > 0 and cheapest[place - 1] > least:
                cheapest[place], order[place] = cheapest[place - 1], order[place - 1]
                place -= 1
            cheapest[place], order[place] = least, f
            K += 1
        out.n[s] = K
        filled = 0
        for k in range(K):
            f = order[k]
            n = _gather(q, s, f, codes, costs)
            ranking = np.argsort(costs[:n], kind="mergesort")
            out.first[s, k] = filled
            out.feature[s, k] = f
            for i in range(n):
                out.code[s, filled + i] = codes[ranking[i]]
                out.cost[s, filled + i] = 0.0 if q.free[s, f] else costs[ranking[i]]
            filled += n
        out.first[s, K] = filled
