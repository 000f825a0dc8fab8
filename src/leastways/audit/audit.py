"""Run an audit, and hold its result: frozen tables by group, with JSON and text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leastways._messages import nearest
from leastways._progress import reporter
from leastways._validation import check_count, check_number, check_seed
from leastways.audit.comparison import (
    Resampling,
    curve_grid,
    curve_table,
    empty_curves,
    group_measures,
    group_table,
    oracle_table,
    ratio_table,
    with_verdicts,
)
from leastways.audit.groups import Grouping, groupings_of, references_of
from leastways.audit.measures import Figures, figures_of
from leastways.audit.wording import warnings_of
from leastways.errors import DataError, SettingError
from leastways.evaluation import SimulatedPeople
from leastways.plans import (
    STATUSES,
    RecoursePlans,
    document_from_json,
    document_to_json,
    frame_from_json,
    frame_to_json,
)

_FORMAT, _VERSION = "leastways audit", 1
# The tables and the columns that are their index.
_KEYS = {
    "by_group": ("grouping", "group"),
    "overall": ("grouping", "group"),
    "ratios": ("grouping", "group", "metric"),
    "curves": ("grouping", "group"),
    "changes": ("grouping", "group", "feature"),
    "oracle": ("grouping", "group", "metric"),
    "unserved": (),
}


@dataclass(frozen=True, eq=False)
class Audit:
    """Result of an audit: measures by group with intervals, ratios with tests, and the causes of gaps.

    A grouping is a column (`sex`) or several at once (`sex × race`); a group is a value of it. Rates are
    shares of refused people: people whom the model accepts as they are, and unusable rows, are counted separately.

    Attributes
    ----------
    by_group : DataFrame
        Index grouping, group. Counts: people, refused, accepted, unusable, and the refused by status (found, partial,
        none_exists, none_found). Measures: coverage, satisfied (FS@k), cost, options, queries, each with its 95 %
        interval in `_low` and `_high`.
    overall : DataFrame
        The same for all people, in one row.
    ratios : DataFrame
        Index grouping, group, metric. The group's value over its reference group's (the disparate impact ratio):
        reference, people and reference_people (how many the metric is of), value, reference_value, ratio, low, high, p
        (permutation test), p_adjusted (Holm, over all groups of a metric), note. Notes: `lower` and `higher` (adjusted
        p below 0.05), `slightly lower` and `slightly higher` (the same, with the whole interval within 0.8 to
        1.25), `no large difference` (none shown, and the interval lies within these), `cannot say` (none shown, but it
        does not), `too few people` (not tested), `undefined`, `reference`.
    curves : DataFrame
        Index grouping, group. FS@k by cost k: k, satisfied, low, high, oracle. Empty without hidden cost functions.
    changes : DataFrame
        Index grouping, group, feature. How often options change it: people (share of people with options
        who have one that changes it), options (share of the options).
    unserved : DataFrame
        The refused people without any option, by label: their groups, status, reason.
    oracle : DataFrame or None
        Index grouping, group, metric. The best possible beside what was reached: value, oracle, lost (their
        difference), reached (their ratio), and the gap to the reference group in two parts that add up: model_gap,
        which no search could close, and search_gap; each with its interval; unsettled (share of the group's cases,
        people times hidden cost functions, in which the oracle stopped too early to say).
    warnings : list of str
        What the figures cannot say, and why.
    settings : dict
        How the audit was made.
    """

    by_group: pd.DataFrame
    overall: pd.DataFrame
    ratios: pd.DataFrame
    curves: pd.DataFrame
    changes: pd.DataFrame
    unserved: pd.DataFrame
    oracle: pd.DataFrame | None
    warnings: list[str]
    settings: Mapping[str, Any]

    @property
    def groupings(self) -> list[str]:
        """The names of the groupings."""
        return list(dict.fromkeys(self.by_group.index.get_level_values("grouping")))

    def grouping(self, name: str) -> pd.DataFrame:
        """Return the rows of `by_group` of one grouping, by group."""
        if name not in self.groupings:
            known = ", ".join(map(repr, self.groupings))
            raise SettingError(f"there is no grouping {name!r}; there are: {known}.{nearest(name, self.groupings)}")
        rows = self.by_group.index.get_level_values("grouping") == name
        return self.by_group[rows].droplevel("grouping")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Audit):
            return NotImplemented
        same = self.warnings == other.warnings and dict(self.settings) == dict(other.settings)
        return same and all(_equal(getattr(self, name), getattr(other, name)) for name in _KEYS)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        refused = int(self.overall["refused"].iloc[0])
        return f"Audit({refused} refused people by {', '.join(self.groupings)}; {len(self.warnings)} warnings)"

    def to_text(self) -> str:
        """Return the audit in sentences."""
        from leastways.audit.wording import text_of

        return text_of(self)

    __str__ = to_text

    def to_json(self, path: str | Path | None = None) -> str:
        """Write everything as versioned JSON, to a file if a path is given; `from_json` brings back an equal audit."""
        head = {"format": _FORMAT, "version": _VERSION, "settings": dict(self.settings), "warnings": self.warnings}
        tables = {name: _to_json(getattr(self, name), keys) for name, keys in _KEYS.items()}
        return document_to_json(head | tables, path)

    @classmethod
    def from_json(cls, source: str | Path) -> Audit:
        """Read an audit from a JSON file, or from JSON text."""
        data, where = document_from_json(source, _FORMAT, _VERSION, "a leastways audit")
        try:
            tables: dict[str, Any] = {name: _from_json(data[name], keys) for name, keys in _KEYS.items()}
            return cls(**tables, warnings=list(data["warnings"]), settings=dict(data["settings"]))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{where} is damaged: {type(error).__name__}: {error}") from error


def _equal(one: pd.DataFrame | None, other: pd.DataFrame | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.equals(other)


def _to_json(table: pd.DataFrame | None, keys: tuple[str, ...]) -> dict[str, Any] | None:
    if table is None:
        return None
    return frame_to_json(table.reset_index() if keys else table)


def _from_json(data: dict[str, Any] | None, keys: tuple[str, ...]) -> pd.DataFrame | None:
    if data is None:
        return None
    table = frame_from_json(data)
    return table.set_index(list(keys)) if keys else table


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
    """Compare the recourse of groups of refused people: measures, intervals, tests, and the causes of gaps.

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
        Hidden cost functions to measure by (`lw.simulate_people`), one set of people or several of different seeds,
        over which each person's figures are averaged. Without it the plans' own figures are compared, without a curve.
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
    chance = Resampling(int(bootstraps), int(permutations), int(min_group), check_seed(random_state))
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
    chance: Resampling,
    progress: bool | Callable[[float], None],
) -> dict[str, Any]:
    """Compare the groups of each grouping, and put the tables of all of them together."""
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in ("by_group", "ratios", "changes", "curves", "oracle")}
    grid = None if figures.costs is None else curve_grid(figures.costs, k)
    with reporter(progress, "comparing groups") as report:
        for done, (grouping, base) in enumerate(zip(groupings, references, strict=True)):
            members = group_measures(figures, grouping, chance)
            parts["by_group"].append(group_table(plans, grouping, members))
            parts["ratios"].append(ratio_table(grouping, base, members, chance))
            parts["changes"].append(change_table(plans, grouping))
            if grid is not None:
                parts["curves"].append(curve_table(figures, grouping, grid, chance))
            if figures.best is not None:
                parts["oracle"].append(oracle_table(figures, grouping, base, k, chance))
            report.show((done + 1) / (len(groupings) + 1))
        everybody = Grouping((EVERYBODY,), ((EVERYBODY,),), np.zeros(len(plans), np.int64))
        overall = group_table(plans, everybody, group_measures(figures, everybody, chance))
        report.show(1.0)
    by_group = pd.concat(parts["by_group"])
    return {
        "by_group": by_group,
        "overall": overall,
        "ratios": with_verdicts(pd.concat(parts["ratios"]), chance.min_group),
        "changes": pd.concat(parts["changes"]),
        "curves": pd.concat(parts["curves"]) if parts["curves"] else empty_curves(),
        "oracle": pd.concat(parts["oracle"]) if parts["oracle"] else None,
    }


