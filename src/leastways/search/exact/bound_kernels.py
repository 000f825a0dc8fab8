"""What is searched, and the alternatives of each search: features by their cheapest one, alternatives by cost."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways._compiled import compiled, lean
from leastways._random_kernels import copy
from leastways.feasibility import Space, clause_holds, link_shortfall

Ranks = NDArray[np.signedinteger[Any]]  # 16 bits, or 32 where a grid has more points than those can count


class Searches(NamedTuple):
    """The searches to make: S cost functions of P people. The searches of one person are adjacent."""

    space: Space
    first: NDArray[np.int64]  # [P + 1] where each person's searches begin
    person: NDArray[np.int64]  # [S]
    costs: NDArray[np.float64]  # [S, V] of moving to a slot, infinite where that cannot be
    free: NDArray[np.bool_]  # [S, F] changes of this feature count 0; `costs` only says which is the smaller


class Alternatives(NamedTuple):
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
    own = q.space.start[q.person[s], f]
    for j in range(q.space.offsets[f + 1] - q.space.offsets[f]):
        cost = q.costs[s, q.space.offsets[f] + j]
        if j != own and cost < np.inf:
            codes[n] = j
            costs[n] = cost
            n += 1
    return n


@compiled
def sort_alternatives(q: Searches, out: Alternatives) -> None:
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


# Lower bound on the cost of repairing a state's rule violations.
#
# A person's present state may break a rule, and then so do all states that leave its features alone. In order of cost
# alone these states would come first, however many there are. With the bound added, each comes at the cost of the first
# permitted state that can be reached from it, or never if there is none.

_ROUNDING = 1.0 - 1e-12  # sums in another order differ by less; a bound may be too low, never too high


@lean
def write_state(
    alternatives: Alternatives, s: int, ranks: Ranks, start: NDArray[np.int32], codes: NDArray[np.int32]
) -> None:
    """Write the state with these ranks of search s, codes [F]."""
    copy(start, codes)
    for k in range(alternatives.n[s]):
        if ranks[k] > 0:
            codes[alternatives.feature[s, k]] = alternatives.code[s, alternatives.first[s, k] + ranks[k] - 1]


@lean
def _paid(alternatives: Alternatives, s: int, place: int, rank: int) -> float:
    """Return the cost of this rank of the open feature at position `place`."""
    return alternatives.cost[s, alternatives.first[s, place] + rank - 1] if rank > 0 else 0.0


@lean
def _clause_bound(
    q: Searches,
    alternatives: Alternatives,
    s: int,
    k: int,
    begin: int,
    rank: int,
    end: int,
    taken: NDArray[np.bool_],  # [F] by place: features that other clauses count on; written
) -> tuple[float, bool]:
    """Return a bound on the cost of repairing clause k, and whether it shares no feature with clauses before it."""
    p = q.person[s]
    least, apart = np.inf, True
    for place in range(begin, end):
        f = alternatives.feature[s, place]
        if not q.space.rules.literal[k, f]:
            continue
        behind = rank if place == begin else 0
        for i in range(alternatives.first[s, place] + behind, alternatives.first[s, place + 1]):
            if q.space.rules.meets[p, k, q.space.offsets[f] + alternatives.code[s, i]]:
                least = min(least, alternatives.cost[s, i] - _paid(alternatives, s, place, behind))
                apart = apart and not taken[place]
                taken[place] = True
                break
    return least, apart


@lean
def _link_bound(
    q: Searches,
    alternatives: Alternatives,
    s: int,
    link: int,
    begin: int,
    rank: int,
    end: int,
    codes: NDArray[np.int32],  # [F] changed, and set back
) -> float:
    """Return a bound on the cost of repairing a link: by a move that demands less, or one of what it requires."""
    p = q.person[s]
    a, b = q.space.rules.link_feature[link], q.space.rules.link_requires[link]
    before_a, before_b = codes[a], codes[b]
    least = np.inf
    if begin < end and alternatives.feature[s, begin] == a:
        modest, lacks = codes[a], link_shortfall(q.space, p, link, codes)
        for i in range(alternatives.first[s, begin] + rank, alternatives.first[s, begin + 1]):
            codes[a] = alternatives.code[s, i]
            short = link_shortfall(q.space, p, link, codes)
            if short <= 0.0:
                least = alternatives.cost[s, i] - _paid(alternatives, s, begin, rank)
                break
            if short < lacks:
                modest, lacks = codes[a], short
        codes[a] = modest
    for place in range(begin, end):
        if alternatives.feature[s, place] != b:
            continue
        behind = rank if place == begin else 0
        for i in range(alternatives.first[s, place] + behind, alternatives.first[s, place + 1]):
            codes[b] = alternatives.code[s, i]
            if link_shortfall(q.space, p, link, codes) <= 0.0:
                least = min(least, alternatives.cost[s, i] - _paid(alternatives, s, place, behind))
                break
    codes[a], codes[b] = before_a, before_b
    return least


@lean
def repair_bound(
    q: Searches,
    alternatives: Alternatives,
    s: int,
    begin: int,  # open features from this place on can still change, this one only
    rank: int,  # ... to more than this rank
    end: int,  # and none from this place on
    codes: NDArray[np.int32],  # [F] the state; the same afterwards
    taken: NDArray[np.bool_],  # [F] scratch
) -> float:
    """Return a lower bound on the cost of repairing a state's rule violations; infinite if nothing repairs them.

    Every broken rule has its least price. Those of clauses that share no feature add up; of the others the dearest
    counts.
    """
    for place in range(begin, end):
        taken[place] = False
    total = dearest = 0.0
    for k in range(q.space.rules.literal.shape[0]):
        if clause_holds(q.space, q.person[s], k, codes):
            continue
        least, apart = _clause_bound(q, alternatives, s, k, begin, rank, end, taken)
        if least == np.inf:
            return np.inf
        total += least if apart else 0.0
        dearest = max(dearest, least)
    for link in range(q.space.rules.link_feature.shape[0]):
        if link_shortfall(q.space, q.person[s], link, codes) > 0.0:
            dearest = max(dearest, _link_bound(q, alternatives, s, link, begin, rank, end, codes))
    return max(total, dearest)


@lean
def least_permitted(
    q: Searches,
    alternatives: Alternatives,
    s: int,
    ranks: Ranks,  # [K]
    last: int,  # the last changed feature
    cost: float,  # of this state
    codes: NDArray[np.int32],  # [F] scratch
    taken: NDArray[np.bool_],  # [F] scratch
) -> float:
    """Return a lower bound on the cost of all permitted states among this one and those that come from it.

    Those keep what is before the last changed feature. That one goes on to dearer values, or back if it has its first,
    and what is behind it may change. Exactly the state's own cost if it breaks no rule; infinite if nothing is
    permitted.
    """
    if q.space.rules.literal.shape[0] + q.space.rules.link_feature.shape[0] == 0:
        return cost
    start = q.space.start[q.person[s]]
    write_state(alternatives, s, ranks, start, codes)
    n, changed = alternatives.n[s], 0
    for k in range(last + 1):
        changed += 1 if ranks[k] > 0 else 0
    end = n if changed < q.space.rules.max_changes else last + 1
    least = cost + repair_bound(q, alternatives, s, last, ranks[last], end, codes, taken)
    if least > cost and ranks[last] == 1 and last + 1 < n:
        f = alternatives.feature[s, last]
        codes[f] = start[f]
        before = cost - _paid(alternatives, s, last, 1)
        instead = max(
            _paid(alternatives, s, last + 1, 1), repair_bound(q, alternatives, s, last + 1, 0, n, codes, taken)
        )
        least = min(least, before + instead)
    return max(cost, _ROUNDING * least)
