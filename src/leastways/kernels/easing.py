"""The last questions of guided search: would a smaller change do, in the options that would be chosen now?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.arrays import copy, fill
from leastways.kernels.choice import choose_for
from leastways.kernels.compiled import compiled, lean
from leastways.kernels.guides import Guides, is_new, state_hash
from leastways.kernels.propose import same_state
from leastways.kernels.rules import RuleTables, meets_rules
from leastways.kernels.surrogate import lift_of
from leastways.kernels.tables import Tables


@lean
def _same_but(one: NDArray[np.int32], other: NDArray[np.int32], f: int) -> bool:
    """Whether two states are the same in all features but perhaps f."""
    for k in range(one.shape[0]):
        if k != f and one[k] != other[k]:
            return False
    return True


@lean
def _enter(t: Tables, rules: RuleTables, g: Guides, p: int, codes: NDArray[np.int32]) -> bool:
    """Whether a state of permitted values is a change, within the rules and not asked about; it is entered as asked."""
    fits = not same_state(codes, t.start[p]) and meets_rules(rules, t.offsets, p, t.start[p], codes)
    return fits and is_new(g.seen[p], state_hash(codes), True)


@lean
def _crossing(levels: NDArray[np.float64], near: int, far: int, refused: float, accepted: float, sign: int) -> int:
    """Return the first code behind `near` at which a straight line through the log-odds of both ends is not below 0."""
    aim = levels[near] + (levels[far] - levels[near]) * refused / (refused - accepted)
    code = near + sign
    while code != far - sign and sign * (aim - levels[code]) > 0.0:
        code += sign
    return code


@lean
def smaller_code(
    t: Tables,
    g: Guides,
    p: int,
    option: NDArray[np.int32],  # [F] an accepted state
    f: int,  # an ordered feature that it changes
    guess: float,  # log-odds of the option without this change
    halve: bool,  # take the middle; else where a straight line through the answers crosses the threshold
) -> int:
    """Return a code of feature f between the farthest that is known to be refused and the option's, -1 if none is left.

    The other changes are the option's. A straight line is soon at the boundary of a smooth model; halving never takes
    long.
    """
    near, far = t.start[p, f], option[f]
    sign = 1 if far > near else -1
    refused, accepted = guess, 0.0
    for a in range(g.n_asked[p]):
        code, odds = g.asked[p, a, f], g.odds[p, a]
        if sign * (code - near) < 0 or sign * (far - code) < 0 or not _same_but(g.asked[p, a], option, f):
            continue
        if code == far:
            accepted = odds
        elif odds < 0.0:
            near, refused = code, odds
    if sign * (far - near) < 2:
        return -1
    code = (near + far) // 2
    if not halve and refused < 0.0:
        code = _crossing(t.levels[p, t.offsets[f] : t.offsets[f + 1]], near, far, refused, accepted, sign)
    while code != far and not t.allowed[p, t.offsets[f] + code]:
        code += sign
    return int(code) if code != far else -1


@lean
def _ease(
    t: Tables,
    rules: RuleTables,
    g: Guides,
    p: int,
    option: NDArray[np.int32],  # [F]
    halve: bool,
    out: NDArray[np.int32],  # [R, F] written
) -> int:
    """Write states that ask for less than an option in one feature: nothing, if that may do, or a smaller change."""
    n = 0
    for f in range(option.shape[0]):
        if option[f] == t.start[p, f] or n == out.shape[0]:
            continue
        copy(option, out[n])
        out[n, f] = t.start[p, f]
        guess = g.now[p] + lift_of(t, p, g.lift[p], out[n])
        if guess > -g.spread[p] and _enter(t, rules, g, p, out[n]):
            n += 1
        elif t.ordered[f] and np.isnan(t.given[p, t.offsets[f]]):  # what a person stated need not rise with the step
            code = smaller_code(t, g, p, option, f, guess, halve)
            if code >= 0:
                out[n, f] = code
                n += 1 if _enter(t, rules, g, p, out[n]) else 0
    return n


@compiled
def ask_easier(
    t: Tables,
    rules: RuleTables,
    g: Guides,  # states that are written are entered among those seen
    N: int,  # options that would be chosen
    quota: NDArray[np.int64],  # [P] rows that each may ask about
    halve: NDArray[np.bool_],  # [P]
    people: NDArray[np.int64],  # [R] written
    codes: NDArray[np.int32],  # [R, F] written
) -> int:
    """Write the states to ask about, for the options that come first first; return their number."""
    options, probability = np.empty((N, codes.shape[1]), np.int32), np.empty(N)
    row = 0
    for p in range(quota.shape[0]):
        if quota[p] == 0:
            continue
        first, end = row, row + quota[p]
        for o in range(choose_for(t, g, p, options, probability)):
            row += _ease(t, rules, g, p, options[o], halve[p], codes[row:end])
        fill(people[first:row], p)
    return row
