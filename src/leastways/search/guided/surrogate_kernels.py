"""A cheap additive estimate of the model around one person, learned from that person's own answers.

The log-odds of a state are taken as the person's present log-odds plus one term per changed feature: for ordered
features a bent line in the distance moved, for others a number per value. Ridge regression, weighted towards the
decision boundary; each person's estimate knows only that person's answers, so plans do not depend on the batch.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways._compiled import lean
from leastways._lanes_kernels import WIDTH, load, positive, total, zeros
from leastways._random_kernels import copy
from leastways.costs import Tables

_RIDGE = 0.02
MOST_LOG_ODDS = 8.0
LEAST_SPREAD = 0.2


@lean
def log_odds(probability: float, threshold: float) -> float:
    """Return the log-odds against the threshold, cut at +-8: above 0 is accepted."""
    p = min(max(probability, 1e-9), 1.0 - 1e-9)
    q = min(max(threshold, 1e-9), 1.0 - 1e-9)
    value = math.log(p / (1.0 - p)) - math.log(q / (1.0 - q))
    return min(max(value, -MOST_LOG_ODDS), MOST_LOG_ODDS)


@lean
def _moves(t: Tables, f: int) -> bool:
    """Whether any person may change a feature."""
    for p in range(t.space.start.shape[0]):
        for j in range(t.space.used[p, f]):
            if j != t.space.start[p, f] and t.space.allowed[p, t.space.offsets[f] + j]:
                return True
    return False


@lean
def columns_of(t: Tables, columns: NDArray[np.int64]) -> int:
    """Write where each feature's columns begin, [F + 1]; return their number. Fixed features have none."""
    n = 0
    for f in range(t.space.ordered.shape[0]):
        columns[f] = n
        if _moves(t, f):
            n += 2 if t.space.ordered[f] else t.space.offsets[f + 1] - t.space.offsets[f]
    columns[t.space.ordered.shape[0]] = n
    return n


@lean
def move_size(t: Tables, p: int, f: int, j: int) -> float:
    """Return how far an ordered feature moves to code j, signed, as a share of its steps."""
    return (j - t.space.start[p, f]) / max(t.space.used[p, f] - 1, 1)


@lean
def learn(
    t: Tables,
    p: int,
    columns: NDArray[np.int64],  # [F + 1]
    codes: NDArray[np.int32],  # [F] an answered state
    change: float,  # its log-odds minus the present ones
    weight: float,
    normal: NDArray[np.float64],  # [D, D] changed
    moment: NDArray[np.float64],  # [D] changed
    places: NDArray[np.int64],  # [2 F] scratch
    values: NDArray[np.float64],  # [2 F] scratch
) -> None:
    """Add one answer to the normal equations."""
    n = 0
    for f in range(codes.shape[0]):
        if codes[f] == t.space.start[p, f]:
            continue
        if t.space.ordered[f]:
            u = move_size(t, p, f, codes[f])
            places[n], values[n] = columns[f], u
            places[n + 1], values[n + 1] = columns[f] + 1, u * abs(u)
            n += 2
        else:
            places[n], values[n] = columns[f] + codes[f], 1.0
            n += 1
    for a in range(n):
        moment[places[a]] += weight * values[a] * change
        for b in range(n):
            normal[places[a], places[b]] += weight * values[a] * values[b]


@lean
def _dot(a: NDArray[np.float64], b: NDArray[np.float64], n: int) -> float:
    """Return the scalar product of the first n elements."""
    whole = n - n % WIDTH
    lanes = zeros()
    for k in range(0, whole, WIDTH):
        lanes = lanes + load(a, k) * load(b, k)
    product = total(lanes)
    for k in range(whole, n):
        product += a[k] * b[k]
    return product


@lean
def solve(
    normal: NDArray[np.float64],  # [D, D]
    moment: NDArray[np.float64],  # [D]
    factor: NDArray[np.float64],  # [D, D] scratch
    used: NDArray[np.int64],  # [D] scratch
    out: NDArray[np.float64],  # [D] written
) -> None:
    """Solve the ridge regression by a Cholesky factorisation.

    Only over columns that some answer touched: of many features few are, and the others' weights are 0.
    """
    n = 0
    for i in range(moment.shape[0]):
        out[i] = 0.0
        if normal[i, i] > 0.0:
            used[n] = i
            n += 1
    for i in range(n):
        for j in range(i + 1):
            rest = normal[used[i], used[j]] - _dot(factor[i], factor[j], j)
            if i == j:
                factor[i, i] = math.sqrt(max(rest + _RIDGE, 1e-12))
            else:
                factor[i, j] = rest / factor[j, j]
    for i in range(n):
        rest = moment[used[i]]
        for k in range(i):
            rest -= factor[i, k] * out[used[k]]
        out[used[i]] = rest / factor[i, i]
    for i in range(n - 1, -1, -1):
        rest = out[used[i]]
        for k in range(i + 1, n):
            rest -= factor[k, i] * out[used[k]]
        out[used[i]] = rest / factor[i, i]


