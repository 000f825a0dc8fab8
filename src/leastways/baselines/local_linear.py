"""A linear surrogate of a model around one person, in the way of LIME (Ribeiro, Singh, Guestrin 2016).

States around the person are drawn on the grid they may move in; a logistic regression is fitted to the model's answers
there, nearer states counting for more, and the person as they are for the most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

_WIDTH = 0.75  # of the kernel, times the root of the number of features: what LIME uses
_PENALTY = 0.1  # of the regression's weights
_OWN = 1.0  # what the person's own answer counts, beside all others together
_LEAST = 1e-3  # log-odds that a refused person lacks at least, whatever the fit says
_STEPS = 50
_LONGEST = 2.0


class Ground(NamedTuple):
    """The grid that one person may move in."""

    start: Codes  # [F]
    offsets: NDArray[np.int64]  # [F + 1]
    allowed: NDArray[np.bool_]  # [V]
    levels: Floats  # [V]
    spread: Floats  # [F] range of an ordered feature's levels, 0 for one without an order


def draw_states(ground: Ground, rows: int, seed: int) -> Codes:
    """Draw at most so many states around a person, [R, F]: any number of features, at any permitted values."""
    rng = np.random.default_rng(seed)
    other = [_others(ground, f) for f in range(len(ground.start))]
    free = np.flatnonzero([len(codes) > 0 for codes in other])
    codes = np.tile(ground.start, (rows, 1))
    if not len(free):
        return codes[:0]
    size = rng.integers(1, len(free) + 1, rows)
    order = rng.random((rows, len(free))).argsort(axis=1).argsort(axis=1)
    for i, f in enumerate(free):
        drawn = other[f][rng.integers(0, len(other[f]), rows)]
        codes[:, f] = np.where(order[:, i] < size, drawn, codes[:, f])
    return np.unique(codes, axis=0)


def fit_surrogate(
    ground: Ground, codes: Codes, probability: Floats, present: float, cut: float
) -> tuple[Floats, float]:
    """Fit log-odds to states [R, F], the model's answers there [R], and its answer for the person now.

    Returns what each slot adds, [V], and what the person lacks of the threshold's log-odds, `cut`; of a model that
    answers only 0 and 1, of even odds.
    """
    moves, slots = _design(ground, codes)
    free = sum(len(_others(ground, f)) > 0 for f in range(len(ground.start)))
    near = np.exp(-_squares(ground, codes) / (_WIDTH**2 * free))
    columns = np.ones((len(codes) + 1, moves.shape[1] + 1))  # the first is the person's own log-odds; they stand last
    columns[:-1, 1:], columns[-1, 1:] = moves, 0.0
    answers = np.append(probability, present)
    weights = _logistic(columns, answers, np.append(near, _OWN * near.sum()))
    labels = bool(np.isin(answers, (0.0, 1.0)).all())
    return np.asarray(slots @ weights[1:]), max((0.0 if labels else cut) - float(weights[0]), _LEAST)


def _logistic(columns: Floats, probability: Floats, near: Floats) -> Floats:
    """Return the weights [C] of a penalised logistic regression on probabilities [R], by Newton's method."""
    weights = np.zeros(columns.shape[1])
    penalty = np.full(len(weights), _PENALTY)
    for _ in range(_STEPS):
        mean = expit(columns @ weights)
        slope = columns.T @ (near * (probability - mean)) - penalty * weights
        curve = (columns * (near * mean * (1.0 - mean))[:, None]).T @ columns + np.diag(penalty)
        step = np.linalg.solve(curve, slope)
        step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), 1e-300))  # far out the curve is flat
        weights += step
        if np.abs(step).max() < 1e-8:
            break
    return weights


def _others(ground: Ground, f: int) -> NDArray[np.intp]:
    """Return the codes that a feature may move to."""
    allowed = ground.allowed[ground.offsets[f] : ground.offsets[f + 1]].copy()
    allowed[ground.start[f]] = False
    return np.flatnonzero(allowed)


def _design(ground: Ground, codes: Codes) -> tuple[Floats, Floats]:
    """Return the regression's columns at states, [R, C], and at each slot alone, [V, C].

    An ordered feature has one column, how far it moves; another has one for each value it may take.
    """
    at_states, at_slots = [], []
    V = int(ground.offsets[-1])
    for f in range(len(ground.start)):
        other = _others(ground, f)
        if not len(other):
            continue
        slots = np.arange(ground.offsets[f], ground.offsets[f + 1])
        if ground.spread[f] > 0.0:
            table = ((ground.levels[slots] - ground.levels[slots[ground.start[f]]]) / ground.spread[f])[:, None]
        else:
            table = (np.arange(len(slots))[:, None] == other).astype(np.float64)  # [slots, values]
        at_states.append(table[codes[:, f]])
        wide = np.zeros((V, table.shape[1]))
        wide[slots] = table
        at_slots.append(wide)
    return np.concatenate(at_states, axis=1), np.concatenate(at_slots, axis=1)


def _squares(ground: Ground, codes: Codes) -> Floats:
    """Return squared distances from the person, [R]: shares of the range for ordered features, else 0 or 1."""
    levels = ground.levels[ground.offsets[:-1] + codes]  # [R, F]
    own = ground.levels[ground.offsets[:-1] + ground.start]
    ordered = ground.spread > 0.0
    along = (levels - own) / np.where(ordered, ground.spread, 1.0)
    return np.asarray((np.where(ordered, along, codes != ground.start) ** 2).sum(axis=1))
