"""Answers of a span of time as plans, and the fairness audit over them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sqlalchemy import Engine, func, select

from leastways._messages import nearest
from leastways.audit import Audit, audit_plans, group_text, group_texts
from leastways.errors import FieldError, InputRefused, NotFound, SettingError
from leastways.plans import FIGURES, NOT_SEARCHED, RecoursePlan, RecoursePlans, no_failed_rows, plan_from_json
from leastways.schema import Schema
from leastways.server.database import AnswerRow, OriginRow, PersonRow, now, reading
from leastways.server.inputs import fits_schema, frame_of

if TYPE_CHECKING:
    from leastways.server.service import Service

Which = Literal["first", "latest"]  # answer of each person
WHICH: tuple[Which, ...] = get_args(Which)
_Record = tuple[PersonRow, str, OriginRow]  # person, plan, origin
_FIGURES = ("covered", "emc", "satisfied", "queries", "probability", "reason")


@dataclass(frozen=True)
class Made:
    """The day on which a person was recorded, and the id of the origin of their answer."""

    day: str
    origin: str


@dataclass(frozen=True)
class Served:
    """Plans of people who were answered, their attributes for the audit, and the origin of each answer.

    `facts` has the versions, fingerprints and settings of each origin. `left_out` counts people who were answered
    under an earlier schema and do not fit the current one, `repeated` requests with the same reference and facts.
    """

    plans: RecoursePlans | None
    groups: pd.DataFrame
    made: Sequence[Made]
    facts: Mapping[str, Mapping[str, Any]]
    left_out: int
    repeated: int

    @cached_property
    def origins(self) -> list[dict[str, Any]]:
        """Origins of the answers, oldest first, each with the number of people and their first and last day."""
        days: dict[str, list[str]] = {}
        for one in self.made:
            days.setdefault(one.origin, []).append(one.day)
        return [
            {"people": len(some), "first": min(some), "last": max(some), **self.facts[origin]}
            for origin, some in days.items()
        ]

    def settings(self) -> dict[str, Any]:
        """Return the settings that all answers share."""
        first, *others = [origin["settings"] for origin in self.origins]
        return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


def served(
    engine: Engine,
    schema: Schema,
    schema_fingerprint: str,
    since: datetime | None = None,
    until: datetime | None = None,
    which: str = "first",
) -> Served:
    """Read the first or the latest answer of every person who was recorded in a span of time.

    Callers repeat a request when they are not sure that it arrived: the same reference with the same facts counts as
    one person.
    """
    if which not in WHICH:
        raise SettingError(f"which must be one of {', '.join(WHICH)}, not {which!r}.{nearest(which, WHICH)}")
    query = (
        select(PersonRow, AnswerRow.plan, OriginRow)
        .join(AnswerRow, AnswerRow.person_id == PersonRow.id)
        .join(OriginRow, OriginRow.id == AnswerRow.origin_id)
        .order_by(PersonRow.created, PersonRow.id)
    )
    if which == "first":
        query = query.where(AnswerRow.number == 1)
    else:
        ends = select(AnswerRow.person_id, func.max(AnswerRow.number).label("number")).group_by(AnswerRow.person_id)
        last = ends.subquery()
        query = query.join(last, (last.c.person_id == AnswerRow.person_id) & (last.c.number == AnswerRow.number))
    if since is not None:
        query = query.where(PersonRow.created >= since)
    if until is not None:
        query = query.where(PersonRow.created < until)
    with reading(engine) as session:
        rows: list[_Record] = [(person, plan, origin) for person, plan, origin in session.execute(query)]
        fitting = [row for row in rows if _fits(schema, schema_fingerprint, row)]
        mine = _without_repeats(fitting, which)
        states = [json.loads(person.state) for person, _, _ in mine]
        plans = [plan_from_json(plan, p.id, state) for (p, plan, _), state in zip(mine, states, strict=True)]
        index: pd.Index[Any] = pd.Index([person.id for person, _, _ in mine], dtype=object)
        groups = pd.DataFrame([json.loads(person.groups) for person, _, _ in mine], index=index)
        made = [Made(person.created.date().isoformat(), origin.id) for person, _, origin in mine]
        facts = {key: _facts(origin) for key, origin in {origin.id: origin for _, _, origin in mine}.items()}
        left_out = len({_case(row) for row in rows} - {_case(row) for row in fitting})
    found = Served(None, groups, made, facts, left_out, len(fitting) - len(mine))
    return replace(found, plans=as_plans(schema, plans, found.settings())) if plans else found


def _fits(schema: Schema, schema_fingerprint: str, row: _Record) -> bool:
    """Return whether a person and all their options are valid states of the current schema."""
    person, plan, origin = row
    if origin.schema_fingerprint == schema_fingerprint:
        return True
    state = json.loads(person.state)
    return fits_schema(schema, [state, *(o.values for o in plan_from_json(plan, person.id, state).options)])


def _case(row: _Record) -> tuple[str, ...]:
    """Return the identity of a case: a reference with its facts, else the person's id."""
    person = row[0]
    return (person.id,) if person.reference is None else (person.reference, person.state, person.groups)


