"""What was served, as plans: so that the audit, and every other function on plans, can look at it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sqlalchemy import Engine, func, select

from leastways._messages import nearest
from leastways.errors import SettingError
from leastways.plans import FIGURES, RecoursePlan, RecoursePlans, no_failed_rows
from leastways.schema import Schema
from leastways.server.engine import reading
from leastways.server.inputs import fits_schema, frame_of
from leastways.server.plan_json import plan_from_text
from leastways.server.tables import AnswerRow, OriginRow, PersonRow

Which = Literal["first", "latest"]  # answer of each person
WHICH: tuple[Which, ...] = get_args(Which)
_Record = tuple[PersonRow, str, OriginRow]  # whose, the plan, and by what it was made
_FIGURES = ("covered", "emc", "satisfied", "queries", "probability", "reason")


@dataclass(frozen=True)
class Made:
    """On which day somebody came, and the id of what their answer was made by."""

    day: str
    origin: str


@dataclass(frozen=True)
class Served:
    """Plans of people who were answered, the attributes for the audit, and by what each of them was answered.

    `facts` has the versions, fingerprints and settings of each origin. `left_out` were answered by an earlier schema
    and do not fit today's; `repeated` say the same of the same reference again.
    """

    plans: RecoursePlans | None
    groups: pd.DataFrame
    made: Sequence[Made]
    facts: Mapping[str, Mapping[str, Any]]
    left_out: int
    repeated: int

    @cached_property
    def origins(self) -> list[dict[str, Any]]:
        """By what answers were made, each with the number of people and their first and last day, oldest first."""
        days: dict[str, list[str]] = {}
        for one in self.made:
            days.setdefault(one.origin, []).append(one.day)
        return [
            {"people": len(some), "first": min(some), "last": max(some), **self.facts[origin]}
            for origin, some in days.items()
        ]

    def settings(self) -> dict[str, Any]:
        """Return the settings that are the same in all answers."""
        first, *others = [origin["settings"] for origin in self.origins]
        return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


def served(
    engine: Engine,
    schema: Schema,
    schema_print: str,
    since: datetime | None = None,
    until: datetime | None = None,
    which: str = "first",
) -> Served:
    """Read the first or the latest answer of everyone who was answered in a span of time.

    Callers send a case again when they are not sure that it arrived: the same reference with the same facts is one
    person.
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
        fitting = [row for row in rows if _fits(schema, schema_print, row)]
        mine = _without_repeats(fitting, which)
        states = [json.loads(person.state) for person, _, _ in mine]
        plans = [plan_from_text(plan, p.id, state) for (p, plan, _), state in zip(mine, states, strict=True)]
        index: pd.Index[Any] = pd.Index([person.id for person, _, _ in mine], dtype=object)
        groups = pd.DataFrame([json.loads(person.groups) for person, _, _ in mine], index=index)
        made = [Made(person.created.date().isoformat(), origin.id) for person, _, origin in mine]
        facts = {key: _facts(origin) for key, origin in {origin.id: origin for _, _, origin in mine}.items()}
        left_out = len({_case(row) for row in rows} - {_case(row) for row in fitting})
    found = Served(None, groups, made, facts, left_out, len(fitting) - len(mine))
    return replace(found, plans=as_plans(schema, plans, found.settings())) if plans else found


def _fits(schema: Schema, schema_print: str, row: _Record) -> bool:
    """Whether somebody who was answered, and all that they were offered, are states of today's schema."""
    person, plan, origin = row
    if origin.schema_print == schema_print:
        return True
    state = json.loads(person.state)
    return fits_schema(schema, [state, *(o.values for o in plan_from_text(plan, person.id, state).options)])


def _case(row: _Record) -> tuple[str, ...]:
    """Return what tells cases apart: a reference with all that is said of it, or the person."""
    person = row[0]
    return (person.id,) if person.reference is None else (person.reference, person.state, person.groups)


def _without_repeats(rows: Sequence[_Record], which: str) -> list[_Record]:
    """Leave out requests that repeat an earlier case, or (latest) a later one."""
    ordered = rows if which == "first" else list(reversed(rows))
    kept: dict[tuple[str, ...], _Record] = {}
    for row in ordered:
        kept.setdefault(_case(row), row)
    return list(kept.values()) if which == "first" else list(reversed(kept.values()))


def _facts(origin: OriginRow) -> Mapping[str, Any]:
    """Return by what answers were made."""
    return {
        "model": origin.model_print,
        "schema": origin.schema_print,
        "data": origin.data_print,
        "settings": json.loads(origin.settings),
        "versions": {"leastways": origin.version, **json.loads(origin.libraries)},
    }


def as_plans(schema: Schema, plans: Sequence[RecoursePlan], settings: Mapping[str, Any]) -> RecoursePlans:
    """Put single plans together again."""
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
    """Return some of the people alone."""
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
