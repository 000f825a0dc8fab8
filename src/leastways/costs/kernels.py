"""Cost tables: one number per person, (feature, value) slot and sampled cost function.

Each cell depends only on the person's key, the slot and the sample, so rows are made when they are first touched, and
if the room for them is full, all are dropped and made again as needed: memory is bounded whatever the grids.
The steps are those of docs/explanation/costs.md.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastways._compiled import compiled, lean, wrapping
from leastways._random_kernels import (
    EDGES,
    GOLDEN,
    LAYER_BITS,
    RATIOS,
    UNIT,
    below,
    beta_draw,
    exponential,
    fill,
    keyed,
    mix64,
    normal,
    uniform,
)
from leastways.feasibility import Space

# A feature with score 1 is free by the paper's formula. Its cells hold this share of the unscaled cost instead, so that
# of two free moves the smaller wins; `charged` takes it out of every figure that is reported.
TIE = 1e-6


class Draws(NamedTuple):
    """Preferences of each person's cost samples, from which the costs follow."""

    keys: NDArray[np.uint64]  # [P]
    slots: NDArray[np.int64]  # [V] which random draws a slot has
    percentile: NDArray[np.float64]  # [P, V]
    given: NDArray[np.float64]  # [P, V] costs a person stated, NaN elsewhere
    scores: NDArray[np.float64]  # [P, F, M] preference scores, NaN where not editable
    alpha: NDArray[np.float64]  # [P, M]
    editors: NDArray[np.int32]  # [P, F, M] the samples in which a feature is editable, packed to the front
    n_editors: NDArray[np.int64]  # [P, F]
    noise_std: float


class Objective(NamedTuple):
    """The objective of one sample: slope * bounded cost, plus `step` if the cost is not below `step_at`."""

    weights: NDArray[np.float64]  # [P, M], summing to 1
    uncovered_cost: float
    slope: float
    step: float
    step_at: float


class Cache(NamedTuple):
    """Rows of costs made so far, and room to make them. Threads that work at the same time need their own."""

    cells: NDArray[np.float64]  # [R, M] rows of any person, in order of first use
    place: NDArray[np.int32]  # [P, V] which row is whose, -1 if it is yet to be made
    n_rows: NDArray[np.int64]  # [1] rows made so far
    nothing: NDArray[np.float64]  # [M] zeros
    room: NDArray[np.float64]  # [5, M] scratch
    who: NDArray[np.int32]  # [M] scratch


class Tables(NamedTuple):
    """All inputs of cost kernels for a chunk of people."""

    space: Space
    draws: Draws
    objective: Objective
    cache: Cache


@compiled
def draw_profiles(
    keys: NDArray[np.uint64],  # [P]
    changeable: NDArray[np.bool_],  # [P, F] features that may be in a random subset
    editable: NDArray[np.bool_],  # [P, F] the person's own choice, read where has_editable
    has_editable: NDArray[np.bool_],  # [P]
    given_scores: NDArray[np.float64],  # [P, F], read where has_scores
    has_scores: NDArray[np.bool_],  # [P]
    given_alpha: NDArray[np.float64],  # [P], NaN: draw
    scores: NDArray[np.float64],  # [P, F, M] written; NaN where not editable
    alpha: NDArray[np.float64],  # [P, M] written
) -> None:
    """Draw each sample's editable features, preference scores and mixing weight (steps 1 to 3)."""
    P, F, M = scores.shape
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
                scores[p, f, m] = np.nan
            total = 0.0
            for i in range(k):
                state, e = exponential(state)
                scores[p, order[i], m] = e
                total += e
            for i in range(k):
                f = order[i]
                scores[p, f, m] = given_scores[p, f] if has_scores[p] else scores[p, f, m] / total
            if k == 1 and not has_scores[p]:
                scores[p, order[0], m] = 1.0


@lean
def list_editors(
    scores: NDArray[np.float64],  # [P, F, M]; NaN where not editable
    editors: NDArray[np.int32],  # [P, F, M] written
    n_editors: NDArray[np.int64],  # [P, F] written
) -> None:
    """List the samples in which each feature is editable."""
    P, F, M = scores.shape
    for p in range(P):
        for f in range(F):
            n = 0
            for m in range(M):
                if not np.isnan(scores[p, f, m]):
                    editors[p, f, n] = m
                    n += 1
            n_editors[p, f] = n


