"""The audit over what was served, and what whoever reads it has to know: of which days, made by what, without whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from leastways.audit import Audit, audit_plans
from leastways.errors import nearest
from leastways.server.faults import FieldError, InputRefused, NotKnown
from leastways.server.served import Served, of_group
from leastways.server.store import now

if TYPE_CHECKING:
    from leastways.server.service import Service

_OWN = ("since", "until", "which")
_ODD = 0.1  # of the values of an attribute: texts among numbers up to this share are mistakes
_MOST_TOLD = 4


def audit_served(service: Service, by: str | Sequence[str], filters: Mapping[str, Any]) -> Audit:
    """Audit what a service has served; see `Service.audit`."""
    names = [by] if isinstance(by, str) else list(by)
    known = [*service.config.groups, *service.schema.names]
    for name in names:
        column = name if name in known else name.partition(":")[0]
        if column not in known:
            raise InputRefused([_unknown(column, known)])
    if not names:
        raise InputRefused([FieldError("/query/by", "by", f"is missing; allowed: some of {', '.join(known)}")])
    found = service.served(**{name: filters[name] for name in _OWN if filters.get(name) is not None})
    only = filters.get("only")
    if only is not None:
        found = of_group(found, *only)
    if found.plans is None:
        whom = "nobody" if only is None else f"nobody with {only[0]}: {only[1]}"
        earlier = f" {_left_out(found)}" if found.left_out else ""
        raise NotKnown(f"{whom} was answered in this time by the schema of today.{earlier}")
    asked = {name if name in known else name.partition(":")[0] for name in names}
    groups, odd = _of_one_kind(found.groups.reindex(columns=list(service.config.groups)), asked)
    rest = {name: value for name, value in filters.items() if name not in (*_OWN, "only")}
    audit = audit_plans(found.plans, names, groups=groups, **rest)
    told = [f"Only people with {only[0]}: {only[1]} are counted here."] if only is not None else []
    return replace(
        audit,
        warnings=[*told, *_warnings(found), *odd, *audit.warnings],
        settings={**audit.settings, "served": _record(found, filters)},
    )


def _record(found: Served, filters: Mapping[str, Any]) -> dict[str, Any]:
    """Say of which days and answers an audit is, when it was made, and by what the answers were."""
    moments = {name: moment.isoformat() if (moment := filters.get(name)) else None for name in ("since", "until")}
    return {
        "made": now().isoformat(timespec="seconds"),
        **moments,
        "which": filters.get("which") or "first",
        "only": list(filters["only"]) if filters.get("only") else None,
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


def _of_one_kind(groups: pd.DataFrame, asked: set[str]) -> tuple[pd.DataFrame, list[str]]:
    """Take a few texts among numbers for values not stated, so that one mistake does not spoil the attribute.

    They are counted and not repeated: nobody knows what somebody wrote there.
    """
    told = []
    for name in sorted(asked & set(groups.columns)):
        values = groups[name].astype(object)
        given = values.notna()
        numbers = values.map(_number)
        odd = given & numbers.isna()
        if not values.map(type).isin((int, float)).any() or odd.sum() > _ODD * given.sum():
            continue  # texts, or both kinds
        groups = groups.assign(**{name: numbers.astype(np.float64)})
        if odd.any():
            told.append(
                f"{name}: {int(odd.sum())} of {int(given.sum())} people have no number where the others have one; "
                "they count as not stated."
            )
    return groups, told


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
