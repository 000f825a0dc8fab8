"""The audit: from plans and columns to compare by, to tables by group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from leastways._progress import reporter
from leastways._validation import check_count, check_number, check_seed
from leastways.audit.caveats import warnings_of
from leastways.audit.changes import change_table, unserved_table
from leastways.audit.compare import Chance, group_table, members_of, ratio_table, with_verdicts
from leastways.audit.curves import curve_grid, curve_table, no_curves
from leastways.audit.figures import Figures, figures_of
from leastways.audit.groups import Grouping, groupings_of, references_of
from leastways.audit.result import Audit
from leastways.audit.separate import oracle_table
from leastways.errors import SettingError
from leastways.evaluation import SimulatedPeople
from leastways.plans import RecoursePlans

EVERYBODY = "everybody"
_OF_PLANS = ("method", "n_options", "budget", "n_costs", "random_state")


def audit_plans(
    plans: RecoursePlans,
    by: str | Sequence[str],
    *,
    groups: pd.DataFrame | None = None,
    truth: SimulatedPeople | Sequence[SimulatedPeople] | None = None,
    oracle: pd.DataFrame | Sequence[pd.DataFrame] | None = None,
    reference: Mapping[str, Any] | None = None,
    k: float = 1.0,
    bootstraps: int = 2000,
    permutations: int = 2000,
    min_group: int = 30,
    random_state: int = 0,
    progress: bool | Callable[[float], None] = False,
) -> Audit:
    """Compare what groups of refused people are offered: how much, how sure that is, and what causes a gap.

    Each column of `by` is a grouping; with two or more, so are each pair of them and all of them at once.

    Parameters
    ----------
    plans
        What `Recourse.recommend` returned.
    by
        Columns of the people or of `groups`. Numbers with more than six values are put into quartiles, or into bins
        that you give: ``"age:25,40,60"`` is below 25, 25 to below 40, and so on. A missing value is a group of its own.
    groups
        Attributes that the model does not see: a DataFrame with a row for each person, by the people's index.
    truth
        Hidden cost functions to judge by (`lw.simulate_people`), one set of people or several of different seeds, over
        which each person's figures are averaged. Without it the plans' own figures are compared, and there is no curve.
    oracle
        What `lw.evaluation.oracle_people` returns for `truth`, one table for each: separates the model's part in a gap
        from the search's.
    reference
        The group that others are compared with, by column: ``{"sex": "male"}``. Else the one with most refused people.
    k
        FS@k counts options that cost less than this.
    bootstraps
        Resamples of people, for the intervals.
    permutations
        Shufflings of group labels, for the p-values.
    min_group
        Figures of fewer people than this, in a group or its reference group, are shown but not tested, and named in
        the warnings.
    random_state
        Seed. The same seed gives the same audit, whatever the order of people.
    progress
        True for a progress bar, or a function that is called with the share done, from 0 to 1.
    """
    if not isinstance(plans, RecoursePlans):
        raise SettingError(f"plans must be RecoursePlans, not {type(plans).__name__}.")
    check_number("k", k, 0, 1e6)
    for name, count in (("bootstraps", bootstraps), ("permutations", permutations), ("min_group", min_group)):
        check_count(name, count)
    chance = Chance(int(bootstraps), int(permutations), int(min_group), check_seed(random_state))
    truths = [truth] if isinstance(truth, SimulatedPeople) else list(truth or ())
    oracles = [oracle] if isinstance(oracle, pd.DataFrame) else list(oracle or ())
    if oracles and not truths:
        raise SettingError("oracle says what is best under hidden cost functions: give the same ones as truth.")
    figures = figures_of(plans, truths, oracles, float(k))
    groupings = groupings_of(plans.people, plans.schema, by, groups)
    refused = np.zeros(len(plans), dtype=np.bool_)
    refused[figures.places] = True
    references = references_of(groupings, refused, reference)
    tables = _compared(plans, figures, groupings, references, float(k), chance, progress)
    settings: dict[str, Any] = {
        "by": [by] if isinstance(by, str) else list(by),
        "references": {g.name: g.groups[base] for g, base in zip(groupings, references, strict=True)},
        "k": float(k),
        "truths": len(truths),
        "oracle": bool(oracles),
        **asdict(chance),
        "features": {f.name: f.wording for f in plans.schema.features},
        "plans": {name: plans.settings.get(name) for name in _OF_PLANS},
    }
    unsettled = {name: int(cases.sum()) for name, cases in figures.unsettled.items()}
    return Audit(
        **tables,
        unserved=unserved_table(plans, figures, groupings),
        warnings=warnings_of(tables["by_group"], tables["ratios"], unsettled, settings),
        settings=settings,
    )


def _compared(
    plans: RecoursePlans,
    figures: Figures,
    groupings: Sequence[Grouping],
    references: Sequence[int],
    k: float,
    chance: Chance,
    progress: bool | Callable[[float], None],
) -> dict[str, Any]:
    """Compare the groups of each grouping, and put the tables of all of them together."""
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in ("by_group", "ratios", "changes", "curves", "oracle")}
    grid = None if figures.costs is None else curve_grid(figures.costs, k)
    with reporter(progress, "comparing groups") as report:
        for done, (grouping, base) in enumerate(zip(groupings, references, strict=True)):
            members = members_of(figures, grouping, chance)
            parts["by_group"].append(group_table(plans, grouping, members))
            parts["ratios"].append(ratio_table(grouping, base, members, chance))
            parts["changes"].append(change_table(plans, grouping))
            if grid is not None:
                parts["curves"].append(curve_table(figures, grouping, grid, chance))
            if figures.best is not None:
                parts["oracle"].append(oracle_table(figures, grouping, base, k, chance))
            report.show((done + 1) / (len(groupings) + 1))
        everybody = Grouping((EVERYBODY,), ((EVERYBODY,),), np.zeros(len(plans), np.int64))
        overall = group_table(plans, everybody, members_of(figures, everybody, chance))
        report.show(1.0)
    by_group = pd.concat(parts["by_group"])
    return {
        "by_group": by_group,
        "overall": overall,
        "ratios": with_verdicts(pd.concat(parts["ratios"]), chance.min_group),
        "changes": pd.concat(parts["changes"]),
        "curves": pd.concat(parts["curves"]) if parts["curves"] else no_curves(),
        "oracle": pd.concat(parts["oracle"]) if parts["oracle"] else None,
    }
