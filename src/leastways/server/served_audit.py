"""The audit over what was served, and what whoever reads it has to know: of which days, made by what, without whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from leastways._messages import nearest
from leastways.audit import Audit, audit_plans
from leastways.audit.groups import group_text, group_texts
from leastways.plans import NOT_SEARCHED
from leastways.server.clock import now
from leastways.server.faults import FieldError, InputRefused, NotKnown
from leastways.server.served import Served, of_some

if TYPE_CHECKING:
    from leastways.server.service import Service

_OWN = ("since", "until", "which")
_ODD = 0.1  # of the values of an attribute: texts among numbers up to this share are mistakes
_MOST_TOLD = 4


def audit_served(service: Service, by: str | Sequence[str], filters: Mapping[str, Any]) -> Audit:
    """Audit what a service has served; see `Service.audit`."""
    names = [by] if isinstance(by, str) else list(by)
    asked = _asked(service, names)
    only = None if filters.get("only") is None else (filters["only"][0], group_text(filters["only"][1]))
    found = service.served(**{name: filters[name] for name in _OWN if filters.get(name) is not None})
    sent = found.groups.reindex(columns=list(service.config.groups))
    groups = of_one_kind(sent, asked if only is None else {*asked, only[0]})
    if only is not None:
        found = _of_group(found, groups, *only)
    whom = "" if only is None else f" with {only[0]}: {only[1]}"
    earlier = f" {_left_out(found)}" if found.left_out else ""
    if found.plans is None:
        raise NotKnown(f"nobody{whom} was answered in this time by the schema of today.{earlier}")
    if found.plans.summary["status"].isin(NOT_SEARCHED).all():
        people = f"the {len(found.plans):,} people{whom} who were answered in this time"
        raise NotKnown(f"none of {people} was refused.{earlier}")
    mine = found.groups.index
    rest = {name: value for name, value in filters.items() if name not in (*_OWN, "only")}
    audit = audit_plans(found.plans, names, groups=groups.loc[mine], **rest)
    told = [] if only is None else [f"Only people with {only[0]}: {only[1]} are counted here."]
    told += [*_warnings(found), *_mistakes(sent.loc[mine], groups.loc[mine], asked)]
    return replace(
        audit,
        warnings=[*told, *audit.warnings],
        settings={**audit.settings, "served": _record(found, filters, only)},
    )


def _asked(service: Service, names: Sequence[str]) -> set[str]:
    """Return the columns to group by, without the bins that may be said with them."""
    known = [*service.config.groups, *service.schema.names]
    if not names:
        raise InputRefused([FieldError("/query/by", "by", f"is missing; allowed: some of {', '.join(known)}")])
    columns = [name if name in known else name.partition(":")[0] for name in names]
    for column in columns:
        if column not in known:
            raise InputRefused([_unknown(column, known)])
    return set(columns)


def _of_group(found: Served, groups: pd.DataFrame, column: str, text: str) -> Served:
    """Return those alone who are in a group of the audit: by the very texts that it sorts people by."""
    if found.plans is None:
        return found
    held = groups[column] if column in groups else found.plans.people[column]
    return of_some(found, np.array(group_texts(held)) == text)


def _record(found: Served, filters: Mapping[str, Any], only: tuple[str, str] | None) -> dict[str, Any]:
    """Say of which days and answers an audit is, when it was made, and by what the answers were."""
    moments = {name: moment.isoformat() if (moment := filters.get(name)) else None for name in ("since", "until")}
    return {
        "made": now().isoformat(timespec="seconds"),
        **moments,
        "which": filters.get("which") or "first",
        "only": None if only is None else list(only),
        "left_out": found.left_out,
        "repeated": found.repeated,
        "origins": found.origins,
    }


def _warnings(found: Served) -> Iterator[str]:
    if found.left_out:
        yield _left_out(found)
    if found.repeated:
        yield (
            f"{found.repeated:,} requests said the same of the same reference again; each of these cases counts once."
        )
    origins = found.origins
    if len(origins) > 1:
        parts = [_in_words(origin, origins) for origin in origins[:_MOST_TOLD]]
        more = f"; and {len(origins) - _MOST_TOLD} more" if len(origins) > _MOST_TOLD else ""
        yield (
            f"The service changed {_times(len(origins) - 1)} while these answers were made: "
            f"{'; '.join(parts)}{more}. Groups may differ for that reason; choose days to look at one part alone."
        )


def _left_out(found: Served) -> str:
    return f"{found.left_out:,} people were answered by an earlier schema and do not fit today's; they are not counted."


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n} times")


def _in_words(origin: Mapping[str, Any], origins: Sequence[Mapping[str, Any]]) -> str:
    """Name an origin by its days and by what it has that others do not."""
    days = origin["first"] if origin["first"] == origin["last"] else f"{origin['first']} to {origin['last']}"
    told = [
        {name: one[name][:8] for name in ("model", "schema", "data")}
        | {name: str(value) for name, value in (one["settings"] | one["versions"]).items()}
        for one in origins
    ]
    mine = told[origins.index(origin)]
    words = [f", {name} {mine.get(name)}" for name in told[0] | mine if len({each.get(name) for each in told}) > 1]
    return f"{origin['people']:,} people ({days}{''.join(words)})"


def of_one_kind(groups: pd.DataFrame, asked: set[str], people: Sequence[int] | None = None) -> pd.DataFrame:
    """Take a few texts among numbers for values not stated, so that one mistake does not spoil the attribute.

    `people` says how many each row stands for; without it, for one.
    """
    count = np.ones(len(groups)) if people is None else np.asarray(people, dtype=np.float64)
    for name in sorted(asked & set(groups.columns)):
        values = groups[name].astype(object)
        given = values.notna()
        numbers = values.map(_number)
        odd = given & numbers.isna()
        if values.map(type).isin((int, float)).any() and count[odd].sum() <= _ODD * count[given].sum():
            groups = groups.assign(**{name: numbers.astype(np.float64)})
    return groups


def _mistakes(sent: pd.DataFrame, taken: pd.DataFrame, asked: set[str]) -> Iterator[str]:
    """Say how many texts are taken for values not stated. They are not repeated: nobody knows what somebody wrote."""
    for name in sorted(asked & set(sent.columns)):
        given = sent[name].notna()
        odd = given & taken[name].isna()
        if odd.any():
            yield (
                f"{name}: {int(odd.sum())} of {int(given.sum())} people have no number where the others have one; "
                "they count as not stated."
            )


def _number(value: Any) -> float | None:
    """Return a number, also of a text that reads as one; None of all else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _unknown(name: str, known: Sequence[str]) -> FieldError:
    text = f"there is no attribute {name!r}; allowed: some of {', '.join(known)}.{nearest(name, known)}"
    return FieldError("/query/by", "by", text)
