"""A whole row of Beta draws at once, for a fraction of what one at a time costs.

With y = sin(theta)^2, a Beta(a, b) variate has log-density A log sin(theta) + B log cos(theta) in theta, A = 2a - 1 and
B = 2b - 1. Its second derivative is at most -(sqrt A + sqrt B)^2 everywhere, so a normal of that precision at the mode
lies above it: draw from that normal and accept by the ratio, which happens 71 to 100 times in 100. The arithmetic has
no branches, so it runs in vector registers; the few that it does not settle are finished one at a time.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from leastways.kernels.compiled import lean, wrapping
from leastways.kernels.random import EDGES, GOLDEN, LAYER_BITS, RATIOS, UNIT, beta_draw, keyed, mix64, normal, uniform

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
