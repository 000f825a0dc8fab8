"""Counter-based random numbers inside kernels (SplitMix64), and exact Beta draws.

A generator is one unsigned 64-bit state, handed in and handed back: nothing global, so a draw depends only on the
key it started from. `keyed` gives an independent state for a (key, counter) pair, which is how any cell of a cost
table can be made on its own, in any order.
"""

from __future__ import annotations

import math

import numpy as np

from leastways.kernels.compiled import compiled

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_UNIT = 2.0**-53
_LOG4 = math.log(4.0)
_LOG5_PLUS_1 = 1.0 + math.log(5.0)


@compiled
def mix64(z: np.uint64) -> np.uint64:
    """SplitMix64's finaliser: a bijection in which every input bit reaches every output bit."""
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@compiled
def keyed(key: np.uint64, counter: int) -> np.uint64:
    """Return a fresh generator state for this counter under this key."""
    return mix64(key ^ mix64(np.uint64(counter) * GOLDEN + GOLDEN))


@compiled
def uniform(state: np.uint64) -> tuple[np.uint64, float]:
    """Draw from the open interval (0, 1)."""
    state = state + GOLDEN
    return state, (np.float64(mix64(state) >> _S11) + 0.5) * _UNIT


@compiled
def below(state: np.uint64, n: int) -> tuple[np.uint64, int]:
    """Draw an integer from 0 .. n-1."""
    state, u = uniform(state)
    return state, min(int(u * n), n - 1)


@compiled
def exponential(state: np.uint64) -> tuple[np.uint64, float]:
    """Draw from the standard exponential distribution."""
    state, u = uniform(state)
    return state, -math.log(u)


@compiled
def normal(state: np.uint64) -> tuple[np.uint64, float]:
    """Draw from the standard normal distribution (Box-Muller, one of the pair)."""
    state, u = uniform(state)
    state, v = uniform(state)
    return state, math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * v)


@compiled
def log_gamma_draw(state: np.uint64, shape: float) -> tuple[np.uint64, float]:
    """Draw the logarithm of a Gamma(shape, 1) variate: Marsaglia and Tsang (2000).

    The logarithm, because for tiny shapes the variate itself underflows to zero.
    """
    boost = 0.0
    if shape < 1.0:
        state, u = uniform(state)
        boost = math.log(u) / shape
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        state, x = normal(state)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        state, u = uniform(state)
        if math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
            return state, math.log(d * v) + boost


@compiled
def beta_draw(state: np.uint64, a: float, b: float) -> tuple[np.uint64, float]:
    """Draw from Beta(a, b): Cheng's algorithm BB (1978) where a, b > 1, else a ratio of two Gammas in logarithms."""
    if min(a, b) <= 1.0:
        state, log_x = log_gamma_draw(state, a)
        state, log_y = log_gamma_draw(state, b)
        return state, 1.0 / (1.0 + math.exp(min(log_y - log_x, 700.0)))
    low, high = min(a, b), max(a, b)
    total = a + b
    scale = math.sqrt((total - 2.0) / (2.0 * a * b - total))
    gamma = low + 1.0 / scale
    while True:
        state, u = uniform(state)
        state, v = uniform(state)
        t = scale * math.log(u / (1.0 - u))
        w = low * math.exp(t)
        z = u * u * v
        r = gamma * t - _LOG4
        s = low + r - w
        if s + _LOG5_PLUS_1 < 5.0 * z:
            log_z = math.log(z)
            if s < log_z and r + total * math.log(total / (high + w)) < log_z:
                continue
        return state, (w if low == a else high) / (high + w)