def _without_repeats(rows: Sequence[_Record], which: str) -> list[_Record]:
    """Drop requests that repeat an earlier case, or with "latest" a later one."""
    ordered = rows if which == "first" else list(reversed(rows))
    kept: dict[tuple[str, ...], _Record] = {}
    for row in ordered:
        kept.setdefault(_case(row), row)
    return list(kept.values()) if which == "first" else list(reversed(kept.values()))


def _facts(origin: OriginRow) -> Mapping[str, Any]:
    """Return the versions, fingerprints and settings of an origin."""
    return {
        "model": origin.model_fingerprint,
        "schema": origin.schema_fingerprint,
        "data": origin.data_fingerprint,
        "settings": json.loads(origin.settings),
        "versions": {"leastways": origin.version, **json.loads(origin.libraries)},
    }


def as_plans(schema: Schema, plans: Sequence[RecoursePlan], settings: Mapping[str, Any]) -> RecoursePlans:
    """Combine single plans into `RecoursePlans`."""
    labels = [str(plan.person) for plan in plans]
    people = frame_of(schema, [plan.state for plan in plans], labels)
    summary = pd.DataFrame(
        {
            "status": pd.Series([p.status for p in plans], dtype="str").to_numpy(),
            "n_options": [len(p.options) for p in plans],
            **{name: [getattr(p, name) for p in plans] for name in _FIGURES},
        },
        index=people.index,
    ).astype({"status": "str", "reason": "str"})
    offered = [(plan.person, option) for plan in plans for option in plan.options]
    columns = frame_of(schema, [option.values for _, option in offered], [str(i) for i in range(len(offered))])
    options = pd.DataFrame(
        {
            "person": pd.Index([person for person, _ in offered], dtype=object),
            "option": np.array([o.number for _, o in offered], dtype=np.int64),
            **{name: columns[name].array for name in schema.names},
            **{name: np.array([getattr(o, name) for _, o in offered], dtype=np.float64) for name in FIGURES},
        }
    )
    return RecoursePlans(schema, people, summary, options, no_failed_rows(schema, people.index), settings)


def of_some(found: Served, mask: NDArray[np.bool_]) -> Served:
    """Return only the people of a mask."""
    if found.plans is None or not mask.any():
        return replace(found, plans=None, groups=found.groups[:0], made=())
    plans = found.plans
    mine = set(plans.people.index[mask])
    options = plans.options[plans.options["person"].isin(mine)].reset_index(drop=True)
    people, summary = plans.people[mask], plans.summary[mask]
    made = [one for one, belongs in zip(found.made, mask, strict=True) if belongs]
    narrowed = replace(found, groups=found.groups[mask], made=made)
    kept = RecoursePlans(plans.schema, people, summary, options, plans.failed_rows, narrowed.settings())
    return replace(narrowed, plans=kept)


_OWN = ("since", "until", "which")
_ODD = 0.1  # share of an attribute's values: up to this share, texts among numbers count as mistakes
_MOST_NAMED = 4


