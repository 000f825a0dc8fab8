"""Upper bounds on how many cost functions a few states can serve: maximum coverage as a linear program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

_NEAR = 1e-6  # a share is bounded to within this


def coverage_bounds(serves: NDArray[np.bool_], sizes: Sequence[int]) -> list[float]:
    """Return, for each size of a set, a proven upper bound on the share of samples that so many states serve.

    A linear program over few states gives multipliers; by weak duality any multipliers bound the share over all states.
    States that break the program's bound join it, until it is as good as proven.
    """
    numbers, union = serves.astype(np.float32), float(serves.any(axis=0).mean())
    few = _greedy(numbers, max(sizes))
    bounds = []
    for N in sizes:
        bound = union
        while float(serves[few[:N]].any(axis=0).mean()) < union:
            value, multipliers = _coverage_program(serves[few], N)
            worth = numbers @ multipliers.astype(np.float32)
            bound = min(bound, N * float(worth.max()) + 1.0 - float(multipliers.sum()))
            more = np.setdiff1d(np.argsort(-worth)[:50], few)
            if bound - value <= _NEAR or not len(more):
                break
            few = np.concatenate([few, more])
        bounds.append(bound)
    return bounds


def _greedy(numbers: NDArray[np.float32], n: int) -> NDArray[np.intp]:
    """Return up to n states, each serving the most samples that those before it do not."""
    left = np.ones(numbers.shape[1], np.float32)
    picked: list[int] = []
    while len(picked) < n and (gain := numbers @ left).any():
        picked.append(int(gain.argmax()))
        left *= 1.0 - numbers[picked[-1]]
    return np.array(picked, np.intp)


def _coverage_program(serves: NDArray[np.bool_], N: int) -> tuple[float, NDArray[np.float64]]:
    """Solve the linear program over these states; return its value and each sample's multiplier, 0 to its weight."""
    weight = 1.0 / serves.shape[1]
    rows = np.ascontiguousarray(np.packbits(serves, axis=0).T)  # a sample each: which states serve it
    _, first, which, counts = np.unique(
        rows.view(f"V{rows.shape[1]}")[:, 0], return_index=True, return_inverse=True, return_counts=True
    )
    K, A = len(first), len(serves)
    value = np.concatenate([np.zeros(A), -weight * counts])
    kinds: Any = sparse.csr_array(serves.T[first].astype(np.float64))
    limits = sparse.vstack(
        [sparse.hstack([-kinds, sparse.eye_array(K)]), sparse.csr_array(np.append(np.ones(A), np.zeros(K))[None])]
    )
    room = [(0, None)] * A + [(0, 1)] * K  # a limit on the states too would hide what they are worth
    solved = linprog(value, A_ub=limits, b_ub=np.append(np.zeros(K), N), bounds=room, method="highs")
    if solved.status != 0 or solved.fun is None:
        raise RuntimeError(f"the linear program of {K} kinds of samples and {A} states: {solved.message}")
    each = np.clip(-solved.ineqlin.marginals[:K] / counts, 0.0, weight)
    return -float(solved.fun), each[which]