@lean
def linear_mean(i: int, j: int, used: int) -> float:
    """Return the steps from code i to code j as a share of the steps available on that side."""
    return (j - i) / (used - 1 - i) if j > i else (i - j) / i


@lean
def make_room(t: Tables, rows: int) -> None:
    """Drop every row if there is no room for so many more."""
    if t.cache.n_rows[0] + rows > t.cache.cells.shape[0]:
        t.cache.n_rows[0] = 0
        for p in range(t.cache.place.shape[0]):
            fill(t.cache.place[p], -1)


@lean
def fill_row(t: Tables, p: int, f: int, j: int) -> None:
    """Write the costs of moving feature f of person p to code j, for every sample (steps 4 and 5)."""
    v = t.space.offsets[f] + j
    i = t.space.start[p, f]
    make_room(t, 1)
    if t.cache.place[p, v] < 0:
        t.cache.place[p, v] = t.cache.n_rows[0]
        t.cache.n_rows[0] += 1
    row = t.cache.cells[t.cache.place[p, v]]
    if j == i:
        fill(row, 0.0)
        return
    fill(row, np.inf)
    if not t.space.allowed[p, v]:
        return
    if not np.isnan(t.draws.given[p, v]):
        fill(row, t.draws.given[p, v])
        return
    ordered = t.space.ordered[f]
    linear = linear_mean(i, j, t.space.used[p, f]) if ordered else 0.0
    percentile = abs(t.draws.percentile[p, v] - t.draws.percentile[p, t.space.offsets[f] + i]) if ordered else 0.0
    row_key = keyed(t.draws.keys[p], -1 - t.draws.slots[v])
    noisy, means = t.cache.who, t.cache.room[0]
    n = int(np.int64(0))  # a plain 0 is a type of its own to numba: what it is given to would be compiled twice
    for e in range(t.draws.n_editors[p, f]):
        m = t.draws.editors[p, f, e]
        if not ordered:
            state, linear = uniform(keyed(row_key, m))
            state, percentile = uniform(state)
        unscaled = t.draws.alpha[p, m] * linear + (1.0 - t.draws.alpha[p, m]) * percentile
        scale = 1.0 - t.draws.scores[p, f, m]
        row[m] = unscaled * (scale if scale > 0.0 else TIE)
        noisy[n], means[n] = m, row[m]
        n += 1 if scale > 0.0 else 0
    if t.draws.noise_std > 0.0:
        noisy_row(keyed(row_key, -1), noisy, t.cache.room, n, t.draws.noise_std, row)


@lean
def bounded(cost: float, ceiling: float) -> float:
    """Put a cost on the objective's scale: up to the ceiling as it is, beyond it barely rising, infinity at the top.

    So an unreached sample counts as `uncovered_cost`, adding an option never raises EMC, and a reachable option above
    the ceiling still counts for more than none, the cheaper the more.
    """
    return min(cost, ceiling) + TIE * (1.0 - 1.0 / (1.0 + max(cost - ceiling, 0.0)))


@lean
def scaled(cost: float, ceiling: float, slope: float, step: float, step_at: float) -> float:
    """Return the objective of one sample: its bounded cost, whether it is satisfied, or a mixture."""
    return slope * bounded(cost, ceiling) + (step if cost >= step_at else 0.0)


@lean
def top_of(t: Tables) -> float:
    """Return the objective of a sample for which no option is possible."""
    return float(t.objective.slope * (t.objective.uncovered_cost + TIE) + t.objective.step)


@lean
def reachable(t: Tables, p: int, codes: NDArray[np.int32]) -> bool:
    """Whether every change of this state (codes [F]) is one the person may make."""
    for f in range(codes.shape[0]):
        if codes[f] != t.space.start[p, f] and not t.space.allowed[p, t.space.offsets[f] + codes[f]]:
            return False
    return True


@lean
def row_of(t: Tables, p: int, f: int, j: int) -> int:
    """Return which row of the cells holds the costs of moving feature f of person p to code j, made now if need be."""
    if t.cache.place[p, t.space.offsets[f] + j] < 0:
        fill_row(t, p, f, j)
    return int(t.cache.place[p, t.space.offsets[f] + j])


