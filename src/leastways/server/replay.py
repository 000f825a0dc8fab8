"""Reproducing a recorded answer: the same files, the same settings, and then the same bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, select

from leastways import __version__
from leastways.errors import SettingError
from leastways.models import load_model
from leastways.recourse import Recourse
from leastways.schema import Schema, read_training
from leastways.server.config import ServiceConfig
from leastways.server.engine import reading
from leastways.server.faults import NotKnown
from leastways.server.origin import PRINTS, Origin, fingerprints
from leastways.server.plan_json import plan_to_text
from leastways.server.solving import Ask, origin_settings, solve
from leastways.server.tables import AnswerRow, OriginRow, PersonRow
from leastways.server.wishes_json import preferences_of_record

_DECIDE = (
    *("n_options", "budget", "n_costs", "target", "threshold"),
    *("uncovered_cost", "objective", "satisfied_below", "random_state"),
)


@dataclass(frozen=True)
class Replay:
    """What came of it: the same bytes, or every place that differs; and versions that are not the same."""

    answer_id: str
    same: bool
    differences: list[str]
    notes: list[str]


@dataclass(frozen=True)
class _Record:
    ask: Ask
    plan: str
    origin: OriginRow


def replay(config: ServiceConfig, engine: Engine, answer_id: str) -> Replay:
    """Find an answer once more from what was recorded, and compare. Raises where the files are not the same."""
    record = _read(engine, answer_id)
    schema = Schema.from_yaml(config.schema)
    prints = fingerprints(config, schema.to_yaml())
    _refuse_other_files(record.origin, prints)
    recourse = _recourse(config, schema, json.loads(record.origin.settings))
    today = plan_to_text(solve(recourse, [record.ask])[0])
    differences = list(_differences(json.loads(record.plan), json.loads(today)))
    same = today == record.plan
    if not same and not differences:
        differences = ["the bytes differ, but not what they say"]
    return Replay(answer_id, same, differences, _notes(record.origin, prints))


def _read(engine: Engine, answer_id: str) -> _Record:
    query = (
        select(AnswerRow, PersonRow, OriginRow)
        .join(PersonRow, PersonRow.id == AnswerRow.person_id)
        .join(OriginRow, OriginRow.id == AnswerRow.origin_id)
        .where(AnswerRow.id == answer_id)
    )
    with reading(engine) as session:
        found = session.execute(query).first()
        if found is None:
            raise NotKnown(f"there is no answer {answer_id!r} in this database; it may have been erased.")
        answer, person, origin = found
        session.expunge_all()
    said = preferences_of_record(answer.preferences)
    ask = Ask(answer.id, person.id, json.loads(person.state), said, person.reference)
    return _Record(ask, answer.plan, origin)


def _refuse_other_files(origin: OriginRow, prints: dict[str, str]) -> None:
    for name in PRINTS:
        recorded = getattr(origin, f"{name}_print")
        if recorded != prints[name]:
            raise SettingError(
                f"the {name} is not the one of this answer: recorded sha256 {recorded}, now {prints[name]}. "
                "Name the files of that time in the config."
            )


def _recourse(config: ServiceConfig, schema: Schema, settings: dict[str, Any]) -> Recourse:
    """Build the search as it was: by the recorded settings, whatever the config says today."""
    chosen = {name: settings[name] for name in _DECIDE}
    recourse = Recourse(load_model(config.model, trust=config.trust), schema, **chosen)
    recourse.fit(read_training(config.data, schema), distill=settings["distill"])
    today = json.loads(origin_settings(recourse, settings["distill"]))
    for name in sorted(settings.keys() | today.keys()):
        if settings.get(name) != today.get(name):
            raise SettingError(
                f"the setting {name!r} of this answer was {settings.get(name)!r}; this release would use "
                f"{today.get(name)!r}."
            )
    return recourse


def _notes(origin: OriginRow, prints: dict[str, str]) -> list[str]:
    notes = [] if origin.version == __version__ else [f"made by leastways {origin.version}, replayed by {__version__}"]
    before, today = json.loads(origin.libraries), json.loads(Origin(prints, "").libraries)
    return notes + [
        f"{name} was {before.get(name)}, is {today.get(name)}" for name in today if before.get(name) != today[name]
    ]


def _differences(before: Any, after: Any, place: str = "") -> Iterator[str]:
    """Name every place where two documents differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            yield from _differences(before.get(name), after.get(name), f"{place}/{name}")
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield f"{place or '/'}: {len(before)} entries were recorded, {len(after)} come out"
        for i, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from _differences(one, other, f"{place}/{i}")
    elif before != after or type(before) is not type(after):
        yield f"{place or '/'}: recorded {before!r}, comes out as {after!r}"
