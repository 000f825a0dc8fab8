"""The accepted states worth having: those in which no change can be left out or made smaller."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways.costs.kernels import Tables, charged_many

_BLOCK = 500  # states whose costs are looked at together


class Axis(NamedTuple):
    """What a person may have in one feature, the present code first."""

    codes: NDArray[np.int64]
    before: NDArray[np.int64]  # the place one step closer to the present; of the present, itself


def axes_of(t: Tables, p: int) -> list[Axis]:
    """Return each feature's axis: in an ordered one the codes above the present outwards, then those below."""
    axes = []
    for f, own in enumerate(t.space.start[p]):
        codes = np.flatnonzero(t.space.allowed[p, t.space.offsets[f] : t.space.offsets[f] + t.space.used[p, f]])
        above, below = codes[codes > own], codes[codes < own][::-1]
        before = np.arange(-1, len(above) + len(below))
        before[[0, *([1] if len(above) else []), *([1 + len(above)] if len(below) else [])]] = 0
        axes.append(
            Axis(np.concatenate([[own], above, below]), before if t.space.ordered[f] else np.zeros_like(before))
        )
    return axes


def _spread(reached: NDArray[np.bool_], axes: list[Axis]) -> None:
    """Mark every state that has a marked one on the way to it."""
    for f, axis in enumerate(axes):
        rows = np.moveaxis(reached, f, 0)
        for place in range(1, len(axis.codes)):
            rows[place] |= rows[axis.before[place]]


def minimal_states(ask: Callable[[NDArray[np.int32]], NDArray[np.bool_]], axes: list[Axis]) -> NDArray[np.int32]:
    """Return the accepted states (codes [A, F]) with no other accepted state on the way to them.

    On the way to a state are those that leave out some of its changes or, in ordered features, make them smaller. A
    state that has an accepted one on its way need not be asked about. `ask` takes codes and returns who is accepted.
    """
    outer, inner = axes[0], axes[1:]
    shape = tuple(len(axis.codes) for axis in inner)
    reached = np.zeros((len(outer.codes), *shape), np.bool_)
    found = []
    for place, code in enumerate(outer.codes):
        if place:
            reached[place] = reached[outer.before[place]]
        free = np.argwhere(~reached[place])
        codes = np.empty((len(free), len(axes)), np.int32)
        codes[:, 0] = code
        for f, axis in enumerate(inner):
            codes[:, f + 1] = axis.codes[free[:, f]]
        accepted = ask(codes)
        reached[place][tuple(free[accepted].T)] = True
        _spread(reached[place], inner)
        nearer = np.zeros(len(free), np.bool_)
        for f, axis in enumerate(inner):
            closer = free.copy()
            closer[:, f] = axis.before[free[:, f]]
            nearer |= (closer[:, f] != free[:, f]) & reached[place][tuple(closer.T)]
        found.append(codes[accepted & ~nearer])
    return np.concatenate(found)


def served(t: Tables, p: int, states: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return which cost functions each state serves below 1: [states, samples]."""
    out = np.empty((len(states), t.draws.alpha.shape[1]), np.bool_)
    costs = np.empty((_BLOCK, out.shape[1]))
    for first in range(0, len(states), _BLOCK):
        block = states[first : first + _BLOCK]
        charged_many(t, np.full(len(block), p, np.int64), block, costs[: len(block)])
        out[first : first + _BLOCK] = costs[: len(block)] < 1.0
    return out