@lean
def tabulate(
    t: Tables,
    p: int,
    columns: NDArray[np.int64],  # [F + 1]
    weights: NDArray[np.float64],  # [D]
    effect: NDArray[np.float64],  # [V] written: estimated change of the log-odds by moving to a slot
) -> None:
    """Write the estimated change of the log-odds by each single move."""
    for f in range(t.space.ordered.shape[0]):
        known = columns[f + 1] > columns[f]
        for j in range(t.space.used[p, f]):
            if j == t.space.start[p, f] or not known:
                effect[t.space.offsets[f] + j] = 0.0
            elif t.space.ordered[f]:
                u = move_size(t, p, f, j)
                effect[t.space.offsets[f] + j] = weights[columns[f]] * u + weights[columns[f] + 1] * u * abs(u)
            else:
                effect[t.space.offsets[f] + j] = weights[columns[f] + j]


@lean
def effect_of(t: Tables, p: int, effect: NDArray[np.float64], codes: NDArray[np.int32]) -> float:
    """Return the estimated change of the log-odds of a state."""
    total = 0.0
    for f in range(codes.shape[0]):
        if codes[f] != t.space.start[p, f]:
            total += effect[t.space.offsets[f] + codes[f]]
    return total


@lean
def chance(log_odds: float, spread: float) -> float:
    """Return the estimated chance that a state with these estimated log-odds is accepted."""
    return 1.0 / (1.0 + math.exp(min(max(-1.7 * log_odds / spread, -50.0), 50.0)))


# A surrogate of the model that all people share: one hidden layer over the coded features.
#
# It is fitted once, outside (see `search.distill`); here it is only evaluated. Ordered features enter as their scaled
# value and their percentile, others by value.


class SharedNet(NamedTuple):
    """Weights of the shared surrogate; without hidden units nothing was learned, and its estimates are 0."""

    columns: NDArray[np.int64]  # [F + 1] where each feature's inputs begin
    centre: NDArray[np.float64]  # [F] of ordered features' values
    scale: NDArray[np.float64]  # [F]
    inner: NDArray[np.float64]  # [K, H]
    bias: NDArray[np.float64]  # [H]
    outer: NDArray[np.float64]  # [H]
    doubt: float  # how far it is off, in log-odds, near the boundary


@lean
def _add(row: NDArray[np.float64], by: float, out: NDArray[np.float64]) -> None:
    for h in range(out.shape[0]):
        out[h] += by * row[h]


@lean
def _enter(t: Tables, net: SharedNet, p: int, f: int, j: int, sign: float, out: NDArray[np.float64]) -> None:
    """Add (or subtract) the input of feature f at code j to the hidden units."""
    if out.shape[0] == 0:  # nothing was learned, and there are no rows to read
        return
    k = net.columns[f]
    if t.space.ordered[f]:
        v = t.space.offsets[f] + j
        _add(net.inner[k], sign * (t.space.levels[p, v] - net.centre[f]) / net.scale[f], out)
        _add(net.inner[k + 1], sign * t.draws.percentile[p, v], out)
    else:
        _add(net.inner[k + j], sign, out)


@lean
def _read(outer: NDArray[np.float64], hidden: NDArray[np.float64]) -> float:
    """Return the log-odds that the hidden units' sums [H] amount to."""
    H = hidden.shape[0]
    whole = H - H % WIDTH
    lanes = zeros()
    for h in range(0, whole, WIDTH):
        lanes = lanes + load(outer, h) * positive(load(hidden, h))
    log_odds = total(lanes)
    for h in range(whole, H):
        log_odds += outer[h] * max(hidden[h], 0.0)
    return log_odds


@lean
def shared_log_odds(t: Tables, net: SharedNet, p: int, codes: NDArray[np.int32], hidden: NDArray[np.float64]) -> float:
    """Return the surrogate's log-odds of a state, up to a constant; hidden [H] is scratch."""
    copy(net.bias, hidden)
    for f in range(codes.shape[0]):
        _enter(t, net, p, f, codes[f], 1.0, hidden)
    return _read(net.outer, hidden)


@lean
def shared_effects(
    t: Tables,
    net: SharedNet,
    present: NDArray[np.float64],  # [P] written: the log-odds as people are
    effect: NDArray[np.float64],  # [P, V] written: the change by each single move
    hidden: NDArray[np.float64],  # [H] scratch
    moved: NDArray[np.float64],  # [H] scratch
) -> None:
    """Write the surrogate's log-odds of the present states, and its change by each single move."""
    for p in range(present.shape[0]):
        present[p] = shared_log_odds(t, net, p, t.space.start[p], hidden)
        for f in range(t.space.ordered.shape[0]):
            for j in range(t.space.used[p, f]):
                if t.space.allowed[p, t.space.offsets[f] + j] and j != t.space.start[p, f]:
                    copy(hidden, moved)
                    _enter(t, net, p, f, t.space.start[p, f], -1.0, moved)
                    _enter(t, net, p, f, j, 1.0, moved)
                    effect[p, t.space.offsets[f] + j] = _read(net.outer, moved) - present[p]
