"""The difference of two shares of the same items: an interval that says how little a few items that all agree prove."""

from __future__ import annotations

import math

from scipy.optimize import bisect
from scipy.stats import norm


def paired_interval(for_first: int, for_second: int, of: int, level: float) -> tuple[float, float]:
    """Return Tango's score interval of the first share less the second.

    It holds every difference that a score test does not reject. The normal approximation around the difference that was
    seen has no width where all items speak for one method; this one is there what Wilson's interval says of the share.

    Parameters
    ----------
    for_first, for_second
        Items that speak for one method alone.
    of
        All items; those that speak for both or for neither count too.
    level
        How often it covers the true difference, about.

    References
    ----------
    T. Tango, "Equivalence test and confidence interval for the difference in proportions for the paired-sample design",
    Statistics in Medicine 17 (1998), 891-908.
    """
    seen = (for_first - for_second) / of
    limit = float(norm.ppf(0.5 + level / 2))

    def beyond(difference: float) -> float:
        return abs(_score(difference, for_first, for_second, of)) - limit

    low = -1.0 if seen == -1 else float(bisect(beyond, -1.0, seen))
    high = 1.0 if seen == 1 else float(bisect(beyond, seen, 1.0))
    return low, high


def _score(difference: float, for_first: int, for_second: int, of: int) -> float:
    """Return by how many standard errors the items are off, if this were the true difference."""
    off = for_first - for_second - of * difference
    # How probable it then is that an item speaks for the second alone, by maximum likelihood: the larger root of
    # a x^2 + b x + c.
    a = 2 * of
    b = (2 * of - for_first + for_second) * difference - for_first - for_second
    c = -for_second * difference * (1 - difference)
    second = (math.sqrt(max(0.0, b * b - 4 * a * c)) - b) / (2 * a)
    variance = of * (2 * second + difference * (1 - difference))
    if off == 0:
        return 0.0
    return off / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, off)