def audit_served(service: Service, by: str | Sequence[str], filters: Mapping[str, Any]) -> Audit:
    """Audit the answers that a service has served; see `Service.audit`."""
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
        raise NotFound(f"no person{whom} was answered in this time under the current schema.{earlier}")
    if found.plans.summary["status"].isin(NOT_SEARCHED).all():
        people = f"the {len(found.plans):,} people{whom} who were answered in this time"
        raise NotFound(f"none of {people} was refused.{earlier}")
    mine = found.groups.index
    rest = {name: value for name, value in filters.items() if name not in (*_OWN, "only")}
    audit = audit_plans(found.plans, names, groups=groups.loc[mine], **rest)
    notes = [] if only is None else [f"Only people with {only[0]}: {only[1]} are counted here."]
    notes += [*_warnings(found), *_mistakes(sent.loc[mine], groups.loc[mine], asked)]
    return replace(
        audit,
        warnings=[*notes, *audit.warnings],
        settings={**audit.settings, "served": _record(found, filters, only)},
    )


def _asked(service: Service, names: Sequence[str]) -> set[str]:
    """Return the columns to group by, without their bins."""
    known = [*service.config.groups, *service.schema.names]
    if not names:
        raise InputRefused([FieldError("/query/by", "by", f"is missing; allowed: some of {', '.join(known)}")])
    columns = [name if name in known else name.partition(":")[0] for name in names]
    for column in columns:
        if column not in known:
            raise InputRefused([_unknown(column, known)])
    return set(columns)


def _of_group(found: Served, groups: pd.DataFrame, column: str, text: str) -> Served:
    """Return only the people of one group of the audit, matched by the text of the group's value."""
    if found.plans is None:
        return found
    held = groups[column] if column in groups else found.plans.people[column]
    return of_some(found, np.array(group_texts(held)) == text)


def _record(found: Served, filters: Mapping[str, Any], only: tuple[str, str] | None) -> dict[str, Any]:
    """Return which days and answers an audit covers, when it was made, and the origins of the answers."""
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
            f"{found.repeated:,} requests repeated an earlier one, with the same reference and facts; each of these "
            "cases counts once."
        )
    origins = found.origins
    if len(origins) > 1:
        parts = [_in_words(origin, origins) for origin in origins[:_MOST_NAMED]]
        more = f"; and {len(origins) - _MOST_NAMED} more" if len(origins) > _MOST_NAMED else ""
        yield (
            f"The service changed {_times(len(origins) - 1)} while these answers were made: "
            f"{'; '.join(parts)}{more}. Groups may differ for that reason; choose days to look at one part alone."
        )


def _left_out(found: Served) -> str:
    people = f"{found.left_out:,} people were answered under an earlier schema"
    return f"{people} and do not fit the current one; they are not counted."


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n} times")


def _in_words(origin: Mapping[str, Any], origins: Sequence[Mapping[str, Any]]) -> str:
    """Describe an origin by its days and by what differs from the other origins."""
    days = origin["first"] if origin["first"] == origin["last"] else f"{origin['first']} to {origin['last']}"
    parts = [
        {name: one[name][:8] for name in ("model", "schema", "data")}
        | {name: str(value) for name, value in (one["settings"] | one["versions"]).items()}
        for one in origins
    ]
    mine = parts[origins.index(origin)]
    words = [f", {name} {mine.get(name)}" for name in parts[0] | mine if len({each.get(name) for each in parts}) > 1]
    return f"{origin['people']:,} people ({days}{''.join(words)})"


def of_one_kind(groups: pd.DataFrame, asked: set[str], people: Sequence[int] | None = None) -> pd.DataFrame:
    """Treat a few texts among numbers as missing, so that one mistake does not make the attribute categorical.

    `people` is the number of people that each row stands for, 1 by default.
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
    """Yield how many texts count as missing. The texts are not quoted, since they may be personal."""
    for name in sorted(asked & set(sent.columns)):
        given = sent[name].notna()
        odd = given & taken[name].isna()
        if odd.any():
            yield (
                f"{name}: {int(odd.sum())} of {int(given.sum())} people have no number where the others have one; "
                "they count as not stated."
            )


def _number(value: Any) -> float | None:
    """Return a value as a number, also if it is a text that reads as one; else None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _unknown(name: str, known: Sequence[str]) -> FieldError:
    text = f"there is no attribute {name!r}; allowed: some of {', '.join(known)}.{nearest(name, known)}"
    return FieldError("/query/by", "by", text)
