"""The few states that serve the most cost functions, and proof that no others serve more: maximum coverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

_NEAR = 1e-6  # a share is bounded to within this
_ROUNDING = 1e-5  # how far sums in single precision may be off
_SECONDS = 60.0  # for the last integer program of a set; what it has proven by then is the bound


class Best(NamedTuple):
    """A set of states, and a bound that holds for all sets of as many."""

    states: NDArray[np.intp]
    bound: float  # on the share of samples that they serve


class _Kinds(NamedTuple):
    """Samples that the same states serve are one kind."""

    served_by: Any  # [K, A] sparse
    counts: NDArray[np.int64]  # [K] samples of a kind
    of_sample: NDArray[np.intp]  # [M]


def best_sets(serves: NDArray[np.bool_], sizes: Sequence[int]) -> list[Best]:
    """Return, for each size, the set of states that serves the largest share of samples, as far as is found out.

    A linear program over few states gives multipliers; by weak duality any multipliers bound the share over all states.
    States that break the program's bound join it, until it is as good as proven. Those that could still be part of a
    set better than the best found by exchanging single states go into an integer program.
    """
    numbers = serves.astype(np.float32)
    greedy = _greedy(numbers, max(sizes))
    return [_best_set(serves, numbers, greedy, N) for N in sizes]


def _best_set(serves: NDArray[np.bool_], numbers: NDArray[np.float32], greedy: NDArray[np.intp], N: int) -> Best:
    union = share_served(serves, np.arange(len(serves)))
    if share_served(serves, greedy[:N]) == union:
        return Best(greedy[:N], union)
    found = _exchanged(serves, numbers, greedy[:N])
    bound, worth = _bounded(serves, numbers, np.union1d(greedy, found), N, union)
    share = share_served(serves, found)
    better = share + 0.5 / serves.shape[1]  # by a sample at least
    if bound < better:
        return Best(found, share)
    possible = np.flatnonzero(bound - (worth.max() - worth) >= better - _ROUNDING)
    return _integer_program(serves, possible, N, Best(found, bound))


def share_served(serves: NDArray[np.bool_], states: NDArray[np.intp]) -> float:
    """Return the share of samples that at least one of some states serves."""
    return float(serves[states].any(axis=0).mean())


def _greedy(numbers: NDArray[np.float32], n: int) -> NDArray[np.intp]:
    """Return up to n states, each serving the most samples that those before it do not."""
    left = np.ones(numbers.shape[1], np.float32)
    picked: list[int] = []
    while len(picked) < n and (gain := numbers @ left).any():
        picked.append(int(gain.argmax()))
        left *= 1.0 - numbers[picked[-1]]
    return np.array(picked, np.intp)


def _exchanged(serves: NDArray[np.bool_], numbers: NDArray[np.float32], states: NDArray[np.intp]) -> NDArray[np.intp]:
    """Exchange states of a set one by one for the best in their place, until none helps."""
    states, since = states.copy(), 0
    while since < len(states):
        for place in range(len(states)):
            left = ~serves[np.delete(states, place)].any(axis=0)
            gain = numbers @ left.astype(np.float32)
            better = gain.max() > gain[states[place]]
            since = 0 if better else since + 1
            states[place] = gain.argmax() if better else states[place]
    return states


def _bounded(
    serves: NDArray[np.bool_], numbers: NDArray[np.float32], few: NDArray[np.intp], N: int, bound: float
) -> tuple[float, NDArray[np.float32]]:
    """Return a bound for any N states, and what each state is worth, [A], by the multipliers that prove it."""
    proof = np.zeros(len(serves), np.float32)
    while True:
        value, multipliers = _coverage_program(serves[few], N)
        worth = numbers @ multipliers.astype(np.float32)
        proven = N * float(worth.max()) + 1.0 - float(multipliers.sum())
        if proven <= bound:
            bound, proof = proven, worth
        more = np.setdiff1d(np.argsort(-worth)[:50], few)
        if bound - value <= _NEAR or not len(more):
            return bound, proof
        few = np.concatenate([few, more])


def _coverage_program(serves: NDArray[np.bool_], N: int) -> tuple[float, NDArray[np.float64]]:
    """Solve the linear program over these states; return its value and each sample's multiplier, 0 to its weight."""
    weight, kinds = 1.0 / serves.shape[1], _kinds_of(serves)
    value, limits, most = _program(kinds, weight, N)
    room = [(0, None)] * len(serves) + [(0, 1)] * len(kinds.counts)  # a limit on states would hide what they are worth
    solved = linprog(value, A_ub=limits, b_ub=most, bounds=room, method="highs")
    if solved.status != 0 or solved.fun is None:
        raise RuntimeError(f"the linear program of {len(kinds.counts)} kinds of samples: {solved.message}")
    each = np.clip(-solved.ineqlin.marginals[: len(kinds.counts)] / kinds.counts, 0.0, weight)
    return -float(solved.fun), each[kinds.of_sample]


def _integer_program(serves: NDArray[np.bool_], possible: NDArray[np.intp], N: int, known: Best) -> Best:
    """Look for a better set among the states that could be part of one."""
    kinds = _kinds_of(serves[possible])
    value, limits, most = _program(kinds, 1.0 / serves.shape[1], N)
    whole = np.append(np.ones(len(possible), np.int64), np.zeros(len(kinds.counts), np.int64))
    solved = milp(
        value,
        constraints=LinearConstraint(limits, -np.inf, most),
        integrality=whole,
        bounds=Bounds(0, 1),
        options={"time_limit": _SECONDS, "mip_rel_gap": 0.0},
    )
    if solved.mip_dual_bound is None:  # the time was up before it proved anything
        return known
    found = known.states if solved.x is None else possible[solved.x[: len(possible)] > 0.5]
    states = max(known.states, found, key=lambda chosen: share_served(serves, chosen))
    # Sets with a state outside of the program serve no more than the best known.
    return Best(states, min(known.bound, max(-solved.mip_dual_bound, share_served(serves, states))))


def _kinds_of(serves: NDArray[np.bool_]) -> _Kinds:
    rows = np.ascontiguousarray(np.packbits(serves, axis=0).T)  # a sample each: which states serve it
    _, first, which, counts = np.unique(
        rows.view(f"V{rows.shape[1]}")[:, 0], return_index=True, return_inverse=True, return_counts=True
    )
    return _Kinds(sparse.csr_array(serves.T[first].astype(np.float64)), counts, which)


def _program(kinds: _Kinds, weight: float, N: int) -> tuple[NDArray[np.float64], Any, NDArray[np.float64]]:
    """Return what is to be lowered, and the limits: at most N states, and a kind counts only if one of them serves it.

    Variables are the states, then the kinds.
    """
    K, A = kinds.served_by.shape
    limits = sparse.vstack(
        [
            sparse.hstack([-kinds.served_by, sparse.eye_array(K)]),
            sparse.csr_array(np.append(np.ones(A), np.zeros(K))[None]),
        ]
    )
    return np.concatenate([np.zeros(A), -weight * kinds.counts]), limits, np.append(np.zeros(K), N)
