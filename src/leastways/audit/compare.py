"""Groups side by side: what each has, how far from the reference group, and what chance would explain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import betaincinv

from leastways.audit.figures import MEASURES, Figures
from leastways.audit.groups import Grouping
from leastways.audit.resample import (
    Beside,
    Floats,
    Tally,
    bootstrap_sums,
    generator,
    holm,
    interval,
    p_value,
    weighed_means,
)
from leastways.evaluation import disparate_impact_ratio
from leastways.plans import NOT_SEARCHED, STATUSES, RecoursePlans

# A ratio outside of these is a large difference: the four-fifths rule, and the same the other way round.
NOT_LARGE = (0.8, 1.25)
ALPHA = 0.05  # an adjusted p-value below this is a difference
RATIO_KEYS = ("grouping", "group", "metric")
REFERENCE, TOO_FEW, UNSURE = "reference", "too few people", "cannot say"
LOWER, HIGHER, SLIGHTLY, SAME, UNDEFINED = "lower", "higher", "slightly ", "no large difference", "undefined"
# Beside a group of whom a share is served: half a person who is not, and half a one who is.
_HALF_SERVED = Beside(np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([0.5, 0.5]))
SERVED = tuple(status for status in STATUSES if status not in NOT_SEARCHED)


@dataclass(frozen=True)
class Chance:
    """How chance is asked: how often, from which seed, and how many people a group must have to be compared."""

    bootstraps: int
    permutations: int
    min_group: int
    random_state: int


@dataclass(frozen=True)
class Member:
    """One measure of one group."""

    tally: Tally  # of the pairs of the people whom it concerns
    value: float
    draws: Floats  # [bootstraps] its value in resamples
    few: int | None = None  # of how many people they are resamples; None where an interval need not make up for that

    @classmethod
    def of(cls, pairs: Floats, share: bool, chance: Chance, *words: str) -> Member:
        """Take the measure of a group whose people have these pairs, [people, 2]."""
        tally = Tally.of(pairs[pairs[:, 1] > 0])
        if not tally.n:
            return cls(tally, float("nan"), np.full(chance.bootstraps, np.nan))
        top, below = tally.sums
        draws = drawn_values(tally, share, chance.bootstraps, generator(chance.random_state, "bootstrap", *words))
        return cls(tally, float(top / below), draws, None if share else tally.n)

    @property
    def ends(self) -> tuple[float, float]:
        """The interval of the value."""
        return interval(self.draws, self.value, self.few)


def drawn_values(tally: Tally, share: bool, resamples: int, random: np.random.Generator) -> Floats:
    """Return a group's value in resamples of its people.

    People who are all served, or nearly all, leave little to resample: an interval of no width would claim to know that
    the next one is too. So a share is drawn with half a person who is served, and half a one who is not, beside them:
    from Jeffreys' Beta distribution, if nobody is served in part. One person alone gives no interval of anything else.
    """
    if share and len(tally.rows) == 1 and tally.rows[0, 0] in (0.0, 1.0):
        return drawn_share(float(tally.sums[0]), tally.n, resamples, random)
    if tally.n < 2:
        return np.full(resamples, np.nan)
    if share:
        return weighed_means(tally, _HALF_SERVED, resamples, random)[:, 0]
    sums = bootstrap_sums(tally, resamples, random)
    return np.asarray(sums[:, 0] / sums[:, 1], dtype=np.float64)


def drawn_share(hits: float, n: float, resamples: int, random: np.random.Generator) -> Floats:
    """Return draws from Jeffreys' posterior of a share: its quantiles in random order, so that equal counts get equal
    intervals.
    """
    ranks = (random.permutation(resamples) + 0.5) / resamples
    return np.asarray(betaincinv(hits + 0.5, n - hits + 0.5, ranks), dtype=np.float64)


def members_of(figures: Figures, grouping: Grouping, chance: Chance) -> list[dict[str, Member]]:
    """Take every measure of every group."""
    codes = grouping.codes[figures.places]
    return [
        {
            name: Member.of(pairs[codes == g], MEASURES[name].share, chance, grouping.name, group, name)
            for name, pairs in figures.pairs.items()
        }
        for g, group in enumerate(grouping.groups)
    ]


def group_table(plans: RecoursePlans, grouping: Grouping, members: list[dict[str, Member]]) -> pd.DataFrame:
    """Return a row per group: how many people, what came of them, and every measure with its interval."""
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


def ratio_table(grouping: Grouping, reference: int, members: list[dict[str, Member]], chance: Chance) -> pd.DataFrame:
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


def _fewer(mine: Member, other: Member) -> int | None:
    """Return of how many people the smaller group is, where an interval has to make up for that."""
    return None if mine.few is None or other.few is None else min(mine.few, other.few)


def _p_value(mine: Tally, other: Tally, chance: Chance, *words: str) -> float:
    return p_value(mine + other, mine, chance.permutations, generator(chance.random_state, "permutation", *words))


def with_verdicts(ratios: pd.DataFrame, min_group: int) -> pd.DataFrame:
    """Correct the p-values, all groups of all groupings together for each measure, and say what they mean."""
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
    """Say what a ratio shows: a difference, a small one, none worth speaking of, or nothing at all."""
    if np.isnan(row["value"]) or np.isnan(row["reference_value"]):
        return UNDEFINED
    if few:
        return TOO_FEW
    near = NOT_LARGE[0] <= row["low"] and row["high"] <= NOT_LARGE[1]
    if row["p_adjusted"] < ALPHA:
        return (SLIGHTLY if near else "") + (LOWER if row["value"] < row["reference_value"] else HIGHER)
    return SAME if near else UNDEFINED if np.isnan(row["ratio"]) else UNSURE