def change_table(plans: RecoursePlans, grouping: Grouping) -> pd.DataFrame:
    """Return a row per group and feature that any option changes.

    `people`: share of the people with options of whom at least one option asks it; `options`: share of the group's
    options that ask it. Features that may never change are left out.
    """
    features = [f.name for f in plans.schema.features if f.direction != "fixed"]
    G, F = len(grouping.parts), len(features)
    of_option = grouping.codes[plans.summary.index.get_indexer(pd.Index(plans.options["person"]))]
    has = plans.summary["n_options"].to_numpy() > 0
    n_people = np.bincount(grouping.codes[has], minlength=G)
    n_options = np.bincount(of_option, minlength=G)
    changes = plans.changes
    changes = changes[changes["feature"].isin(features)]
    who = plans.summary.index.get_indexer(pd.Index(changes["person"]))
    what = pd.Index(features).get_indexer(pd.Index(changes["feature"]))
    asked = np.bincount(grouping.codes[who] * F + what, minlength=G * F).reshape(G, F)
    once = np.unique(who * F + what)  # each person and feature
    people = np.bincount(grouping.codes[once // F] * F + once % F, minlength=G * F).reshape(G, F)
    keys = pd.MultiIndex.from_product(
        [[grouping.name], grouping.groups, features], names=["grouping", "group", "feature"]
    )
    with np.errstate(invalid="ignore"):
        shares = {"people": people / n_people[:, None], "options": asked / n_options[:, None]}
    return pd.DataFrame({name: share.ravel() for name, share in shares.items()}, index=keys)


def unserved_table(plans: RecoursePlans, figures: Figures, groupings: Sequence[Grouping]) -> pd.DataFrame:
    """Return the refused people without an option, with their groups, the status and the reason."""
    summary = plans.summary
    rows = figures.places[(summary["n_options"].to_numpy()[figures.places] == 0)]
    columns = {
        f"{g.name} (group)" if g.name in ("person", "status", "reason") else g.name: pd.Series(
            np.array(g.groups, dtype=object)[g.codes[rows]], dtype="str"
        )
        for g in groupings
        if len(g.columns) == 1
    }
    status = summary["status"].iloc[rows].tolist()
    reasons = [text or STATUSES[s] for text, s in zip(summary["reason"].iloc[rows].tolist(), status, strict=True)]
    table = pd.DataFrame(
        {**columns, "status": pd.Series(status, dtype="str"), "reason": pd.Series(reasons, dtype="str")}
    )
    return table.set_axis(summary.index[rows].rename("person"), axis=0)
