"""Slow, obvious twins of the kernels, in plain Python and numpy. The tests compare each kernel with its twin.

Nothing else uses this module: where a kernel and its twin differ, the twin is right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastways._random_kernels import EDGES, RATIOS
from leastways.costs.kernels import TIE, Tables
from leastways.feasibility.kernels import Space
from leastways.search.guided.candidate_kernels import Archive

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
Numbers = NDArray[np.float64]


class Stream:
    """SplitMix64 on Python integers."""

    def __init__(self, key: int, counter: int | None = None) -> None:
        key = int(key)
        self.state = key if counter is None else self.mix(key ^ self.mix((counter * _GOLDEN + _GOLDEN) & _MASK))

    @staticmethod
    def mix(z: int) -> int:
        """Mix the bits of a 64-bit number."""
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def uniform(self) -> float:
        """Draw from (0, 1)."""
        self.state = (self.state + _GOLDEN) & _MASK
        return ((self.mix(self.state) >> 11) + 0.5) * 2.0**-53

    def below(self, n: int) -> int:
        """Draw from 0 .. n-1."""
        return min(int(self.uniform() * n), n - 1)

    def bits(self) -> int:
        """Draw 64 bits."""
        self.state = (self.state + _GOLDEN) & _MASK
        return self.mix(self.state)

    def normal(self) -> float:
        """Draw from the standard normal distribution, by the ziggurat."""
        while True:
            bits = self.bits()
            layer, u = bits & 255, ((bits >> 11) + 0.5) * 2.0**-52 - 1
            x = u * EDGES[layer]
            if abs(u) < RATIOS[layer]:
                return float(x)
            if layer == 0:
                return math.copysign(self._tail(float(EDGES[1])), u)
            outer, inner = (math.exp(-0.5 * (edge * edge - x * x)) for edge in (EDGES[layer], EDGES[layer + 1]))
            if inner + self.uniform() * (outer - inner) < 1:
                return float(x)

    def _tail(self, edge: float) -> float:
        while True:
            x, y = -math.log(self.uniform()) / edge, -math.log(self.uniform())
            if 2 * y >= x * x:
                return edge + x

    def log_gamma(self, shape: float) -> float:
        """Draw the logarithm of a Gamma(shape, 1) variate: Marsaglia and Tsang (2000)."""
        if shape < 1:
            boost = math.log(self.uniform()) / shape
            return self.log_gamma(shape + 1) + boost
        d = shape - 1 / 3
        while True:
            x = self.normal()
            v = (1 + x / math.sqrt(9 * d)) ** 3
            if v > 0 and math.log(self.uniform()) < 0.5 * x * x + d * (1 - v + math.log(v)):
                return math.log(d * v)

    def beta(self, a: float, b: float) -> float:
        """Draw from Beta(a, b)."""
        x, y = self.log_gamma(a), self.log_gamma(b)
        return 1 / (1 + math.exp(min(y - x, 700.0)))


def noisy_draw(row_key: int, sample: int, mean: float, noise_std: float) -> float:
    """Twin of `noisy_row` for one sample: a Beta variate by its angle, drawn from a normal at the mode."""
    if mean <= 0:
        return mean
    size = mean * (1 - mean) / noise_std**2 - 1
    stream = Stream(row_key, sample)
    if min(mean, 1 - mean) * size < 1:
        mean = min(mean, 1 - 1e-12)
        size = max(mean * (1 - mean) / noise_std**2 - 1, 1e-3)
        return stream.beta(mean * size, (1 - mean) * size)
    A, B = 2 * mean * size - 1, 2 * (1 - mean) * size - 1
    mode, precision = math.atan(math.sqrt(A / B)), math.sqrt(A) + math.sqrt(B)
    first = Stream(row_key + 2 * sample * _GOLDEN & _MASK)
    bits = first.bits()
    layer, x = bits & 255, ((bits >> 11) + 0.5) * 2.0**-52 - 1
    z = float(x * EDGES[layer]) if abs(x) < RATIOS[layer] else Stream(row_key, -1 - sample & _MASK).normal()
    u = first.uniform()
    while True:
        theta = mode + z / precision
        if 0 < theta < math.pi / 2:
            higher = A * math.log(math.sin(theta) / math.sin(mode)) + B * math.log(math.cos(theta) / math.cos(mode))
            if math.log(u) < higher + 0.5 * z * z:
                return math.sin(theta) ** 2
        z, u = stream.normal(), stream.uniform()


def draw_profile(
    key: int,
    m: int,
    changeable: Sequence[bool],
    editable: Sequence[int] | None,
    scores: Sequence[float] | None,
    alpha: float | None,
) -> tuple[Numbers, float]:
    """Twin of `draw_profiles` for one person and sample: preference scores (NaN: not editable) and alpha."""
    stream = Stream(key, m)
    size_draw, alpha_draw = stream.uniform(), stream.uniform()
    if editable is not None:
        picked = list(editable)
    else:
        pool = [f for f, free in enumerate(changeable) if free]
        size = min(int(size_draw * len(pool)), len(pool) - 1) + 1 if pool else 0
        for i in range(size):
            j = i + stream.below(len(pool) - i)
            pool[i], pool[j] = pool[j], pool[i]
        picked = pool[:size]
    draws = [-math.log(stream.uniform()) for _ in picked]
    out = np.full(len(changeable), np.nan)
    for f, e in zip(picked, draws, strict=True):
        out[f] = e / math.fsum(draws) if scores is None else scores[f]
    return out, alpha_draw if alpha is None else alpha


def mean_cost(t: Tables, p: int, f: int, j: int, m: int) -> float:
    """Twin of `fill_row` without noise: the mean of step 4 for one cell (no stated costs)."""
    i = int(t.space.start[p, f])
    v = int(t.space.offsets[f]) + j
    if j == i:
        return 0.0
    if not t.space.allowed[p, v] or math.isnan(t.draws.scores[p, f, m]):
        return math.inf
    if not t.space.ordered[f]:
        stream = Stream(Stream(int(t.draws.keys[p]), (-1 - int(t.draws.slots[v])) & _MASK).state, m)
        linear, percentile = stream.uniform(), stream.uniform()
    else:
        last = int(t.space.used[p, f]) - 1
        linear = (j - i) / (last - i) if j > i else (i - j) / i
        percentile = abs(t.draws.percentile[p, v] - t.draws.percentile[p, t.space.offsets[f] + i])
    alpha, score = t.draws.alpha[p, m], t.draws.scores[p, f, m]
    unscaled = alpha * linear + (1 - alpha) * percentile
    return float(TIE * unscaled if score == 1 else (1 - score) * unscaled)


def bounded(costs: Numbers, ceiling: float) -> Numbers:
    """Twin of `bounded`, on arrays."""
    above = np.array([1.0 if math.isinf(c) else 1.0 - 1.0 / (1.0 + max(c - ceiling, 0.0)) for c in costs])
    return np.where(costs <= ceiling, costs, ceiling + TIE * above)


def scaled(costs: Numbers, ceiling: float, slope: float, step: float, step_at: float) -> Numbers:
    """Twin of `scaled`, on arrays."""
    return slope * bounded(costs, ceiling) + np.where(costs < step_at, 0.0, step)


def objective_costs(t: Tables, p: int, codes: NDArray[np.int32]) -> Numbers:
    """Twin of `objective_costs`, from a table whose rows are all filled."""
    rows = [t.cache.cells[t.cache.place[p, t.space.offsets[f] + code]] for f, code in enumerate(codes)]
    return scaled(
        np.sum(rows, axis=0), t.objective.uncovered_cost, t.objective.slope, t.objective.step, t.objective.step_at
    )


def lane_sum(terms: Sequence[float]) -> float:
    """Add in 8 fixed lanes, as the kernels do: lanes of what fills them, a tree over the lanes, then the remainder."""
    whole = len(terms) - len(terms) % 8
    a, b, c, d, e, f, g, h = (_in_order(terms[k:whole:8]) for k in range(8))
    tree = ((a + e) + (c + g)) + ((b + f) + (d + h))
    return _in_order([tree, *terms[whole:]])


def _in_order(terms: Sequence[float]) -> float:
    """Add one after the other; Python's own `sum` compensates for rounding."""
    total = 0.0
    for term in terms:
        total += term
    return total


