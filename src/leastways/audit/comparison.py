"""Compare groups: values with intervals, ratios with tests, cost curves, and gaps against the oracle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import betaincinv

from leastways.audit.groups import Grouping
from leastways.audit.measures import MEASURES, Figures
from leastways.audit.statistics import (
    LARGE,
    LEVEL,
    Floats,
    Prior,
    Tally,
    bootstrap_sums,
    generator,
    holm,
    interval,
    p_value,
    weighted_means,
)
from leastways.evaluation import disparate_impact_ratio
from leastways.plans import NOT_SEARCHED, STATUSES, RecoursePlans

# A ratio outside of these is a large difference: the four-fifths rule, and the same the other way round.
NOT_LARGE = (0.8, 1.25)
ALPHA = 0.05  # an adjusted p-value below this is a difference
RATIO_KEYS = ("grouping", "group", "metric")
REFERENCE, TOO_FEW, UNSURE = "reference", "too few people", "cannot say"
LOWER, HIGHER, SLIGHTLY, SAME, UNDEFINED = "lower", "higher", "slightly ", "no large difference", "undefined"
# Jeffreys prior: Beta(0.5, 0.5).
JEFFREYS = Prior(np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([0.5, 0.5]))
SERVED = tuple(status for status in STATUSES if status not in NOT_SEARCHED)


@dataclass(frozen=True)
class Resampling:
    """Settings of resamples and tests: their numbers, the seed, and the least size of a group."""

    bootstraps: int
    permutations: int
    min_group: int
    random_state: int


@dataclass(frozen=True)
class GroupMeasure:
    """One measure of one group."""

    tally: Tally  # of the pairs of the people whom it concerns
    value: float
    draws: Floats  # [bootstraps] its value in resamples
    few: int | None = None  # number of people, for an interval that is widened where they are few; None for shares

    @classmethod
    def of(cls, pairs: Floats, share: bool, chance: Resampling, *words: str) -> GroupMeasure:
        """Compute the measure of a group whose people have these pairs, [people, 2]."""
        tally = Tally.of(pairs[pairs[:, 1] > 0])
        if not tally.n:
            return cls(tally, float("nan"), np.full(chance.bootstraps, np.nan))
        top, below = tally.sums
        draws = resampled_values(tally, share, chance.bootstraps, generator(chance.random_state, "bootstrap", *words))
        return cls(tally, float(top / below), draws, None if share else tally.n)

    @property
    def ends(self) -> tuple[float, float]:
        """The interval of the value."""
        return interval(self.draws, self.value, self.few)


def resampled_values(tally: Tally, share: bool, resamples: int, random: np.random.Generator) -> Floats:
    """Return a group's value in resamples of its people.

    A share is drawn with the Jeffreys prior Beta(0.5, 0.5), since plain resamples of people who are all served have no
    spread: from the Beta posterior where each person is served or not, else by a Bayesian bootstrap. Other measures of
    a single person have no interval.
    """
    if share and len(tally.rows) == 1 and tally.rows[0, 0] in (0.0, 1.0):
        return resampled_share(float(tally.sums[0]), tally.n, resamples, random)
    if tally.n < 2:
        return np.full(resamples, np.nan)
    if share:
        return weighted_means(tally, JEFFREYS, resamples, random)[:, 0]
    sums = bootstrap_sums(tally, resamples, random)
    return np.asarray(sums[:, 0] / sums[:, 1], dtype=np.float64)


def resampled_share(hits: float, n: float, resamples: int, random: np.random.Generator) -> Floats:
    """Return draws from Jeffreys' posterior of a share: its quantiles in random order, so that equal counts get equal
    intervals.
    """
    ranks = (random.permutation(resamples) + 0.5) / resamples
    return np.asarray(betaincinv(hits + 0.5, n - hits + 0.5, ranks), dtype=np.float64)


def group_measures(figures: Figures, grouping: Grouping, chance: Resampling) -> list[dict[str, GroupMeasure]]:
    """Compute every measure of every group."""
    codes = grouping.codes[figures.places]
    return [
        {
            name: GroupMeasure.of(pairs[codes == g], MEASURES[name].share, chance, grouping.name, group, name)
            for name, pairs in figures.pairs.items()
        }
        for g, group in enumerate(grouping.groups)
    ]


def group_table(plans: RecoursePlans, grouping: Grouping, members: list[dict[str, GroupMeasure]]) -> pd.DataFrame:
    """Return a row per group: numbers of people by status, and every measure with its interval."""
    status = plans.summary["status"].to_numpy(dtype=object)
    G = len(grouping.parts)
    count = {name: np.bincount(grouping.codes[status == name], minlength=G) for name in STATUSES}
    columns: dict[str, object] = {
        "people": np.bincount(grouping.codes, minlength=G),
        "refused": sum(count[name] for name in SERVED),
        "accepted": count["already_positive"],
        "unusable": count["invalid_input"],
        **{name: count[name] for name in SERVED},
    }
    for name in MEASURES:
        ends = [member[name].ends for member in members]
        columns[name] = [member[name].value for member in members]
        columns[f"{name}_low"], columns[f"{name}_high"] = ([end[i] for end in ends] for i in (0, 1))
    keys = pd.MultiIndex.from_tuples([(grouping.name, g) for g in grouping.groups], names=["grouping", "group"])
    return pd.DataFrame(columns, index=keys)


def ratio_table(
    grouping: Grouping, reference: int, members: list[dict[str, GroupMeasure]], chance: Resampling
) -> pd.DataFrame:
    """Return a row per group and measure: its ratio to the reference group's, the interval, and the p-value.

    Groups are tested where the measure concerns enough people of both: of a hundred refused, two may have a cost.
    """
    base, records = members[reference], []
    for g, group in enumerate(grouping.groups):
        for name, mine in members[g].items():
            other = base[name]
            ratio = disparate_impact_ratio(mine.value, other.value)
            low, high, p = 1.0, 1.0, float("nan")
            if g != reference:
                with np.errstate(divide="ignore", invalid="ignore"):
                    low, high = interval(mine.draws / other.draws, ratio, _fewer(mine, other))
                if min(mine.tally.n, other.tally.n) >= chance.min_group:
                    p = _p_value(mine.tally, other.tally, chance, grouping.name, group, name)
            people = (mine.tally.n, other.tally.n)
            records.append((*people, mine.value, other.value, ratio, low, high, p))
    keys = [(grouping.name, group, name) for group in grouping.groups for name in members[0]]
    counts = ["people", "reference_people"]
    columns = [*counts, "value", "reference_value", "ratio", "low", "high", "p"]
    table = pd.DataFrame(records, pd.MultiIndex.from_tuples(keys, names=list(RATIO_KEYS)), columns, dtype=np.float64)
    table = table.astype(dict.fromkeys(counts, np.int64))
    table.insert(0, "reference", pd.Series(grouping.groups[reference], index=table.index, dtype="str"))
    return table


def _fewer(mine: GroupMeasure, other: GroupMeasure) -> int | None:
    """Return the size of the smaller group, where the interval is widened for few people; else None."""
    return None if mine.few is None or other.few is None else min(mine.few, other.few)


def _p_value(mine: Tally, other: Tally, chance: Resampling, *words: str) -> float:
    return p_value(mine + other, mine, chance.permutations, generator(chance.random_state, "permutation", *words))


def with_verdicts(ratios: pd.DataFrame, min_group: int) -> pd.DataFrame:
    """Add p-values, corrected over all groups of all groupings for each measure, and verdicts."""
    table = ratios.copy()
    table["p_adjusted"] = np.nan
    for name in MEASURES:
        rows = table.index.get_level_values("metric") == name
        table.loc[rows, "p_adjusted"] = holm(table.loc[rows, "p"].to_numpy(np.float64))
    notes = []
    for (_, group, _), row in zip(table.index, table.to_dict("records"), strict=True):
        few = min(row["people"], row["reference_people"]) < min_group
        notes.append(REFERENCE if group == row["reference"] else _verdict(row, few))
    return table.assign(note=pd.Series(notes, index=table.index, dtype="str"))


def _verdict(row: Mapping[Any, Any], few: bool) -> str:
    """Return the verdict on a ratio: a difference, a small one, no large one, or inconclusive."""
    if np.isnan(row["value"]) or np.isnan(row["reference_value"]):
        return UNDEFINED
    if few:
        return TOO_FEW
    near = NOT_LARGE[0] <= row["low"] and row["high"] <= NOT_LARGE[1]
    if row["p_adjusted"] < ALPHA:
        return (SLIGHTLY if near else "") + (LOWER if row["value"] < row["reference_value"] else HIGHER)
    return SAME if near else UNDEFINED if np.isnan(row["ratio"]) else UNSURE


# Prior of one person: half not served even by the oracle, a quarter by the oracle alone, a quarter by the search too.
_ORACLE_PRIOR = Prior(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0.5, 0.25, 0.25]))
_Draws = tuple[float, Floats]  # a value, and the same in resamples


def oracle_table(figures: Figures, grouping: Grouping, reference: int, k: float, chance: Resampling) -> pd.DataFrame:
    """Return a row per group and measure, all in shares of the group's refused people.

    ``value = oracle - lost``, so the gap to the reference group is the oracle's gap (the model's: no search could
    close it) and the difference in what the search loses (the search's). They add up.
    """
    assert figures.best is not None
    codes = grouping.codes[figures.places]
    records, keys = [], []
    for name, (best, lost) in figures.shares(k).items():
        pairs = np.stack([best, lost], axis=1)
        groups = [
            _drawn(pairs[codes == g], chance, grouping.name, group, name) for g, group in enumerate(grouping.groups)
        ]
        for g, group in enumerate(grouping.groups):
            keys.append((grouping.name, group, name))
            cases = figures.unsettled[name][codes == g] / len(figures.best)
            unsettled = {"unsettled": float(cases.mean()) if len(cases) else float("nan")}
            records.append(_record(groups[g], groups[reference], g == reference) | unsettled)
    index = pd.MultiIndex.from_tuples(keys, names=list(RATIO_KEYS))
    return pd.DataFrame(records, index=index)


def _drawn(pairs: Floats, chance: Resampling, *words: str) -> tuple[_Draws, _Draws]:
    """Return the oracle's figure and the search's loss against it, each with its values in the same resamples."""
    unknown = np.full(chance.bootstraps, np.nan)
    if not len(pairs):
        return (float("nan"), unknown), (float("nan"), unknown)
    tally = Tally.of(pairs)
    best, lost = (tally.sums / tally.n).tolist()
    if tally.n < 2 and not np.isin(pairs, (0.0, 1.0)).all():  # one person, served in part: see compare.resampled_values
        return (best, unknown), (lost, unknown)
    random = generator(chance.random_state, "oracle", *words)
    bests, losses = weighted_means(tally, _ORACLE_PRIOR, chance.bootstraps, random).T
    return (best, bests), (lost, losses)


def _record(group: tuple[_Draws, _Draws], base: tuple[_Draws, _Draws], is_base: bool) -> dict[str, float]:
    (best, bests), (lost, losses) = group
    (base_best, base_bests), (base_lost, base_losses) = base
    record = {"value": best - lost, "oracle": best, "lost": lost}
    record["oracle_low"], record["oracle_high"] = interval(bests, best)
    record["reached"] = (best - lost) / best if best else float("nan")
    gaps = {
        "gap": (best - lost - base_best + base_lost, bests - losses - base_bests + base_losses),
        "model_gap": (best - base_best, bests - base_bests),
        "search_gap": (base_lost - lost, base_losses - losses),
    }
    for name, (value, draws) in gaps.items():
        low, high = interval(draws, value)
        three = (0.0, 0.0, 0.0) if is_base else (value, low, high)
        record |= dict(zip((name, f"{name}_low", f"{name}_high"), three, strict=True))
    return record


STEP, SHORTEST, LONGEST = 0.02, 1.5, 3.0
MOST_POINTS = 500  # of a curve; a larger k widens the steps
MOST_RESAMPLES = 500  # the ends of a band are read off a picture, at a hundred points
_ROUNDING = 1e-12  # of shares that are sums
CURVE = ("k", "satisfied", "low", "high", "oracle")


def curve_grid(costs: Floats, k: float) -> Floats:
    """Return the costs to draw a curve at: from 0 to the 99 % quantile, at most `LONGEST`."""
    finite = costs[np.isfinite(costs)]
    most = float(np.quantile(finite, 0.99)) if len(finite) else SHORTEST
    last = max(SHORTEST, min(most, LONGEST), k)
    step = STEP * np.ceil(last / STEP / MOST_POINTS)
    return np.asarray(np.round(np.arange(int(np.ceil(last / step - 1e-9)) + 1) * step, 10), dtype=np.float64)


def curve_table(figures: Figures, grouping: Grouping, grid: Floats, chance: Resampling) -> pd.DataFrame:
    """Return a row per group and cost k: FS@k, its pointwise interval, and the oracle's FS@k where there is one."""
    assert figures.costs is not None
    codes = grouping.codes[figures.places]
    parts = []
    for g, group in enumerate(grouping.groups):
        mine = codes == g
        if not mine.any():
            continue
        best = np.full(len(grid), np.nan)
        if figures.best is not None:
            best = _moments(_reached_at(figures.best[:, mine], grid), len(grid))[0]
        value, low, high = _with_interval(figures.costs[:, mine], grid, chance, grouping.name, group)
        columns = dict(zip(CURVE, (grid, value, low, high, best), strict=True))
        keys = pd.MultiIndex.from_tuples([(grouping.name, group)] * len(grid), names=["grouping", "group"])
        parts.append(pd.DataFrame(columns, index=keys))
    return pd.concat(parts)


def empty_curves() -> pd.DataFrame:
    """Return the table of curves without a row."""
    keys = pd.MultiIndex.from_arrays([pd.Index([], dtype="str")] * 2, names=["grouping", "group"])
    return pd.DataFrame({name: pd.Series(dtype=np.float64) for name in CURVE}).set_index(keys)


def _with_interval(costs: Floats, grid: Floats, chance: Resampling, *words: str) -> tuple[Floats, Floats, Floats]:
    """Return a group's curve and its ends at each k.

    A share of all people, or of none, gets the ends that it has in the tables (see `resampled_values`). No cost is
    below 0.
    """
    value, low, high = _resampled(_reached_at(costs, grid), len(grid), chance, *words)
    end = betaincinv(0.5, costs.shape[1] + 0.5, (1 + LEVEL) / 2)
    low = np.where(value >= 1 - _ROUNDING, 1.0 - end, low)
    high = np.where((value <= _ROUNDING) & (grid > 0), end, high)
    # The share does not fall as k rises, so what is not sure of all is not sure of nearly all.
    return value, np.minimum.accumulate(low[::-1])[::-1], np.maximum.accumulate(high)


def _resampled(
    reached: NDArray[np.int64], points: int, chance: Resampling, *words: str
) -> tuple[Floats, Floats, Floats]:
    """Return the curve and its ends from resamples of people."""
    if len(reached) >= LARGE:
        return _normal_interval(reached, points)
    tally = Tally.of(reached.astype(np.float64))
    curves = Tally(_curves(tally.rows.astype(np.int64), points), tally.counts)
    value = curves.sums / tally.n
    resamples = min(chance.bootstraps, MOST_RESAMPLES)
    ends = np.zeros((2, points))
    ends[1, 1:] = 1.0  # no cost is below 0
    random = generator(chance.random_state, "curve", *words)
    draws = weighted_means(curves, Prior(ends, np.array([0.5, 0.5])), resamples, random)
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return value, np.minimum(low, value), np.maximum(high, value)


def _normal_interval(reached: NDArray[np.int64], points: int) -> tuple[Floats, Floats, Floats]:
    """Return the curve and its ends for very many people, by the normal approximation."""
    mean, square = _moments(reached, points)
    half = NormalDist().inv_cdf((1 + LEVEL) / 2) * np.sqrt(np.maximum(square - mean**2, 0.0) / len(reached))
    return mean, np.maximum(mean - half, 0.0), np.minimum(mean + half, 1.0)


def _moments(reached: NDArray[np.int64], points: int) -> tuple[Floats, Floats]:
    """Return the means of people's curves and of their squares, without holding every curve.

    A person's share at a point is j of T where j of their functions are below it. Squared, that is the sum of
    2 i - 1 over i up to j, over T squared; and the i-th function in rising order is below where j is at least i.
    """
    n, T = reached.shape
    mean, square = np.zeros(points), np.zeros(points)
    for i, column in enumerate(np.sort(reached, axis=1).T, start=1):
        below = np.cumsum(np.bincount(column, minlength=points + 1)[:points]) / n
        mean += below / T
        square += (2 * i - 1) * below / T**2
    return mean, square


def _reached_at(costs: Floats, grid: Floats) -> NDArray[np.int64]:
    """Return the first grid point above each cost, [people, T]; the grid's length where there is none."""
    return np.searchsorted(grid, costs.T, side="right").astype(np.int64)


def _curves(reached: NDArray[np.int64], points: int) -> Floats:
    """Return each person's curve, [people, points]: the share of their cost functions that are below."""
    out = np.zeros((len(reached), points + 1))
    for column in reached.T:
        out[np.arange(len(reached)), column] += 1.0 / reached.shape[1]
    return np.minimum(np.cumsum(out[:, :points], axis=1), 1.0)
