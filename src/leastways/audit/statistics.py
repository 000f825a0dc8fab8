"""Resampling and tests: bootstrap, permutations of group labels, and Holm's correction.

People with the same figures are interchangeable, so a resample is a draw of counts over the distinct figures: a few
random numbers instead of one for each person, with exactly the same distribution. It also makes the result independent
of the order of people. Sums over very many people with different figures are drawn from the normal
distribution that they have nearly: the time then does not grow with the people.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEVEL = 0.95  # of every interval
_CELLS = 1 << 22  # counts held at a time
# A count drawn for a distinct figure takes about as long as so many people drawn one by one (measured).
_COUNT_IN_DRAWS, _COUNT_IN_SWAPS = 10, 12
_FEW_COLUMNS = 4
# From so many people on, sums over them count as normal; if figures are skew, from more on. The ends of an interval
# are then off by at most a twentieth of a standard error, no more than 2,000 resamples are by themselves.
LARGE, _SKEW_AT_MOST = 5_000, 0.1
_NO_SPREAD, _ENDLESS = 1e-12, 1e300  # what is left of a spread by rounding; a difference without any spread
_POOL_TO_SAMPLE = 3  # from so many times as many people on, a few of them are chosen one by one


@dataclass(frozen=True)
class Tally:
    """The distinct rows of people's figures, sorted, with the number of people for each."""

    rows: Floats  # [d, c]
    counts: Ints  # [d]

    @classmethod
    def of(cls, figures: Floats) -> Tally:
        """Count people's figures, [people, c]."""
        return cls._summed(figures, np.ones(len(figures), np.int64))

    @classmethod
    def _summed(cls, rows: Floats, counts: Ints) -> Tally:
        """Put equal rows together. (np.unique does the same for rows, and takes ten times as long.)"""
        order = np.lexsort(rows.T[::-1])
        rows, counts = rows[order], counts[order]
        first = np.ones(len(rows), dtype=np.bool_)
        first[1:] = (rows[1:] != rows[:-1]).any(axis=1)
        starts = np.flatnonzero(first)
        return cls(rows[starts], np.add.reduceat(counts, starts) if len(starts) else counts)

    def __add__(self, other: Tally) -> Tally:
        return self._summed(np.concatenate([self.rows, other.rows]), np.concatenate([self.counts, other.counts]))

    @property
    def n(self) -> int:
        """How many people there are."""
        return int(self.counts.sum())

    @property
    def sums(self) -> Floats:
        """The sums over all people, [c]."""
        return np.asarray(self.counts @ self.rows, dtype=np.float64)


def generator(seed: int, *words: str) -> np.random.Generator:
    """Return a random generator that depends on the seed and these words alone."""
    digest = hashlib.blake2b("\x1f".join(words).encode(), digest_size=16).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest, dtype="<u4").tolist()])


def bootstrap_sums(tally: Tally, resamples: int, random: np.random.Generator) -> Floats:
    """Return the sums over people drawn with replacement, as many as there are, [resamples, c]."""
    n, d = tally.n, len(tally.rows)
    if d * _COUNT_IN_DRAWS <= n:
        shares = tally.counts / n
        return _in_blocks(resamples, d, lambda size: random.multinomial(n, shares, size) @ tally.rows)
    if _nearly_normal(tally, n):
        return _normal_sums(tally, n, 1.0, resamples, random)
    whose = np.repeat(np.arange(d), tally.counts)
    few = tally.rows.shape[1] <= _FEW_COLUMNS
    columns = [np.ascontiguousarray(column[whose]) for column in tally.rows.T] if few else []

    def drawn(size: int) -> Floats:
        places = random.integers(0, n, (size, n))
        if few:  # to look figures up is quicker than to count people, as long as there are few figures
            return np.stack([column[places].sum(axis=1) for column in columns], axis=1)
        places = whose[places] + (np.arange(size) * d)[:, None]
        counts = np.bincount(places.ravel(), minlength=size * d).reshape(size, d)
        return np.asarray(counts @ tally.rows, dtype=np.float64)

    return _in_blocks(resamples, n, drawn)