@lean
def _make_ready(t: Tables, p: int, codes: NDArray[np.int32]) -> None:
    """Fill the rows of a state's changes that are not there."""
    make_room(t, codes.shape[0])
    for f in range(codes.shape[0]):
        if codes[f] != t.space.start[p, f] and t.cache.place[p, t.space.offsets[f] + codes[f]] < 0:
            fill_row(t, p, f, codes[f])


@lean
def _put_sum(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    c: NDArray[np.float64],
    d: NDArray[np.float64],
    t: Tables,
    out: NDArray[np.float64],
) -> None:
    ceiling, slope, step, step_at = t.objective.uncovered_cost, t.objective.slope, t.objective.step, t.objective.step_at
    for m in range(out.shape[0]):
        out[m] = scaled(a[m] + b[m] + c[m] + d[m], ceiling, slope, step, step_at)


@lean
def _first_four(
    t: Tables, p: int, codes: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the rows of a state's first four changes, of those that are made; zeros where there are fewer."""
    n = 0
    a, b, c, d = t.cache.nothing, t.cache.nothing, t.cache.nothing, t.cache.nothing
    for f in range(codes.shape[0]):
        place = t.cache.place[p, t.space.offsets[f] + codes[f]]
        if codes[f] != t.space.start[p, f] and place >= 0:
            row = t.cache.cells[place]
            if n == 0:
                a = row
            elif n == 1:
                b = row
            elif n == 2:
                c = row
            elif n == 3:
                d = row
            n += 1
    return a, b, c, d


@lean
def _known_below(t: Tables, p: int, codes: NDArray[np.int32], lowest: NDArray[np.float64]) -> bool:
    """Whether the sum of a state's rows, of those that are made, is below some sample's lowest cost.

    Costs are never negative, so that any of a state's rows are enough to rule it out; four are looked at.
    """
    a, b, c, d = _first_four(t, p, codes)
    below, ceiling, slope, step, step_at = (
        0,
        t.objective.uncovered_cost,
        t.objective.slope,
        t.objective.step,
        t.objective.step_at,
    )
    for m in range(lowest.shape[0]):
        below += 1 if scaled(a[m] + b[m] + c[m] + d[m], ceiling, slope, step, step_at) < lowest[m] else 0
    return below > 0


@lean
def may_gain(t: Tables, p: int, codes: NDArray[np.int32], lowest: NDArray[np.float64]) -> bool:
    """Whether a state (codes [F]) may be below some sample's lowest cost (lowest [M]); nothing is written.

    First by the rows that are there: making the others costs far more, and is seldom needed.
    """
    if not _known_below(t, p, codes, lowest):
        return False
    for f in range(codes.shape[0]):
        if codes[f] != t.space.start[p, f] and t.cache.place[p, t.space.offsets[f] + codes[f]] < 0:
            _make_ready(t, p, codes)
            return _known_below(t, p, codes, lowest)
    return True


@lean
def objective_costs(t: Tables, p: int, codes: NDArray[np.int32], out: NDArray[np.float64]) -> None:
    """Write the objective of one state under every sample: codes [F] in, out [M] written.

    Almost every state worth a look changes at most four features; those take one pass.
    """
    _make_ready(t, p, codes)
    a, b, c, d = _first_four(t, p, codes)
    n = 0
    for f in range(codes.shape[0]):
        if codes[f] != t.space.start[p, f]:
            n += 1
            if n == 5:
                fill(out, 0.0)
            if n >= 5:
                row = t.cache.cells[t.cache.place[p, t.space.offsets[f] + codes[f]]]
                for m in range(out.shape[0]):
                    out[m] += row[m]
    if n <= 4:
        _put_sum(a, b, c, d, t, out)
    else:
        for m in range(out.shape[0]):
            out[m] = scaled(
                out[m] + a[m] + b[m] + c[m] + d[m],
                t.objective.uncovered_cost,
                t.objective.slope,
                t.objective.step,
                t.objective.step_at,
            )


@lean
def charged(t: Tables, p: int, codes: NDArray[np.int32], out: NDArray[np.float64]) -> None:
    """Write the cost of one state under every sample as it is reported: infinite if unreached, free moves exactly 0."""
    _make_ready(t, p, codes)
    fill(out, 0.0)
    for f in range(codes.shape[0]):
        if codes[f] == t.space.start[p, f]:
            continue
        v = t.space.offsets[f] + codes[f]
        row = t.cache.cells[t.cache.place[p, v]]
        stated = not np.isnan(t.draws.given[p, v])
        for m in range(out.shape[0]):
            if stated or t.draws.scores[p, f, m] != 1.0:
                out[m] += row[m]
            elif np.isinf(row[m]):
                out[m] = np.inf


@lean
def charged_many(
    t: Tables,
    people: NDArray[np.int64],  # [R] whose grid each state is in
    codes: NDArray[np.int32],  # [R, F]
    out: NDArray[np.float64],  # [R, M] written
) -> None:
    """Write the reported costs of many states."""
    for r in range(people.shape[0]):
        charged(t, people[r], codes[r], out[r])


# A whole row of Beta draws at once, for a fraction of what one at a time costs.
#
# With y = sin(theta)^2, a Beta(a, b) variate has log-density A log sin(theta) + B log cos(theta) in theta, A = 2a - 1
# and B = 2b - 1. Its second derivative is at most -(sqrt A + sqrt B)^2 everywhere, so a normal of that precision at
# the mode lies above it: draw from that normal and accept by the ratio, which happens 71 to 100 times in 100. The
# arithmetic has no branches, so it runs in vector registers; the few that it does not settle are finished one at a
# time.

_S11 = np.uint64(11)
_LEAST_CONCENTRATION = 1e-3  # where noise_std exceeds what a Beta with that mean can have
_NEAR = 0.4  # arguments within which the series below are right to 11 digits


@lean
def noisy(state: np.uint64, mean: float, noise_std: float) -> float:
    """Draw the Beta of step 5 with this mean and standard deviation, as near as a Beta with that mean can come."""
    if mean <= 0.0 or noise_std == 0.0:
        return mean
    mean = min(mean, 1.0 - 1e-12)
    concentration = max(mean * (1.0 - mean) / (noise_std * noise_std) - 1.0, _LEAST_CONCENTRATION)
    state, x = beta_draw(state, mean * concentration, (1.0 - mean) * concentration)
    return x


@lean
def _log1p_near(s: float) -> float:
    """Return log(1 + x) for |x| <= 0.4, given s = x / (2 + x), without branches: 2 atanh(s) as a series."""
    q = s * s
    tail = 1.0 / 11.0 + q * (1.0 / 13.0 + q * (1.0 / 15.0 + q * (1.0 / 17.0 + q * (1.0 / 19.0))))
    return 2.0 * s * (1.0 + q * (1.0 / 3.0 + q * (0.2 + q * (1.0 / 7.0 + q * (1.0 / 9.0 + q * tail)))))


@wrapping
def _draw_normals(
    row_key: np.uint64, samples: NDArray[np.int32], n: int, z: NDArray[np.float64], u: NDArray[np.float64]
) -> None:
    """Draw a normal and a uniform for each of the first n samples, from their own counters under the row's key."""
    for e in range(n):
        counter = np.uint64(samples[e]) * np.uint64(2)
        bits = mix64(row_key + (counter + np.uint64(1)) * GOLDEN)
        layer = np.int64(bits & LAYER_BITS)
        x = (np.float64(np.int64(bits >> _S11)) + 0.5) * (2.0 * UNIT) - 1.0
        z[e] = x * EDGES[layer]
        if abs(x) >= RATIOS[layer]:
            _, z[e] = normal(keyed(row_key, -1 - samples[e]))
        bits = mix64(row_key + (counter + np.uint64(2)) * GOLDEN)
        u[e] = (np.float64(np.int64(bits >> _S11)) + 0.5) * UNIT


@lean
def _propose(
    means: NDArray[np.float64],  # [n]
    n: int,
    noise_std: float,
    z: NDArray[np.float64],  # [n] normal draws
    value: NDArray[np.float64],  # [n] written
    ratio: NDArray[np.float64],  # [n] written: logarithm of the acceptance ratio; NaN where the series do not hold
) -> None:
    """Work out the variate that is z standard deviations from the mode, and how it is to be accepted.

    One long formula in the loop itself: called as a function it would not run in vector registers.
    """
    precision = 1.0 / (noise_std * noise_std)
    for e in range(n):
        mean = means[e]
        size = mean * (1.0 - mean) * precision - 1.0
        A, B = 2.0 * mean * size - 1.0, 2.0 * (1.0 - mean) * size - 1.0
        usable = min(A, B) >= 1.0
        A, B = max(A, 1.0), max(B, 1.0)
        product = math.sqrt(A * B)
        total = A + B
        steepness = math.sqrt(total + 2.0 * product)
        inverse = 1.0 / (product * total * steepness)  # one division for three
        step = z[e] * (inverse * product * total)
        square = step * step
        odd = 1.0 / 120.0 - square * (1.0 / 5040.0 - square * (1.0 / 362880.0))
        even = 1.0 / 720.0 - square * (1.0 / 40320.0 - square * (1.0 / 3628800.0))
        sine = step * (1.0 - square * (1.0 / 6.0 - square * odd))
        drop = square * (0.5 - square * (1.0 / 24.0 - square * even))  # 1 - cosine
        slope = inverse * total * steepness * sine
        up, down = B * slope - drop, -A * slope - drop  # by how much sine and cosine grow, as shares
        near = max(abs(step), max(abs(up), abs(down))) < _NEAR
        halves = 1.0 / ((2.0 + up) * (2.0 + down))
        log_up, log_down = _log1p_near(up * (2.0 + down) * halves), _log1p_near(down * (2.0 + up) * halves)
        value[e] = A * (inverse * product * steepness) * (1.0 + up) * (1.0 + up)
        ratio[e] = A * log_up + B * log_down + 0.5 * z[e] * z[e] if usable & near else np.nan


@lean
def _propose_far(mean: float, noise_std: float, z: float) -> tuple[float, float]:
    """Do as `_propose` for one variate, at any distance, in plain trigonometry."""
    size = mean * (1.0 - mean) / (noise_std * noise_std) - 1.0
    A, B = 2.0 * mean * size - 1.0, 2.0 * (1.0 - mean) * size - 1.0
    mode = math.atan(math.sqrt(A / B))
    theta = mode + z / (math.sqrt(A) + math.sqrt(B))
    if not 0.0 < theta < 0.5 * math.pi:
        return 0.0, -math.inf
    ratio = A * math.log(math.sin(theta) / math.sin(mode)) + B * math.log(math.cos(theta) / math.cos(mode))
    return math.sin(theta) ** 2, ratio + 0.5 * z * z


@lean
def _finish(
    state: np.uint64,
    noise_std: float,
    u: float,
    means: NDArray[np.float64],  # [1]
    z: NDArray[np.float64],  # [1]
    value: NDArray[np.float64],  # [1] changed
    ratio: NDArray[np.float64],  # [1] changed
) -> float:
    """Decide a proposal that is not accepted at first sight, and go on until one is."""
    mean = means[0]
    size = mean * (1.0 - mean) / (noise_std * noise_std) - 1.0
    if mean <= 0.0 or min(mean, 1.0 - mean) * size < 1.0:
        return noisy(state, mean, noise_std)
    while True:
        if np.isnan(ratio[0]):
            value[0], ratio[0] = _propose_far(mean, noise_std, z[0])
        if u < 1.0 + ratio[0] or math.log(u) < ratio[0]:
            return float(value[0])
        state, z[0] = normal(state)
        state, u = uniform(state)
        _propose(means, len(means), noise_std, z, value, ratio)


@lean
def noisy_row(
    row_key: np.uint64,
    samples: NDArray[np.int32],  # [n] whose draws these are
    room: NDArray[np.float64],  # [5, n] the means in the first row; the others are scratch
    n: int,
    noise_std: float,
    out: NDArray[np.float64],  # [M] written at `samples`
) -> None:
    """Draw the Beta of step 5 for every sample, each from its own stream."""
    means, z, u, value, ratio = room[0], room[1], room[2], room[3], room[4]
    _draw_normals(row_key, samples, n, z, u)
    _propose(means, n, noise_std, z, value, ratio)
    for e in range(n):
        if u[e] < 1.0 + ratio[e]:  # as exp(x) >= 1 + x
            out[samples[e]] = value[e]
        else:
            one, state = slice(e, e + 1), keyed(row_key, samples[e])
            out[samples[e]] = _finish(state, noise_std, u[e], means[one], z[one], value[one], ratio[one])
