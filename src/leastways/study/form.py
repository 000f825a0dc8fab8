"""The form of one annotator: a person's present state and two sets of options, without the methods' names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from leastways import __version__
from leastways._templates import render
from leastways.costs import Preferences
from leastways.plans import RecourseOption, RecoursePlan, RecoursePlans, value_text
from leastways.schema import Schema
from leastways.study.people import StatedPreference, stated_preferences

ANSWERS_FORMAT, ANSWERS_VERSION = "leastways study answers", 1
Option = tuple[str, ...]  # the changes that go together, in words


@dataclass(frozen=True)
class Fact:
    """A feature's present value, and whether it is fixed."""

    wording: str
    value: str
    fixed: bool


@dataclass(frozen=True)
class Item:
    """A person to evaluate for: present state, stated preferences, and the options of both methods."""

    id: str
    person: Any
    profile: Preferences | None
    facts: tuple[Fact, ...]
    preferences: tuple[StatedPreference, ...]
    sets: tuple[tuple[Option, ...], tuple[Option, ...]]  # of the two methods


def make_items(
    plans: tuple[RecoursePlans, RecoursePlans],
    people: Sequence[Any],
    profiles: Mapping[Any, Preferences],
    n_options: int | None,
) -> tuple[Item, ...]:
    """Return an item for each person, in this order."""
    width = len(str(len(people)))
    return tuple(
        _item(f"item-{place + 1:0{width}}", (plans[0][label], plans[1][label]), plans[0].schema, profiles, n_options)
        for place, label in enumerate(people)
    )


def _item(
    name: str,
    pair: tuple[RecoursePlan, RecoursePlan],
    schema: Schema,
    profiles: Mapping[Any, Preferences],
    n_options: int | None,
) -> Item:
    person, state = pair[0].person, pair[0].state
    profile = profiles.get(person)
    facts = tuple(Fact(f.wording, value_text(f, state[f.name]), f.direction == "fixed") for f in schema.features)
    sets = tuple(options_in_words(plan.options[:n_options], schema) for plan in pair)
    return Item(
        name, person, profile, facts, () if profile is None else stated_preferences(schema, profile), (sets[0], sets[1])
    )


def options_in_words(options: Sequence[RecourseOption], schema: Schema) -> tuple[Option, ...]:
    """Return options as lists of changes, fewest changes first, then in the schema's order.

    The order follows from the options alone. A method's own order (its favourite first, say) could give it away.
    """
    place = {name: f for f, name in enumerate(schema.names)}

    def order(option: RecourseOption) -> tuple[int, list[int], list[str]]:
        return len(option.changes), [place[c.feature] for c in option.changes], [c.text for c in option.changes]

    return tuple(
        tuple(_unbroken(c.text, schema.by_name[c.feature].unit) for c in option.changes)
        for option in sorted(options, key=order)
    )


def _unbroken(text: str, unit: str) -> str:
    """Join a unit to its number by a no-break space."""
    return re.sub(rf"(?<=\d) (?={re.escape(unit)})", "\N{NO-BREAK SPACE}", text) if unit else text


@dataclass(frozen=True)
class Sheet:
    """An item as one annotator sees it: which set is A, which is B."""

    item: Item
    a: tuple[Option, ...]
    b: tuple[Option, ...]


def sheet_content(sheet: Sheet) -> dict[str, Any]:
    """Return everything that a sheet shows, for checksums."""
    item = sheet.item
    facts, preferences = [asdict(f) for f in item.facts], [asdict(w) for w in item.preferences]
    return {"item": item.id, "facts": facts, "preferences": preferences, "A": sheet.a, "B": sheet.b}


def form_html(title: str, study: str, annotator: str, checksum: str, sheets: Sequence[Sheet]) -> str:
    """Return the form as HTML; it names no method and holds no figure of a search."""
    about = {
        "format": ANSWERS_FORMAT,
        "version": ANSWERS_VERSION,
        "study": study,
        "annotator": annotator,
        "form": checksum,
    }
    stated = any(sheet.item.preferences for sheet in sheets)
    return render(
        "form.html",
        "study",
        "report",
        title=title,
        annotator=annotator,
        sheets=sheets,
        stated=stated,
        about=about,
        version=__version__,
    )
