"""The paper's measures as pure functions of arrays. NaN where a measure is undefined."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.float64]


def fraction_satisfied(min_costs: ArrayLike, k: float = 1.0) -> float:
    """Return FS@k: the share of people whose cheapest option costs less than k.

    >>> fraction_satisfied([0.5, 2.0, float("inf"), 0.1])
    0.5
    """
    costs = np.asarray(min_costs, dtype=np.float64)
    return float((costs < k).mean()) if len(costs) else float("nan")


def coverage(min_costs: ArrayLike) -> float:
    """Return Cov: the share of people with an option of finite cost."""
    costs = np.asarray(min_costs, dtype=np.float64)
    return float(np.isfinite(costs).mean()) if len(costs) else float("nan")


def population_average_cost(min_costs: ArrayLike) -> float:
    """Return PAC: the mean cost of the cheapest option, over people with an option of finite cost."""
    costs = np.asarray(min_costs, dtype=np.float64)
    covered = costs[np.isfinite(costs)]
    return float(covered.mean()) if len(covered) else float("nan")


def feature_distances(a: Numbers, b: Numbers, span: Numbers) -> Numbers:
    """Return distances by feature, [..., F]: |x - y| / range for numbers, 0 or 1 for categories (span 0).

    A value beyond the ends of a grid may be farther than the range from a point of it: such a distance is 1.
    """
    numeric = span > 0
    scaled = np.minimum(np.abs(a - b) / np.where(numeric, span, 1.0), 1.0)
    return np.where(numeric, scaled, (a != b).astype(np.float64))


def proximity(state: Numbers, options: Numbers, span: Numbers) -> float:
    """Return Prox: 1 minus the mean distance of the options [n, F] to the present state [F]."""
    if not len(options):
        return float("nan")
    return float(1.0 - feature_distances(options, state, span).mean())


def sparsity(state: Numbers, options: Numbers) -> float:
    """Return Spars: 1 minus the mean share of changed features."""
    return float(1.0 - (options != state).mean()) if len(options) else float("nan")


def diversity(options: Numbers, span: Numbers) -> float:
    """Return Div: the mean distance over pairs of options; NaN for fewer than two."""
    if len(options) < 2:
        return float("nan")
    first, second = np.triu_indices(len(options), k=1)
    return float(feature_distances(options[first], options[second], span).mean())


def validity(n_unique_valid: int, n_options: int) -> float:
    """Return Val: distinct valid options over options asked for; NaN if none were."""
    return n_unique_valid / n_options if n_options else float("nan")


def disparate_impact_ratio(group_1: float, group_0: float) -> float:
    """Return the disparate impact ratio of a measure: group 1 over group 0; NaN where undefined (shown as a dash)."""
    return group_1 / group_0 if group_0 and np.isfinite(group_0) else float("nan")
