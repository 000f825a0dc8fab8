"""What was served, as plans: so that the audit, and every other function on plans, can look at it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sqlalchemy import Engine, func, select

from leastways.errors import SettingError, nearest
from leastways.plans import RecoursePlan, RecoursePlans
from leastways.schema import Schema
from leastways.server.engine import reading
from leastways.server.faults import FieldError, InputRefused, NotKnown
from leastways.server.inputs import frame_of
from leastways.server.plan_json import plan_from_text
from leastways.server.tables import AnswerRow, OriginRow, PersonRow

if TYPE_CHECKING:
    from leastways.server.service import Service

WHICH = ("first", "latest")
_FIGURES = ("covered", "emc", "satisfied", "queries", "probability", "reason")


@dataclass(frozen=True)
class Served:
    """Plans of people who were answered, the attributes for the audit, and how many could not be taken in."""

    plans: RecoursePlans | None
    groups: pd.DataFrame
    left_out: int  # answered by another schema than today's


def served(
    engine: Engine,
    schema: Schema,
    schema_print: str,
    settings: Mapping[str, Any],
    since: datetime | None = None,
    until: datetime | None = None,
    which: str = "first",
) -> Served:
    """Read the first or the latest answer of everyone who was answered in a span of time."""
    if which not in WHICH:
        raise SettingError(f"which must be one of {', '.join(WHICH)}, not {which!r}.{nearest(which, WHICH)}")
    ends = select(AnswerRow.person_id, func.max(AnswerRow.number).label("number")).group_by(AnswerRow.person_id)
    query = (
        select(PersonRow.id, PersonRow.state, PersonRow.groups, AnswerRow.plan, OriginRow.schema_print)
        .join(AnswerRow, AnswerRow.person_id == PersonRow.id)
        .join(OriginRow, OriginRow.id == AnswerRow.origin_id)
        .order_by(PersonRow.created, PersonRow.id)
    )
    if which == "first":
        query = query.where(AnswerRow.number == 1)
    else:
        last = ends.subquery()
        query = query.join(last, (last.c.person_id == AnswerRow.person_id) & (last.c.number == AnswerRow.number))
    if since is not None:
        query = query.where(PersonRow.created >= since)
    if until is not None:
        query = query.where(PersonRow.created < until)
    with reading(engine) as session:
        rows = session.execute(query).all()
    mine = [row for row in rows if row.schema_print == schema_print]
    states = [json.loads(row.state) for row in mine]
    plans = [plan_from_text(row.plan, row.id, state) for row, state in zip(mine, states, strict=True)]
    index: pd.Index[Any] = pd.Index([row.id for row in mine], dtype=object)
    groups = pd.DataFrame([json.loads(row.groups) for row in mine], index=index)
    return Served(as_plans(schema, plans, settings) if plans else None, groups, len(rows) - len(mine))


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
            "probability": np.array([o.probability for _, o in offered], dtype=np.float64),
            "expected_cost": np.array([o.expected_cost for _, o in offered], dtype=np.float64),
            "best_for": np.array([o.best_for for _, o in offered], dtype=np.float64),
        }
    )
    nothing = schema.decode_columns(np.empty((0, len(schema.features)), np.int32))
    heads = {"person": people.index[:0], "error": pd.Series([], dtype="str")}
    return RecoursePlans(schema, people, summary, options, pd.DataFrame(heads | nothing), settings)


def of_group(found: Served, column: str, value: Any) -> Served:
    """Return those people alone who have this value, as the schema or the groups write it."""
    if found.plans is None:
        return found
    plans = found.plans
    held = found.groups[column] if column in found.groups else plans.people[column]
    mask = (held.astype(object) == value).to_numpy(dtype=np.bool_)
    if not mask.any():
        return Served(None, found.groups[:0], found.left_out)
    mine = set(plans.people.index[mask])
    options = plans.options[plans.options["person"].isin(mine)].reset_index(drop=True)
    people, summary = plans.people[mask], plans.summary[mask]
    kept = RecoursePlans(plans.schema, people, summary, options, plans.failed_rows, plans.settings)
    return Served(kept, found.groups[mask], found.left_out)


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
    own = {name: filters[name] for name in ("since", "until", "which") if filters.get(name) is not None}
    found = service.served(**own)
    if filters.get("only") is not None:
        found = of_group(found, *filters["only"])
    if found.plans is None:
        raise NotKnown("nobody was answered in this time by the schema of today.")
    groups = found.groups.reindex(columns=list(service.config.groups))
    rest = {name: value for name, value in filters.items() if name not in ("since", "until", "which", "only")}
    return import_module("leastways.audit").audit_plans(found.plans, names, groups=groups, **rest)


def _unknown(name: str, known: Sequence[str]) -> FieldError:
    text = f"there is no attribute {name!r}; allowed: some of {', '.join(known)}.{nearest(name, known)}"
    return FieldError("/query/by", "by", text)
