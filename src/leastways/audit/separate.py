"""Whose gap is it? What a group lacks even with the best possible options, and what the search adds to that."""

from __future__ import annotations

import numpy as np
import pandas as pd

from leastways.audit.compare import RATIO_KEYS, Chance
from leastways.audit.figures import Figures
from leastways.audit.groups import Grouping
from leastways.audit.resample import Beside, Floats, Tally, generator, interval, weighed_means

# Half of somebody is beyond the oracle's reach too; of the other half the search serves one part, and loses the other.
_BESIDE = Beside(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0.5, 0.25, 0.25]))
_Draws = tuple[float, Floats]  # a value, and the same in resamples


def oracle_table(figures: Figures, grouping: Grouping, reference: int, k: float, chance: Chance) -> pd.DataFrame:
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


def _drawn(pairs: Floats, chance: Chance, *words: str) -> tuple[_Draws, _Draws]:
    """Return what the oracle reaches and what the search loses of it, each with draws from the same resamples."""
    unknown = np.full(chance.bootstraps, np.nan)
    if not len(pairs):
        return (float("nan"), unknown), (float("nan"), unknown)
    tally = Tally.of(pairs)
    best, lost = (tally.sums / tally.n).tolist()
    if tally.n < 2 and not np.isin(pairs, (0.0, 1.0)).all():  # one person, served in part: see compare.drawn_values
        return (best, unknown), (lost, unknown)
    random = generator(chance.random_state, "oracle", *words)
    bests, losses = weighed_means(tally, _BESIDE, chance.bootstraps, random).T
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