@dataclass(frozen=True)
class Prior:
    """Pseudo-observations of a prior: rows of figures, each with the part of a person that it counts."""

    rows: Floats  # [e, c]
    parts: Floats  # [e] with the sum 1


def weighted_means(tally: Tally, beside: Prior, resamples: int, random: np.random.Generator) -> Floats:
    """Return Bayesian bootstrap draws of means of shares, with a prior: [resamples, c].

    Percentiles of plain resamples are too narrow where nearly all people are served. Rubin's Bayesian bootstrap (1981)
    weights people at random. With the Jeffreys prior it gives Jeffreys' interval of a share, and it also holds for
    people who are served under a part of the cost functions.
    """
    if len(tally.rows) * _COUNT_IN_DRAWS > tally.n and _nearly_normal(tally, tally.n):
        return _normal_sums(tally, tally.n, 1.0, resamples, random) / tally.n
    rows = np.concatenate([tally.rows, beside.rows])
    people = np.concatenate([tally.counts, beside.parts])

    def drawn(size: int) -> Floats:
        weights = random.standard_gamma(people, (size, len(people)))
        return np.asarray(weights @ rows / weights.sum(axis=1, keepdims=True), dtype=np.float64)

    return _in_blocks(resamples, len(rows), drawn)


def permuted_sums(pool: Tally, n: int, permutations: int, random: np.random.Generator) -> Floats:
    """Return the sums over `n` people of the pool, drawn without replacement, [permutations, c]."""
    d, least = len(pool.rows), min(n, pool.n - n)
    method: Literal["marginals", "count"] = "marginals" if d * _COUNT_IN_SWAPS <= least else "count"
    if method == "count" and _nearly_normal(pool, least):
        return _normal_sums(pool, n, (pool.n - n) / (pool.n - 1), permutations, random)
    if method == "count" and pool.n > LARGE and pool.n > _POOL_TO_SAMPLE * least:
        few = _chosen_sums(pool, least, permutations, random)
        return few if least == n else pool.sums - few

    def drawn(size: int) -> Floats:
        counts = random.multivariate_hypergeometric(pool.counts, n, size, method=method)
        return np.asarray(counts @ pool.rows, dtype=np.float64)

    return _in_blocks(permutations, d, drawn)


def _nearly_normal(tally: Tally, n: int) -> bool:
    """Return whether sums over `n` of these people are nearly normal."""
    if n < LARGE:
        return False
    shares, apart = tally.counts / tally.n, tally.rows - tally.sums / tally.n
    spread = np.sqrt(shares @ apart**2)
    skew = np.divide(shares @ apart**3, spread**3, out=np.zeros_like(spread), where=spread > 0)
    return bool((np.abs(skew) <= _SKEW_AT_MOST * np.sqrt(n)).all())


def _normal_sums(tally: Tally, n: int, left: float, total: int, random: np.random.Generator) -> Floats:
    """Draw normal sums over `n` people; `left` is the variance factor of drawing without replacement."""
    mean = tally.sums / tally.n
    apart = (tally.rows - mean) * np.sqrt(tally.counts / tally.n)[:, None]
    drawn = random.multivariate_normal(n * mean, n * left * (apart.T @ apart), total, method="eigh")
    return np.asarray(drawn, dtype=np.float64)


def _chosen_sums(pool: Tally, n: int, total: int, random: np.random.Generator) -> Floats:
    """Draw sums over a few of very many people, one person at a time."""
    rows = np.repeat(pool.rows, pool.counts, axis=0)
    return np.stack([rows[random.choice(len(rows), n, replace=False, shuffle=False)].sum(axis=0) for _ in range(total)])


