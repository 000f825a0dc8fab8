"""Counter-based random numbers inside kernels (SplitMix64), and exact Beta draws.

A generator is one unsigned 64-bit state, handed in and handed back: nothing global, so a draw depends only on the
key it started from. `keyed` gives an independent state for a (key, counter) pair, which is how any cell of a cost
table can be made on its own, in any order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastways._compiled import lean, wrapping

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
UNIT = 2.0**-53
_MASK = 0xFFFFFFFFFFFFFFFF  # counters may be negative
_LAYERS = 256
LAYER_BITS = np.uint64(_LAYERS - 1)
_TAIL, _AREA = 3.6541528853610088, 4.92867323399e-3  # of a ziggurat with 256 layers


@wrapping
def mix64(z: np.uint64) -> np.uint64:
    """SplitMix64's finaliser: a bijection in which every input bit reaches every output bit."""
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@wrapping
def keyed(key: np.uint64, counter: int) -> np.uint64:
    """Return a fresh generator state for this counter under this key."""
    return mix64(key ^ mix64(np.uint64(int(counter) & _MASK) * GOLDEN + GOLDEN))


@wrapping
def uniform(state: np.uint64) -> tuple[np.uint64, float]:
    """Draw from the open interval (0, 1)."""
    state = state + GOLDEN
    return state, (np.float64(mix64(state) >> _S11) + 0.5) * UNIT


@lean
def below(state: np.uint64, n: int) -> tuple[np.uint64, int]:
    """Draw an integer from 0 .. n-1."""
    state, u = uniform(state)
    return state, min(int(u * n), n - 1)


@lean
def exponential(state: np.uint64) -> tuple[np.uint64, float]:
    """Draw from the standard exponential distribution."""
    state, u = uniform(state)
    return state, -math.log(u)


def _ziggurat() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the layers of the ziggurat under the normal density: right edges, and each edge over the one below."""
    edges = np.empty(_LAYERS + 1)
    edges[0] = _AREA / math.exp(-0.5 * _TAIL * _TAIL)
    edges[1] = _TAIL
    for i in range(2, _LAYERS):
        edges[i] = math.sqrt(-2.0 * math.log(_AREA / edges[i - 1] + math.exp(-0.5 * edges[i - 1] ** 2)))
    edges[_LAYERS] = 0.0
    return edges, edges[1:] / edges[:-1]


EDGES, RATIOS = _ziggurat()


@wrapping
def normal(state: np.uint64) -> tuple[np.uint64, float]:
    """Draw from the standard normal distribution: the ziggurat of Marsaglia and Tsang (2000), after Doornik (2005)."""
    while True:
        state = state + GOLDEN
        bits = mix64(state)
        layer = np.int64(bits & LAYER_BITS)
        u = (np.float64(bits >> _S11) + 0.5) * (2.0 * UNIT) - 1.0
        if abs(u) < RATIOS[layer]:
            return state, u * EDGES[layer]
        if layer == 0:  # the tail beyond the last edge
            while True:
                state, a = uniform(state)
                state, b = uniform(state)
                x = math.log(a) / _TAIL
                if -2.0 * math.log(b) >= x * x:
                    return state, (x - _TAIL) if u < 0.0 else (_TAIL - x)
        x = u * EDGES[layer]
        lower = math.exp(-0.5 * (EDGES[layer] * EDGES[layer] - x * x))
        upper = math.exp(-0.5 * (EDGES[layer + 1] * EDGES[layer + 1] - x * x))
        state, v = uniform(state)
        if upper + v * (lower - upper) < 1.0:
            return state, x


@lean
def gamma_draw(state: np.uint64, shape: float) -> tuple[np.uint64, float]:
    """Draw from Gamma(shape, 1) for a shape of 1 or more: Marsaglia and Tsang (2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        state, x = normal(state)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        state, u = uniform(state)
        square = x * x
        if u < 1.0 - 0.0331 * square * square:  # the squeeze: almost always enough
            return state, d * v
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return state, d * v


@lean
def log_gamma_draw(state: np.uint64, shape: float) -> tuple[np.uint64, float]:
    """Draw the logarithm of a Gamma(shape, 1) variate, for any shape: for tiny ones the variate itself underflows."""
    if shape >= 1.0:
        state, x = gamma_draw(state, shape)
        return state, math.log(x)
    state, u = uniform(state)
    state, x = gamma_draw(state, shape + 1.0)
    return state, math.log(x) + math.log(u) / shape


@lean
def beta_draw(state: np.uint64, a: float, b: float) -> tuple[np.uint64, float]:
    """Draw from Beta(a, b) as a ratio of Gammas; in logarithms where one of them may underflow."""
    if a >= 1.0 and b >= 1.0:
        state, x = gamma_draw(state, a)
        state, y = gamma_draw(state, b)
        return state, x / (x + y)
    state, log_x = log_gamma_draw(state, a)
    state, log_y = log_gamma_draw(state, b)
    return state, 1.0 / (1.0 + math.exp(min(log_y - log_x, 700.0)))


# Copying and filling in plain loops: numba compiles these in milliseconds, slice assignments in seconds.


@lean
def copy(source: NDArray[Any], target: NDArray[Any]) -> None:
    """Copy a vector over another of the same length or more."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@lean
def fill(target: NDArray[Any], value: float) -> None:
    """Set every element of a vector."""
    for i in range(target.shape[0]):
        target[i] = value
