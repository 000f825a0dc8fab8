"""Cost tables: one number per person, (feature, value) slot and sampled cost function.

Each cell depends only on the person's key, the slot and the sample, so rows are made when they are first touched.
The steps are those of docs/explanation/costs.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.arrays import copy, fill
from leastways.kernels.compiled import compiled
from leastways.kernels.random import below, beta_draw, exponential, keyed, uniform

# A feature with score 1 is free by the paper's formula. Its cells hold this share of the unscaled cost instead, so that
# of two free moves the smaller wins; `charged` takes it out of every figure that is reported.
TIE = 1e-6
_RAMP = 1.0 / 1024  # no finite cost reaches the top of the objective's scale: a changed feature costs at most 1
_LEAST_CONCENTRATION = 1e-3  # where noise_std exceeds what a Beta with that mean can have


class Tables(NamedTuple):
    """What the kernels know of a chunk of people."""

    start: NDArray[np.int32]  # [P, F] codes of the present state
    offsets: NDArray[np.int64]  # [F + 1] first slot of each feature
    used: NDArray[np.int32]  # [P, F] slots in use
    ordered: NDArray[np.bool_]  # [F]
    levels: NDArray[np.float64]  # [P, V] values as numbers; places for categories
    span: NDArray[np.float64]  # [F] range of a number, 0 for categories (whose distance is 0 or 1)
    allowed: NDArray[np.bool_]  # [P, V] slots a person may move to, own slot included
    percentile: NDArray[np.float64]  # [P, V]
    given: NDArray[np.float64]  # [P, V] costs a person stated, NaN elsewhere
    scores: NDArray[np.float64]  # [P, M, F] preference scores, NaN where not editable
    alpha: NDArray[np.float64]  # [P, M]
    editors: NDArray[np.int32]  # [P, F, M] the samples in which a feature is editable, packed to the front
    n_editors: NDArray[np.int64]  # [P, F]
    keys: NDArray[np.uint64]  # [P]
    noise_std: float
    weights: NDArray[np.float64]  # [P, M], summing to 1
    uncovered_cost: float
    cells: NDArray[np.float64]  # [P, V, M], rows written on first touch
    ready: NDArray[np.bool_]  # [P, V]


@compiled
def draw_profiles(
    keys: NDArray[np.uint64],  # [P]
    changeable: NDArray[np.bool_],  # [P, F] features that may be in a random subset
    editable: NDArray[np.bool_],  # [P, F] the person's own choice, read where has_editable
    has_editable: NDArray[np.bool_],  # [P]
    given_scores: NDArray[np.float64],  # [P, F], read where has_scores
    has_scores: NDArray[np.bool_],  # [P]
    given_alpha: NDArray[np.float64],  # [P], NaN: draw
    scores: NDArray[np.float64],  # [P, M, F] written; NaN where not editable
    alpha: NDArray[np.float64],  # [P, M] written
    editors: NDArray[np.int32],  # [P, F, M] written
    n_editors: NDArray[np.int64],  # [P, F] written, zeros before
) -> None:
    """Draw each sample's editable features, preference scores and mixing weight (steps 1 to 3)."""
    P, M, F = scores.shape
    order = np.empty(F, np.int64)
    for p in range(P):
        n = 0
        for f in range(F):
            if changeable[p, f]:
                n += 1
        for m in range(M):
            state = keyed(keys[p], m)
            state, size_draw = uniform(state)
            state, alpha_draw = uniform(state)
            alpha[p, m] = alpha_draw if np.isnan(given_alpha[p]) else given_alpha[p]
            k = 0
            if has_editable[p]:
                for f in range(F):
                    if editable[p, f]:
                        order[k] = f
                        k += 1
            elif n > 0:
                j = 0
                for f in range(F):
                    if changeable[p, f]:
                        order[j] = f
                        j += 1
                k = min(int(size_draw * n), n - 1) + 1
                for i in range(k):  # the first k places of a shuffle are a uniform subset of size k
                    state, step = below(state, n - i)
                    order[i], order[i + step] = order[i + step], order[i]
            for f in range(F):
                scores[p, m, f] = np.nan
            total = 0.0
            for i in range(k):
                state, e = exponential(state)
                scores[p, m, order[i]] = e
                total += e
            for i in range(k):
                f = order[i]
                scores[p, m, f] = given_scores[p, f] if has_scores[p] else scores[p, m, f] / total
                editors[p, f, n_editors[p, f]] = m
                n_editors[p, f] += 1
            if k == 1 and not has_scores[p]:
                scores[p, m, order[0]] = 1.0


@compiled
def linear_mean(i: int, j: int, used: int) -> float:
    """Steps from place i to place j over the steps available on that side."""
    return (j - i) / (used - 1 - i) if j > i else (i - j) / i


@compiled
def noisy(state: np.uint64, mean: float, noise_std: float) -> float:
    """Draw the Beta of step 5 with this mean and standard deviation, as near as a Beta with that mean can come."""
    if mean <= 0.0 or noise_std == 0.0:
        return mean
    mean = min(mean, 1.0 - 1e-12)
    concentration = max(mean * (1.0 - mean) / (noise_std * noise_std) - 1.0, _LEAST_CONCENTRATION)
    state, x = beta_draw(state, mean * concentration, (1.0 - mean) * concentration)
    return x


