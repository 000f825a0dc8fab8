"""What the auditor asks for, and audits made lately: kept, so that a download is what was seen."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pandas as pd
from sqlalchemy import func, select
from starlette.datastructures import QueryParams

from leastways._messages import plain
from leastways.audit.groups import group_text, value_groups
from leastways.schema import Feature
from leastways.server.engine import reading
from leastways.server.served import WHICH
from leastways.server.served_audit import of_one_kind
from leastways.server.tables import PersonRow

if TYPE_CHECKING:
    from leastways.audit import Audit
    from leastways.server.service import Service

Groups = dict[str, tuple[str, Any]]  # the key of a group in an address -> column, value
MOST_COLUMNS = 3  # more groupings at once nobody can read
TABLES = ("by_group", "ratios", "changes", "curves", "oracle", "unserved")
_KEPT, _KEPT_SECONDS = 8, 600
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Question:
    """By which columns, of which days (both included), which answer of each person, and of whom alone if not of all."""

    by: tuple[str, ...]
    since: date | None = None
    until: date | None = None
    which: str = "first"
    only: tuple[str, Any] | None = None

    @classmethod
    def read(cls, query: QueryParams, columns: list[str], usual: list[str], groups: Groups | None = None) -> Question:
        """Read an address; what is not understood is left out, and shows as such in the form."""
        by = tuple(name for name in columns if name in query.getlist("by"))[:MOST_COLUMNS]
        which = query.get("which", "")
        since, until = (_day(query.get(name, "")) for name in ("since", "until"))
        only = (groups or {}).get(query.get("only", ""))
        return cls(by or tuple(usual), since, until, which if which in WHICH else WHICH[0], only)

    @property
    def crossed(self) -> bool:
        """Whether the first day comes after the last."""
        return self.since is not None and self.until is not None and self.since > self.until

    def address(self) -> str:
        """Return the query that asks this."""
        days = [(name, day.isoformat()) for name in ("since", "until") if (day := getattr(self, name)) is not None]
        only = [] if self.only is None else [("only", group_key(*self.only))]
        return urlencode([*(("by", name) for name in self.by), *days, ("which", self.which), *only])

    def filters(self) -> dict[str, Any]:
        """Return what `Service.audit` takes besides the columns."""
        moments: dict[str, Any] = {"which": self.which, "only": self.only}
        if self.since is not None:
            moments["since"] = datetime(self.since.year, self.since.month, self.since.day, tzinfo=UTC)
        if self.until is not None:
            after = self.until + timedelta(days=1)
            moments["until"] = datetime(after.year, after.month, after.day, tzinfo=UTC)
        return moments


def _day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if 1970 <= day.year < 9999 else None


def columns_of(service: Service) -> tuple[list[str], list[str]]:
    """Return the columns one may compare by, and those that are compared by if nothing else is said.

    First the attributes that only the audit sees, then what people cannot change, then the rest.
    """

    def place(feature: Feature) -> tuple[bool, bool]:
        return feature.direction != "fixed", feature.numeric

    features = sorted(service.schema.features, key=place)
    fixed = [f.name for f in features if f.direction == "fixed"]
    usual = [*service.config.groups, *fixed][:2] or [features[0].name]
    return [*service.config.groups, *(f.name for f in features)], usual


def group_key(column: str, value: Any) -> str:
    """Name a group in an address, as the audit does."""
    return f"{column}: {group_text(value)}"


def groups_of(service: Service) -> Groups:
    """Return the groups that an audit can be narrowed to, by their keys: of what only the audit sees, then of features.

    Which attributes people were given is known only from what is kept; there are few different sets of them.
    """
    with reading(service.engine) as session:
        query = select(PersonRow.groups, func.count()).group_by(PersonRow.groups)
        counted = [(json.loads(text), people) for text, people in session.execute(query)]
    names = service.config.groups
    sent = pd.DataFrame([attributes for attributes, _ in counted]).reindex(columns=names)
    taken = of_one_kind(sent, set(names), [people for _, people in counted])
    pairs: list[tuple[str, Any]] = [(name, text) for name in names for text in _groups_by_value(taken[name])]
    for feature in service.schema.features:
        if not feature.numeric:
            missing = [None] if feature.missing else []
            pairs += [(feature.name, plain(value)) for value in (*feature.values, *missing)]
    return {group_key(*pair): pair for pair in pairs}


def _groups_by_value(column: pd.Series[Any]) -> tuple[str, ...]:
    """Return the groups of an attribute; none where nobody has a value of it."""
    return value_groups(column) if column.notna().any() else ()


@dataclass(frozen=True)
class _Kept:
    when: float  # by the monotonic clock
    erased: dict[str, int]  # how many people had been erased, by why
    audit: Audit


class RecentAudits:
    """Makes audits for the page and keeps the last few. Only one thread may make them: that of `Audits`."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._kept: OrderedDict[Question, _Kept] = OrderedDict()

    def make(self, question: Question) -> Audit:
        """Audit what has been served up to now."""
        erased = self._service.store.erased()
        audit = self._service.audit(list(question.by), **question.filters())
        self._kept.pop(question, None)
        self._kept[question] = _Kept(time.monotonic(), erased, audit)
        for old in [key for key, kept in self._kept.items() if self._is_old(kept, erased)]:
            del self._kept[old]
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return audit

    def kept(self, question: Question) -> Audit | None:
        """Return the audit that was shown for this question, if it still can be."""
        kept = self._kept.get(question)
        return None if kept is None or self._is_old(kept, self._service.store.erased()) else kept.audit

    def seen(self, question: Question) -> Audit:
        """Return the audit that was shown for this question, or make it."""
        kept = self.kept(question)
        return self.make(question) if kept is None else kept

    @staticmethod
    def _is_old(kept: _Kept, erased: dict[str, int]) -> bool:
        """Whether it is too long ago, or names somebody who may have been erased since."""
        return time.monotonic() - kept.when > _KEPT_SECONDS or kept.erased != erased


def as_csv(table: pd.DataFrame) -> str:
    """Write a table as CSV. No text in it can be taken for a formula by a spreadsheet."""
    flat = table.reset_index()
    for name in flat.columns:
        if not pd.api.types.is_numeric_dtype(flat[name]):
            flat[name] = [f"'{v}" if isinstance(v, str) and v.startswith(_FORMULA) else v for v in flat[name]]
    return flat.to_csv(index=False, lineterminator="\r\n")
