"""The set of options on one person's samples: its cost, and what adding or swapping a candidate would gain.

EMC over a finite pool is k-medoids with people's samples as points. With the lowest and second-lowest cost kept per
sample, the gains of one candidate against all N members cost O(M + N) (the FastPAM identity).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.arrays import fill
from leastways.kernels.compiled import lean
from leastways.kernels.lanes import WIDTH, load, positive, total, zeros

LEAST_GAIN = 1e-12  # smaller "gains" are rounding


@lean
def nearest_two(
    costs: NDArray[np.float64],  # [N, M] bounded costs of the members
    n: int,
    top: float,  # what a sample without any option counts
    lowest: NDArray[np.float64],  # [M] written
    second: NDArray[np.float64],  # [M] written
    owner: NDArray[np.int32],  # [M] written: who holds the lowest, -1 with no members
) -> None:
    """Find each sample's lowest and second-lowest cost over the members, and who holds the lowest."""
    for m in range(lowest.shape[0]):
        lowest[m], second[m], owner[m] = top, top, -1
    for o in range(n):
        for m in range(lowest.shape[0]):
            c = costs[o, m]
            if c < lowest[m] or owner[m] < 0:
                second[m] = lowest[m]
                lowest[m] = c
                owner[m] = o
            elif c < second[m]:
                second[m] = c


@lean
def add_gain(candidate: NDArray[np.float64], lowest: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return how much EMC falls when the candidate [M] joins the set."""
    M = candidate.shape[0]
    whole = M - M % WIDTH
    lanes = zeros()
    for m in range(0, whole, WIDTH):
        lanes = lanes + load(weights, m) * positive(load(lowest, m) - load(candidate, m))
    gain = total(lanes)
    for m in range(whole, M):
        gain += weights[m] * max(lowest[m] - candidate[m], 0.0)
    return gain


@lean
def swap_gains(
    candidate: NDArray[np.float64],  # [M]
    lowest: NDArray[np.float64],  # [M]
    second: NDArray[np.float64],  # [M]
    owner: NDArray[np.int32],  # [M]
    weights: NDArray[np.float64],  # [M]
    paper: bool,
    gains: NDArray[np.float64],  # [N] written: fall of EMC when member p makes way for the candidate
) -> None:
    """Return the gain of each swap: exact, or as the paper's table counts it (only samples whose minimum p holds)."""
    shared = 0.0
    fill(gains, 0.0)
    for m in range(candidate.shape[0]):
        c, low = candidate[m], lowest[m]
        if c < low:
            gain = weights[m] * (low - c)
            if paper:
                gains[owner[m]] += gain
            else:
                shared += gain
        else:
            gains[owner[m]] -= weights[m] * (min(c, second[m]) - low)
    for p in range(gains.shape[0]):
        gains[p] += shared


@lean
def mean_lowest(lowest: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return EMC on the objective's scale, from each sample's lowest cost."""
    M = lowest.shape[0]
    whole = M - M % WIDTH
    lanes = zeros()
    for m in range(0, whole, WIDTH):
        lanes = lanes + load(weights, m) * load(lowest, m)
    mean = total(lanes)
    for m in range(whole, M):
        mean += weights[m] * lowest[m]
    return mean
