"""What rules still demand of a state: the least that it takes to mend those it breaks.

Somebody's present state may break a rule, and then so does all that leaves its features alone. In order of cost alone
these states would come first, however many there are. With what is owed added, they come where the first permitted
state could be that grows out of them, or never if there is none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.arrays import copy
from leastways.kernels.compiled import lean
from leastways.kernels.ladders import Ladders, Ranks, Searches
from leastways.kernels.rules import RuleTables, clause_holds, link_shortfall

_ROUNDING = 1.0 - 1e-12  # sums in another order differ by less; a bound may be too low, never too high


@lean
def write_state(ladders: Ladders, s: int, ranks: Ranks, start: NDArray[np.int32], codes: NDArray[np.int32]) -> None:
    """Write the state with these ranks of search s, codes [F]."""
    copy(start, codes)
    for k in range(ladders.n[s]):
        if ranks[k] > 0:
            codes[ladders.feature[s, k]] = ladders.code[s, ladders.first[s, k] + ranks[k] - 1]


@lean
def _paid(ladders: Ladders, s: int, place: int, rank: int) -> float:
    """What this rank of the open feature at `place` costs."""
    return ladders.cost[s, ladders.first[s, place] + rank - 1] if rank > 0 else 0.0


@lean
def _clause_owes(
    q: Searches,
    rules: RuleTables,
    ladders: Ladders,
    s: int,
    k: int,
    begin: int,
    rank: int,
    end: int,
    taken: NDArray[np.bool_],  # [F] by place: features that other clauses count on; written
) -> tuple[float, bool]:
    """The least that mends broken clause k, and whether it shares no feature with the clauses before it."""
    p = q.person[s]
    least, apart = np.inf, True
    for place in range(begin, end):
        f = ladders.feature[s, place]
        if not rules.literal[k, f]:
            continue
        behind = rank if place == begin else 0
        for i in range(ladders.first[s, place] + behind, ladders.first[s, place + 1]):
            if rules.meets[p, k, q.offsets[f] + ladders.code[s, i]]:
                least = min(least, ladders.cost[s, i] - _paid(ladders, s, place, behind))
                apart = apart and not taken[place]
                taken[place] = True
                break
    return least, apart


@lean
def _link_owes(
    q: Searches,
    rules: RuleTables,
    ladders: Ladders,
    s: int,
    link: int,
    begin: int,
    rank: int,
    end: int,
    codes: NDArray[np.int32],  # [F] changed, and set back
) -> float:
    """The least that mends a broken link: another move that demands less, or one of the required feature."""
    p = q.person[s]
    start = q.start[p]
    a, b = rules.link_feature[link], rules.link_requires[link]
    before_a, before_b = codes[a], codes[b]
    least = np.inf
    if begin < end and ladders.feature[s, begin] == a:
        modest, lacks = codes[a], link_shortfall(rules, q.offsets, p, link, start, codes)
        for i in range(ladders.first[s, begin] + rank, ladders.first[s, begin + 1]):
            codes[a] = ladders.code[s, i]
            short = link_shortfall(rules, q.offsets, p, link, start, codes)
            if short <= 0.0:
                least = ladders.cost[s, i] - _paid(ladders, s, begin, rank)
                break
            if short < lacks:
                modest, lacks = codes[a], short
        codes[a] = modest
    for place in range(begin, end):
        if ladders.feature[s, place] != b:
            continue
        behind = rank if place == begin else 0
        for i in range(ladders.first[s, place] + behind, ladders.first[s, place + 1]):
            codes[b] = ladders.code[s, i]
            if link_shortfall(rules, q.offsets, p, link, start, codes) <= 0.0:
                least = min(least, ladders.cost[s, i] - _paid(ladders, s, place, behind))
                break
    codes[a], codes[b] = before_a, before_b
    return least


@lean
def owed(
    q: Searches,
    rules: RuleTables,
    ladders: Ladders,
    s: int,
    begin: int,  # open features from this place on can still change, this one only
    rank: int,  # ... to more than this rank
    end: int,  # and none from this place on
    codes: NDArray[np.int32],  # [F] the state; the same afterwards
    taken: NDArray[np.bool_],  # [F] scratch
) -> float:
    """A lower bound on what it still costs to mend what this state breaks; infinite if nothing can.

    Every broken rule has its least price. Those of clauses that share no feature add up; of the others the dearest
    counts.
    """
    for place in range(begin, end):
        taken[place] = False
    total = dearest = 0.0
    for k in range(rules.literal.shape[0]):
        if clause_holds(rules, q.offsets, q.person[s], k, codes):
            continue
        least, apart = _clause_owes(q, rules, ladders, s, k, begin, rank, end, taken)
        if least == np.inf:
            return np.inf
        total += least if apart else 0.0
        dearest = max(dearest, least)
    for link in range(rules.link_feature.shape[0]):
        if link_shortfall(rules, q.offsets, q.person[s], link, q.start[q.person[s]], codes) > 0.0:
            dearest = max(dearest, _link_owes(q, rules, ladders, s, link, begin, rank, end, codes))
    return max(total, dearest)


@lean
def least_permitted(
    q: Searches,
    rules: RuleTables,
    ladders: Ladders,
    s: int,
    ranks: Ranks,  # [K]
    last: int,  # the last changed feature
    cost: float,  # of this state
    codes: NDArray[np.int32],  # [F] scratch
    taken: NDArray[np.bool_],  # [F] scratch
) -> float:
    """A lower bound on the cost of all permitted states among this one and those that come from it.

    Those keep what is before the last changed feature. That one goes on to dearer values, or back if it has its first,
    and what is behind it may change. Exactly the state's own cost if it breaks no rule; infinite if nothing is
    permitted.
    """
    if rules.literal.shape[0] + rules.link_feature.shape[0] == 0:
        return cost
    start = q.start[q.person[s]]
    write_state(ladders, s, ranks, start, codes)
    n, changed = ladders.n[s], 0
    for k in range(last + 1):
        changed += 1 if ranks[k] > 0 else 0
    end = n if changed < rules.max_changes else last + 1
    least = cost + owed(q, rules, ladders, s, last, ranks[last], end, codes, taken)
    if least > cost and ranks[last] == 1 and last + 1 < n:
        f = ladders.feature[s, last]
        codes[f] = start[f]
        before = cost - _paid(ladders, s, last, 1)
        instead = max(_paid(ladders, s, last + 1, 1), owed(q, rules, ladders, s, last + 1, 0, n, codes, taken))
        least = min(least, before + instead)
    return max(cost, _ROUNDING * least)