def emc(costs: Numbers, weights: Numbers, top: float) -> float:
    """EMC of a set on the objective's scale: members' bounded costs [n, M]."""
    lowest = costs.min(axis=0) if len(costs) else np.full(len(weights), top)
    return float((weights * lowest).sum())


def swap_gain(costs: Numbers, place: int, candidate: Numbers, weights: Numbers, top: float) -> float:
    """Exact gain of a swap: EMC before minus EMC after, both from scratch."""
    after = costs.copy()
    after[place] = candidate
    return emc(costs, weights, top) - emc(after, weights, top)


def paper_swap_gain(costs: Numbers, place: int, candidate: Numbers, weights: Numbers, top: float) -> float:
    """The paper's Algorithm 5 for one pair: only samples whose minimum `place` holds."""
    total = 0.0
    for m in range(len(weights)):
        if int(costs[:, m].argmin()) != place:
            continue
        others = np.delete(costs[:, m], place)
        second = min(others.min(), top) if len(others) else top
        lowest = costs[place, m]
        total += weights[m] * (lowest - min(candidate[m], second) if lowest <= candidate[m] else lowest - candidate[m])
    return total


def meets_rules(space: Space, p: int, codes: Sequence[int]) -> bool:
    """Twin of `meets_rules`."""
    rules, levels, offsets, start = space.rules, space.levels, space.offsets, space.start[p].tolist()
    if sum(a != b for a, b in zip(start, codes, strict=True)) > rules.max_changes:
        return False
    for k, literals in enumerate(rules.literal):
        if not any(rules.meets[p, k, int(offsets[f]) + codes[f]] for f in np.flatnonzero(literals).tolist()):
            return False
    for a, b, by, least in zip(
        rules.link_feature, rules.link_requires, rules.link_by, rules.link_at_least, strict=True
    ):
        steps = (levels[p, offsets[a] + codes[a]] - levels[p, offsets[a] + start[a]]) / by
        moved = levels[p, offsets[b] + codes[b]] - levels[p, offsets[b] + start[b]]
        if steps > 0 and np.sign(least) * moved < abs(least) * steps - 1e-9:
            return False
    return True


