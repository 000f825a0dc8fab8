"""The form on the person's page: for each feature they may change, a lock, a slider and what they would accept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leastways._messages import plain
from leastways.schema import Feature, Schema
from leastways.server.pages.forms import Form, first
from leastways.server.pages.texts import Catalogue
from leastways.server.pages.wishes import EASE, Wish, Wishes, changeable, possible, reachable
from leastways.server.pages.words import Words


@dataclass(frozen=True)
class Tick:
    """A category that a person may accept or not."""

    value: str  # its place in the schema's list
    text: str
    ticked: bool


@dataclass(frozen=True)
class Field:
    """The questions about one feature."""

    place: str
    label: str
    now: str
    locked: bool
    ease: int
    ease_word: str
    unit: str = ""
    low: str = ""
    high: str = ""
    signed: bool = False  # whether a number may be below zero
    ticks: tuple[Tick, ...] = ()
    limited: bool = False
    problem: str = ""


def fields(
    schema: Schema,
    texts: Catalogue,
    state: Mapping[str, Any],
    wishes: Wishes,
    sent: Form | None = None,
    problems: Mapping[str, str] | None = None,
) -> list[Field]:
    """Lay out the form. `sent` is what was typed where it could not be used: it is shown again, with the problem."""
    words = Words(schema, texts)
    return [
        _field(words, feature, state[feature.name], wishes.of(feature.name), sent or {}, problems or {})
        for feature in changeable(schema, state)
    ]


def ease_words(texts: Catalogue) -> list[str]:
    """Return what each place of the slider means."""
    return [texts(f"ease.{name}") for name in EASE]


def _field(
    words: Words,
    feature: Feature,
    present: Any,
    wish: Wish,
    sent: Form,
    problems: Mapping[str, str],
) -> Field:
    place = f"f{words.schema.position(feature.name)}"
    shared: dict[str, Any] = {
        "place": place,
        "label": words.label(feature),
        "now": words.value(feature, present, exact=True),
        "locked": wish.locked,
        "ease": wish.ease,
        "ease_word": ease_words(words.texts)[wish.ease],
        "problem": problems.get(place, ""),
    }
    if not feature.numeric:
        ticks = tuple(
            Tick(str(feature.values.index(v)), words.value(feature, v), wish.accepted is None or v in wish.accepted)
            for v in reachable(feature, present)
        )
        return Field(**shared, ticks=ticks, limited=wish.limited)
    low, high = ("" if end is None else words.texts.number(str(end)) for end in (wish.low, wish.high))
    if place in problems:  # as it was typed
        low, high = first(sent, f"{place}-low"), first(sent, f"{place}-high")
    return Field(
        **shared,
        unit=words.unit(feature),
        low=low,
        high=high,
        signed=any(plain(value) < 0 for value in possible(feature, present)),
        limited=wish.limited or bool(low or high),
    )
