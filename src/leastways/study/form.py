"""The form of one annotator: a person's present state and two sets of options, without the methods' names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from leastways.costs import Preferences
from leastways.plans import RecourseOption, RecoursePlan, RecoursePlans
from leastways.plans.wording import value_text
from leastways.report import render
from leastways.schema import Schema
from leastways.study.people import Wish, wishes_of

HERE = Path(__file__).parent
ANSWERS_FORMAT, ANSWERS_VERSION = "leastways study answers", 1
Option = tuple[str, ...]  # the changes that go together, in words


@dataclass(frozen=True)
class Fact:
    """A feature as it stands, and whether nobody can change it."""

    wording: str
    value: str
    fixed: bool


@dataclass(frozen=True)
class Item:
    """A person to be judged for: who they are, what they want, and what either method offers them."""

    id: str
    person: Any
    profile: Preferences | None
    facts: tuple[Fact, ...]
    wishes: tuple[Wish, ...]
    sets: tuple[tuple[Option, ...], tuple[Option, ...]]  # of the two methods


def make_items(
    plans: tuple[RecoursePlans, RecoursePlans],
    people: Sequence[Any],
    profiles: Mapping[Any, Preferences],
    n_options: int | None,
) -> tuple[Item, ...]:
    """Write an item for each person, in this order."""
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
    said = profiles.get(person)
    facts = tuple(Fact(f.wording, value_text(f, state[f.name]), f.direction == "fixed") for f in schema.features)
    sets = tuple(options_in_words(plan.options[:n_options], schema) for plan in pair)
    return Item(name, person, said, facts, () if said is None else wishes_of(schema, said), (sets[0], sets[1]))


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
    """Tie a unit to its number, so that no line breaks between them."""
    return re.sub(rf"(?<=\d) (?={re.escape(unit)})", "\N{NO-BREAK SPACE}", text) if unit else text


@dataclass(frozen=True)
class Sheet:
    """An item as one annotator sees it: which set is A, which is B."""

    item: Item
    a: tuple[Option, ...]
    b: tuple[Option, ...]


def sheet_content(sheet: Sheet) -> dict[str, Any]:
    """Return what is shown, for checksums."""
    item = sheet.item
    facts, wishes = [asdict(f) for f in item.facts], [asdict(w) for w in item.wishes]
    return {"item": item.id, "facts": facts, "wishes": wishes, "A": sheet.a, "B": sheet.b}


def form_html(title: str, study: str, annotator: str, checksum: str, sheets: Sequence[Sheet]) -> str:
    """Return the page. It names no method and holds no figure of a search."""
    about = {
        "format": ANSWERS_FORMAT,
        "version": ANSWERS_VERSION,
        "study": study,
        "annotator": annotator,
        "form": checksum,
    }
    told = any(sheet.item.wishes for sheet in sheets)
    return render("form.html", HERE, title=title, annotator=annotator, sheets=sheets, told=told, about=about)
