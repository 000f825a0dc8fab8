"""The audit over what was served, and what whoever reads it has to know: of which days, made by what, without whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pandas as pd

from leastways.errors import listed, nearest
from leastways.server.faults import FieldError, InputRefused, NotKnown
from leastways.server.served import Served, of_group
from leastways.server.store import now

if TYPE_CHECKING:
    from leastways.server.service import Service

_OWN = ("since", "until", "which")
_ODD = 0.1  # of the values of an attribute: texts among numbers up to this share are mistakes
_TOLD = ("threshold", "target", "method", "n_options", "budget", "n_costs", "objective")
_MOST_TOLD = 4


def audit_served(service: Service, by: str | Sequence[str], filters: Mapping[str, Any]) -> Any:
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
        earlier = f" {_left_out(found)}" if found.left_out else ""
        raise NotKnown(f"nobody was answered in this time by the schema of today.{earlier}")
    groups, odd = _of_one_kind(found.groups.reindex(columns=list(service.config.groups)))
    rest = {name: value for name, value in filters.items() if name not in (*_OWN, "only")}
    audit = import_module("leastways.audit").audit_plans(found.plans, names, groups=groups, **rest)
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
    if len(found.origins) > 1:
        parts = [_in_words(origin, found.origins) for origin in found.origins[:_MOST_TOLD]]
        more = f"; and {len(found.origins) - _MOST_TOLD} more" if len(found.origins) > _MOST_TOLD else ""
        yield (
            f"The service changed {_times(len(found.origins) - 1)} while these answers were made: "
            f"{'; '.join(parts)}{more}. Groups may differ for that reason; choose days to look at one part alone."
        )


def _left_out(found: Served) -> str:
    return f"{found.left_out:,} people were answered by an earlier schema and do not fit today's; they are not counted."


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n} times")


def _in_words(origin: Mapping[str, Any], origins: Sequence[Mapping[str, Any]]) -> str:
    """Name an origin by its days and by what it has that others do not."""
    days = origin["first"] if origin["first"] == origin["last"] else f"{origin['first']} to {origin['last']}"
    files = [f"{n} {origin[n][:8]}" for n in ("model", "schema", "data") if len({o[n] for o in origins}) > 1]
    mine = origin["settings"]
    differing = [n for n in _TOLD if len({str(o["settings"].get(n)) for o in origins}) > 1]
    words = [*files, *(f"{name} {mine.get(name)}" for name in differing)]
    return f"{origin['people']:,} people ({days}{''.join(f', {word}' for word in words)})"


def _of_one_kind(groups: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Take a few texts among numbers for values not stated, so that one mistake does not spoil the attribute."""
    told = []
    for name in groups.columns:
        values = groups[name].astype(object)
        given = values.notna()
        number = values.map(lambda value: isinstance(value, int | float) and not isinstance(value, bool))
        odd = given & ~number
        if odd.any() and odd.sum() <= _ODD * given.sum():
            seen = listed(sorted({str(value) for value in values[odd]}), 3)
            told.append(
                f"{name}: {int(odd.sum())} of {int(given.sum())} people have no number where the others have one "
                f"({seen}); they count as not stated."
            )
            groups = groups.assign(**{name: values.where(~odd, None).infer_objects()})
    return groups, told


def _unknown(name: str, known: Sequence[str]) -> FieldError:
    text = f"there is no attribute {name!r}; allowed: some of {', '.join(known)}.{nearest(name, known)}"
    return FieldError("/query/by", "by", text)