@compiled
def fill_row(t: Tables, p: int, f: int, j: int) -> None:
    """Write the costs of moving feature f of person p to code j, for every sample (steps 4 and 5)."""
    v = t.offsets[f] + j
    i = t.start[p, f]
    row = t.cells[p, v]
    t.ready[p, v] = True
    if j == i:
        fill(row, 0.0)
        return
    fill(row, np.inf)
    if not t.allowed[p, v]:
        return
    if not np.isnan(t.given[p, v]):
        fill(row, t.given[p, v])
        return
    ordered = t.ordered[f]
    linear = linear_mean(i, j, t.used[p, f]) if ordered else 0.0
    percentile = abs(t.percentile[p, v] - t.percentile[p, t.offsets[f] + i]) if ordered else 0.0
    row_key = keyed(t.keys[p], -1 - v)
    for e in range(t.n_editors[p, f]):
        m = t.editors[p, f, e]
        score = t.scores[p, m, f]
        state = keyed(row_key, m)
        if not ordered:
            state, linear = uniform(state)
            state, percentile = uniform(state)
        unscaled = t.alpha[p, m] * linear + (1.0 - t.alpha[p, m]) * percentile
        if score == 1.0:
            row[m] = TIE * unscaled
        else:
            row[m] = noisy(state, (1.0 - score) * unscaled, t.noise_std)


@compiled
def bounded(cost: float, ceiling: float) -> float:
    """Put a cost on the objective's scale: up to the ceiling as it is, beyond it barely rising, infinity at the top.

    So an unreached sample counts as `uncovered_cost`, adding an option never raises EMC, and a reachable option above
    the ceiling still counts for more than none.
    """
    return min(cost, ceiling) + TIE * min(max(cost - ceiling, 0.0) * _RAMP, 1.0)


@compiled
def reachable(t: Tables, p: int, codes: NDArray[np.int32]) -> bool:
    """Whether every change of this state (codes [F]) is one the person may make."""
    for f in range(codes.shape[0]):
        if codes[f] != t.start[p, f] and not t.allowed[p, t.offsets[f] + codes[f]]:
            return False
    return True


@compiled
def _ready_row(t: Tables, p: int, f: int, j: int) -> NDArray[np.float64]:
    """Return the costs [M] of moving feature f of person p to code j, made now if this is the first use."""
    v = t.offsets[f] + j
    if not t.ready[p, v]:
        fill_row(t, p, f, j)
    return t.cells[p, v]


@compiled
def _put_sum(out: NDArray[np.float64], a: NDArray[np.float64], b: NDArray[np.float64]) -> None:
    for m in range(out.shape[0]):
        out[m] = a[m] + b[m]


@compiled
def _add_both(out: NDArray[np.float64], a: NDArray[np.float64], b: NDArray[np.float64]) -> None:
    for m in range(out.shape[0]):
        out[m] += a[m] + b[m]


@compiled
def _bound_all(out: NDArray[np.float64], ceiling: float) -> None:
    for m in range(out.shape[0]):
        out[m] = bounded(out[m], ceiling)


@compiled
def objective_costs(t: Tables, p: int, codes: NDArray[np.int32], out: NDArray[np.float64]) -> None:
    """Write the bounded cost of one state under every sample: codes [F] in, out [M] written.

    Rows are added two at a time, which halves the passes over `out`.
    """
    changed = 0
    held = out
    for f in range(codes.shape[0]):
        if codes[f] == t.start[p, f]:
            continue
        row = _ready_row(t, p, f, codes[f])
        changed += 1
        if changed % 2 == 1:
            held = row
        elif changed == 2:
            _put_sum(out, held, row)
        else:
            _add_both(out, held, row)
    if changed == 0:
        fill(out, 0.0)
    elif changed == 1:
        copy(held, out)
    elif changed % 2 == 1:
        for m in range(out.shape[0]):
            out[m] += held[m]
    _bound_all(out, t.uncovered_cost)


@compiled
def charged(t: Tables, p: int, codes: NDArray[np.int32], out: NDArray[np.float64]) -> None:
    """Write the cost of one state under every sample as it is reported: infinite if unreached, free moves exactly 0."""
    fill(out, 0.0)
    for f in range(codes.shape[0]):
        j = codes[f]
        if j == t.start[p, f]:
            continue
        v = t.offsets[f] + j
        if not t.ready[p, v]:
            fill_row(t, p, f, j)
        stated = not np.isnan(t.given[p, v])
        for m in range(out.shape[0]):
            if stated or t.scores[p, m, f] != 1.0:
                out[m] += t.cells[p, v, m]
            elif np.isinf(t.cells[p, v, m]):
                out[m] = np.inf


@compiled
def charged_many(
    t: Tables,
    people: NDArray[np.int64],  # [R] whose grid each state is in
    codes: NDArray[np.int32],  # [R, F]
    out: NDArray[np.float64],  # [R, M] written
) -> None:
    """Write the reported costs of many states."""
    for r in range(people.shape[0]):
        charged(t, people[r], codes[r], out[r])
