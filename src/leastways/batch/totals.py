"""Sums over people, part by part, so that the figures of a million people need none of them in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from leastways.plans import CUT_SHORT, NOT_SEARCHED, STATUSES
from leastways.report.totals import Totals

_SUMS = (
    *("people", "in_need", "with_options", "options", "covered", "satisfied", "cost", "served"),
    *("queries", "solved", "cut_short"),
)


def sums_of(people: Any, solved: int, queries: int) -> dict[str, Any]:
    """Return the sums of a part's table of people.

    `solved` of its rows were searched for, with so many `queries`; the others are like them.
    """
    import pyarrow.compute as pc

    status = people["status"].to_numpy(zero_copy_only=False)
    need = ~np.isin(status.astype(str), NOT_SEARCHED)
    n_options, emc = people["n_options"].to_numpy(), people["emc"].to_numpy()
    served = need & ~np.isnan(emc)
    counts = {name: int((status == name).sum()) for name in STATUSES}
    return {
        "people": len(status),
        "in_need": int(need.sum()),
        "with_options": int((n_options > 0).sum()),
        "options": int(n_options[need].sum()),
        "covered": float(people["covered"].to_numpy()[need].sum()),
        "satisfied": float(people["satisfied"].to_numpy()[need].sum()),
        "cost": float(emc[served].sum()),
        "served": int(served.sum()),
        "queries": queries,
        "solved": solved,
        "cut_short": sum(pc.starts_with(people["reason"], cause).to_numpy().sum().item() for cause in CUT_SHORT),
        "statuses": {name: n for name, n in counts.items() if n},
    }


def are_sums(said: Any) -> bool:
    """Whether this is what `sums_of` returns, as far as names tell."""
    return isinstance(said, Mapping) and said.keys() >= {*_SUMS, "statuses"}


def added(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Add up sums, in the order of the parts: the last bit of a sum depends on it."""
    total: dict[str, Any] = dict.fromkeys(_SUMS, 0)
    statuses = dict.fromkeys(STATUSES, 0)
    for sums in parts:
        for name in _SUMS:
            total[name] += sums[name]
        for name, n in sums["statuses"].items():
            statuses[name] += n
    return {**total, "statuses": {name: n for name, n in statuses.items() if n}}


def totals_of(sums: Mapping[str, Any]) -> Totals:
    """Return the figures that every report shows."""
    need, served = sums["in_need"], sums["served"]
    return Totals(
        people=sums["people"],
        in_need=need,
        with_options=sums["with_options"],
        statuses=dict(sums["statuses"]),
        options=sums["options"] / need if need else float("nan"),
        covered=sums["covered"] / need if need else float("nan"),
        satisfied=sums["satisfied"] / need if need else float("nan"),
        cost=sums["cost"] / served if served else float("nan"),
        queries=sums["queries"],
    )
