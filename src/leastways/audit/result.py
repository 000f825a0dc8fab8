"""What an audit found: frozen tables by group, as JSON and in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from leastways._messages import nearest
from leastways.errors import DataError, SettingError
from leastways.plans.serialize import document_from_json, document_to_json, frame_from_json, frame_to_json

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
    """Recourse by group: who gets how much of it, how sure that is, and whether model or search causes a gap.

    A grouping is a column (`sex`) or several at once (`sex × race`); a group is a value of it. Rates are
    shares of refused people: people whom the model accepts as they are, and unusable rows, are counted separately.

    Attributes
    ----------
    by_group : DataFrame
        Index grouping, group. Counts: people, refused, accepted, unusable, and the refused by status (found, partial,
        none_exists, none_found). Measures: coverage, satisfied (FS@k), cost, options, queries, each with its 95 %
        interval in `_low` and `_high`.
    overall : DataFrame
        The same for everybody, in one row.
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
        """Say what was found, in sentences."""
        from leastways.audit.words import text_of

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
