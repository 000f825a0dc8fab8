"""A surrogate of the model that all people share: one hidden layer over the coded features.

It is fitted once, outside (see `search.distill`); here it is only evaluated. Ordered features enter as their scaled
value and their percentile, others by value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.arrays import copy
from leastways.kernels.compiled import lean
from leastways.kernels.lanes import WIDTH, load, positive, total, zeros
from leastways.kernels.tables import Tables


class SharedNet(NamedTuple):
    """The weights. No hidden units: nothing was learned, and everything it says is 0."""

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
    """Add (or take away) what feature f at code j sends to the hidden units."""
    if out.shape[0] == 0:  # nothing was learned, and there are no rows to read
        return
    k = net.columns[f]
    if t.ordered[f]:
        v = t.offsets[f] + j
        _add(net.inner[k], sign * (t.levels[p, v] - net.centre[f]) / net.scale[f], out)
        _add(net.inner[k + 1], sign * t.percentile[p, v], out)
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
def shared_lifts(
    t: Tables,
    net: SharedNet,
    present: NDArray[np.float64],  # [P] written: the log-odds as people are
    lift: NDArray[np.float64],  # [P, V] written: the change by each single move
    hidden: NDArray[np.float64],  # [H] scratch
    moved: NDArray[np.float64],  # [H] scratch
) -> None:
    """Write what the surrogate says of everyone as they are, and of their single moves."""
    for p in range(present.shape[0]):
        present[p] = shared_log_odds(t, net, p, t.start[p], hidden)
        for f in range(t.ordered.shape[0]):
            for j in range(t.used[p, f]):
                if t.allowed[p, t.offsets[f] + j] and j != t.start[p, f]:
                    copy(hidden, moved)
                    _enter(t, net, p, f, t.start[p, f], -1.0, moved)
                    _enter(t, net, p, f, j, 1.0, moved)
                    lift[p, t.offsets[f] + j] = _read(net.outer, moved) - present[p]