def state_distance(levels_a: Numbers, levels_b: Numbers, span: Numbers) -> float:
    """Twin of `state_distance` on values instead of codes."""
    by_feature = zip(levels_a, levels_b, span, strict=True)
    return float(np.mean([min(abs(a - b) / s, 1.0) if s > 0 else float(a != b) for a, b, s in by_feature]))


def set_score(
    t: Tables, p: int, codes: NDArray[np.int32], accepted: NDArray[np.bool_], size: int, objective: str
) -> float:
    """Twin of `set_score`, from a table whose rows are all filled."""
    places = t.space.offsets[:-1]
    allowed = np.array([t.space.allowed[p, places + c].all() for c in codes], dtype=bool)
    good = accepted & allowed
    if objective == "emc":
        costs = np.array([objective_costs(t, p, c) for c in codes[good]]).reshape(-1, t.draws.alpha.shape[1])
        return -emc(costs, t.objective.weights[p], t.objective.uncovered_cost + TIE)
    valid = len(np.unique(codes[good], axis=0)) / size
    own, levels = t.space.levels[p, places + t.space.start[p]], t.space.levels[p][places + codes]
    if objective == "sparsity":
        measure = 1 - float((codes != t.space.start[p]).mean())
    elif objective == "proximity":
        measure = float(np.mean([1 - state_distance(x, own, t.space.span) for x in levels]))
    else:
        pairs = [state_distance(levels[i], levels[j], t.space.span) for i in range(len(codes)) for j in range(i)]
        measure = float(np.mean(pairs)) if pairs else 0.0
    return (measure + valid) / 2


def describe_set(t: Tables, p: int, codes: NDArray[np.int32], below: float) -> dict[str, Any]:
    """Twin of `describe_sets` for one person with at least one option, from a table whose rows are all filled."""
    rows = np.array(
        [[t.cache.cells[t.cache.place[p, t.space.offsets[f] + c]] for f, c in enumerate(state)] for state in codes]
    )  # [n, F, M]
    free = (t.draws.scores[p] == 1)[None] & np.isfinite(rows) & np.isnan(t.draws.given[p, 0])
    costs = np.where(free, 0.0, rows).sum(axis=1)
    ranked = np.where(np.isfinite(costs), np.array([objective_costs(t, p, c) for c in codes]), np.inf)
    reached = np.isfinite(costs).any(axis=0)
    owner = ranked.argmin(axis=0)
    lowest = costs[owner, np.arange(costs.shape[1])]
    weights = t.objective.weights[p]
    return {
        "expected": [
            float((weights * c)[np.isfinite(c)].sum() / weights[np.isfinite(c)].sum())
            if np.isfinite(c).any()
            else np.inf
            for c in costs
        ],
        "best_for": [float(weights[reached & (owner == o)].sum()) for o in range(len(codes))],
        "covered": float(weights[reached].sum()),
        "emc": float((weights * lowest)[reached].sum() / weights[reached].sum()) if reached.any() else np.nan,
        "satisfied": float(weights[reached & (lowest < below)].sum()),
    }


def smaller_code(t: Tables, g: Archive, p: int, option: NDArray[np.int32], f: int, estimate: float, halve: bool) -> int:
    """Twin of `smaller_code`, by listing what is between."""
    own, far = int(t.space.start[p, f]), int(option[f])
    sign = 1 if far > own else -1
    refused = {own: estimate}
    accepted = 0.0
    for codes, odds in zip(g.asked[p, : g.n_asked[p]], g.odds[p], strict=False):
        if (np.delete(codes, f) == np.delete(option, f)).all():
            if codes[f] == far:
                accepted = float(odds)
            elif codes[f] in range(own, far, sign) and odds < 0:
                refused[int(codes[f])] = float(odds)
    near = max(refused, key=lambda code: sign * code)
    between = range(near + sign, far, sign)
    if not between:
        return -1
    at = (near + far) // 2
    if not halve and refused[near] < 0:
        levels = t.space.levels[p, t.space.offsets[f] :]
        share = refused[near] / (refused[near] - accepted)
        aim = levels[near] + (levels[far] - levels[near]) * share
        at = next((code for code in between if sign * (levels[code] - aim) >= 0), between[-1])
    return next((code for code in range(at, far, sign) if t.space.allowed[p, t.space.offsets[f] + code]), -1)