def _in_blocks(total: int, width: int, drawn: Callable[[int], Floats]) -> Floats:
    """Draw `total` rows in blocks that fit into memory."""
    size = max(1, _CELLS // width)
    return np.concatenate([drawn(min(size, total - first)) for first in range(0, total, size)])


def interval(draws: Floats, value: float, people: int | None = None) -> tuple[float, float]:
    """Return the percentile interval of bootstrap draws; NaN where fewer than half of them are defined.

    Quantiles are draws themselves, without interpolation, so that an infinite one stays what it is. `people`: of how
    many the draws are resamples, to look further out where they are few.
    """
    known = draws[~np.isnan(draws)]
    if np.isnan(value) or 2 * len(known) < len(draws) or not len(known):
        return float("nan"), float("nan")
    beyond = (1 - LEVEL) / 2 if people is None else _tail_share(people)
    low = float(np.quantile(known, beyond, method="lower"))
    high = float(np.quantile(known, 1 - beyond, method="higher"))
    return min(low, value), max(high, value)


def _tail_share(people: int) -> float:
    """Return the share of draws beyond either end of an interval.

    Resamples of n people vary too little, by the factor (n - 1) / n, and take the spread that was seen for the true
    one, as a normal interval does where Student's is due. Both are made up for: the expanded percentile interval of
    T. Hesterberg, "What teachers should know about the bootstrap", The American Statistician 69 (2015), 371-386.
    """
    if people < 2:
        return 0.0
    return float(ndtr(-np.sqrt(people / (people - 1)) * stdtrit(people - 1, (1 + LEVEL) / 2)))


def p_value(pool: Tally, first: Tally, permutations: int, random: np.random.Generator) -> float:
    """Return the two-sided permutation p-value of a difference of ratios of sums (column 0 over column 1).

    The difference is taken over its standard error. By itself it would also be large by chance where a small group is
    spread more widely than a large one, though both have the same mean (Janssen 1997; Chung and Romano 2013). Twice the
    smaller of the two tails, the observed labels counted as one permutation: never 0.
    """
    n = first.n
    if n == 0 or n == pool.n:
        return float("nan")
    ratio = pool.sums[0] / pool.sums[1]
    with_squares = _with_squares(pool, ratio)
    whole = with_squares.sums
    observed = float(_over_error(_with_squares(first, ratio).sums, whole))
    drawn = _over_error(permuted_sums(with_squares, n, permutations, random), whole)
    rounding = 1e-9 * max(abs(observed), 1e-3)  # sums of the same people in another order are the same sum
    above = 1 + int((drawn >= observed - rounding).sum())
    below = 1 + int((drawn <= observed + rounding).sum())
    return min(1.0, 2 * min(above, below) / (permutations + 1))


def _with_squares(tally: Tally, ratio: float) -> Tally:
    """Return the columns a - ratio * b, b and their products, from which standard errors are computed."""
    a, b = tally.rows.T
    a = a - ratio * b
    return Tally(np.stack([a, b, a * a, a * b, b * b], axis=1), tally.counts)


def _over_error(sums: Floats, whole: Floats) -> Floats:
    """Return the difference between some people's ratio and the others', over its standard error (delta method)."""
    (mine, error), (theirs, other_error) = _ratio_and_error(sums), _ratio_and_error(whole - sums)
    difference, square = mine - theirs, error + other_error
    known = square > _NO_SPREAD * whole[2] / whole[1] ** 2
    out = np.where(np.abs(difference) > _NO_SPREAD, np.sign(difference) * _ENDLESS, 0.0)  # all of each side are alike
    return np.divide(difference, np.sqrt(np.where(known, square, 1.0)), out=out, where=known)


def _ratio_and_error(sums: Floats) -> tuple[Floats, Floats]:
    """Return the ratio of some people's sums, and the square of its standard error."""
    a, b, aa, ab, bb = np.moveaxis(sums, -1, 0)
    ratio = a / b
    return ratio, np.maximum(aa - 2 * ratio * ab + ratio**2 * bb, 0.0) / b**2


def holm(p: Floats) -> Floats:
    """Return p-values corrected by Holm's method; NaN marks what was not tested, and stays.

    It limits the chance of a single false alarm among all the tests, however they depend on each other, and groups
    that overlap (women; women of 60 and more) do depend on each other.
    """
    out = np.full(len(p), np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    steps = len(order) - np.arange(len(order))
    out[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * steps))
    return out
