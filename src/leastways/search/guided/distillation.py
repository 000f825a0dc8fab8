"""Learn one surrogate of the model for all people, from its answers on training rows and moves around them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from threadpoolctl import threadpool_limits

from leastways.costs import CostSamples
from leastways.feasibility import perturb
from leastways.search.guided.surrogate_kernels import SharedNet, log_odds
from leastways.search.protocol import Questions

_HIDDEN = 32
_WIDEST_MOVE = 4  # features changed at most by the moves that are asked about
_POOL = 6  # moves to choose from, per move asked about, once there is a first estimate
_HELD_BACK = 0.1


@dataclass(frozen=True)
class Distilled:
    """A surrogate shared by all people, and the queries it took."""

    net: SharedNet
    queries: int


def distill(
    samples: CostSamples,
    ask: Callable[[Questions], NDArray[np.float64]],
    threshold: float,
    queries: int,
    seed: int,
) -> Distilled:
    """Fit the surrogate within a number of queries: rows, changes of them, then changes near the boundary.

    `samples` holds training rows as people (their cost functions are not used); `ask` gives probabilities.
    """
    draw = np.random.default_rng(seed)
    people = np.arange(samples.n_people)
    present = _new(samples, Questions(people[: queries // 4], samples.tables.space.start[: queries // 4]))
    left = queries - len(present.people)
    asked = _joined(present, _new(samples, _moves(samples, draw, left // 2), present))
    odds = _odds(ask(asked), threshold)
    net = _fit(samples, asked, odds, seed)
    pool = _new(samples, _moves(samples, draw, _POOL * (queries - len(asked.people))), asked)
    if len(pool.people):
        estimate = _evaluate(samples, net, pool)
        # where the estimate is least sure of a yes or a no; drawn, not cut, so that some are checked where it is sure
        nearness = np.exp(-np.abs(estimate)) + 0.01
        n = min(queries - len(asked.people), len(pool.people))
        picked = draw.choice(len(pool.people), n, replace=False, p=nearness / nearness.sum())
        more = Questions(pool.people[picked], pool.codes[picked])
        asked, odds = _joined(asked, more), np.concatenate([odds, _odds(ask(more), threshold)])
    held = draw.random(len(odds)) < _HELD_BACK
    if held.all():
        held[:] = False
    trial = _fit(samples, _some(asked, ~held), odds[~held], seed)
    weight = 1.0 / (1.0 + 0.25 * odds[held] ** 2)
    miss = _evaluate(samples, trial, _some(asked, held)) - odds[held]
    doubt = float(np.sqrt((weight * miss**2).sum() / max(weight.sum(), 1e-9))) if held.any() else 1.0
    return Distilled(_fit(samples, asked, odds, seed)._replace(doubt=doubt), len(odds))


def _new(samples: CostSamples, q: Questions, known: Questions | None = None) -> Questions:
    """Return the states that are asked for the first time: the same row of different people is one state."""
    t = samples.tables
    F = t.space.start.shape[1]
    both = q if known is None else _joined(known, q)
    columns = [
        t.space.levels[both.people, t.space.offsets[f] + both.codes[:, f]] if t.space.ordered[f] else both.codes[:, f]
        for f in range(F)
    ]
    _, first = np.unique(np.stack(columns, axis=1).astype(np.float64), axis=0, return_index=True)
    before = len(both.people) - len(q.people)
    fresh = np.sort(first[first >= before]) - before
    return Questions(q.people[fresh], q.codes[fresh])


def _joined(a: Questions, b: Questions) -> Questions:
    return Questions(np.concatenate([a.people, b.people]), np.concatenate([a.codes, b.codes]))


def _some(q: Questions, rows: NDArray[np.bool_]) -> Questions:
    return Questions(q.people[rows], q.codes[rows])


def _odds(probability: NDArray[np.float64], threshold: float) -> NDArray[np.float64]:
    return np.array([log_odds(p, threshold) for p in probability])


def _moves(samples: CostSamples, draw: np.random.Generator, n: int) -> Questions:
    """Draw permitted moves of random people: 1 to 4 features to any permitted value, within the rules."""
    t = samples.tables
    who, rows = [], []
    state = np.uint64(draw.integers(0, 2**63))
    most = min(_WIDEST_MOVE, t.space.start.shape[1])
    for p in draw.integers(0, samples.n_people, n):
        out = np.empty(t.space.start.shape[1], np.int32)
        state, found = perturb(t.space, p, t.space.start[p], most, out, np.uint64(state))
        if found:
            who.append(p)
            rows.append(out)
    codes = np.array(rows, np.int32).reshape(-1, t.space.start.shape[1])
    return Questions(np.array(who, np.int64), codes)


def _inputs(samples: CostSamples, net: SharedNet, q: Questions) -> NDArray[np.float64]:
    """Return what the surrogate sees of each state, [R, K]; the kernel `_enter` does the same one state at a time."""
    t = samples.tables
    out = np.zeros((len(q.people), int(net.columns[-1])))
    rows = np.arange(len(q.people))
    for f in range(t.space.start.shape[1]):
        k, slot = int(net.columns[f]), t.space.offsets[f] + q.codes[:, f]
        if t.space.ordered[f]:
            out[:, k] = (t.space.levels[q.people, slot] - net.centre[f]) / net.scale[f]
            out[:, k + 1] = t.draws.percentile[q.people, slot]
        else:
            out[rows, k + q.codes[:, f]] = 1.0
    return out


def _evaluate(samples: CostSamples, net: SharedNet, q: Questions) -> NDArray[np.float64]:
    with _one_thread():
        hidden = _inputs(samples, net, q) @ net.inner + net.bias
        return np.asarray(np.maximum(hidden, 0.0) @ net.outer)


def _one_thread() -> threadpool_limits:
    """Keep products of matrices to one thread: sums split among several round differently, so plans would depend on
    their number; and where cores are busy, threads that wait for each other take thirty times as long.
    """
    return threadpool_limits(1, user_api="blas")


def _fit(samples: CostSamples, q: Questions, odds: NDArray[np.float64], seed: int) -> SharedNet:
    """Fit a network with one hidden layer to log-odds."""
    t = samples.tables
    F = t.space.start.shape[1]
    slots = np.diff(t.space.offsets)
    columns = np.concatenate([[0], np.cumsum(np.where(t.space.ordered, 2, slots))]).astype(np.int64)
    values = np.stack([t.space.levels[q.people, t.space.offsets[f] + q.codes[:, f]] for f in range(F)], axis=1)
    spread = values.std(axis=0)
    empty = np.zeros(0)
    net = SharedNet(columns, values.mean(axis=0), np.where(spread > 0, spread, 1.0), empty[None], empty, empty, 1.0)
    fitted = MLPRegressor(
        hidden_layer_sizes=(_HIDDEN,), solver="lbfgs", alpha=1.0, max_iter=400, random_state=seed % 2**32
    )
    with warnings.catch_warnings(), _one_thread():
        warnings.simplefilter("ignore", ConvergenceWarning)  # good enough is good enough: the doubt is measured
        fitted.fit(_inputs(samples, net, q), odds)
    # its last bias goes into the hidden layer: a unit that is always 1
    inner = np.concatenate([fitted.coefs_[0], np.zeros((len(fitted.coefs_[0]), 1))], axis=1)
    bias = np.concatenate([fitted.intercepts_[0], [1.0]])
    outer = np.concatenate([fitted.coefs_[1][:, 0], fitted.intercepts_[1]])
    return net._replace(inner=np.ascontiguousarray(inner), bias=bias, outer=outer)
